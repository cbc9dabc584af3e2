"""HiGHS, the solver of linear programs in scipy: exact where losses and regularizer are polyhedral."""

from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics import whole_arrays
from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import check, known

TOLERANCE = 1e-10  # of feasibility, the least that HiGHS takes
ENDED, OUT_OF_TIME = 0, 1  # statuses of scipy's linprog


@solver(needs={"piecewise_linear", "polyhedral"}, counts_passes=False, deterministic=True)
def highs(problem, start, rng, *, method: Literal["ipm", "simplex"] = "ipm", time_limit: Positive | None = None):
    """HiGHS's interior point method or dual simplex method, through scipy, on the dual [Huangfu and Hall 2018]

    Of a loss with the kinks t_i1 <= ... <= t_iK, and slopes s_i0 <= ... <= s_iK between them, phi*(b_i) is piecewise
    linear with the kinks for slopes, so with b_i = s_i0 + sum_k u_ik the dual is

        minimize    (1/n) sum_ik t_ik u_ik + Psi*(v)
        subject to  0 <= u_ik <= s_ik - s_i(k-1),    v = -(1/n) X^T b

    and w is the multiplier of v. Psi* of a norm asks for v in its dual ball. There is one call, so one point after the
    start.

    method : ipm, interior points with crossover to a vertex, which large problems need; simplex
    time_limit : seconds after which HiGHS gives up, and the run ends at its start
    """
    check(problem, known("highs"))
    yield Iterate(problem.start(), passes=np.nan)
    found = _solved(problem, method, time_limit)
    if found is not None:
        yield Iterate(*found, passes=np.nan, restarted=True)


def entries(problem):
    """The stored entries of X in the equations, of a problem whose loss knows its kinks."""
    return problem.X.nnz * problem.loss.kinks(problem.y[:1]).shape[1]


def _solved(problem, method, time_limit):
    """(w, b), or None where the time was out.

    The program is scaled so that its costs are the kinks, and bounds of v are about 1: with v = scale u', the rows are
    X^T b/(n scale) + u' = 0, and the costs are multiplied by n, hence w = multiplier/(n scale).
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, hstack, kron, vstack

    n, size = problem.n, int(np.prod(problem.shape))
    body = problem.shape if not problem.free_bias else (problem.shape[0] - 1, *problem.shape[1:])
    d = int(np.prod(body))
    kinks = problem.loss.kinks(problem.y)
    slopes = _slopes(problem.loss, kinks, problem.y)
    psi = problem.regularizer.conjugate_pieces(body)
    scale = psi.radius or max((abs(x) for x in psi.lower + psi.upper if np.isfinite(x)), default=0.0) or 1.0

    rows = getattr(problem.X, "flat", problem.X).columns().T
    if problem.minimized_bias:
        rows = vstack([rows, np.ones((1, n))])
    rows = rows * (1.0 / (n * scale))
    of_v = vstack([eye_array(d), coo_array((rows.shape[0] - d, d))])
    parts, pieces = kinks.shape[1], len(psi.slopes)
    equations = hstack([rows] * parts + [of_v] * pieces, format="csr")
    cost = np.concatenate([kinks.T.reshape(-1), np.repeat(np.array(psi.slopes) * (n * scale), d)])
    lower = np.repeat(np.array(psi.lower) / scale, d)
    upper = np.repeat(np.array(psi.upper) / scale, d)
    bounds = np.column_stack(
        [
            np.concatenate([np.zeros(n * parts), lower]),
            np.concatenate([np.diff(slopes, axis=1).T.reshape(-1), upper]),
        ]
    )
    balls = {}
    if psi.radius is not None:
        signs = [1.0 if top > 0.0 else -1.0 for top in psi.upper]
        block = kron(eye_array(d // psi.length), np.ones((1, psi.length)))
        sums = hstack([coo_array((block.shape[0], n * parts)), *(sign * block for sign in signs)], format="csr")
        balls = {"A_ub": sums, "b_ub": np.full(block.shape[0], psi.radius / scale)}
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    if time_limit is not None:
        options["time_limit"] = time_limit
    solved = linprog(
        cost,
        A_eq=equations,
        b_eq=-(rows @ slopes[:, 0]),
        **balls,
        bounds=bounds,
        method="highs-ds" if method == "simplex" else "highs-ipm",
        options=options,
    )
    if solved.status == OUT_OF_TIME:
        return None
    if solved.status != ENDED:
        raise RrmbenchError(f"highs: {solved.message}")
    b = slopes[:, 0] + solved.x[: n * parts].reshape(parts, n).sum(axis=0)
    w = (solved.eqlin.marginals[:size] / (n * scale)).reshape(problem.shape)
    return problem.prox(w, 0.0), np.clip(b, slopes[:, 0], slopes[:, -1])


def _slopes(loss, kinks, y):
    """phi'(z) left of the first kink, between two of them, and right of the last, (n, K + 1)."""
    between = [kinks[:, :1] - 1.0, 0.5 * (kinks[:, 1:] + kinks[:, :-1]), kinks[:, -1:] + 1.0]
    slopes = np.empty((len(y), kinks.shape[1] + 1))
    for k, z in enumerate(np.concatenate(between, axis=1).T):
        b = np.empty(len(y))
        whole_arrays.loss_dual(loss, 0.0, np.ascontiguousarray(z), y, b)
        slopes[:, k] = b
    return slopes
