"""Dual bounds for the squared loss by Newton steps, where the features are so few that d x d systems cost little.

With G = (1/n) X^T X and the gradient g of the losses at w, P(u) is g.(u - w) + (1/2) (u - w)^T G (u - w) + Psi(u) + a
constant. An outer step minimizes this plus (sigma/2) ||u - w||^2 by semismooth Newton steps on

    F(u) = u - p(u - tau (g + (G + sigma I) (u - w))),    p the proximal step of tau Psi,  tau = 1/||G + sigma I||

whose Jacobian is I - M (I - tau (G + sigma I)), M = diag(p'). So b = phi'(X u) needs hardly any scaling, however badly
X is conditioned, where steps on single samples would need thousands of passes. sigma makes up for a singular G.

Where the steps on F do not end at F = 0, as for a singular G and a weak Psi, D stops rising before its greatest value.
Then `rrmbench.solvers.coordinate.quadratic` begins again with the model of the run, which takes longer.
"""

from collections.abc import Iterator

import numpy as np

from rrmbench.numerics.quadratic_descent import ByMatrix
from rrmbench.problem.problem import Problem
from rrmbench.solvers.coordinate.quadratic import Quadratic
from rrmbench.solvers.second_order.gram import add_gram

LARGEST = 1000  # features, whose G takes 8 MB
RIDGES = (1e-7, 1e-9)  # sigma of one outer step after the other, over the mean of the diagonal of G; the last stays
INNER = 12  # steps on F in an outer step
FULL = 5  # of them, which are taken at full length: a shorter one is surer, but later
LENGTHS = (1.0, 0.5, 0.25, 0.125, 0.03125)  # of the others, of which the one with the least ||F|| is taken
CLOSED = 1e-13  # ||F|| over ||u||, from which on a step changes nothing
APART = 1e-4  # half the way between the points of a difference quotient, relative: its rounding must be far below sigma
LEAST = 1e-300
MANY = 20.0  # passes, with fewer the descent is not begun
POTENTIAL = 1e-26  # of a coordinate over P, at which it ends
NEEDS = frozenset({"rows", "coordinate", "separable", "Squared"})


def fits(problem: Problem, passes: float) -> bool:
    """Whether this method is for the problem, and so many passes are enough for an outer step."""
    small = NEEDS <= problem.traits and problem.shape[0] <= LARGEST
    return small and _gram_passes(problem) + INNER * _solve_passes(problem) + 1.5 <= passes


def _gram_passes(problem: Problem) -> float:
    """The cost of G, as `rrmbench.solvers.second_order.gram` counts it."""
    lengths = np.diff(problem.X.rows.indptr).astype(np.float64)
    return float(np.sum(lengths * (lengths + 3.0))) / max(4.0 * lengths.sum(), 1.0)


def _solve_passes(problem: Problem) -> float:
    """The cost of a step on F, d^3/3 multiplications."""
    return problem.shape[0] ** 3 / (6.0 * max(problem.X.nnz, 1))


def ascend(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[tuple[np.ndarray, float]]:
    """Yield (phi'(X u) of an outer step, the passes that it took beside what X counts), until they are `passes`.

    It ends before where a step has not raised D, or goes on by descent where its F did not vanish.

    problem : one that counts (`Problem.counted`)
    """
    G = np.zeros((w.size, w.size))
    for _ in add_gram(problem.X, True, G):
        pass
    G /= problem.n
    first, steps = w, 0
    mean, step, cost = float(np.trace(G)) / w.size, _solve_passes(problem), 0.0
    b, spent, outer, best = problem.loss_dual(problem.X.forward(w)), _gram_passes(problem), 0, -np.inf
    while mean > 0.0 and spent + INNER * step + 1.5 <= passes:
        sigma = RIDGES[min(outer, len(RIDGES) - 1)] * mean
        g = problem.X.adjoint(b) / problem.n
        dual, _ = problem.dual_at(-g, b)
        if outer > 1 and not dual > best:
            break
        best = max(best, dual)
        u, steps = _minimized(problem, G + sigma * np.eye(w.size), g, w)
        if np.array_equal(u, w):
            break
        w, b, cost = u, problem.loss_dual(problem.X.forward(u)), cost + steps * step
        yield b, cost
        spent, cost, outer = spent + steps * step + 1.5, 0.0, outer + 1
    if steps == INNER and passes - spent >= MANY:
        yield from _by_descent(problem, G, mean, first, passes - spent)


def _by_descent(
    problem: Problem, G: np.ndarray, mean: float, w: np.ndarray, passes: float
) -> Iterator[tuple[np.ndarray, float]]:
    """As `ascend`, by coordinate descent and conjugate gradients on the model, from where the steps on F ended."""
    coarse, curvature = (G + ridge * mean * np.eye(w.size) for ridge in RIDGES)
    s, a_pass, best, spent = problem.l2 + problem.kappa, 2.0 * problem.X.nnz, -np.inf, 1.0
    z = problem.X.forward(w)
    b, linear, least = problem.loss_dual(z), s * problem.shift(), POTENTIAL * abs(problem.primal(w, z))
    while spent + 1.5 <= passes:
        g = problem.X.adjoint(b) / problem.n
        model = Quadratic(
            ByMatrix(curvature), curvature.diagonal().copy(), np.zeros(w.size), problem.regularizer, s, linear, g, w
        )
        u, steps = _minimized(problem, coarse, g, w)
        model.w[:], model.state[:], cost = u, curvature @ (u - w), steps * _solve_passes(problem)
        for _ in model.descend(least):
            if spent + cost + model.read / a_pass + 1.5 > passes:
                break
        w, b, cost = model.w, problem.loss_dual(problem.X.forward(model.w)), cost + model.read / a_pass
        yield b, cost
        dual = problem.dual_value(b)
        if not dual - best > CLOSED * abs(dual):
            return
        best, spent = dual, spent + cost + 2.0


def _minimized(problem: Problem, curvature: np.ndarray, g: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, int]:
    """(u, steps taken): u nearly minimizes g.(u - w) + (1/2) (u - w)^T curvature (u - w) + Psi(u)."""
    tau, one, u = 1.0 / float(np.linalg.norm(curvature)), np.eye(w.size), w

    def ahead_of(u: np.ndarray) -> np.ndarray:
        return u - tau * (g + curvature @ (u - w))

    def residual(u: np.ndarray) -> np.ndarray:
        return u - problem.prox(ahead_of(u), tau)

    for taken in range(INNER):
        F, ahead = residual(u), ahead_of(u)
        if np.linalg.norm(F) <= CLOSED * np.linalg.norm(u):
            return u, taken
        apart = APART * np.abs(ahead) + LEAST
        slopes = (problem.prox(ahead + apart, tau) - problem.prox(ahead - apart, tau)) / (2.0 * apart)
        way = np.linalg.solve(one - slopes[:, None] * (one - tau * curvature), F)
        lengths = LENGTHS if taken >= FULL else LENGTHS[:1]
        u = min((u - t * way for t in lengths), key=lambda u: float(np.linalg.norm(residual(u))))
    return u, INNER
