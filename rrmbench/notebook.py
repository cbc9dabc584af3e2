"""Solving one problem in this process, for notebooks and scripts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rrmbench import registry
from rrmbench.bench.trace import Schedule, StopRule, Trace, warm_up
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem


@dataclass(eq=False)
class Solution:
    """What `solve` returns: the last iterate, the best certificate, and the trace.

    w : final model; b : dual variable with the greatest dual value, or None
    gap : P(w) - D(b); status, reason : as in the results of a run
    trace : DataFrame, one row per trace point
    """

    w: np.ndarray
    b: np.ndarray | None
    gap: float
    status: str
    reason: str
    trace: Any


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
) -> Solution:
    """Run a solver on a Problem until a stopping rule is met; return a Solution.

    solver, reduction : a name, or a mapping such as {"name": "svrg", "step_scale": 0.1}, as in the YAML file; or
        the decorated function of a solver
    passes, gap, relative_gap, seconds : stopping rules; without any, 100 passes
    every, growth : trace points are `every` passes apart, or a factor `growth` where that is more

    Compilation is outside the clock: a few passes over a few rows come before it.

    Raises RrmbenchError for unknown names, or if the problem lacks what the solver needs.
    """
    import pandas as pd
    from threadpoolctl import threadpool_limits

    from rrmbench.errors import RrmbenchError

    if callable(solver):
        solver = solver.__name__
    for mapping in solver, reduction:
        registry.load_plugins_of(mapping)
    run = registry.build_solver(solver, reduction)
    if lacking := registry.lacking(run.needs, problem.traits):
        raise RrmbenchError(f"the solver needs a problem that is {', '.join(sorted(lacking))}; try reduction='auto'")
    if passes == seconds == np.inf and gap == relative_gap == -np.inf:
        passes = 100.0
    rules = {"gap": gap > -np.inf, "relative_gap": relative_gap > -np.inf, "seconds": seconds < np.inf}
    component, _ = registry.from_mapping("solver", solver)
    if why := component.endless(rule for rule, given in rules.items() if given):
        raise RrmbenchError(why)
    stop = StopRule(passes=passes, gap=gap, relative_gap=relative_gap, seconds=seconds)
    with threadpool_limits(1):
        warm_up(problem, run)
        trace = Trace(problem, run(problem, None, Rng(seed)), stop, Schedule(every, growth), counted=run.counts_passes)
        rows = pd.DataFrame(list(trace))
    return Solution(
        w=trace.w.copy(),
        b=None if trace.b is None else trace.b.copy(),
        gap=float(rows["gap"].iloc[-1]),
        status=trace.status or "",
        reason=trace.reason or "",
        trace=rows,
    )
