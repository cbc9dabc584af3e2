"""The Euclidean distance to a vector of targets: multi-output regression and classification."""

import math
from typing import NamedTuple

from numba.extending import register_jitable

from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.registry import loss


@register_jitable
def squares(b):
    """||b||^2."""
    total = 0.0
    for c in range(b.shape[0]):
        total += b[c] * b[c]
    return total


class L2Multi(NamedTuple):
    """phi(z) = ||z - y||_2,  phi*(b) = y.b for ||b||_2 <= 1 (to rounding, 1e-12);  z, y and b are rows (k,).

    The step of SDCA, option I, is b = t / max(||t||_2, mu + q) with t = p - y + q b, p = x_i.w, q = ||x_i||^2/(s n).
    """

    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0
    outputs = "vector"

    def spread(self, k):
        return 1.0

    def value_row(self, z, y):
        total = 0.0
        for c in range(z.shape[0]):
            total += (z[c] - y[c]) * (z[c] - y[c])
        return math.sqrt(total)

    def conjugate_row(self, b, y):
        if not squares(b) <= 1.0 + DOMAIN_ROUNDING:
            return math.inf
        total = 0.0
        for c in range(b.shape[0]):
            total += y[c] * b[c]
        return total

    def penalty_row(self, b, y):
        return squares(b)

    def dual_point_row(self, z, y, mu, q, b):
        """The projection of (z - y)/(mu + q) on the unit ball; 0 at z = y."""
        for c in range(z.shape[0]):
            b[c] = z[c] - y[c]
        scale = max(math.sqrt(squares(b)), mu + q)
        if scale > 0.0:
            for c in range(z.shape[0]):
                b[c] /= scale


@loss(needs={"targets"})
def l2_multi():
    """||z - y||_2 for a vector y of targets"""
    return L2Multi()
