"""Solving one problem in this process and running experiments, for notebooks and scripts."""

import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from html import escape
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from rrmbench import plugin_files, registry
from rrmbench.bench.guarded import Guarded
from rrmbench.bench.rules import Row, Schedule, StopRule
from rrmbench.bench.trace import Trace, warm_up
from rrmbench.components import Component
from rrmbench.config.validity import needed
from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.numerics.random import Rng
from rrmbench.problem.pairs import held_to_pairs
from rrmbench.problem.problem import Problem

PATIENCE = 2.0  # seconds without a progress bar


@dataclass(eq=False, repr=False)
class Solution:
    """What `solve` returns: the last iterate, the best certificate, and the trace.

    w : final model; b : dual variable with the greatest dual value, or None
    gap : P(w) - D(b); status, reason : as in the results of a run
    trace : DataFrame, one row per trace point
    problem : the Problem; spec : {"solver": ..., "reduction": ..., "seed": ...} as they were asked for
    """

    w: np.ndarray
    b: np.ndarray | None
    gap: float
    status: str
    reason: str
    trace: Any
    problem: Problem
    spec: dict = field(default_factory=dict)

    @property
    def classes_(self) -> Any:
        """The distinct labels as they were given, in the order of -1, 1 or of the outputs; None of numbers."""
        return self.problem.classes

    def outputs(self, X: Any) -> np.ndarray:
        """z = X w for new rows X (m, d), dense or sparse, with a minimized bias added; (m,) or (m, k)."""
        from rrmbench.bench.metrics import model_of
        from rrmbench.problem.operators import CSR

        problem = self.problem
        if hasattr(problem.loss, "operator") and np.ndim(problem.y) == 2:
            raise RrmbenchError(f"{type(problem.loss).__name__}: it predicts sequences, and no single rows")
        w = np.asarray(model_of(problem.loss, self.w, self.b))
        rows = CSR.of(X, w.shape[1] if w.ndim == 2 else None)
        if not hasattr(problem.X, "rows") and not hasattr(problem.X, "of_loss"):
            raise RrmbenchError("the data of this problem are no rows of a matrix; problem.X.forward(w) gives outputs")
        if rows.shape[1] != w.shape[0]:
            raise RrmbenchError(f"X: found {rows.shape[1]} columns, the model has {w.shape[0]}")
        shift = problem.beta(problem.X.forward(self.w)) if problem.minimized_bias else 0.0
        return np.asarray(rows.forward(w) + shift)

    def predict(self, X: Any) -> np.ndarray:
        """The labels of new rows X (m, d): of `classes_` where there are classes, else numbers.

        Where all labels of a binary loss are -1 or all are 1, they are -1 and 1; of several targets they are (m, k).
        """
        z, classes = self.outputs(X), self.classes_
        if z.ndim == 2 and classes is None and np.ndim(self.problem.y) == 2:  # targets
            return z
        if z.ndim == 2:
            place = z.argmax(axis=1)
        elif classes is not None and len(classes) <= 2:
            place = (z >= 0.0).astype(int)
            classes = classes if len(classes) == 2 else np.array([-1.0, 1.0])
        else:
            return self.problem.loss.predict(z) if hasattr(self.problem.loss, "predict") else z
        return place if classes is None else classes[place]

    def __repr__(self) -> str:
        return f"Solution({', '.join(f'{key}: {value}' for key, value in self._facts().items())})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in self._facts().items())
        return f"<table>{rows}</table>"

    def _facts(self) -> dict[str, str]:
        last = self.trace.iloc[-1]
        spent = f"{last['seconds']:.3g} s" if np.isnan(last["passes"]) else f"{last['passes']:g} passes, "
        spent += "" if np.isnan(last["passes"]) else f"{last['seconds']:.3g} s"
        return {
            "method": _method(self.spec),
            "status": f"{self.status} ({self.reason}) after {spent}",
            "P(w)": f"{last['primal']:.6g}",
            "gap": f"{self.gap:.2g}" if np.isfinite(self.gap) else "no certificate",
            "w": f"{self.w.shape} with {np.count_nonzero(self.w)} non-zeros",
        }


