"""Convex functions V of a norm [Pdprox, Lemma 16], and the closed form for squared sums of norms."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Gt, Lt

from rrmbench.numerics.thresholds import row_thresholds
from rrmbench.parameters import Positive, PositiveInt, SizesFile
from rrmbench.registry import regularizer
from rrmbench.regularizers.blocks import BlockNorm, ColumnBlocks, Groups, RowBlocks
from rrmbench.regularizers.norms import L1Norm, L2Norm, LInfNorm
from rrmbench.regularizers.rows import L1Inf

NORMS = {"l1": L1Norm, "l2": L2Norm, "linf": LInfNorm, "l1inf": L1Inf, "l21": lambda s: BlockNorm(s, RowBlocks())}


class Power(NamedTuple):
    """V(z) = z^p for z >= 0 and p > 1, with its derivative, its convex conjugate V_* and its inverse."""

    p: float

    def value(self, z):
        return z**self.p

    def slope(self, z):
        return self.p * z ** (self.p - 1.0)

    def conjugate(self, eta):
        return (self.p - 1.0) * (eta / self.p) ** (self.p / (self.p - 1.0))

    def inverse(self, value):
        return value ** (1.0 / self.p)


@dataclass(frozen=True)
class OfNorm:
    """psi(w) = strength V(||w||),  psi*(v) = strength V_*(||v||_* / strength), V convex and increasing on z >= 0.

    The prox of t psi is that of t strength eta ||.|| with eta = V'(z), where z is the norm of the result
    [Pdprox, Lemma 16]: z - ||w(V'(z))|| rises in z from at most 0 at z = 0 to at least 0 at z = ||w||. (The paper seeks
    the same eta as the root of ||w(eta)|| - V_*'(eta); V' and V_*' are inverse to each other.)
    """

    strength: float
    inner: object  # the norm itself, a Norm of strength 1
    V: object
    coordinate_separable = False

    @property
    def isotropic(self):
        return self.inner.isotropic

    def value(self, w):
        with np.errstate(over="ignore"):  # at the last iterates of a solver that diverges
            return self.strength * float(self.V.value(self.inner.norm(w)))

    def conjugate(self, v):
        return self.strength * float(self.V.conjugate(self.inner.dual_norm(v) / self.strength))

    def prox(self, w, t):
        from scipy.optimize import brentq

        def shrunk(z):
            return self.inner.shrunk(w, t * self.strength * self.V.slope(z))

        def excess(z):
            return float(z - self.inner.norm(shrunk(z)))

        if not np.isfinite(self.value(w)):
            return np.full_like(w, np.nan)
        greatest = float(self.inner.norm(w))
        if excess(0.0) >= 0.0:
            return shrunk(0.0)
        if excess(greatest) <= 0.0:  # t = 0, or so small that the norm stays the same
            return shrunk(greatest)
        floats = np.finfo(float)
        if greatest <= floats.tiny or excess(floats.tiny) >= 0.0:  # the norm of the result is below all normal floats
            return shrunk(floats.tiny)
        low, high = _decade(excess, floats.tiny, greatest)
        return shrunk(brentq(excess, low, high, xtol=floats.tiny, rtol=4.0 * floats.eps, maxiter=10_000))

    def dual_scaling(self, v):
        return 1.0

    def radius(self, value, shape):
        return float(self.V.inverse(value / self.strength) * self.inner.longest(shape))

    def reads(self, shape):
        return self.inner.reads(shape)

    def check(self, shape):
        self.inner.check(shape)


def _decade(excess, low, high):
    """The two, at most a factor of 10 apart, around the root of `excess`, which rises.

    By bisection of log z: where V is nearly linear the root lies at 1e-300 as easily as at 1.
    """
    while high > 10.0 * low:
        middle = np.sqrt(low) * np.sqrt(high)
        low, high = (low, middle) if excess(middle) >= 0.0 else (middle, high)
    return low, high


class SquaredNorm(OfNorm):
    """psi(w) = strength ||w||^2 for a sum of Euclidean norms, psi*(v) = ||v||_*^2 / (4 strength)."""

    def growing_balls(self, shape):
        return *self.inner.dual_balls(shape), 0.5 / self.strength


class SquaredSum(SquaredNorm):
    """psi(w) = strength (sum_g ||w_g||_2)^2, psi*(v) = max_g ||v_g||_2^2 / (4 strength).

    The root of Lemma 16 in closed form: with theta = 2 t strength sum_g (||w_g|| - theta)+, block g keeps
    (1 - theta / ||w_g||)+ of itself.
    """

    def prox(self, w, t):
        if t * self.strength == 0.0:
            return w.copy()
        norms = self.inner.blocks.norms(w)
        return self.inner.shrunk(w, row_thresholds(norms[None, :], 0.0, 0.5 / (t * self.strength))[0])


@regularizer
def squared_group(strength: Positive, groups: PositiveInt | SizesFile | None = None):
    """strength (sum_k ||w_k||_2)^2 over the columns of W, or over groups given by their size or a file of sizes"""
    blocks = ColumnBlocks() if groups is None else Groups(groups)
    return SquaredSum(strength, BlockNorm(1.0, blocks), Power(2.0))


@regularizer
def norm_power(
    strength: Positive,
    norm: Literal["l1", "l2", "linf", "l21", "l1inf"],
    power: Annotated[float, Gt(1), Lt(float("inf"))] = 2.0,
):
    """strength ||w||^power for the norm l1, l2, linf, l21 or l1inf (the last two of a matrix), power > 1"""
    inner = NORMS[norm](1.0)
    is_square = power == 2.0 and hasattr(inner, "dual_balls")
    return (SquaredNorm if is_square else OfNorm)(strength, inner, Power(power))
