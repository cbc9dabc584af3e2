"""The warm-up before a clock starts: the same solver on a few rows."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from rrmbench import crashes
from rrmbench.bench import polishing
from rrmbench.bench.rules import Schedule, StopRule
from rrmbench.bench.trace import Trace
from rrmbench.numerics.jit import WARM_UP_ROWS
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem

WARM_UP_PASSES = 3.0  # once w moves: a reduction may take 10 before to know its strengths, Pdprox 20 to know ||X||
STILL = 40.0  # passes that are waited for that at most, as w may be optimal


def warm_up(problem: Problem, solve: Callable[..., Iterator[Iterate]]) -> tuple[Iterator[Iterate] | None, str | None]:
    """Compile, or load from the cache, every kernel that a run will call, by a few passes over a few rows.

    Returns the solver that was run, still open, since closing it may run its code, and what it raised, or None. The run
    may meet that again, with its partial curve; where a few rows alone raise it, its clock may see what is compiled.
    """
    iterates, fault = None, None
    try:
        X = problem.X.head(n := min(problem.n, WARM_UP_ROWS))
        y = problem.y[: getattr(X, "labels", n)].copy()
        if y.ndim == 1 and len(problem.output_shape) == 2:
            y[:] = np.arange(n) % problem.output_shape[1]  # as many classes as there are rows
        elif y.ndim == 1:
            y[0], y[-1] = problem.y.min(), problem.y.max()  # libraries of classifiers refuse a single class
        y.flags.writeable = False  # these are labels of the problem already, and not to be numbered again
        weights = None if problem.weights is None else problem.weights[:n] / problem.weights[:n].mean()
        tiny = replace(problem, X=X, y=y, weights=weights)
        iterates = solve(tiny, None, Rng(0))
        # no rule ends it: at the last point of a run evaluation looks for bounds, whose passes read the whole model
        trace, start, before = Trace(tiny, iterates, StopRule(), Schedule(0.0), counted=False), None, 0.0
        for point, row in enumerate(trace):
            start = trace.w if point == 0 else start
            if start is not None and np.array_equal(trace.w, start):
                before = min(row["passes"], STILL)
            else:
                start = None  # w has moved
            if row["passes"] - before >= WARM_UP_PASSES or (math.isnan(row["passes"]) and point > 0):
                break  # one call compiles what a library compiles
        tiny.certificate(np.zeros(tiny.output_shape))
        polishing.warm_up(problem, tiny)
    except (Exception, SystemExit) as error:
        fault = crashes.text_of(error)
    return iterates, fault
