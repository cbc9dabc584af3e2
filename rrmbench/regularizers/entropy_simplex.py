"""The relative entropy on the capped simplex [AGM, section 5, Example 5]."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.entropy import capped_log_softmax, capped_softmax, entropic_projection
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.parameters import Positive
from rrmbench.registry import regularizer


@dataclass(frozen=True)
class EntropySimplex:
    """psi(w) = strength d(w) for 0 <= w <= cap, sum w = 1, else +inf;  d(w) = sum w_i log(n w_i) over the n entries.

    psi*(v) = v.w - psi(w) at w = argmax v.w - psi(w), which is unique: psi is strongly convex with the constant
    strength in the norm ||.||_1 [AGM, section 5, after Example 6], so in ||.||_2 too. There, max(2, 1/cap) times that
    is true as well, as (sum |u_i|)^2 >= 2 ||u||^2 where sum u = 0: `convexity` is the one constant for both norms.
    """

    strength: float
    cap: float
    coordinate_separable = False

    @property
    def convexity(self):
        return self.strength

    def value(self, w):
        inside = np.min(w) >= -DOMAIN_ROUNDING * self.cap and np.max(w) <= self.cap * (1.0 + DOMAIN_ROUNDING)
        if not (inside and abs(np.sum(w) - 1.0) <= DOMAIN_ROUNDING):
            return math.inf
        t = w[w > 0.0] * w.size
        u = t - 1.0
        logs = np.log(t)
        logs[t > 0.5] = np.log1p(u[t > 0.5])
        # the mean of t log t - t + 1: near the uniform point terms w log(n w) cancel, and leave their rounding
        d = (float(np.sum(t * logs - u)) + (w.size - t.size)) / w.size
        return self.strength * max(d, 0.0)

    def conjugate(self, v):
        w = self.conjugate_point(v)
        return float(np.vdot(v, w)) - self.value(w)

    def conjugate_point(self, v):
        """grad psi*(v), which has v's shape."""
        return capped_softmax(v / self.strength, self.cap)

    def conjugate_curvature(self, w):
        """x of the second derivative diag(x) - x x^T / sum x of psi* where grad psi* is w: w/strength, 0 at the cap."""
        return np.where(w < self.cap * (1.0 - DOMAIN_ROUNDING), w, 0.0) / self.strength

    def entropy_step(self, g, A, c):
        """log x of x = argmin_x  A psi(x) + c d(x) - g.x,  A strength + c > 0; g and log x are of the model's shape."""
        return capped_log_softmax(g / (A * self.strength + c), self.cap)

    def prox(self, w, t):
        return entropic_projection(w, t * self.strength, self.cap)

    def dual_scaling(self, v):
        return 1.0

    def radius(self, value, shape):
        """The lesser of two bounds: the norm at a vertex, where as many entries as fit are at cap and one has the rest;
        and with the uniform point u, to which w - u is orthogonal, the root of 1/n + ||w - u||^2, where the strong
        convexity max(2, 1/cap) of d in ||.||_2 bounds ||w - u||^2 by 2 d(w) / max(2, 1/cap).
        """
        at_cap = math.floor(1.0 / self.cap)
        vertex = math.sqrt(at_cap * self.cap**2 + max(0.0, 1.0 - at_cap * self.cap) ** 2)
        away = min(1.0, 2.0 * self.cap) * max(0.0, value) / self.strength
        return min(vertex, math.sqrt(1.0 / math.prod(shape) + away))

    def check(self, shape):
        """Raise RrmbenchError if the capped simplex of models of this shape is empty."""
        n = math.prod(shape)
        if n == 0:
            raise RrmbenchError("regularizer entropy_simplex: found a model without weights, which have to sum to 1")
        if n * self.cap < 1.0 - DOMAIN_ROUNDING:
            raise RrmbenchError(
                f"regularizer entropy_simplex: found cap = {self.cap:g} for {n} weights, which cannot sum to 1, "
                f"allowed is a cap of at least 1/{n} = {1.0 / n:.17g}"
            )


@regularizer
def entropy_simplex(strength: Positive, cap: Annotated[float, Gt(0), Le(1)] = 1.0):
    """strength sum w_i log(n w_i) on the capped simplex 0 <= w <= cap, sum w = 1"""
    return EntropySimplex(strength, cap)
