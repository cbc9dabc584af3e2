"""A loss over all samples at once, as somebody may write one."""

from typing import NamedTuple

import numpy as np


class OfAll(NamedTuple):
    """(1/2n) ||z - y||^2 as one loss over all samples, which says of itself what it is told to."""

    conjugate_convexity: float = 1.0
    lipschitz: float = np.inf
    outputs = "whole"

    def shape(self, X, y):
        return y.shape

    def value(self, z, y):
        return float(0.5 * np.mean((z - y) ** 2))

    def conjugate(self, b, y):
        return float(np.mean(0.5 * b * b + y * b))

    def d2(self, b, y):
        return float(0.5 * np.mean(b * b))

    def dual_point(self, z, y, mu):
        return (z - y) / (1.0 + mu)
