"""Better lower bounds of P for any loss and regularizer: the proximal point method on the dual.

With a centre (b0, v0), v0 = v(b0), and strengths q and sigma, a stage is

    max over b    -(1/n) sum (phi^mu)*(b_i) - (q/2n) ||b - b0||^2 - Psi*(v(b)) - (sigma/2) ||v(b) - v0||^2

The squares make its dual a smooth function of a model w without constraints, which L-BFGS minimizes:

    F(w) = (1/n) max_b  b.X w - sum (phi^mu)*(b_i) - (q/2) ||b - b0||^2
                + max_u  u.w - Psi*(u) - (sigma/2) ||u - v0||^2
    F'(w) = u(w) - v(b(w)),    b(w) and u(w) the maximizers

so b(w) is in the domain of the conjugates, u(w) in that of Psi*, and the gradient is what they differ by: near the
minimum b(w) needs little scaling to bound P. D(b0) <= min F <= P(w*), hence F(w) tells what the stage may still give.
The best b is the next centre once D has come half of the way from D(b0) to F(w). [Rockafellar 1976; Liu and Nocedal
1989]

Smooth losses have q = 0, and with a strongly convex Psi sigma is small. X w is known along a line, so an iteration is a
pass whatever its line search tries; a new centre takes another one.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rrmbench.numerics.lbfgs import Memory, searched
from rrmbench.problem.problem import Problem

STRENGTH = 3.0  # of q and sigma, over those whose squares are as large as the gap
HARDER = 4.0  # times as much where `PATIENCE` iterations of a stage were not enough
PATIENCE = 20  # iterations of a stage
CURVED = 1e-2  # the greatest sigma over 1/s: Psi* of a strongly convex Psi is 1/s-smooth, and needs no square


def ascend(
    problem: Problem, w: np.ndarray, b: np.ndarray, passes: float
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield (b, model, 0) with greater and greater D(b), for about `passes` passes, which are all products with X.

    w : a model, the nearer to the optimum the better; b : a dual variable. Neither is changed, nothing is random.

    Nothing is yielded where D is infinite at b and at the derivatives of the losses at X w, nor for losses that are not
    smooth and whose conjugate has no Euclidean proximal step.
    """
    if not {"smooth", "conjugate_prox"} & problem.traits:
        return
    problem = problem.counted()
    z = problem.outputs(w)
    best, b0 = problem.certificate(b)
    if not math.isfinite(best):
        best, b0 = problem.certificate(problem.loss_dual(z))
    primal, squares = problem.primal(w, z), _squares(problem, w, z)
    memory, harder = Memory(), 1.0
    while problem.X.passes < passes:
        stage = stage_around(problem, b0, best, harder * STRENGTH * (primal - best), squares)
        if stage is None:
            return
        at, base, raised = stage.gradient(stage.at(w, z)), best, False
        for _ in range(PATIENCE):
            at = stage.stepped(at, memory)
            if at is None:
                return
            value, scaled = stage.bound(at)
            if best < value < math.inf:
                best, b0 = value, scaled
                yield scaled, at.w, 0.0
            raised = best - base >= 0.5 * (at.F - base)
            if raised or problem.X.passes >= passes:
                break
        w, z = at.w, at.z
        here, squares = problem.primal(w, z), _squares(problem, w, z)
        primal = here if math.isfinite(here) else primal  # w need not be in the domain of Psi
        harder = max(1.0, harder / HARDER) if raised else harder * HARDER


class At(NamedTuple):
    """A point of a stage: the model w with z = X w, F, the maximizers b and u; v(b) and F' where they are known."""

    w: np.ndarray
    z: np.ndarray
    F: float
    b: np.ndarray
    u: np.ndarray
    v: np.ndarray | None = None
    slope: np.ndarray | None = None


