"""Solving one problem in this process and running experiments, for notebooks and scripts."""

import math
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from rrmbench import plugin_files, registry
from rrmbench.bench.rules import Schedule, StopRule
from rrmbench.bench.trace import Trace
from rrmbench.components import Component, lacking
from rrmbench.config.validity import needed
from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.notebook import warming
from rrmbench.notebook.bar import with_bar
from rrmbench.notebook.solution import Solution
from rrmbench.numerics.random import Rng
from rrmbench.problem.pairs import held_to_pairs
from rrmbench.problem.problem import Problem


class _OneAtATime:
    """`with`: one thread of this process solves. A solver may solve something itself; a child process begins anew.

    Two at once would measure each other's work, and leave the libraries behind numpy with the threads of one another.
    """

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


_one_at_a_time = _OneAtATime()


def solve(
    problem: Problem,
    solver: str | dict | Callable,
    *,
    reduction: str | dict = "auto",
    seed: int = 0,
    passes: float = np.inf,
    gap: float = -np.inf,
    relative_gap: float = -np.inf,
    seconds: float = np.inf,
    every: float = 1.0,
    growth: float = 1.0,
    progress: bool | None = None,
) -> Solution:
    """Run a solver on a Problem until a stopping rule is met; return a Solution.

    solver, reduction : a name, or a mapping such as {"name": "svrg", "step_scale": 0.1}, as in the YAML file; or
        the decorated function of a solver
    passes, gap, relative_gap, seconds : stopping rules; without any, 100 passes, or for a solver that counts none a
        relative gap of 1e-8 or 60 seconds
    every, growth : trace points are `every` passes apart, or a factor `growth` where that is more
    progress : whether a bar shows after two seconds; by default on a terminal and in a notebook

    Compilation is outside the clock: a few passes over a few rows come before it, unless they did for a solve of the
    same kind; one that then compiles something or imports a module is begun again after them. Of several threads
    one solves and the others wait, so that no clock has the work of another; several at once are several processes.

    Raises RrmbenchError for unknown names, for rules that are no numbers greater than 0, if the problem lacks what the
    solver needs, or if the loss or the regularizer is somebody's own and no conjugate pair.
    """
    import pandas as pd
    from threadpoolctl import threadpool_limits

    if not isinstance(problem, Problem):
        raise RrmbenchError(f"problem: found {_told(problem, Problem)}, needed is rrmbench.Problem(X, y, loss, ...)")
    if callable(solver):
        solver = solver.__name__
    _check_rules(passes=passes, gap=gap, relative_gap=relative_gap, seconds=seconds, every=every, growth=growth)
    _check_seed(seed)
    if not isinstance(progress, bool | None):
        raise RrmbenchError(f"progress: found {shown(progress)}, allowed is True, False or None")
    for mapping in solver, reduction:
        plugin_files.load_edited_plugins_of(mapping)
    run = registry.build_solver(solver, reduction)
    if missing := lacking(run.needs, problem.traits):
        helps = not lacking(registry.build_solver(solver, "auto").needs, problem.traits)
        hint = "; try reduction='auto'" if helps else ""
        raise RrmbenchError(f"solver {run.name} needs {needed(missing)}{hint}")
    plain = not lacking(registry.build_solver(solver).needs, problem.traits)
    component, _ = registry.from_mapping("solver", solver)
    stop = _ending(component, StopRule(passes=passes, gap=gap, relative_gap=relative_gap, seconds=seconds))
    pairs = held_to_pairs(problem, type(problem.loss).__name__, type(problem.regularizer).__name__)
    if pairs.broken:
        raise RrmbenchError(pairs.broken)
    if pairs.unchecked:
        warnings.warn(f"{pairs.unchecked}, at random points that gaps were to be checked at", stacklevel=2)
    kind = warming.kind_of(problem, solver, reduction)
    with _one_at_a_time, threadpool_limits(1):
        for known in (warming.is_warm(kind), False):
            held = None if known else warming.warmed(problem, run, kind)  # open, since closing it may run its code
            apart, rows = problem.apart(), []
            iterates = run(apart, None, Rng(seed))
            trace = Trace(problem, iterates, stop, Schedule(every, growth), audited=apart.X, **run.declared)
            for row in with_bar(trace, run.name, stop, progress):
                rows.append(row)
                if known and trace.compiled:  # its numbers lead another way than those of the warm-up before
                    break
            if not (known and trace.compiled):
                break
    del held
    if trace.compiled:  # of code from elsewhere, which is warmed up each time
        said = "a kernel was compiled, or a module imported, on the clock: seconds have that in them"
        warnings.warn(said, stacklevel=2)
    return Solution(
        w=trace.w.copy(),
        b=None if trace.b is None else trace.b.copy(),
        gap=rows[-1]["gap"],
        status=trace.status or "",
        reason=trace.reason or "",
        trace=pd.DataFrame(rows),
        problem=problem,
        spec={
            "solver": solver,
            "reduction": "none" if reduction == "auto" and plain else reduction,
            "seed": seed,
            "stop": {name: value for name, value in vars(stop).items() if np.isfinite(value)},
            "trace": {"every": every, "growth": growth},
        },
    )


