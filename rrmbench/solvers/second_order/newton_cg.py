"""Newton's method with conjugate gradients, as in liblinear."""

from functools import partial
from math import sqrt

import numpy as np

from rrmbench.numerics.tolerances import SUM_ROUNDING
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import (
    Curvature,
    DirectionalCurvature,
    gradient_of,
    greatest_diagonal,
    longest_step,
    rehearse,
    squares_of,
)

FORCING = 0.5  # the greatest residual of a step, relative to the gradient
DAMPING = 1e-3  # of the greatest diagonal of H, at the first step
AGREES = 0.75  # of the fall of the quadratic model, from which on of P the part of the damping falls
RATIO, LEAST = 4.0, 2.0**-40  # of this part to the next one; the least
SAME = 1e-6  # of the gradient: where it is so close to the foreseen one, H has not changed


@solver(needs={"smooth", "Zero"}, deterministic=True)
def newton_cg(problem, start, rng):
    """w+ = w + t p, where p solves H p = -grad P(w) so far that the residual is min(0.5, sqrt(|g|/|g_0|)) |g|.

    H is the second derivative of P, of losses with kinks in the derivative one of the generalized ones, and t is the
    first of 1, 1/2, 1/4 ... with P(w + t p) <= P(w) + 1e-4 t p.grad P(w). X p is known from the products with H, so
    that a trial of t touches no data. The preconditioner is the square root of the diagonal of H: the diagonal itself
    needs up to 3 times as many passes where features are many, none up to 5 times as many on tables. [Fan et al. 2008]
    Where no square bounds some entry of w, H may be singular, and 1e-3 |g|/|g_0| times the diagonal that it would have
    with the greatest curvature everywhere is added to it, or a part of that: at first all, a fourth of the part before
    after a full step along which P fell as the quadratic model does, four times as much after a step with t < 1. Where
    all samples lie on flat parts of phi', all of it leaves steps that are short for ever.
    Where the gradient at w+ is what H foresaw, P is quadratic on the way, and the next steps are conjugate to all
    former ones: of the squared loss, all in one go. Then w moves with each of them while P falls: other samples may
    meet a kink of phi' ahead.

    A step of conjugate gradients is a pass, or that part of it that samples with curvature hold: the rows of the others
    are not read, and cost half of theirs once per Newton step. The gradient and the diagonal are half a pass each,
    so is the greatest one; the diagonal of a problem that minimizes a bias is a whole one.
    Yields after each of these; at other losses w waits for p.
    """
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    scalar = "scalar" in problem.traits
    if scalar and hasattr(problem.X, "rows"):
        rehearse(problem)
    z, squares = problem.outputs(w), squares_of(problem)
    P, b, first, system = problem.primal(w, z), problem.loss_dual(z), None, None
    may_be_singular, part = not squares.all(), 1.0
    preconditions = not scalar and hasattr(problem.X, "rows")
    greatest = greatest_diagonal(problem) if may_be_singular or preconditions else 0.0
    while True:
        g = gradient_of(problem, problem.X.adjoint(b) / problem.n, w)
        norm = float(np.linalg.norm(g))
        first = first or norm
        at = Iterate(w, b)
        yield at._replace(passes=problem.X.passes)
        going_on = system is not None and system.goes_on_at(g)
        if not going_on:
            damping = part * DAMPING * norm / first * greatest if first and may_be_singular else 0.0
            damped = squares + damping
            if scalar:
                curvature = Curvature(problem, z, damped)
            else:
                curvature = DirectionalCurvature(problem, z, b, damped, greatest)
            system = ConjugateGradients(curvature, g, by_diagonal(curvature))
            yield at._replace(passes=problem.X.passes)
        goal = min(FORCING, sqrt(norm / first)) * norm if first else 0.0
        objective = partial(_objective, problem, w, z) if going_on and system.curvature.knows_outputs else None
        p, outputs = yield from system.solve(goal, at, objective)
        slope, before = float(np.vdot(g, p)), P
        t, w, z, P = longest_step(problem.primal, w, z, p, outputs, P, slope)
        if t < 1.0:
            part = min(RATIO * part, 1.0)
        elif slope < 0.0 and before - P >= AGREES * -0.5 * slope:  # the fall of the model, as r is orthogonal to p
            part = max(part / RATIO, LEAST)
        b = problem.loss_dual(z)
        yield Iterate(w, b, problem.X.passes)


def _objective(problem, w, z, p, outputs):
    """P(w + p), where X w = z and X p = outputs are known."""
    return problem.primal(w + p, z + outputs)


def by_diagonal(curvature):
    """The preconditioner of the square root of the diagonal of H, none where the diagonal is not to be had."""
    diagonal = curvature.diagonal()
    weights = 1.0 if diagonal is None else 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    return lambda r: weights * r


class ConjugateGradients:
    """Conjugate gradients for H p = -g.

    curvature : H
    precondition : the function r -> M^-1 r, a new array, for an M that is like H
    """

    def __init__(self, curvature, g, precondition):
        self.curvature, self.X, self.precondition = curvature, curvature.problem.X, precondition
        self.r = -g
        y = precondition(self.r)
        self.q, self.energy, self.may_go_on = y.copy(), float(np.vdot(self.r, y)), True

    def goes_on_at(self, g):
        """Whether the next steps may be conjugate to the former ones, as these foresaw the gradient g of their end."""
        if not self.may_go_on or float(np.linalg.norm(g + self.r)) > SAME * float(np.linalg.norm(g)):
            return False
        self.r = -g  # without the rounding of its changes
        return True

    def solve(self, goal, at, objective=None):
        """Return (p, X p) with |H p - r| <= goal for the r of the beginning, or as far as H has curvature
        and squares of r do not underflow.

        Yields after each product: `at` or, where P is known as a function `objective` of p and X p, `at.w` + p; there
        all ends before P rises.
        """
        p, outputs, point = np.zeros(self.r.shape), np.zeros(self.curvature.z.shape), at
        least = None if objective is None else objective(p, outputs)
        for _ in range(2 * p.size + 1):
            if float(np.linalg.norm(self.r)) <= goal or self.energy == 0.0:
                break
            product, seen = self.curvature.product(self.q)
            bend = float(np.vdot(self.q, product))
            if bend <= 0.0:
                self.may_go_on = False
                break
            step = self.energy / bend
            longer, its_outputs = p + step * self.q, outputs + step * seen
            if objective is not None:
                P = objective(longer, its_outputs)
                if not P <= least + SUM_ROUNDING * abs(least):
                    self.may_go_on = False
                    yield point._replace(passes=self.X.passes)
                    break
                point, least = Iterate(at.w + longer), min(least, P)
            p, outputs = longer, its_outputs
            self.r -= step * product
            yield point._replace(passes=self.X.passes)
            y = self.precondition(self.r)
            self.energy, before = float(np.vdot(self.r, y)), self.energy
            self.q *= self.energy / before
            self.q += y
        self.curvature.complete(p, outputs)
        return p, outputs
