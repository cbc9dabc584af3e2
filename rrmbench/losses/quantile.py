"""The quantile (pinball) loss; "piecewise linear" in Pdprox."""

from typing import Annotated, NamedTuple

from annotated_types import Gt, Lt

from rrmbench.numerics.clipping import clipped_ratio
from rrmbench.registry import loss


class Quantile(NamedTuple):
    """phi(z) = a (y - z)+ + (1 - a) (z - y)+,  phi*(b) = y b for -a <= b <= 1 - a.

    The step of SDCA, option I, is b = clip(b + (p - y - mu b)/(mu + q), -a, 1 - a) with p = x_i.w,
    q = ||x_i||^2/(s n).
    """

    a: float
    lipschitz: float
    conjugate_convexity: float = 0.0

    def value(self, z, y):
        return self.a * (y - z) if z < y else (1.0 - self.a) * (z - y)

    def conjugate(self, b, y):
        return y * b if -self.a <= b <= 1.0 - self.a else float("inf")

    def dual_point(self, z, y, mu):
        return clipped_ratio(z - y, mu, -self.a, 1.0 - self.a)

    def kinks(self, y):
        return y.reshape(-1, 1)


@loss
def quantile(a: Annotated[float, Gt(0), Lt(1)] = 0.5):
    """a (y - z)+ + (1 - a) (z - y)+"""
    return Quantile(a, max(a, 1.0 - a))
