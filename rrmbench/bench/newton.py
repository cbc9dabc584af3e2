"""Dual bounds by Newton steps, where the data are rows of so few features that d x d systems cost little.

An outer step replaces the losses by their quadratic model around w,

    q(u) = g.(u - w) + (1/2) (u - w)^T G (u - w),    g = (1/n) X^T phi'(X w),  G = (1/n) X^T diag(phi''(X w)) X

and solves min_u q(u) + Psi(u) + (sigma/2) ||u - w||^2 by semismooth Newton steps on

    F(u) = u - p(u - tau (grad q(u) + sigma (u - w))),    p the proximal step of tau Psi,  tau = 1/||G + sigma I||

whose Jacobian is I - M (I - tau (G + sigma I)), M = diag(p'). Near the optimum both converge quadratically, so that
b = phi'(X u) needs hardly any scaling, however badly X is conditioned. sigma makes up for a singular G.
"""

from collections.abc import Iterator

import numpy as np

from rrmbench.problem.problem import Problem

LARGEST = 1000  # features, whose G takes 8 MB
RIDGES = (1e-7, 1e-9)  # sigma of one outer step after the other, over the mean of the diagonal of G; the last stays
INNER = 12  # steps on F in an outer step
FULL = 5  # of them, which are taken at full length
FEWEST = 10  # steps on F that there must be passes for
LENGTHS = (1.0, 0.5, 0.25, 0.125, 0.03125)  # of a step on F, the one with the least ||F|| is taken
CLOSED = 1e-13  # ||F|| over ||u||, from which on a step changes nothing
APART = (
    1e-4  # half the way between the points of a difference quotient, relative; rounding of p' must be far below sigma
)
LEAST = 1e-300
NEEDS = frozenset({"rows", "coordinate", "separable", "scalar", "smooth"})


def fits(problem: Problem, passes: float) -> bool:
    """Whether so many passes are enough for one outer step."""
    small = NEEDS <= problem.traits and problem.shape[0] <= LARGEST
    return small and _gram_passes(problem) + FEWEST * _solve_passes(problem) <= passes


def _gram_passes(problem: Problem) -> float:
    """The cost of G: n_i^2/2 multiplications for a row of n_i entries, where a pass has two for each entry."""
    lengths = np.diff(problem.X.rows.indptr).astype(np.float64)
    return float(np.sum(lengths**2)) / max(4.0 * lengths.sum(), 1.0)


def _solve_passes(problem: Problem) -> float:
    return problem.shape[0] ** 3 / (6.0 * max(problem.X.nnz, 1))


def ascend(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[tuple[np.ndarray, float]]:
    """Yield (phi'(X u), the passes that its outer step took beside products with X)."""
    X = problem.X.columns()
    z, spent, outer = problem.X.forward(w), 0.0, 0
    while spent + _gram_passes(problem) + FEWEST * _solve_passes(problem) <= passes:
        g = problem.X.adjoint(problem.loss_dual(z)) / problem.n
        step = APART * (1.0 + np.abs(z))
        curvatures = np.maximum((problem.loss_dual(z + step) - problem.loss_dual(z - step)) / (2.0 * step), 0.0)
        G = (X.T @ X.multiply(curvatures[:, None])).toarray() / problem.n
        sigma = RIDGES[min(outer, len(RIDGES) - 1)] * float(np.trace(G)) / G.shape[0]
        if not (np.isfinite(sigma) and sigma > 0.0):
            return
        left = int((passes - spent - _gram_passes(problem)) / _solve_passes(problem))
        w, steps = _minimized(problem, G, g, sigma, w, min(left, INNER))
        cost = _gram_passes(problem) + steps * _solve_passes(problem)
        spent, outer, z = spent + cost + 1.0, outer + 1, problem.X.forward(w)
        yield problem.loss_dual(z), cost


def _minimized(
    problem: Problem, G: np.ndarray, g: np.ndarray, sigma: float, w: np.ndarray, steps: int
) -> tuple[np.ndarray, int]:
    """(u, steps taken): u nearly minimizes q + Psi + (sigma/2) ||u - w||^2."""
    curvature, one = G + sigma * np.eye(w.size), np.eye(w.size)
    tau, u = 1.0 / float(np.linalg.norm(curvature)), w

    def ahead_of(u: np.ndarray) -> np.ndarray:
        return u - tau * (g + curvature @ (u - w))

    def residual(u: np.ndarray) -> np.ndarray:
        return u - problem.prox(ahead_of(u), tau)

    for taken in range(steps):
        F, ahead = residual(u), ahead_of(u)
        if np.linalg.norm(F) <= CLOSED * np.linalg.norm(u):
            return u, taken
        apart = APART * np.abs(ahead) + LEAST
        slopes = (problem.prox(ahead + apart, tau) - problem.prox(ahead - apart, tau)) / (2.0 * apart)
        way = np.linalg.solve(one - slopes[:, None] * (one - tau * curvature), F)
        lengths = LENGTHS if taken >= FULL else LENGTHS[:1]
        u = min((u - t * way for t in lengths), key=lambda u: float(np.linalg.norm(residual(u))))
    return u, steps
