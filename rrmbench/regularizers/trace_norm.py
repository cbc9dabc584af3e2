"""The trace norm: the sum of the singular values."""

from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from rrmbench.numerics.singular_values import by_svd, greatest, leading, total
from rrmbench.parameters import NonNegative
from rrmbench.registry import regularizer
from rrmbench.regularizers.norms import Norm, matrix_only


@dataclass(frozen=True)
class TraceNorm(Norm):
    """psi(W) = strength sum_k s_k(W), the dual norm is the greatest singular value, the prox shrinks them all."""

    strength: float
    svd: str = "truncated"

    def norm(self, w):
        return total(_wide(w)) if np.isfinite(w).all() else np.inf

    def dual_norm(self, v):
        return greatest(_wide(v)) if np.isfinite(v).all() else np.inf

    def shrunk(self, w, tau):
        if tau == 0.0:
            return w.copy()
        if not np.isfinite(w).all():  # LAPACK may not come back from these
            return np.full_like(w, np.nan)
        a = _wide(w)
        U, s = leading(a, tau) if self.svd == "truncated" else by_svd(a, tau)
        shrunk = (U * (1.0 - tau / s)) @ (U.T @ a)
        return shrunk if a is w else np.ascontiguousarray(shrunk.T)

    def longest(self, shape):
        return 1.0

    def reads(self, shape):
        return min(shape) * prod(shape)

    def check(self, shape):
        matrix_only(shape)


def _wide(w):
    return w if w.shape[0] <= w.shape[1] else w.T


@regularizer(needs={"matrix"})
def trace_norm(strength: NonNegative, svd: Literal["truncated", "exact"] = "truncated"):
    """strength times the sum of the singular values of W

    `svd` is how the prox finds the singular values above its threshold: all by LAPACK ("exact"), or only those, in a
    tenth of the time where they are few, to about 1e-12 of the greatest one ("truncated").
    """
    return TraceNorm(strength, svd)
