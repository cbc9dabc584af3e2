"""HiGHS, the solver of linear programs in scipy: exact where losses and regularizer are polyhedral."""

from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.samples import over_samples
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

    Tolerances are absolute, so the program is scaled until the bounds of v and the greatest entry of X are 1 or more,
    and the kinks 1 or less: with v = scale u', the rows are X^T b/(n scale) + u' = 0, and the costs are multiplied by
    n/farthest, hence w = multiplier farthest/(n scale).
    """
    from scipy.optimize import linprog
    from scipy.sparse import hstack

    n, body = problem.n, problem.start()[: -1 if problem.free_bias else None]
    kinks = problem.loss.kinks(problem.y)
    slopes = _slopes(problem, kinks)
    psi = problem.regularizer.conjugate_pieces(body.shape)
    columns = getattr(problem.X, "flat", problem.X).columns()
    sizes = [np.abs(columns.data).max(initial=0.0) / n, psi.radius or 0.0, *np.abs(psi.lower), *np.abs(psi.upper)]
    scale = min((size for size in sizes if 0.0 < size < np.inf), default=1.0)
    farthest = np.abs(kinks).max() or 1.0

    of_b, of_v = _equations(problem, columns, scale, body.size)
    parts, pieces = kinks.shape[1], len(psi.slopes)
    solved = linprog(
        np.concatenate([kinks.T.reshape(-1), np.repeat(psi.slopes, body.size) * (n * scale)]) / farthest,
        A_eq=hstack([of_b] * parts + [of_v] * pieces, format="csr"),
        b_eq=-(of_b @ slopes[:, 0]),
        **_balls(psi, n * parts, body.size, scale),
        bounds=np.vstack(
            [
                np.column_stack([np.zeros(n * parts), np.diff(slopes, axis=1).T.reshape(-1)]),
                np.column_stack([np.repeat(psi.lower, body.size), np.repeat(psi.upper, body.size)]) / scale,
            ]
        ),
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
    b = slopes[:, 0] + solved.x[: n * parts].reshape(parts, n).sum(axis=0)
    w = solved.eqlin.marginals[: columns.shape[1]].reshape(problem.shape) * (farthest / (n * scale))
    return problem.prox(w, 0.0), np.clip(b, slopes[:, 0], slopes[:, -1])


def _equations(problem, columns, scale, d):
    """The matrices of b and of u' in X^T b/(n scale) + u' = 0, and in sum b = 0 with a minimized bias.

    d : the number of entries of w that psi sees; a free bias has no u'
    """
    from scipy.sparse import coo_array, eye_array, vstack

    of_b = columns.T * (1.0 / (problem.n * scale))
    if problem.minimized_bias:
        of_b = vstack([of_b, np.ones((1, problem.n))])
    return of_b, vstack([eye_array(d), coo_array((of_b.shape[0] - d, d))])


def _balls(psi, before, d, scale):
    """The inequalities sum |u'| <= radius/scale of all blocks; `before` unknowns stand before those of u'."""
    from scipy.sparse import coo_array, eye_array, hstack, kron

    if psi.radius is None:
        return {}
    blocks = d // psi.length
    sums = kron(eye_array(blocks), np.ones((1, psi.length)))
    signed = [sums if upper > 0.0 else -sums for upper in psi.upper]
    inequalities = hstack([coo_array((blocks, before)), *signed], format="csr")
    return {"A_ub": inequalities, "b_ub": np.full(blocks, psi.radius / scale)}


def _slopes(problem, kinks):
    """phi'(z) left of the first kink, between two of them, and right of the last, (n, K + 1)."""
    first, last = kinks[:, :1], kinks[:, -1:]
    between = [first - np.abs(first) - 1.0, 0.5 * (kinks[:, 1:] + kinks[:, :-1]), last + np.abs(last) + 1.0]
    losses = over_samples(problem.loss, problem.X, problem.y)  # without the bias that the problem may minimize
    points = np.ascontiguousarray(np.concatenate(between, axis=1).T)
    return np.stack([losses.dual_point(0.0, z) for z in points], axis=1)
