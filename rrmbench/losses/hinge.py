"""The hinge loss of support vector machines, and its smoothing."""

from typing import NamedTuple

from rrmbench.kernels import clipped_ratio
from rrmbench.parameters import Positive
from rrmbench.registry import loss


class Hinge(NamedTuple):
    """phi(z) = max(0, 1 - y z),  phi*(b) = -s for s = -y b in [0, 1];  y = -1 or +1."""

    convexity: float = 0.0
    lipschitz: float = 1.0

    def value(self, z, y):
        return max(0.0, 1.0 - y * z)

    def conjugate(self, b, y):
        s = -y * b
        return -s if 0.0 <= s <= 1.0 else float("inf")

    def dual(self, z, y, mu):
        return -y * clipped_ratio(1.0 - y * z, mu, 0.0, 1.0)


@loss(needs={"binary"})
def hinge():
    """max(0, 1 - y z)"""
    return Hinge()


@loss(needs={"binary"})
def smoothed_hinge(gamma: Positive = 1.0):
    """the hinge smoothed by gamma (Accelerated Prox-SDCA, section 5.1)"""
    return Hinge(), gamma
