"""The epsilon-insensitive loss of support vector regression."""

import math
from typing import NamedTuple

import numpy as np

from rrmbench.numerics.clipping import clipped_ratio
from rrmbench.parameters import NonNegative
from rrmbench.registry import loss


class EpsilonInsensitive(NamedTuple):
    """phi(z) = max(|z - y| - epsilon, 0),  phi*(b) = y b + epsilon |b| for |b| <= 1 [Pdprox, section 4.1].

    The step of SDCA, option I, is b = sign(t) clip((|t| - epsilon)/(mu + q), 0, 1) with t = p - y + q b, p = x_i.w,
    q = ||x_i||^2/(s n).
    """

    epsilon: float
    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0

    def value(self, z, y):
        return max(abs(z - y) - self.epsilon, 0.0)

    def conjugate(self, b, y):
        return y * b + self.epsilon * abs(b) if -1.0 <= b <= 1.0 else float("inf")

    def dual_point(self, z, y, mu):
        return math.copysign(clipped_ratio(abs(z - y) - self.epsilon, mu, 0.0, 1.0), z - y)

    def kinks(self, y):
        return np.stack([y - self.epsilon, y + self.epsilon], axis=1)


@loss
def epsilon_insensitive(epsilon: NonNegative = 0.1):
    """max(|z - y| - epsilon, 0)"""
    return EpsilonInsensitive(epsilon)
