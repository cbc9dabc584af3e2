"""NAME: say in one line what the regularizer is for."""

from math import inf
from typing import NamedTuple

import numpy as np

from rrmbench.toolbox import Positive, longest_within, regularizer, scale_into


class CLASS(NamedTuple):
    """psi(w) = strength sum_j |w_j| on w >= 0, +inf elsewhere;  psi*(v) = 0 where every v_j <= strength, else +inf.

    value, conjugate and prox are of one coordinate, and compiled by kernels; psi is their sum over coordinates.
    """

    strength: float
    homogeneous = True  # psi(c w) = c psi(w) for c >= 0
    soft_threshold = True  # strength |w| on an interval: coordinates may wait for a closed form

    def value(self, w):
        return self.strength * w if w >= 0.0 else inf

    def conjugate(self, v):
        return 0.0 if v <= self.strength else inf

    def prox(self, w, t):
        # argmin_u  t psi(u) + (u - w)^2 / 2; for t = 0 the projection on the domain
        return max(0.0, w - t * self.strength)

    def dual_scaling(self, v):
        # of all of v: the greatest t in [0, 1] with psi*(t v) finite
        return scale_into(np.max(v, initial=0.0), self.strength)

    def radius(self, value, shape):
        # the greatest ||w||_2 of a model with psi(w) <= value
        return longest_within(value, self.strength, 1.0)


@regularizer  # return (CLASS(strength), l2) for a square (l2/2) ||w||^2 beside it
def NAME(strength: Positive):
    """strength ||w||_1 on w >= 0"""
    return CLASS(strength)
