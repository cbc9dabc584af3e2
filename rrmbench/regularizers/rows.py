"""Regularizers that treat the rows of a matrix one by one, each with a threshold."""

from dataclasses import dataclass

import numpy as np

from rrmbench.numerics.pieces import in_l1_balls
from rrmbench.numerics.thresholds import row_thresholds
from rrmbench.parameters import NonNegative, Positive
from rrmbench.registry import regularizer
from rrmbench.regularizers.norms import Norm, matrix_only


@dataclass(frozen=True)
class L1Inf(Norm):
    """psi(W) = strength sum_j max_k |W_jk|; the dual norm is the greatest l1 norm of a row [Pdprox, section 5.2]."""

    strength: float

    def norm(self, w):
        return np.sum(np.max(np.abs(w), axis=1, initial=0.0))

    def dual_norm(self, v):
        return np.max(np.sum(np.abs(v), axis=1), initial=0.0)

    def shrunk(self, w, tau):
        bounds = row_thresholds(w, tau, 0.0)[:, None]
        return np.clip(w, -bounds, bounds)

    def longest(self, shape):
        return np.sqrt(shape[1])

    def conjugate_pieces(self, shape):
        return in_l1_balls(self.strength, shape[1])

    def check(self, shape):
        matrix_only(shape)


@dataclass(frozen=True)
class ExclusiveLasso:
    """psi(W) = strength sum_j ||row j||_1^2,  psi*(V) = sum_j ||row j||_inf^2 / (4 strength).

    The prox soft-thresholds row j by theta_j = 2 t strength ||row j of the result||_1 [Kowalski 2009].
    """

    strength: float
    coordinate_separable = False

    def value(self, w):
        return self.strength * float(np.sum(np.square(np.sum(np.abs(w), axis=1))))

    def conjugate(self, v):
        return float(np.sum(np.square(np.max(np.abs(v), axis=1, initial=0.0)))) / (4.0 * self.strength)

    def prox(self, w, t):
        if t * self.strength == 0.0:
            return w.copy()
        thetas = row_thresholds(w, 0.0, 0.5 / (t * self.strength))[:, None]
        return w - np.clip(w, -thetas, thetas)

    def dual_scaling(self, v):
        return 1.0

    def radius(self, value, shape):
        return float(np.sqrt(value / self.strength))

    def check(self, shape):
        matrix_only(shape)


@regularizer(needs={"matrix"})
def l1inf(strength: NonNegative):
    """strength sum_j max_k |W_jk|, over the rows j of W"""
    return L1Inf(strength)


@regularizer(needs={"matrix"})
def exclusive_lasso(strength: Positive):
    """strength sum_j (sum_k |W_jk|)^2, over the rows j of W"""
    return ExclusiveLasso(strength)