def _told(found: Any, wanted: type) -> str:
    """The class of what is found in place of a `wanted` one, and whether that was imported anew since."""
    cls = type(found)
    same = (cls.__module__, cls.__name__) == (wanted.__module__, wanted.__name__)
    return f"{cls.__name__}{' of an earlier import of rrmbench: make it anew' * same}"


def _check_rules(**given: Any) -> None:
    """Raise RrmbenchError where a rule is no number greater than 0, or growth less than 1; infinity is no rule."""
    for name, value in given.items():
        least = 1.0 if name == "growth" else math.ulp(0.0)
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        is_size = is_number and (least <= value <= sys.float_info.max or value == np.inf)
        if not is_size and not (is_number and value == -np.inf and name.endswith("gap")):
            allowed = "a number of at least 1" if name == "growth" else "a number greater than 0"
            raise RrmbenchError(f"{name}: found {shown(value)}, allowed is {allowed}")


def _check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise RrmbenchError(f"seed: found {shown(seed)}, allowed is a whole number from 0 to 2^63 - 1")


def _ending(solver: Component, asked: StopRule) -> StopRule:
    """The rule that was asked for, or where there is none the default; RrmbenchError where it would never end a run."""
    if asked == StopRule():
        return StopRule(passes=100.0) if solver.counts_passes else StopRule(relative_gap=1e-8, seconds=60.0)
    if why := solver.endless(name for name, value in vars(asked).items() if value != getattr(StopRule, name)):
        raise RrmbenchError(why)
    return asked


def run(
    config: str | Path | dict,
    output: str | Path = "results",
    *,
    only: Iterable[str] = (),
    sets: Iterable[str] = (),
    jobs: int | None = None,
    fresh: bool = False,
    quiet: bool = False,
) -> Path:
    """Run a configuration as `rrmbench run` does, what is not done yet; return the folder of its results.

    config : a YAML file, the name of a shipped configuration, or the same as a dict
    only, sets, jobs, fresh, quiet : the options of the command line

    `rrmbench.load_results` and `rrmbench.plot` take the folder. Raises RrmbenchError for a mistake in the
    configuration, and not for a run that fails, whose status is in the results.
    """
    from rrmbench import config as configuration
    from rrmbench import kernel_cache
    from rrmbench.bench.backends import jobs_of
    from rrmbench.bench.runner import run_experiment
    from rrmbench.report.display import console, progress_on

    if not isinstance(config, str | os.PathLike | dict):
        raise RrmbenchError(f"run: found {type(config).__name__}, allowed is a YAML file, a shipped name, or a dict")
    only, sets = _texts("only", only), _texts("sets", sets)
    if jobs is not None and not (type(jobs) is int and jobs >= 1):
        raise RrmbenchError(f"jobs: found {shown(jobs)}, allowed is a whole number from 1")
    raw = configuration.read(config, sets)
    kernel_cache.use(raw.plugins)
    plans = [configuration.resolve(raw)]
    (plan,) = configuration.select(plans, only) if only else plans
    jobs = jobs_of(plan, jobs)
    progress = progress_on(console(stderr=True), quiet)
    report = run_experiment(plan, Path(output), jobs=jobs, whole=not only, fresh=fresh, progress=progress)
    return Path(report.directory)


def _texts(name: str, given: Any) -> list[str]:
    """The texts KEY=VALUE of an argument, which may be one; RrmbenchError for anything else."""
    texts = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not all(isinstance(text, str) for text in texts):
        raise RrmbenchError(f"{name}: found {shown(given)}, allowed is a text KEY=VALUE, or a list of them")
    return texts


def _check_options(options: dict, allowed: set) -> None:
    for name in options:
        if name not in allowed:
            raise RrmbenchError(
                f"plot: found the option '{name}', allowed is {', '.join(sorted(allowed))}{nearest(name, allowed)}"
            )


def plot(what: Any, **options: Any) -> Any:
    """Return a matplotlib Figure of results or of Solutions; a list of Figures where results have several.

    what : a folder of results; or a Solution, a list of them, or a mapping of labels to them
    options : x ("passes", "work", "seconds") and y ("suboptimality", "gap", "objective"); of a folder also what else
        `rrmbench.report.plots.figures` takes

    A Solution is measured against the greatest dual value of all that are drawn of its problem. Those of a list that
    differ in nothing but the seed are one curve, a median with a band. Raises RrmbenchError.
    """
    if isinstance(what, str | Path):
        from rrmbench.report.plots import figures
        from rrmbench.report.plots.section import Options

        _check_options(options, {*signature(figures).parameters, *signature(Options).parameters} - {"path", "options"})
        found = figures(Path(what), **options)
        return found[0] if len(found) == 1 else found
    from rrmbench.report.plots.solutions import figure

    _check_options(options, {"x", "y", "xscale"})
    if isinstance(what, Mapping):
        solutions = [(str(label) or None, one) for label, one in what.items()]
        if len(dict(solutions)) < len(solutions):
            raise RrmbenchError(f"plot: found labels that read the same, {shown(list(what))}, needed are others")
    else:
        several = isinstance(what, Iterable) and not isinstance(what, Solution)
        solutions = [(None, one) for one in (what if several else [what])]
    for _, one in solutions:
        if not isinstance(one, Solution):
            raise RrmbenchError(f"plot: found {_told(one, Solution)}, allowed is a folder of results, or Solutions")
    return figure(solutions, **options)
