"""Dual bounds for the squared loss by systems of equations, where the features are so few that these cost little.

With G = (1/n) X^T X and the gradient g of the losses at w, P(u) is g.(u - w) + (1/2) (u - w)^T G (u - w) + Psi(u) + a
constant. An outer step minimizes this plus (sigma/2) ||u - w||^2, which makes up for a singular G. Sweeps over the
coordinates find out which of them move; on these it is then minimized as if Psi were affine, by Cholesky's
factorization, and the best point of the way there begins the next sweeps. Near the optimum the coordinates that move
are soon the right ones, and the minimizer is exact: b = phi'(X u) needs hardly any scaling, however badly X is
conditioned, where steps on single samples would need thousands of passes. It is the feature-sign search of
[Lee, Battle, Raina and Ng 2007], with sweeps that choose the features and their signs.
"""

from collections.abc import Iterator
from itertools import count

import numpy as np
from scipy.optimize import minimize_scalar

from rrmbench.numerics.quadratic_descent import ByMatrix
from rrmbench.problem.problem import Problem
from rrmbench.solvers.second_order.gram import add_gram, reads_of, solver_of
from rrmbench.subproblems.quadratic import ROUNDING, Quadratic

LARGEST = 1000  # features, whose G takes 8 MB
RIDGE = 1e-9  # sigma over the mean of the diagonal of G
SWEEPS = 3  # over all coordinates, before each system
SYSTEMS = 100  # in an outer step
FEW = 3  # systems of all features, for which there are to be passes
RISE = 1e-13  # of D over |D|, with a smaller one all ends
NEAR = 1e-10  # of the best point of a way, as a part of it
BOUND = 1.5  # passes of an outer step beside its minimization
NEEDS = frozenset({"rows", "coordinate", "separable", "Squared"})


def fits(problem: Problem, passes: float) -> bool:
    """Whether this method is for the problem, and so many passes are enough for its first bound.

    There are to be so many rows that G costs more than a few systems: else these take all passes, and there may not be
    enough of them.
    """
    if not (NEEDS <= problem.traits and problem.shape[0] <= LARGEST):
        return False
    d, gram = problem.shape[0], float(reads_of(np.diff(problem.X.rows.indptr)).sum())
    systems = FEW * (SWEEPS * d**2 + d**3 / 6.0)
    return systems <= gram and (gram + systems) / (2.0 * max(problem.X.nnz, 1)) + BOUND <= passes


def ascend(
    problem: Problem, w: np.ndarray, b: np.ndarray, passes: float
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield (phi'(X u), u, the passes beside what X counts) of each outer step, until they are `passes`.

    It ends before where a step has not raised D. A system of a equations counts a^3/6 multiplications.

    problem : one that counts (`Problem.counted`)
    """
    G, spent = np.zeros((w.size, w.size)), -problem.X.passes
    for _ in add_gram(problem.X, True, G):
        pass
    spent += problem.X.passes
    H = (G + RIDGE * np.trace(G) / w.size * np.eye(w.size)) / problem.n
    curvatures, s, a_pass = H.diagonal().copy(), problem.l2 + problem.kappa, 2.0 * max(problem.X.nnz, 1)
    if not curvatures.min() > 0.0:
        return
    z, best, linear = problem.X.forward(w), -np.inf, problem.center_term()
    b, least = problem.loss_dual(z), ROUNDING * abs(problem.primal(w, z))
    for outer in count():
        g = problem.X.adjoint(b) / problem.n
        dual, _ = problem.certificate_at(-g, b)
        if (outer > 1 and not dual - best > RISE * abs(dual)) or spent + BOUND > passes:
            return
        best = max(best, dual)
        model = Quadratic(ByMatrix(H), curvatures, np.zeros(w.size), problem.regularizer, s, linear, g, w)
        for _ in descend(model, least):
            if spent + model.read / a_pass + BOUND > passes:
                break
        w, taken = model.w, model.read / a_pass
        b, spent = problem.loss_dual(problem.X.forward(w)), spent + taken + BOUND
        yield b, w, taken


def descend(model: Quadratic, least: float) -> Iterator[None]:
    """Minimize a model by matrix until no coordinate has a greater potential than `least`; yields now and then."""
    every = np.arange(model.w.size)
    for _ in range(SYSTEMS):
        for _ in range(SWEEPS):
            potential = model.sweep(every)
            yield
        if potential <= least:
            return
        _go(model, np.flatnonzero(model.moved))
        yield


def _go(model: Quadratic, active: np.ndarray) -> None:
    """Go to the best point of the way to the minimizer over the coordinates `active` (a,), every psi_j affine."""
    H, step = model.H.matrix, np.zeros(model.w.size)
    model.read += active.size**3 // 6 + active.size * model.w.size
    step[active] = solver_of(H[np.ix_(active, active)] + model.s * np.eye(active.size))(model.residuals(active))
    change = H @ step

    def value(t: float) -> float:
        return float(model.value(model.w + t * step, model.state + t * change))

    found = minimize_scalar(value, bounds=(0.0, 1.0), method="bounded", options={"xatol": NEAR})
    t = min(1.0, float(found.x), key=value)
    if value(t) < value(0.0):
        model.w += t * step
        model.state += t * change
