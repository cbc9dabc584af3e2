"""Sums of the Euclidean norms of blocks of w: groups of consecutive entries, rows or columns of a matrix."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.parameters import NonNegative, PositiveInt, Sizes, SizesFile
from rrmbench.registry import regularizer
from rrmbench.regularizers.norms import Norm, matrix_only, shrinkage


class RowBlocks:
    """Every row of a matrix is a block."""

    def of_entries(self, shape):
        return np.repeat(np.arange(shape[0]), shape[1])

    def norms(self, w):
        return np.sqrt(np.einsum("jk,jk->j", w, w))

    def sizes(self, shape):
        return np.full(shape[0], float(shape[1]))

    def scaled(self, w, factors):
        return w * factors[:, None]

    def check(self, shape):
        matrix_only(shape)


class ColumnBlocks:
    """Every column of a matrix is a block."""

    def of_entries(self, shape):
        return np.tile(np.arange(shape[1]), shape[0])

    def norms(self, w):
        return np.sqrt(np.einsum("jk,jk->k", w, w))

    def sizes(self, shape):
        return np.full(shape[1], float(shape[0]))

    def scaled(self, w, factors):
        return w * factors

    def check(self, shape):
        matrix_only(shape)


class Groups:
    """Consecutive entries of w, row by row, make a block: `groups` of them each, or as many as the Sizes of a file say.

    With one size for all, the last group may be shorter.
    """

    def __init__(self, groups):
        self.groups = groups
        self.listed = np.array(groups.numbers) if isinstance(groups, Sizes) else None
        self._cut = None

    def norms(self, w):
        return np.sqrt(np.add.reduceat(np.square(w).reshape(-1), self.cut(w.size)[0]))

    def of_entries(self, shape):
        sizes = self.cut(int(np.prod(shape)))[1]
        return np.repeat(np.arange(sizes.size), sizes)

    def sizes(self, shape):
        return self.cut(int(np.prod(shape)))[1].astype(float)

    def scaled(self, w, factors):
        return w * np.repeat(factors, self.cut(w.size)[1]).reshape(w.shape)

    def cut(self, entries):
        """(where the groups begin, their sizes) for this many entries."""
        if self._cut is None or self._cut[1].sum() != entries:
            sizes = self.listed
            if sizes is None:
                sizes = np.full(-(-entries // self.groups), self.groups)
                sizes[-1] -= sizes.sum() - entries
            self._cut = np.cumsum(sizes) - sizes, sizes
        return self._cut

    def check(self, shape):
        entries = np.prod(shape)
        if self.listed is not None and self.listed.sum() != entries:
            raise RrmbenchError(
                f"the group sizes in {self.groups.path} sum to {self.listed.sum()}, found a model with {entries} "
                "entries"
            )


class RowNorm(NamedTuple):
    """strength ||u||_2 of a row u of a matrix, for kernels."""

    strength: float
    on_rows = True

    def shrinkage(self, square, t):
        """argmin_w  t strength ||w||_2 + ||w - u||_2^2 / 2 over u, from ||u||_2^2."""
        tau = t * self.strength
        return 1.0 - tau / sqrt(square) if square > tau * tau else 0.0


@dataclass(frozen=True)
class BlockNorm(Norm):
    """psi(w) = strength sum_g c_g ||w_g||_2, c_g = sqrt(the size of block g) if weighted, else 1.

    The dual norm is max_g ||v_g||_2 / c_g; the prox shrinks every block.
    """

    strength: float
    blocks: object
    weighted: bool = False

    @property
    def of_rows(self):
        """Whether the blocks are the rows of a matrix."""
        return isinstance(self.blocks, RowBlocks)

    def row_norm(self, shape):
        """That of each row of a model of this shape, where these are the blocks."""
        return RowNorm(self.strength * float(self.weights(shape)[0]))

    def norm(self, w):
        return np.sum(self.weights(w.shape) * self.blocks.norms(w))

    def dual_norm(self, v):
        return np.max(self.blocks.norms(v) / self.weights(v.shape), initial=0.0)

    def shrunk(self, w, tau):
        return self.blocks.scaled(w, shrinkage(self.blocks.norms(w), tau * self.weights(w.shape)))

    def longest(self, shape):
        return 1.0 / np.min(self.weights(shape))

    def dual_balls(self, shape):
        return self.blocks.of_entries(shape), self.strength * self.weights(shape)

    def weights(self, shape):
        """c_g of all blocks of a model of this shape."""
        sizes = self.blocks.sizes(shape)
        return np.sqrt(sizes) if self.weighted else np.ones_like(sizes)

    def check(self, shape):
        self.blocks.check(shape)


@regularizer
def group_lasso(strength: NonNegative, groups: PositiveInt | SizesFile):
    """strength sum_g sqrt(d_g) ||w_g||_2, groups = the size d_g of all (the last may be smaller), or a file of sizes"""
    return BlockNorm(strength, Groups(groups), weighted=True)


@regularizer(needs={"matrix"})
def l21(strength: NonNegative):
    """strength sum_j ||row j of W||_2"""
    return BlockNorm(strength, RowBlocks())
