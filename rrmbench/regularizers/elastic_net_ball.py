"""The elastic net as a constraint [AGM, section 5, Example 6]."""

import math
from dataclasses import dataclass

import numpy as np

from rrmbench.numerics.elastic_net_ball import ball_point
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.parameters import NonNegative, Positive
from rrmbench.registry import regularizer


@dataclass(frozen=True)
class ElasticNetBall:
    """psi(w) = 0 for gamma ||w||_1 + ||w||_2^2 / 2 <= r, else +inf; psi*(v) = max v.w over these w."""

    gamma: float
    r: float
    coordinate_separable = False

    def value(self, w):
        return 0.0 if self.penalty(w) <= self.r * (1.0 + DOMAIN_ROUNDING) else math.inf

    def penalty(self, w):
        """gamma ||w||_1 + ||w||_2^2 / 2, which must be at most r."""
        return self.gamma * float(np.sum(np.abs(w))) + 0.5 * float(np.vdot(w, w))

    def conjugate(self, v):
        size = np.abs(v)
        return float(np.vdot(size, ball_point(size, self.gamma, self.r)[1]))

    def prox(self, w, t):
        """The projection on the ball, for every t."""
        if self.penalty(w) <= self.r:
            return w.copy()
        _, u = ball_point(np.abs(w), self.gamma, self.r, shift=self.gamma)
        # rounding must not leave the ball
        return np.copysign(u, w) * min(1.0, self.r / max(self.penalty(u), np.finfo(float).tiny))

    def dual_scaling(self, v):
        return 1.0

    def radius(self, value, shape):
        return math.sqrt(self.gamma**2 + 2.0 * self.r) - self.gamma


@regularizer
def elastic_net_ball(gamma: NonNegative, radius: Positive):
    """the constraint gamma ||w||_1 + ||w||_2^2 / 2 <= radius"""
    return ElasticNetBall(gamma, radius)
