"""Bounds on every coordinate."""

import math
from typing import NamedTuple

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.pieces import Pieces
from rrmbench.registry import regularizer
from rrmbench.regularizers.norms import longest_within, scale_into


class Box(NamedTuple):
    """psi(w) = strength |w| for lower <= w <= upper and +inf elsewhere,  psi*(v) = max v w - strength |w| there.

    The prox is the soft-thresholded w, clipped. With strength > 0 it is the l1 norm on a box (`domain` of the YAML).
    """

    lower: float
    upper: float
    strength: float = 0.0
    soft_threshold = True

    @property
    def homogeneous(self):
        return self.lower in (0.0, -math.inf) and self.upper in (0.0, math.inf)

    def value(self, w):
        return self.strength * abs(w) if self.lower <= w <= self.upper else math.inf

    def conjugate(self, v):
        if v > self.strength:
            w = self.upper
        elif v < -self.strength:
            w = self.lower
        else:
            w = min(max(0.0, self.lower), self.upper)
        return (v - math.copysign(self.strength, w)) * w if w != 0.0 else 0.0

    def prox(self, w, t):
        tau = self.strength * t
        return min(max(w - min(max(w, -tau), tau), self.lower), self.upper)

    def dual_scaling(self, v):
        """As for the l1 norm, of the v_j on whose side w_j has no bound: psi* is finite for all others."""
        if self.strength == 0.0:
            return 1.0
        outside = np.clip(v, -np.inf if self.lower == -np.inf else 0.0, np.inf if self.upper == np.inf else 0.0)
        return scale_into(np.max(np.abs(outside), initial=0.0), self.strength)

    def radius(self, value, shape):
        """At most this: both bounds alone are the greatest ||w||_2 under them."""
        corner = math.sqrt(math.prod(shape)) * max(abs(self.lower), abs(self.upper))
        return min(corner, longest_within(value, self.strength, 1.0))

    def conjugate_pieces(self, shape):
        """Its slopes are the kinks of psi: a step within the strength around 0, then without end to a finite bound."""
        middle = min(max(0.0, self.lower), self.upper)
        pieces = [(middle, -self.strength, self.strength)]
        pieces += [(self.upper, 0.0, math.inf)] * (self.upper < math.inf)
        pieces += [(self.lower, -math.inf, 0.0)] * (self.lower > -math.inf)
        return Pieces(*zip(*pieces, strict=True))


@regularizer
def box(lower: float, upper: float):
    """lower <= w_j <= upper"""
    if not lower <= upper or lower == float("inf") or upper == -float("inf"):
        raise RrmbenchError(f"regularizer box: found lower = {lower}, upper = {upper}, allowed is lower <= upper")
    return Box(lower, upper)


@regularizer
def nonneg():
    """w_j >= 0"""
    return Box(0.0, float("inf"))
