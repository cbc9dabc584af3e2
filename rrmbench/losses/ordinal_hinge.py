"""The hinge loss with four thresholds, for ratings from 1 to 5 (max-margin matrix factorization)."""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.clipping import clipped_ratio
from rrmbench.registry import loss


@register_jitable
def side(y, r):
    """T_r."""
    return 1.0 if y > r else -1.0


@register_jitable
def kinks(loss, y):
    """The four z where the slope of phi rises by 1, in increasing order, and its slope on their left."""
    a, b = loss.theta_1 + side(y, 1), loss.theta_2 + side(y, 2)
    c, d = loss.theta_3 + side(y, 3), loss.theta_4 + side(y, 4)
    slope = -0.5 * (4.0 + side(y, 1) + side(y, 2) + side(y, 3) + side(y, 4))
    a, b, c, d = min(a, b), max(a, b), min(c, d), max(c, d)
    a, b, c, d = min(a, c), min(b, d), max(a, c), max(b, d)
    return (a, min(b, c), max(b, c), d), slope


class OrdinalHinge(NamedTuple):
    """phi(z) = sum_{r=1..4} max(0, 1 - T_r (z - theta_r)), T_r = 1 if y > r else -1;  y = 1, ..., 5.

    With g the number of r < y, phi has the slopes -g, ..., 4 - g, and phi* is finite between them: its own slopes are
    the kinks theta_r + T_r of phi in increasing order, and phi*(-g) = -sum_{r < y} (theta_r + 1). [Pdprox, section 5.3]

    The step of SDCA, option I, with k_1 <= ... <= k_4 the kinks, t = p + q b, p = x_i.w and q = ||x_i||^2/(s n), is
    b = -g + sum_r clip((t - k_r)/(mu + q) + g + 1 - r, 0, 1).

    `lipschitz` is that of the ratings 1 and 5; that of 2 and 4 is 3, and that of 3 is 2. The theorems of [Reductions]
    are in the one constant that all samples have.
    """

    theta_1: float
    theta_2: float
    theta_3: float
    theta_4: float
    conjugate_convexity: float = 0.0
    lipschitz: float = 4.0

    def value(self, z, y):
        return (
            max(0.0, 1.0 - side(y, 1) * (z - self.theta_1))
            + max(0.0, 1.0 - side(y, 2) * (z - self.theta_2))
            + max(0.0, 1.0 - side(y, 3) * (z - self.theta_3))
            + max(0.0, 1.0 - side(y, 4) * (z - self.theta_4))
        )

    def conjugate(self, b, y):
        total = 0.0
        for r, theta in enumerate((self.theta_1, self.theta_2, self.theta_3, self.theta_4)):
            if y > r + 1:
                total -= theta + 1.0
        points, slope = kinks(self, y)
        if not slope <= b <= slope + 4.0:
            return math.inf
        for kink in points:
            total += kink * min(max(b - slope, 0.0), 1.0)
            slope += 1.0
        return total

    def dual_point(self, z, y, mu):
        points, slope = kinks(self, y)
        b = slope
        for kink in points:
            b = clipped_ratio(z - kink, mu, slope, slope + 1.0)
            slope += 1.0
            if b < slope:
                break
        return b

    def kinks(self, y):
        return np.array([kinks(self, rating)[0] for rating in y])

    def predict(self, z):
        """The ratings of an array of outputs: 1 + the number of thresholds below."""
        return 1.0 + np.searchsorted(self[:4], z)


@loss
def ordinal_hinge(theta_1: float = 0.0, theta_2: float = 3.0, theta_3: float = 6.0, theta_4: float = 9.0):
    """sum_r max(0, 1 - T_r (z - theta_r)), T_r = 1 if y > r else -1, for ratings y = 1, ..., 5"""
    if not -math.inf < theta_1 < theta_2 < theta_3 < theta_4 < math.inf:
        found = ", ".join(map(str, (theta_1, theta_2, theta_3, theta_4)))
        raise RrmbenchError(
            f"loss ordinal_hinge: found theta_1, ..., theta_4 = {found}, allowed are increasing numbers"
        )
    return OrdinalHinge(theta_1, theta_2, theta_3, theta_4)
