"""The squared loss of ridge regression and the lasso."""

from typing import NamedTuple

from rrmbench.registry import loss


class Squared(NamedTuple):
    """phi(z) = (z - y)^2 / 2,  phi*(b) = b^2/2 + y b.

    The step of SDCA, option I, is b = b + (p - y - (1 + mu) b)/(1 + mu + q) with p = x_i.w, q = ||x_i||^2/(s n).
    """

    conjugate_convexity: float = 1.0
    lipschitz: float = float("inf")

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y)

    def conjugate(self, b, y):
        return 0.5 * b * b + y * b

    def dual_point(self, z, y, mu):
        return (z - y) / (1.0 + mu)


@loss
def squared():
    """(z - y)^2 / 2"""
    return Squared()
