"""No regularizer, and the squared Euclidean norm, which is a number on the problem."""

from typing import NamedTuple

from rrmbench.numerics.pieces import Pieces
from rrmbench.parameters import NonNegative
from rrmbench.registry import regularizer


class Zero(NamedTuple):
    """psi = 0,  psi*(v) = 0 at v = 0 and +inf elsewhere."""

    strength: float = 0.0
    is_zero = True
    soft_threshold = True
    homogeneous = True
    isotropic = True

    def value(self, w):
        return 0.0

    def conjugate(self, v):
        return 0.0 if v == 0.0 else float("inf")

    def prox(self, w, t):
        return w

    def dual_scaling(self, v):
        return 1.0

    def radius(self, value, shape):
        return float("inf")

    def conjugate_pieces(self, shape):
        return Pieces((0.0,), (0.0,), (0.0,))


@regularizer
def none():
    """no regularizer"""
    return Zero()


@regularizer
def l2(strength: NonNegative):
    """(strength/2) ||w||_2^2"""
    return Zero(), strength
