"""Dual bounds for the squared loss by Newton steps, where the features are so few that d x d systems cost little.

With G = (1/n) X^T X and the gradient g of the losses at w, P(u) is g.(u - w) + (1/2) (u - w)^T G (u - w) + Psi(u) + a
constant. An outer step minimizes this plus (sigma/2) ||u - w||^2, by semismooth Newton steps on

    F(u) = u - p(u - tau (g + (G + sigma I) (u - w))),    p the proximal step of tau Psi,  tau = 1/||G + sigma I||

whose Jacobian is I - M (I - tau (G + sigma I)), M = diag(p'). So b = phi'(X u) needs hardly any scaling, however badly
X is conditioned, where steps on single samples would need thousands of passes. sigma makes up for a singular G.

Where the steps on F do not end at F = 0, as for a singular G and a weak Psi, D stops rising before its greatest value.
Then outer steps by `rrmbench.solvers.coordinate.quadratic` begin again with the model of the run, which takes longer.
Where rows are so many that G costs more than sweeps by it, but the passes are too few for steps on F, they come first.
"""

from collections.abc import Callable, Generator, Iterator
from itertools import count

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
CLOSED = 1e-13  # ||F|| over ||u||, from which on a step changes nothing, and the rise of D over |D|
APART = 1e-4  # half the way between the points of a difference quotient, relative: its rounding must be far below sigma
LEAST = 1e-300
BOUND = 1.5  # passes of an outer step beside its minimization
MANY = 20.0  # passes, with fewer the descent does not begin again
SWEEPS = 100  # by the matrix, which the first outer steps of the descent take, with conjugate gradients
POTENTIAL = 1e-26  # of a coordinate over P, at which it ends
NEEDS = frozenset({"rows", "coordinate", "separable", "Squared"})

# (the gradient g, w, the number of the outer step, passes) -> (u, whether it is the minimizer, passes it took)
Minimize = Callable[[np.ndarray, np.ndarray, int, float], tuple[np.ndarray, bool, float]]


def fits(problem: Problem, passes: float) -> bool:
    """Whether this method is for the problem, and so many passes are enough for its first bounds."""
    if not (NEEDS <= problem.traits and problem.shape[0] <= LARGEST):
        return False
    left = passes - _gram_passes(problem)
    return INNER * _solve_passes(problem) + BOUND <= left or _is_tall_enough(problem, left)


def _is_tall_enough(problem: Problem, passes: float) -> bool:
    """Whether sweeps by G cost less than G, and so many passes are enough for them."""
    sweeps = SWEEPS * problem.shape[0] ** 2 / (2.0 * max(problem.X.nnz, 1))
    return sweeps <= _gram_passes(problem) and sweeps + BOUND <= passes


def _gram_passes(problem: Problem) -> float:
    """The cost of G, as `rrmbench.solvers.second_order.gram` counts it."""
    lengths = np.diff(problem.X.rows.indptr).astype(np.float64)
    return float(np.sum(lengths * (lengths + 3.0))) / max(4.0 * lengths.sum(), 1.0)


def _solve_passes(problem: Problem) -> float:
    """The cost of a step on F, d^3/3 multiplications."""
    return problem.shape[0] ** 3 / (6.0 * max(problem.X.nnz, 1))


def ascend(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[tuple[np.ndarray, float]]:
    """Yield (phi'(X u) of an outer step, the passes that it took beside what X counts), until they are `passes`.

    It ends before where a step has not raised D, but for the steps on F, where F did not vanish.

    problem : one that counts (`Problem.counted`)
    """
    G, begun = np.zeros((w.size, w.size)), problem.X.passes
    for _ in add_gram(problem.X, True, G):
        pass
    G /= problem.n
    mean, step, left = float(np.trace(G)) / w.size, _solve_passes(problem), passes - problem.X.passes + begun
    if not mean > 0.0:
        return
    coarse, fine = (G + ridge * mean * np.eye(w.size) for ridge in RIDGES)
    s, a_pass = problem.l2 + problem.kappa, 2.0 * problem.X.nnz
    least, linear = POTENTIAL * abs(problem.primal(w, problem.X.forward(w))), s * problem.shift()

    def by_steps(g: np.ndarray, w: np.ndarray, outer: int, passes: float) -> tuple[np.ndarray, bool, float]:
        u, steps = _minimized(problem, fine if outer else coarse, g, w)
        return u, steps < INNER, steps * step

    def by_descent(g: np.ndarray, w: np.ndarray, outer: int, passes: float) -> tuple[np.ndarray, bool, float]:
        diagonal, zeros = fine.diagonal().copy(), np.zeros(w.size)
        model, cost = Quadratic(ByMatrix(fine), diagonal, zeros, problem.regularizer, s, linear, g, w), 0.0
        if by_both:
            model.w[:], _, cost = by_steps(g, w, 0, passes)
            model.state[:] = fine @ (model.w - w)
        for _ in model.descend(least):
            if cost + model.read / a_pass + BOUND > passes:
                break
        return model.w, True, cost + model.read / a_pass

    by_both = INNER * step + BOUND <= left
    if by_both:
        closed, spent = yield from _outer_steps(problem, w, left, by_steps, INNER * step)
        left -= spent
        if closed or left < MANY:
            return
    yield from _outer_steps(problem, w, left, by_descent, 0.0)


def _outer_steps(
    problem: Problem, w: np.ndarray, passes: float, minimize: Minimize, cost: float
) -> Generator[tuple[np.ndarray, float], None, tuple[bool, float]]:
    """As `ascend`, whose models `minimize` minimizes, for about `cost`; returns (whether it did, the passes in all)."""
    b, best, spent, closed = problem.loss_dual(problem.X.forward(w)), -np.inf, 0.0, True
    for outer in count():
        g = problem.X.adjoint(b) / problem.n
        dual, _ = problem.dual_at(-g, b)
        if (outer > 1 and not dual - best > CLOSED * abs(dual)) or spent + cost + BOUND > passes:
            break
        best = max(best, dual)
        u, closed, taken = minimize(g, w, outer, passes - spent)
        if np.array_equal(u, w):
            break
        w, b, spent = u, problem.loss_dual(problem.X.forward(u)), spent + taken + BOUND
        yield b, taken
    return closed, spent


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
