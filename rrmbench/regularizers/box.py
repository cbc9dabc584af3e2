"""Bounds on every coordinate."""

from typing import NamedTuple

from rrmbench.errors import RrmbenchError
from rrmbench.registry import regularizer


class Box(NamedTuple):
    """psi(w) = 0 for lower <= w_j <= upper and +inf elsewhere,  psi*(v) = max(lower v, upper v)."""

    lower: float
    upper: float
    strength: float = 0.0
    soft_threshold = True

    def value(self, w):
        return 0.0 if self.lower <= w <= self.upper else float("inf")

    def conjugate(self, v):
        if v == 0.0:
            return 0.0
        return v * (self.upper if v > 0.0 else self.lower)

    def prox(self, w, t):
        return min(max(w, self.lower), self.upper)

    def feasible(self, v):
        return 1.0


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
