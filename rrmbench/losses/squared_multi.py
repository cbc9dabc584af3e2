"""The squared distance to a vector of targets: multi-task regression, whose sparse form is the multi-task lasso."""

from typing import NamedTuple

from rrmbench.numerics.output_rows import inner, squared_distance, squares
from rrmbench.registry import loss


class SquaredMulti(NamedTuple):
    """phi(z) = ||z - y||_2^2 / 2,  phi*(b) = ||b||_2^2 / 2 + y.b;  z, y and b are rows (k,).

    The step of SDCA, option I, is b = b + (p - y - (1 + mu) b)/(1 + mu + q) with p = x_i.w, q = ||x_i||^2/(s n).
    """

    conjugate_convexity: float = 1.0
    lipschitz: float = float("inf")
    outputs = "vector"

    def spread(self, k):
        return 1.0

    def value_row(self, z, y):
        return 0.5 * squared_distance(z, y)

    def conjugate_row(self, b, y):
        return 0.5 * squares(b) + inner(y, b)

    def penalty_row(self, b, y):
        return squares(b)

    def dual_point_row(self, z, y, mu, q, b):
        for c in range(z.shape[0]):
            b[c] = (z[c] - y[c]) / (1.0 + mu + q)


@loss(needs={"targets"})
def squared_multi():
    """||z - y||_2^2 / 2 for a vector y of targets"""
    return SquaredMulti()
