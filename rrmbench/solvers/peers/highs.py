"""HiGHS, the solver of linear programs in scipy: exact where losses and regularizer are polyhedral."""

import math
from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import check_traits, known
from rrmbench.solvers.peers.dual_program import program_of

TOLERANCE = 1e-10  # of feasibility, the least that HiGHS takes
ENDED, OUT_OF_TIME = 0, 1  # statuses of scipy's linprog


@solver(needs={"piecewise_linear", "polyhedral"}, counts_passes=False, deterministic=True)
def highs(problem, start, rng, *, method: Literal["ipm", "simplex"] = "ipm", time_limit: Positive | None = None):
    """HiGHS's interior point method or dual simplex method, through scipy, on the dual [Huangfu and Hall 2018]

    The program of `rrmbench.solvers.peers.dual_program`, which is linear: b is made of parts between the slopes of the
    losses, whose costs are the kinks, and Psi* of a norm asks for v = -(1/n) X^T b in its dual ball. There is one call,
    so one point after the start.

    method : ipm, interior points with crossover to a vertex, which large problems need; simplex
    time_limit : seconds after which HiGHS gives up, and the run ends at its start
    """
    check_traits(problem, known("highs"))
    yield Iterate(problem.start(), passes=np.nan)
    found = _solved(problem, method, time_limit)
    if found is not None:
        yield Iterate(*found, passes=np.nan, restarted=True)


def entries(problem):
    """The stored entries of X in the equations, of a problem whose loss knows its kinks or its parts.

    Of labellings, times the pairs of labels: pairs have no entries, but make the equations as hard as if they had.
    """
    loss, y, k = problem.loss, problem.y[:1], math.prod(problem.output_shape[1:])
    if "labellings" in problem.traits:
        return problem.X.nnz * k * k
    if hasattr(loss, "parts"):
        return problem.X.nnz * loss.parts(y, k).columns.nnz
    return problem.X.nnz * loss.kinks(y).shape[1]


def _solved(problem, method, time_limit):
    """(w, b), or None where the time was out."""
    from scipy.optimize import linprog

    program = program_of(problem)
    x, sums = program.x, program.sums
    solved = linprog(
        x.costs,
        A_eq=x.columns,
        b_eq=program.right,
        **({} if sums is None else {"A_ub": sums[0], "b_ub": sums[1]}),
        bounds=np.column_stack([x.lower, x.upper]),
        method="highs-ds" if method == "simplex" else "highs-ipm",
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
            "time_limit": time_limit,
        },
    )
    if solved.status == OUT_OF_TIME:
        return None
    if solved.status != ENDED:
        raise RrmbenchError(f"highs: {solved.message}")
    return program.solution(problem, solved.x, solved.eqlin.marginals)
