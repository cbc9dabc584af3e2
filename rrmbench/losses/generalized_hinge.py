"""The generalized hinge loss of classification with a reject option."""

from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Gt

from rrmbench.numerics.clipping import clipped_ratio
from rrmbench.registry import loss


class GeneralizedHinge(NamedTuple):
    """With m = y z: phi = 1 - a m (m <= 0), 1 - m (0 < m < 1), 0 (m >= 1); phi*(b) = -min(s, 1), s = -y b in [0, a].

    The step of SDCA, option I, with p = x_i.w, q = ||x_i||^2/(s' n), s' the strong convexity of Psi and
    t = q s - y p, is s = clip((t + 1)/(mu + q), 0, 1) where this is below 1, else s = clip(t/(mu + q), 1, a).
    """

    a: float
    lipschitz: float
    conjugate_convexity: float = 0.0

    def value(self, z, y):
        m = y * z
        return max(0.0, 1.0 - m, 1.0 - self.a * m)

    def conjugate(self, b, y):
        s = -y * b
        return -min(s, 1.0) if 0.0 <= s <= self.a else float("inf")

    def dual_point(self, z, y, mu):
        s = clipped_ratio(1.0 - y * z, mu, 0.0, 1.0)
        return -y * (s if s < 1.0 else clipped_ratio(-y * z, mu, 1.0, self.a))

    def kinks(self, y):
        return np.sort(np.stack([np.zeros_like(y), y], axis=1))


@loss(needs={"binary"})
def generalized_hinge(a: Annotated[float, Gt(1)] = 2.0):
    """1 - a m (m <= 0), 1 - m (0 < m < 1), 0 beyond, m = y z"""
    return GeneralizedHinge(a, a)
