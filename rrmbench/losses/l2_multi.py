"""The Euclidean distance to a vector of targets: multi-output regression and classification."""

import math
from typing import NamedTuple

from rrmbench.numerics.output_rows import inner, squared_distance, squares
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.registry import loss


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
        return math.sqrt(squared_distance(z, y))

    def conjugate_row(self, b, y):
        if not squares(b) <= 1.0 + DOMAIN_ROUNDING:
            return math.inf
        return inner(y, b)

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
