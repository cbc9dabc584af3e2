"""Runs of solvers in this process, measured as the harness measures them."""

from itertools import islice

import numpy as np

from rrmbench import registry
from rrmbench.bench.contract import Failure
from rrmbench.bench.rules import Schedule, StopRule
from rrmbench.bench.trace import Contradiction, Trace
from rrmbench.components import lacking
from rrmbench.extending.verdicts import Broken
from rrmbench.numerics.random import Rng

# solver, passes in which it closes the gap of a tiny problem to GAP of its size at the start
SOLVERS = (("fista", 2000), ("prox_sdca", 300), ("pdprox_dual", 3000))
GAP = 1e-3
CALLS = 8  # of a library that counts no passes


def first_iterates(solve, problem, count, start=None):
    """Copies of at most `count` first Iterates."""
    return [x.copied() for x in islice(solve(problem, start, Rng(0)), count)]


def measured(solve, problem, passes, names=None, gap=0.0, every=1.0):
    """(Trace, rows) of a run of so many passes; Broken where it breaks what the harness asks of every solver."""
    with np.errstate(all="ignore"):
        iterates = solve(problem, None, Rng(0))
        stop = StopRule(passes=passes, relative_gap=gap)
        trace = Trace(problem, iterates, stop, Schedule(every), names=names, **solve.declared)
        rows = []
        try:
            rows.extend(trace if solve.counts_passes else islice(trace, CALLS))
        except Contradiction as broken:
            hint = "a conjugate that is too small, or a value that is too small, makes certificates that lie"
            raise Broken(str(broken), hint) from None
        except Failure as broken:
            raise Broken(str(broken)) from None
    return trace, rows


def solved(problem, label, names):
    """Run a shipped solver that takes the problem; Broken where no certified gap is reached.

    names : of the loss and the regularizer
    """
    takes = [s for s in SOLVERS if not lacking(registry.lookup("solver", s[0]).needs, problem.traits)]
    solver, passes = takes[0]
    trace, rows = measured(registry.build_solver(solver), problem, passes, names, GAP)
    if trace.status == "diverged":
        raise Broken(f"{label}: {solver} diverges: {trace.reason}", "look at dual_point or prox, and at the constants")
    if _has_no_bound(problem) and not np.isfinite(rows[-1]["gap"]):
        return
    if trace.reason not in ("relative_gap", "ended"):
        raise Broken(
            f"{label}: {solver} has a certified gap of {rows[-1]['gap']:.3g} after {passes} passes, P at the start is "
            f"{rows[0]['primal']:.3g}",
            "a conjugate that is too great, or a scaling that is too small, makes certificates that never close",
        )


def _has_no_bound(problem):
    """Whether psi bounds no w, so that D is finite in almost no point."""
    everywhere = np.full(problem.shape, 1e-9)
    return problem.strong_convexity == 0.0 and np.isinf(problem.regularization.conjugate(everywhere))
