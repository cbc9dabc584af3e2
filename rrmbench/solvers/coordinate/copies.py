"""Copies of the columns of a working set: by rows, of sparse data; by columns, of dense data."""

import numpy as np

from rrmbench.numerics import restricted
from rrmbench.numerics.lines import products
from rrmbench.numerics.quadratic_descent import ByColumns, ByLines

DENSE = 0.5  # of the entries of X, stored: copies of columns are arrays then, zeros included


def copy_of(rows, n, counts):
    """The copy of no column yet; arguments as for `Chosen`."""
    return (ByColumn if rows.indptr[-1] >= DENSE * n * counts.size else ByRow)(rows, n, counts)


class ByRow:
    """The chosen columns by rows, X itself where they are all of them; each growth copies them anew.

    nnz : the entries of the chosen columns; pairs : those whose products are the inner products of the columns
    """

    def __init__(self, rows, n, counts):
        self.rows, self.n, self.counts = rows, n, counts
        self.nnz = self.pairs = 0
        self._part = _frozen(restricted.Part(np.zeros(n + 1, rows.indptr.dtype), *_room(0)))
        self._indptr = np.zeros(1, dtype=np.int64)

    def grow(self, numbers):
        """Have the columns `numbers` (m,), ascending; returns the number of entries read."""
        self.nnz, read = int(self.counts[numbers].sum()), 0
        if numbers.size == self.counts.size:
            self._part = restricted.Part(self.rows.indptr, self.rows.indices, self.rows.data)
        else:
            place = np.full(self.counts.size, -1, dtype=np.int32)
            place[numbers] = np.arange(numbers.size)
            part = restricted.Part(np.empty_like(self.rows.indptr), *_room(self.nnz))
            restricted.chosen_rows(self.rows, place, part)
            self._part, read = _frozen(part), int(self.rows.indptr[-1])
        self._indptr = np.zeros(numbers.size + 1, dtype=np.int64)
        np.cumsum(self.counts[numbers], out=self._indptr[1:])
        self.pairs = restricted.pairs(self._part, self.n)
        return read

    def weighted(self, weights):
        """(ByColumns of the entries of row i times weights[i], the squared norms of its columns)."""
        columns, sqnorms = ByColumns(self._indptr, *_room(self.nnz)), np.zeros(self._indptr.size - 1)
        restricted.weighted_columns(self._part, weights, columns, sqnorms)
        return columns, sqnorms

    def add_products(self, first, last, weights, fresh, matrix):
        """As `restricted.add_products`."""
        return restricted.add_products(self._part, first, last, weights, fresh, matrix)

    def outputs(self, v):
        """z = X v (n,), v (m,) on the chosen columns."""
        z = np.empty(self.n)
        products(self._part, v, z)
        return z


class ByColumn:
    """As `ByRow`, the chosen columns as an array, in which each is copied once."""

    def __init__(self, rows, n, counts):
        self.rows, self.n = rows, n
        self._place = np.full(counts.size, -1, dtype=np.int32)  # of each column among those that are kept
        self._kept, self._size, self._lines = np.zeros((0, n)), 0, np.zeros(0, dtype=np.int32)
        self._squares = [np.zeros(0)]  # of the columns that are kept, in the parts that joined
        self.nnz = self.pairs = 0

    def grow(self, numbers):
        """Have the columns `numbers` (m,), ascending; returns the number of entries read."""
        m = numbers.size
        self.nnz, self.pairs = m * self.n, self.n * m * (m + 1) // 2
        fresh = numbers[self._place[numbers] < 0]
        if self._size + fresh.size > len(self._kept):
            room = np.zeros((min(max(self._size + fresh.size, 2 * self._size), self._place.size), self.n))
            room[: self._size] = self._kept[: self._size]
            self._kept = room
        self._place[fresh] = self._size + np.arange(fresh.size, dtype=np.int32)
        read = restricted.copy_columns(self.rows, fresh, self._place, self._size, self._kept)
        self._squares.append(_squares(self._kept[self._size : self._size + fresh.size]))
        self._size += fresh.size
        self._lines = self._place[numbers]
        return read

    def weighted(self, weights):
        """(ByLines of the entries of row i times weights[i], the squared norms of its columns)."""
        if np.ptp(weights) == 0.0:  # as of the squared loss
            scale = float(weights[0])
            return ByLines(self._kept, self._lines, scale), scale**2 * np.concatenate(self._squares)[self._lines]
        A = self._kept[self._lines]
        A *= weights
        return ByLines(A, np.arange(self._lines.size, dtype=np.int32), 1.0), _squares(A)

    def add_products(self, first, last, weights, fresh, matrix):
        """As `restricted.add_products`; both parts of the matrix are written, and pairs counted as there."""
        A, m, new = self._kept[self._lines, first:last], self._lines.size, np.flatnonzero(fresh)
        products_of_new = (A[new] * weights[first:last]) @ A.T
        matrix[new] += products_of_new
        old = np.flatnonzero(~fresh)
        matrix[np.ix_(old, new)] += products_of_new[:, old].T
        return (last - first) * (m + m * new.size - new.size * (new.size - 1) // 2)

    def outputs(self, v):
        """z = X v (n,), v (m,) on the chosen columns."""
        return v @ self._kept[self._lines]


def _squares(lines):
    return np.einsum("ji,ji->j", lines, lines)


def _frozen(part):
    """The part with arrays that nobody writes to, as those of X: kernels are compiled once."""
    for array in part:
        array.flags.writeable = False
    return part


def _room(size):
    return np.empty(size, dtype=np.uint32), np.empty(size)
