"""The absolute loss, and Huber's loss as its smoothing."""

from typing import NamedTuple

from rrmbench.numerics.clipping import clipped_ratio
from rrmbench.parameters import Positive
from rrmbench.registry import loss


class Absolute(NamedTuple):
    """phi(z) = |z - y|,  phi*(b) = y b for |b| <= 1.

    The step of SDCA, option I, is b = clip(b + (p - y - mu b)/(mu + q), -1, 1) with p = x_i.w, q = ||x_i||^2/(s n).
    """

    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0

    def value(self, z, y):
        return abs(z - y)

    def conjugate(self, b, y):
        return y * b if -1.0 <= b <= 1.0 else float("inf")

    def dual_point(self, z, y, mu):
        return clipped_ratio(z - y, mu, -1.0, 1.0)

    def kinks(self, y):
        return y.reshape(-1, 1)


@loss
def absolute():
    """|z - y|"""
    return Absolute()


@loss
def huber(mu: Positive = 1.0):
    """the absolute loss smoothed by mu

    phi(z) = (z - y)^2/(2 mu) for |z - y| <= mu, |z - y| - mu/2 beyond; the step of SDCA is that of `Absolute`.
    """
    return Absolute(), mu
