"""The squared hinge loss of L2-loss support vector machines."""

from typing import NamedTuple

from rrmbench.registry import loss


class SquaredHinge(NamedTuple):
    """phi(z) = max(0, 1 - y z)^2 / 2,  phi*(b) = -s + s^2/2 for s = -y b >= 0;  y = -1 or +1.

    The step of SDCA, option I, is s = max(0, s + (1 - y p - (1 + mu) s)/(1 + mu + q)) with p = x_i.w,
    q = ||x_i||^2/(s' n), s' the strong convexity of Psi.
    """

    conjugate_convexity: float = 1.0
    lipschitz: float = float("inf")

    def value(self, z, y):
        m = max(0.0, 1.0 - y * z)
        return 0.5 * m * m

    def conjugate(self, b, y):
        s = -y * b
        return 0.5 * s * s - s if s >= 0.0 else float("inf")

    def dual_point(self, z, y, mu):
        return -y * max(0.0, (1.0 - y * z) / (1.0 + mu))


@loss(needs={"binary"})
def squared_hinge():
    """max(0, 1 - y z)^2 / 2"""
    return SquaredHinge()