def _method(spec: dict) -> str:
    from rrmbench.keys import keys
    from rrmbench.report import naming

    return naming.method(keys(spec | {"dataset": "none"}))


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

    Compilation is outside the clock: a few passes over a few rows come before it.

    Raises RrmbenchError for unknown names, for rules that are no numbers greater than 0, if the problem lacks what the
    solver needs, or if the loss or the regularizer is somebody's own and no conjugate pair.
    """
    import pandas as pd
    from threadpoolctl import threadpool_limits

    if not isinstance(problem, Problem):
        raise RrmbenchError(f"problem: found {type(problem).__name__}, needed is rrmbench.Problem(X, y, loss, ...)")
    if callable(solver):
        solver = solver.__name__
    _check_rules(passes=passes, gap=gap, relative_gap=relative_gap, seconds=seconds, every=every, growth=growth)
    _check_seed(seed)
    for mapping in solver, reduction:
        plugin_files.load_edited_plugins_of(mapping)
    run = registry.build_solver(solver, reduction)
    if lacking := registry.lacking(run.needs, problem.traits):
        helps = not registry.lacking(registry.build_solver(solver, "auto").needs, problem.traits)
        hint = "; try reduction='auto'" if helps else ""
        raise RrmbenchError(f"solver {run.name} needs {needed(lacking)}{hint}")
    plain = not registry.lacking(registry.build_solver(solver).needs, problem.traits)
    component, _ = registry.from_mapping("solver", solver)
    stop = _ending(component, StopRule(passes=passes, gap=gap, relative_gap=relative_gap, seconds=seconds))
    pairs = held_to_pairs(problem, type(problem.loss).__name__, type(problem.regularizer).__name__)
    if pairs.broken:
        raise RrmbenchError(pairs.broken)
    if pairs.unchecked:
        warnings.warn(f"{pairs.unchecked}, at random points that gaps were to be checked at", stacklevel=2)
    with threadpool_limits(1):
        held, fault = warm_up(problem, run)  # open, since closing it may run its code
        if fault:
            warnings.warn(f"the warm-up failed, seconds may hold what is compiled: {fault}", stacklevel=2)
        apart = problem.apart()
        iterates = run(apart, None, Rng(seed))
        trace = Trace(problem, iterates, stop, Schedule(every, growth), audited=apart.X, **run.declared)
        rows = pd.DataFrame(list(_shown(trace, run.name, stop, progress)))
    del held
    return Solution(
        w=trace.w.copy(),
        b=None if trace.b is None else trace.b.copy(),
        gap=float(rows["gap"].iloc[-1]),
        status=trace.status or "",
        reason=trace.reason or "",
        trace=rows,
        problem=problem,
        spec={
            "solver": solver,
            "reduction": "none" if reduction == "auto" and plain else reduction,
            "seed": seed,
            "stop": {name: value for name, value in vars(stop).items() if np.isfinite(value)},
            "trace": {"every": every, "growth": growth},
        },
    )


def _check_rules(**given: Any) -> None:
    """Raise RrmbenchError where a rule is no number greater than 0, or growth less than 1; infinity is no rule."""
    for name, value in given.items():
        least = 1.0 if name == "growth" else math.ulp(0.0)
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not (value >= least or (value == -np.inf and name.endswith("gap"))):
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


def _shown(trace: Iterable[Row], name: str, stop: StopRule, progress: bool | None) -> Iterator[Row]:
    """The rows of a trace, with a bar that is drawn between them, while the clock stands."""
    if progress is None:
        progress = sys.stderr.isatty() or "ipykernel" in sys.modules
    with closing(Guarded(_Bar(name, stop) if progress else None)) as bar:
        for row in trace:
            bar.row(row)
            yield row


class _Bar:
    """A bar of passes, which is there after `PATIENCE` seconds."""

    def __init__(self, name: str, stop: StopRule) -> None:
        self.name, self.total = name, stop.passes if stop.passes < np.inf else None
        self.started = time.monotonic()
        self.bar: Any = None

    def row(self, row: Row) -> None:
        """The trace has a new row."""
        if self.bar is None and time.monotonic() - self.started > PATIENCE:
            self.bar = _bar()
            self.task = self.bar.add_task(self.name, total=self.total)
            self.bar.start()
        if self.bar is not None:
            done = 0.0 if np.isnan(row["passes"]) else row["passes"]
            self.bar.update(self.task, completed=done, description=f"{self.name}: gap {row['gap']:.1e}", refresh=True)

    def close(self) -> None:
        """The run is over."""
        if self.bar is not None:
            self.bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    # a thread that refreshes would take its time from the solver
    return Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)


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
    only, sets = ([texts] if isinstance(texts, str) else list(texts) for texts in (only, sets))
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
            raise RrmbenchError(f"plot: found {type(one).__name__}, allowed is a folder of results, or Solutions")
    return figure(solutions, **options)
