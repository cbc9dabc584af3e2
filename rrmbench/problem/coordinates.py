"""A regularizer on whole models, whatever it is on: single coordinates, or arrays.

Both classes have the methods of `rrmbench.regularizers` on arrays w and v of the model's shape: `value`, `conjugate`,
`prox`, which returns a new array, `dual_scaling`, `radius` and `check`. `psi` is the regularizer itself. Both have all
the attributes that a regularizer may leave out:

    coordinate_separable  a sum over coordinates
    soft_threshold        a multiple of |w|, on all numbers or on an interval
    homogeneous           psi(c w) = c psi(w) for all c >= 0
    isotropic             a function of ||w||_2
    entropic              psi has a step with an entropy for prox-function
    has_entropy_of_duals  and this is the entropy of the dual variable of losses, as in `problem.dual`
"""

import math
from dataclasses import dataclass

import numpy as np

from rrmbench.former_names import with_former_names
from rrmbench.numerics import whole_arrays

EDGE = 1e-12  # of v: what it is shortened by where rounding has it outside of the domain of psi*


def over_coordinates(regularizer):
    """The regularizer on whole models; a regularizer is one of single coordinates unless it says otherwise."""
    return (OfCoordinates if getattr(regularizer, "coordinate_separable", True) else OfArrays)(regularizer)


@with_former_names("regularization")
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

    def dual_scaling(self, v):
        return self.psi.dual_scaling(v)

    def scaled_conjugate(self, v):
        """(t, psi*(t v)) for the t of `dual_scaling`, or a t less by rounding, where that of t v spoils the test.

        Of a homogeneous psi the conjugate is 0 there, and is not asked for.
        """
        t = self.dual_scaling(v)
        if t < 1.0 and self.homogeneous:
            return t, 0.0
        conjugate = self.conjugate(t * v) if t < 1.0 else self.conjugate(v)
        if t < 1.0 and conjugate == math.inf:
            t *= 1.0 - EDGE
            conjugate = self.conjugate(t * v)
        return t, conjugate

    @property
    def convexity(self):
        return getattr(self.psi, "convexity", 0.0)

    @property
    def entropic(self):
        return hasattr(self.psi, "entropy_step")

    @property
    def has_entropy_of_duals(self):
        return hasattr(self.psi, "entropy_start")

    def conjugate_point(self, v):
        return np.array(self.psi.conjugate_point(v), dtype=np.float64)

    def radius(self, value, shape):
        return self.psi.radius(value, shape)

    def check(self, shape):
        if hasattr(self.psi, "check"):
            self.psi.check(shape)


class OfCoordinates(_Regularization):
    """sum_j psi(w_j), psi with scalar methods."""

    coordinate_separable = True

    def value(self, w):
        return whole_arrays.psi_value(self.psi, w.reshape(-1))

    def conjugate(self, v):
        return whole_arrays.psi_conjugate(self.psi, v.reshape(-1))

    def prox(self, w, t):
        u = np.empty(w.shape)
        whole_arrays.psi_prox(self.psi, w.reshape(-1), t, u.reshape(-1))
        return u


class OfArrays(_Regularization):
    """psi(w), psi with methods on arrays."""

    coordinate_separable = False

    def value(self, w):
        return self.psi.value(w)

    def conjugate(self, v):
        return self.psi.conjugate(v)

    def prox(self, w, t):
        return np.array(self.psi.prox(w, t), dtype=np.float64, order="C")  # psi may return w itself