class Stage(NamedTuple):
    """The problem above: a counted Problem, the centre, and the strengths of its squares."""

    problem: Problem
    b0: np.ndarray
    v0: np.ndarray
    q: float
    sigma: float
    least: float  # D(b0), so at most min F

    def at(self, w: np.ndarray, z: np.ndarray) -> At:
        """F and the maximizers at w, z = X w; takes no product."""
        problem, q, sigma = self.problem, self.q, self.sigma
        if q > 0.0:
            b = problem.losses.dual_point(problem.mu, z + q * self.b0, q)
            loss = (float(np.vdot(b, z)) - 0.5 * q * _square(b - self.b0)) / problem.n - problem.mean_conjugate(b)
        else:
            b, loss = problem.loss_dual(z), problem.mean_loss(z)
        # by Moreau's identity, sigma u + prox(w + sigma v0) = w + sigma v0
        x = w + sigma * self.v0
        prox = problem.prox(x, sigma)
        u = (x - prox) / sigma
        return At(w, z, loss + problem.Psi(prox) + 0.5 * sigma * (_square(u) - _square(self.v0)), b, u)

    def gradient(self, at: At) -> At:
        """The point with v and F', for a product with X^T."""
        v = self.problem.v(at.b)
        return at._replace(v=v, slope=at.u - v)

    def bound(self, at: At) -> tuple[float, np.ndarray]:
        """As `Problem.certificate` of b; another product where a free bias asks for another b."""
        if self.problem.free_bias:
            return self.problem.certificate(at.b)
        return self.problem.certificate_at(at.v, at.b)

    def stepped(self, at: At, memory: Memory) -> At | None:
        """An iteration of L-BFGS, for a pass; None where F does not fall any more."""
        while True:
            new = self._along(at, memory.direction(at.slope), 1.0 if memory else None)
            if new is not None:
                memory.take(new.w - at.w, new.slope - at.slope)
                return new
            if not memory:
                return None
            memory.forget()

    def _along(self, at: At, direction: np.ndarray, t: float | None) -> At | None:
        """The point at + t direction for a t that meets Wolfe's conditions; F may be flat to rounding.

        t : the first to be tried; None for the minimizer of the parabola from F down to D(b0)
        """
        down = float(np.vdot(at.slope, direction))
        if not down < 0.0:
            return None
        z = self.problem.X.forward(direction)

        def moved(t: float) -> tuple[float, float, At]:
            new = self.at(at.w + t * direction, at.z + t * z)
            return new.F, float(np.vdot(new.u, direction)) + float(np.vdot(new.b, z)) / self.problem.n, new

        new = searched(moved, at.F, down, 2.0 * (at.F - self.least) / -down if t is None else t)
        return None if new is None else self.gradient(new)


def stage_around(problem: Problem, b0: np.ndarray, least: float, wanted: float, squares: float) -> Stage | None:
    """The stage with the centre b0, D(b0) = least, whose squares lower the greatest D by about `wanted` each.

    squares : ||u||^2 near the optimum, where it is not less than ||v0||^2, which is taken then: a model near 0 says too
        little of u unless Psi is a norm. On the simplex v may have any constant added to it, and ||v0||^2 says nothing.
        ||b||^2 is at most `dual_squares`. sigma is at most `CURVED`/s

    None for what is not positive and finite.
    """
    bound = math.inf if "smooth" in problem.traits else problem.dual_squares
    v0 = problem.v(b0)
    if "entropy" not in problem.traits:
        squares = max(squares, _square(v0))
    if not (0.0 < wanted < math.inf and 0.0 < squares < math.inf and bound > 0.0):
        return None
    q, sigma = 2.0 * wanted * problem.n / bound, 2.0 * wanted / squares
    if problem.strong_convexity > 0.0:
        sigma = min(sigma, CURVED / problem.strong_convexity)
    return Stage(problem, b0, v0, q, sigma, least)


def _squares(problem: Problem, w: np.ndarray, z: np.ndarray) -> float:
    """The size of u: u.w = Psi(w) at the optimum where Psi is a norm; at w = 0, that of v(b) for b = phi'(X w)."""
    length, psi = float(np.linalg.norm(w)), problem.Psi(w)
    if length > 0.0 and 0.0 < psi < math.inf:
        return (psi / length) ** 2
    return _square(problem.v(problem.loss_dual(z)))


def _square(x: np.ndarray) -> float:
    return float(np.vdot(x, x))
