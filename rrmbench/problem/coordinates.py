"""A regularizer on whole models, whatever it is on: single coordinates, or arrays.

Both classes have the methods of `rrmbench.regularizers` on arrays w and v of the model's shape: `value`, `conjugate`,
`prox`, which returns a new array, `feasible`, `radius` and `check`. `psi` is the regularizer itself. They have all the
attributes that a regularizer may leave out:

    separable       a sum over coordinates
    soft_threshold  a multiple of |w|, on all numbers or on an interval
    homogeneous     psi(c w) = c psi(w) for all c >= 0
    isotropic       a function of ||w||_2
"""

from dataclasses import dataclass

import numpy as np

from rrmbench.numerics import jit


def over_coordinates(regularizer):
    """The regularizer on whole models; a regularizer is one of single coordinates unless it says otherwise."""
    return (OfCoordinates if getattr(regularizer, "separable", True) else OfArrays)(regularizer)


@dataclass(frozen=True)
class _Regularization:
    psi: object

    @property
    def soft_threshold(self):
        return getattr(self.psi, "soft_threshold", False)

    @property
    def homogeneous(self):
        return getattr(self.psi, "homogeneous", False)

    @property
    def isotropic(self):
        return getattr(self.psi, "isotropic", False)

    def feasible(self, v):
        return self.psi.feasible(v)

    def radius(self, value, shape):
        return self.psi.radius(value, shape)

    def check(self, shape):
        if hasattr(self.psi, "check"):
            self.psi.check(shape)


class OfCoordinates(_Regularization):
    """sum_j psi(w_j), psi with scalar methods."""

    separable = True

    def value(self, w):
        return jit.psi_value(self.psi, w.reshape(-1))

    def conjugate(self, v):
        return jit.psi_conjugate(self.psi, v.reshape(-1))

    def prox(self, w, t):
        u = np.empty(w.shape)
        jit.psi_prox(self.psi, w.reshape(-1), t, u.reshape(-1))
        return u


class OfArrays(_Regularization):
    """psi(w), psi with methods on arrays."""

    separable = False

    def value(self, w):
        return self.psi.value(w)

    def conjugate(self, v):
        return self.psi.conjugate(v)

    def prox(self, w, t):
        return np.array(self.psi.prox(w, t), dtype=np.float64, order="C")  # psi may return w itself
