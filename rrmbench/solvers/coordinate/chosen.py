"""The columns of a working set, and the inner products between them."""

import math

import numpy as np

from rrmbench.numerics import restricted
from rrmbench.numerics.lines import products
from rrmbench.numerics.quadratic_descent import ByColumns, ByMatrix

CHEAP = 8  # sweeps whose price is paid for a matrix of inner products at once


class Chosen:
    """Chosen columns of X (n, d); `numbers` (m,) says which, ascending.

    The quadratic form (1/n) sum_i h_i (x_i.v)^2 in these columns is had by columns, or by the matrix of their inner
    products. A sweep by the matrix must not read more numbers than one by columns. The matrix is made when sweeps by
    columns have read as many numbers as it takes, or at once where it takes no more than CHEAP sweeps.

    rows, n : the rows of X, and how many; counts : (d,) the numbers of entries of the columns
    read : the entries of X, or of copies of its columns, that were read so far
    """

    def __init__(self, rows, n, counts):
        self.rows, self.n, self.counts, self.read = rows, n, counts, 0
        self.numbers, self.nnz = np.zeros(0, dtype=np.int64), 0
        self._part = restricted.Part(np.zeros(n + 1, rows.indptr.dtype), *_room(0))
        self._price = self._paid = 0
        self._by_columns = self._matrix = None
        self._is_constant = False  # whether the weights of the form are those of every later one

    def grow(self, numbers):
        """Choose the columns `numbers` (m,), ascending, the present ones among them."""
        fresh = np.ones(numbers.size, dtype=np.bool_)
        present = np.searchsorted(numbers, self.numbers)
        fresh[present] = False
        self.numbers, self.nnz, self._by_columns = numbers, int(self.counts[numbers].sum()), None
        self._part = self._rows()
        self._price = self.nnz + restricted.pairs(self._part, self.n)
        if self._matrix is not None and self._is_constant and self._fits:
            matrix = np.zeros((numbers.size, numbers.size))
            restricted.spread(self._matrix, present, matrix)
            self._matrix, self._fresh = matrix, fresh
        else:
            self._matrix = None

    def make_dear(self):
        """Have the matrix of the present columns cost more than they will ever have been read."""
        self._price = math.inf

    def _rows(self):
        """The chosen columns by rows: X itself, or a copy."""
        if self.numbers.size == self.counts.size:
            return restricted.Part(self.rows.indptr, self.rows.indices, self.rows.data)
        place = np.full(self.counts.size, -1, dtype=np.int32)
        place[self.numbers] = np.arange(self.numbers.size)
        part = restricted.Part(np.empty_like(self.rows.indptr), *_room(self.nnz))
        self.read += int(restricted.chosen_rows(self.rows, self.numbers, place, part))
        for array in part:
            array.flags.writeable = False  # as those of X: kernels are compiled once
        return part

    @property
    def _fits(self):
        return self.numbers.size**2 <= 2 * self.nnz

    def form(self, h, is_constant):
        """A generator that yields while it reads; returns (form, its diagonal, its state at 0) for the weights h (n,).

        is_constant : whether all later weights are the same
        """
        h = h / self.n
        known = is_constant and self._is_constant
        self._is_constant = is_constant
        if self._fits and (self._matrix is not None or self._price <= max(2 * CHEAP * self.nnz, self._paid)):
            if self._matrix is None or not known:
                self._matrix = np.zeros((self.numbers.size, self.numbers.size))
                self._fresh = np.ones(self.numbers.size, dtype=np.bool_)
            if self._fresh.any():
                yield from self._multiply(h)
            return ByMatrix(self._matrix), np.diag(self._matrix).copy(), np.zeros(self.numbers.size)
        if self._by_columns is None or not known:
            self._root, self._sqnorms = np.sqrt(h), np.zeros(self.numbers.size)
            indptr = np.zeros(self.numbers.size + 1, dtype=np.int64)
            np.cumsum(self.counts[self.numbers], out=indptr[1:])
            self._by_columns = ByColumns(indptr, *_room(self.nnz))
            restricted.weighted_columns(self._part, self._root, self._by_columns, self._sqnorms)
            self.read += self.nnz
            yield
        return self._by_columns, self._sqnorms, np.zeros(self.n)

    def _multiply(self, h):
        """The inner products of the fresh columns, in blocks of rows of about a quarter of a pass."""
        step = max(1, int(self.n * float(self.rows.indptr[-1]) / (2.0 * max(self._price, 1.0))))
        multiplied = self._multiplied_whole if self.nnz == self.n * self.numbers.size else self._multiplied
        for first in range(0, self.n, step):
            self.read += multiplied(first, min(first + step, self.n), h)
            yield
        restricted.mirror(self._matrix)
        self._fresh = np.zeros(self.numbers.size, dtype=np.bool_)

    def _multiplied(self, first, last, h):
        return restricted.add_products(self._part, first, last, h, self._fresh, self._matrix)

    def _multiplied_whole(self, first, last, h):
        """As `_multiplied` of rows that have all their entries, which are multiplied as matrices; counts the same."""
        m, fresh = self.numbers.size, np.flatnonzero(self._fresh)
        X = self._part.data[first * m : last * m].reshape(last - first, m)
        new = X.T @ (h[first:last, None] * X[:, fresh])
        self._matrix[:, fresh] += new
        old = np.flatnonzero(~self._fresh)
        self._matrix[np.ix_(fresh, old)] += new[old].T
        return (last - first) * (m + m * fresh.size - fresh.size * (fresh.size - 1) // 2)

    def spent(self, form, read):
        """Count what was read of a form: of columns, entries of X."""
        if isinstance(form, ByColumns):
            self.read += read
            self._paid += read

    def outputs(self, model):
        """X (w - w0) (n,) at the present point of the Quadratic `model`."""
        if isinstance(model.H, ByColumns):
            return model.state / self._root
        z = np.empty(self.n)
        products(self._part, model.w - model.w0, z)
        self.read += self.nnz
        return z


def _room(size):
    return np.empty(size, dtype=np.uint32), np.empty(size)
