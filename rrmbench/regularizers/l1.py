"""The l1 norm, alone and with the squared Euclidean norm (elastic net)."""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.pieces import Pieces
from rrmbench.parameters import NonNegative
from rrmbench.registry import regularizer
from rrmbench.regularizers.norms import longest_within, scale_into


class L1(NamedTuple):
    """psi(w) = strength ||w||_1,  psi*(v) = 0 for ||v||_inf <= strength."""

    strength: float
    is_l1 = True
    soft_threshold = True
    homogeneous = True

    def value(self, w):
        return self.strength * abs(w)

    def conjugate(self, v):
        return 0.0 if abs(v) <= self.strength else float("inf")

    def prox(self, w, t):
        tau = self.strength * t
        return w - min(max(w, -tau), tau)

    def dual_scaling(self, v):
        return scale_into(np.max(np.abs(v), initial=0.0), self.strength)

    def radius(self, value, shape):
        return longest_within(value, self.strength, 1.0)

    def conjugate_pieces(self, shape):
        return Pieces((0.0,), (-self.strength,), (self.strength,))


@regularizer
def l1(strength: NonNegative):
    """strength ||w||_1"""
    return L1(strength)


@regularizer
def elastic_net(l1: NonNegative, l2: NonNegative):
    """l1 ||w||_1 + (l2/2) ||w||_2^2"""
    return L1(l1), l2
