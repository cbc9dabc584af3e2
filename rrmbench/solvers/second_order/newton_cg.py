"""Newton's method with conjugate gradients, as in liblinear."""

from math import sqrt

import numpy as np

from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import Curvature, gradient_of, longest_step, squares_of

FORCING = 0.5  # the greatest residual of a step, relative to the gradient
DAMPING = 1e-3  # of L, at the first step


@solver(needs={"smooth", "scalar", "Zero"}, deterministic=True)
def newton_cg(problem, start, rng):
    """w+ = w + t p, where p solves H p = -grad P(w) so far that the residual is min(0.5, sqrt(|g|/|g_0|)) |g|.

    H is the second derivative of P, of losses with kinks in the derivative one of the generalized ones, and t is the
    first of 1, 1/2, 1/4 ... with P(w + t p) <= P(w) + 1e-4 t p.grad P(w). X p is known from the products with H, so
    that a trial of t touches no data. The preconditioner is the square root of the diagonal of H: the diagonal itself
    needs up to 3 times as many passes where features are many, none up to 5 times as many on tables. [Fan et al. 2008]
    Where no square bounds some entry of w, H may be singular, and 1e-3 L |g|/|g_0| is added to its diagonal.

    A step of conjugate gradients is a pass, or that part of it that samples with curvature hold: the rows of the others
    are not read, and cost half of theirs once per Newton step. The gradient and the diagonal are half a pass each.
    Yields after each of these, where w waits for p.
    """
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    z, squares = problem.outputs(w), squares_of(problem)
    P, b, first = problem.primal(w, z), problem.loss_dual(z), None
    while True:
        g = gradient_of(problem, problem.X.adjoint(b) / problem.n, w)
        norm = float(np.linalg.norm(g))
        first = first or norm
        goal = min(FORCING, sqrt(norm / first)) * norm if first else 0.0
        damping = DAMPING * problem.L * norm / first if first and not squares.all() else 0.0
        curvature, at = Curvature(problem, z, squares + damping), Iterate(w, b)
        yield at._replace(passes=problem.X.passes)
        p, outputs = yield from conjugate_gradients(curvature, g, goal, at)
        _, w, z, P = longest_step(problem.primal, w, z, p, outputs, P, float(np.vdot(g, p)))
        b = problem.loss_dual(z)
        yield Iterate(w, b, problem.X.passes)


def conjugate_gradients(curvature, g, goal, at):
    """Return (p, X p) with |H p + g| <= goal, or what is left of it where H has no more curvature.

    Yields the Iterate `at` after the diagonal and after each product.
    """
    p, outputs, r = np.zeros(g.shape), np.zeros(curvature.c.shape), -g
    X, diagonal = curvature.problem.X, curvature.diagonal()
    yield at._replace(passes=X.passes)
    weights = 1.0 if diagonal is None else 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    y = weights * r
    q, energy = y.copy(), float(np.vdot(r, y))
    for _ in range(2 * g.size + 1):
        if float(np.linalg.norm(r)) <= goal:
            break
        product, seen = curvature.product(q)
        yield at._replace(passes=X.passes)
        bend = float(np.vdot(q, product))
        if bend <= 0.0:
            break
        step = energy / bend
        p += step * q
        outputs += step * seen
        r -= step * product
        y = weights * r
        energy, before = float(np.vdot(r, y)), energy
        q *= energy / before
        q += y
    curvature.complete(p, outputs)
    return p, outputs
