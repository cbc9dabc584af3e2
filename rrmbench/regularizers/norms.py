"""Norms over all entries of w as regularizers, and what all norms have in common."""

from dataclasses import dataclass
from math import prod

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.pieces import in_l1_balls
from rrmbench.numerics.thresholds import row_thresholds
from rrmbench.parameters import NonNegative
from rrmbench.registry import regularizer


def scale_into(dual_norm, strength):
    """min(1, strength / dual_norm), a little less where it is not 1, so that rounding does not matter."""
    if dual_norm <= strength:
        return 1.0
    return float(strength / dual_norm * (1.0 - 4.0 * np.finfo(float).eps))


def longest_within(value, strength, longest):
    """The greatest ||w||_2 where strength ||w|| <= value, `longest` being that where ||w|| <= 1."""
    return float(value / strength * longest) if strength > 0.0 else np.inf


class Norm:
    """psi(w) = strength ||w||,  psi*(v) = 0 for ||v||_* <= strength; `strength` is a field of the subclass.

    A subclass has, on arrays w of the model's shape,

        norm(w), dual_norm(v)   the norm, and its dual norm, never underestimated beyond rounding
        shrunk(w, tau)          argmin_u  tau ||u|| + ||u - w||^2 / 2, a new array
        longest(shape)          the greatest ||w||_2 where ||w|| <= 1
        reads(shape)            how many numbers the norm and `shrunk` read, where that is more than w has
    """

    coordinate_separable = False
    homogeneous = True
    isotropic = False

    def value(self, w):
        return self.strength * float(self.norm(w))

    def conjugate(self, v):
        return 0.0 if self.dual_norm(v) <= self.strength else float("inf")

    def prox(self, w, t):
        return self.shrunk(w, self.strength * t)

    def dual_scaling(self, v):
        return scale_into(self.dual_norm(v), self.strength)

    def radius(self, value, shape):
        return longest_within(value, self.strength, self.longest(shape))

    def reads(self, shape):
        return prod(shape)

    def check(self, shape):
        """Raise RrmbenchError if the norm is not one of arrays of this shape."""


def matrix_only(shape):
    """Raise RrmbenchError if `shape` is not that of a matrix."""
    if len(shape) != 2:
        raise RrmbenchError(
            "a regularizer on rows, columns or singular values: needed is a model that is a matrix, "
            f"found one of shape {tuple(shape)}"
        )


@dataclass(frozen=True)
class L2Norm(Norm):
    """psi(w) = strength ||w||_2 (of a matrix, the Frobenius norm)."""

    strength: float
    isotropic = True

    def norm(self, w):
        return np.linalg.norm(w)

    dual_norm = norm

    def shrunk(self, w, tau):
        return w * shrinkage(np.linalg.norm(w), tau)

    def longest(self, shape):
        return 1.0

    def dual_balls(self, shape):
        return np.zeros(prod(shape), dtype=np.int64), np.array([self.strength])


@dataclass(frozen=True)
class LInfNorm(Norm):
    """psi(w) = strength max_j |w_j|; its prox is what remains of w outside of the l1 ball [Duchi and Singer 2009]."""

    strength: float

    def norm(self, w):
        return np.max(np.abs(w), initial=0.0)

    def dual_norm(self, v):
        return np.sum(np.abs(v))

    def shrunk(self, w, tau):
        bound = row_thresholds(w.reshape(1, -1), tau, 0.0)[0]
        return np.clip(w, -bound, bound)

    def longest(self, shape):
        return np.sqrt(np.prod(shape))

    def conjugate_pieces(self, shape):
        return in_l1_balls(self.strength, int(np.prod(shape)))


@dataclass(frozen=True)
class L1Norm(Norm):
    """psi(w) = strength ||w||_1 on whole arrays, for functions of this norm."""

    strength: float

    def norm(self, w):
        return np.sum(np.abs(w))

    def dual_norm(self, v):
        return np.max(np.abs(v), initial=0.0)

    def dual_balls(self, shape):
        return np.arange(prod(shape)), np.full(prod(shape), self.strength)

    def shrunk(self, w, tau):
        return w - np.clip(w, -tau, tau)

    def longest(self, shape):
        return 1.0


def shrinkage(norms, tau):
    """max(0, 1 - tau / norms), 0 for 0: what the prox of tau ||.||_2 leaves of vectors with these norms."""
    return np.maximum(0.0, 1.0 - np.divide(tau, norms, out=np.ones_like(norms), where=norms > tau))


@regularizer
def l2_norm(strength: NonNegative):
    """strength ||w||_2, not squared"""
    return L2Norm(strength)


@regularizer
def linf_norm(strength: NonNegative):
    """strength max_j |w_j|"""
    return LInfNorm(strength)
