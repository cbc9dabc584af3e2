"""The columns of a working set, and the inner products between them."""

import numpy as np

from rrmbench.numerics import restricted
from rrmbench.numerics.quadratic_descent import ByColumns, ByMatrix

CHEAP = 8  # sweeps whose price is paid for a matrix of inner products at once


class Chosen:
    """Chosen columns of X (n, d): `columns` are their numbers, ascending.

    The quadratic form (1/n) sum_i h_i (x_i.v)^2 in these columns is had by columns or, where it is cheaper, by the matrix of
    inner products. A sweep by the matrix must not read more numbers than one by columns. The matrix is made when
    sweeps by columns have read as many numbers as it takes, or at once where it takes no more than CHEAP sweeps.

    read : the entries of X, or of copies of its columns, that were read so far
    """

    def __init__(self, rows, n, counts):
        self.rows, self.n, self.counts, self.read = rows, n, counts, 0
        self.numbers = np.zeros(0, dtype=np.int64)
        self._part = self._by_columns = self._matrix = self._h = None
        self._paid = 0

    def grow(self, numbers):
        """Choose the columns `numbers` (m,), ascending, the present ones among them."""
        fresh = np.ones(numbers.size, dtype=np.bool_)
        old = np.searchsorted(numbers, self.numbers)
        fresh[old] = False
        self.numbers, self._by_columns = numbers, None
        self.nnz = int(self.counts[numbers].sum())
        if numbers.size == self.counts.size:
            self._part = restricted.Part(self.rows.indptr, self.rows.indices, self.rows.data)
        else:
            place = np.full(self.counts.size, -1, dtype=np.int32)
            place[numbers] = np.arange(numbers.size)
            self._part = restricted.Part(
                np.empty_like(self.rows.indptr), np.empty(self.nnz, dtype=np.uint32), np.empty(self.nnz)
            )
            restricted.chosen_rows(self.rows, place, self._part)
            self.read += self.rows.indptr[-1]
        self._price = restricted.pairs(self._part, self.n)
        if self._matrix is None:
            return
        if not self._fits:
            self._matrix = None
            return
        matrix = np.zeros((numbers.size, numbers.size))
        restricted.spread(self._matrix, old, matrix)
        self.read += restricted.add_fresh_products(self._part, self._h, fresh, matrix)
        restricted.mirror(matrix)
        self._matrix = matrix

    @property
    def _fits(self):
        return self.numbers.size**2 <= 2 * self.nnz

    def form(self, h, constant):
        """(the form, its diagonal, a state of zeros) for weights h (n,), over n; `constant`: whether they stay."""
        h = h / self.n
        if self._fits and (self._matrix is not None or self._price <= max(2 * CHEAP * self.nnz, self._paid)):
            if self._matrix is None or not constant:
                self._matrix, self._h = np.zeros((self.numbers.size,) * 2), h
                restricted.add_products(self._part, h, self._matrix)
                restricted.mirror(self._matrix)
                self.read += self._price
            return ByMatrix(self._matrix), np.diag(self._matrix).copy(), np.zeros(self.numbers.size)
        self._root = np.sqrt(h)
        if self._by_columns is None or not constant:
            indptr = np.zeros(self.numbers.size + 1, dtype=np.int64)
            np.cumsum(self.counts[self.numbers], out=indptr[1:])
            self._by_columns = ByColumns(indptr, np.empty(self.nnz, dtype=np.uint32), np.empty(self.nnz))
            self._sqnorms = np.zeros(self.numbers.size)
            restricted.weighted_columns(self._part, self._root, self._by_columns, self._sqnorms)
            self.read += self.nnz
        return self._by_columns, self._sqnorms, np.zeros(self.n)

    def spent(self, form, read):
        """Count what was read of the form: of columns, entries of X."""
        if isinstance(form, ByColumns):
            self.read += read
            self._paid += read

    def outputs(self, form, away, state):
        """X away (n,)."""
        if isinstance(form, ByColumns):
            return state / self._root
        z = np.empty(self.n)
        restricted.outputs(self._part, away, z)
        self.read += self.nnz
        return z
