"""NAME: say in one line what the loss is for."""

from math import inf
from typing import NamedTuple

from rrmbench.toolbox import Fraction, loss


class CLASS(NamedTuple):
    """phi(z) = (c/2) (z - y)^2,  phi*(b) = y b + b^2/(2 c);  c = level + 0.1 for z > y and b > 0, else 1.1 - level.

    Kernels compile the three methods: numbers, math and numpy functions, every branch a float.
    """

    level: float
    conjugate_convexity: float  # gamma: phi* is gamma-strongly convex, phi is 1/gamma-smooth; 0 if phi is not smooth
    lipschitz: float = inf  # the greatest slope of phi

    def value(self, z, y):
        c = self.level + 0.1 if z > y else 1.1 - self.level
        return 0.5 * c * (z - y) * (z - y)

    def conjugate(self, b, y):
        # max_z b z - phi(z), float("inf") where this has no bound
        c = self.level + 0.1 if b > 0.0 else 1.1 - self.level
        return y * b + 0.5 * b * b / c

    def dual_point(self, z, y, mu):
        # argmax_b  b z - phi*(b) - (mu/2) b^2 for every mu > -gamma: solve z = phi*'(b) + mu b for b
        c = self.level + 0.1 if z > y else 1.1 - self.level
        return (z - y) / (1.0 / c + mu)


@loss  # @loss(needs={"binary"}) for labels -1 and 1, {"positive"} or {"nonnegative"} for others
def NAME(level: Fraction = 0.7):
    """(c/2) (z - y)^2, c = level + 0.1 above y and 1.1 - level below"""
    return CLASS(level, 1.0 / max(level + 0.1, 1.1 - level))
