"""The columns of a working set: of sparse data transposed once; of dense data copied, or not at all."""

import numpy as np

from rrmbench.numerics import restricted
from rrmbench.numerics.lines import products
from rrmbench.numerics.loss_descent import Columns, Lines
from rrmbench.numerics.quadratic_descent import ByColumns, ByEvenLines, ByLines, weighted_squares
from rrmbench.solvers.coordinate.coordinate_descent import part_of
from rrmbench.subproblems.units import in_parts

LINES = 32  # of an array, in one product: of 7 it takes twice as long
LARGEST = 2**22  # entries of these lines
ROOM = 2**27  # entries of the first room for copies, which takes memory only where it is written


def columns_of(X, counts):
    """`DenseColumns` or `SparseColumns` of X; none is chosen yet. Arguments as for `Chosen`."""
    return SparseColumns(X, counts) if X.array is None else DenseColumns(X.array)


class SparseColumns:
    """The chosen columns by columns, of a transposed copy of X, and by rows.

    X is transposed once: when columns are wanted, or other rows than the first, which are copied from X.

    nnz : the entries of the chosen columns
    read : the entries of X, or of the copies, that were read so far
    """

    time_of_pair, time_of_product = 1.0, 0.25  # to make, and to read, an inner product; over an entry in a sweep
    are_whole = False  # whether no entry of a column is missing

    def __init__(self, X, counts):
        self.X, self.n, self.counts = X, X.shape[0], counts
        self.nnz = self.read = self._pairs = 0
        self._numbers = self._fresh = np.zeros(0, dtype=np.int64)
        self._in_rows = np.zeros(self.n, dtype=np.int64)  # entries of the chosen columns but for the fresh ones
        self._transposed, self._weighted, self._part = None, None, None

    def choose(self, numbers):
        """Have the columns `numbers` (m,), ascending."""
        if np.setdiff1d(self._numbers, numbers, assume_unique=True).size:  # some have left: entries are counted anew
            self._numbers, self._fresh = self._numbers[:0], self._fresh[:0]
            self._in_rows[:] = 0
        self._fresh = np.union1d(self._fresh, np.setdiff1d(numbers, self._numbers, assume_unique=True))
        self._numbers, self.nnz, self._part = numbers, int(self.counts[numbers].sum()), None

    @property
    def pairs(self):
        """How many products the inner products of the chosen columns consist of."""
        if not self._fresh.size:
            return self._pairs
        if self._fresh.size == self._numbers.size and self._transposed is None:
            self._in_rows = np.diff(self._by_rows().indptr).astype(np.int64)
        else:
            restricted.count_rows(self._by_columns(), self._fresh, self._in_rows)
            self.read += int(self.counts[self._fresh].sum())
        self._fresh, self._pairs = self._fresh[:0], int(self._in_rows @ (self._in_rows + 1)) // 2
        return self._pairs

    def _by_columns(self):
        """X by columns."""
        if self._transposed is None:
            self._transposed = part_of(self.X.columns())
            self.read += int(self.X.rows.indptr[-1])
        return self._transposed

    def _by_rows(self):
        """The chosen columns by rows: X itself where they are all of them. If X is transposed, `pairs` are known."""
        if self._part is None and self._numbers.size == self.counts.size:
            self._part = restricted.Part(self.X.rows.indptr, self.X.rows.indices, self.X.rows.data)
        elif self._part is None and self._transposed is None:
            every = np.arange(self.n)
            self._part = restricted.in_columns(self.X.rows, every, self._numbers, self.counts.size, self.nnz)
            self.read += int(self.X.rows.indptr[-1])
        elif self._part is None:
            room = np.empty(self.nnz, dtype=np.uint32), np.empty(self.nnz)
            part = restricted.Part(np.empty_like(self.X.rows.indptr), *room)
            part.indptr[0] = 0
            np.cumsum(self._in_rows, out=part.indptr[1:])
            restricted.rows_of(self._transposed, self._numbers, part)
            self.read += self.nnz
            self._part = restricted.frozen(part)
        return self._part

    def unweighted(self):
        """The chosen columns for steps on P itself, and maybe others."""
        return Columns(*self._by_columns())

    def weighted(self, weights):
        """(H = sum_i weights[i] x_i x_i^T by columns, its diagonal (m,), what its state is over X v (n,))."""
        columns, root, squares = self._by_columns(), np.sqrt(weights), np.empty(self._numbers.size)
        if self._weighted is None:
            self._weighted = np.empty(self.X.nnz)
        restricted.weigh_rows(columns, self._numbers, root, self._weighted, squares)
        self.read += self.nnz
        return ByColumns(columns.indptr, columns.indices, self._weighted, self._numbers, 1.0), squares, root

    def even(self, weight):
        """weight (X^T X) of the chosen columns, by columns; its state is X v (n,)."""
        return ByColumns(*self._by_columns(), self._numbers, weight)

    def multiply(self, which, weights, fresh, matrix, most):
        """A generator: add the products of which one column is fresh to `matrix`, `most` numbers from yield to yield.

        The inner product of columns j and k is sum_i weights[i] x_ij x_ik over the rows i of `which` (k,); weights
        (n,), fresh (m,), matrix (m, m).
        """
        step = max(1, int(self.n * most / max(self.nnz + self.pairs, 1)))
        part = self._by_rows()
        yield
        for first in range(0, which.size, step):
            self.read += restricted.add_products(part, which[first : first + step], weights, fresh, matrix)
            yield
        restricted.mirror(matrix)

    def outputs(self, v):
        """z = X v (n,), v (m,) on the chosen columns; or (n, k) and (m, k)."""
        self.read += self.nnz
        if v.ndim == 2:
            return np.column_stack([self._product(np.ascontiguousarray(of_one)) for of_one in v.T])
        return self._product(v)

    def _product(self, v):
        z = np.empty(self.n)
        products(self._by_rows(), v, z)
        return z


class DenseColumns:
    """As `SparseColumns`, of an array: chosen columns are copied once, or never if matrix products are enough."""

    time_of_pair, time_of_product, are_whole = 0.25, 1.0, True

    def __init__(self, array):
        self.array, self.n = array, len(array)
        self.nnz = self.pairs = self.read = 0
        self._numbers = np.zeros(0, dtype=np.int64)
        self._place = np.full(array.shape[1], -1, dtype=np.int32)  # of each column among the copies
        self._copies, self._size = np.empty((0, self.n)), 0

    def choose(self, numbers):
        """Have the columns `numbers` (m,), ascending."""
        self._numbers, self.nnz = numbers, numbers.size * self.n
        self.pairs = self.nnz * (numbers.size + 1) // 2

    @property
    def _has_all(self):
        return self._numbers.size == self._place.size

    def _copy(self):
        """Copy the chosen columns that are not; return the places of all."""
        fresh = self._numbers[self._place[self._numbers] < 0]
        if fresh.size:
            end = self._size + fresh.size
            if end > len(self._copies):
                room = np.empty((min(max(end, 2 * self._size, ROOM // self.n), self._place.size), self.n))
                room[: self._size] = self._copies[: self._size]
                self._copies = room
            lines = self._copies[self._size : end]
            restricted.copy_columns(self.array, fresh, lines)
            self._place[fresh] = self._size + np.arange(fresh.size, dtype=np.int32)
            self._size = end
            self.read += lines.size
        return self._place[self._numbers]

    def unweighted(self):
        """As `SparseColumns.unweighted`."""
        self._copy()
        return Lines(self._copies, self._place)

    def weighted(self, weights):
        """As `SparseColumns.weighted`."""
        place = self._copy()
        lines, squares = ByLines(self._copies, place, weights), np.empty(place.size)
        weighted_squares(lines, squares)
        self.read += self.nnz
        return lines, squares, weights

    def even(self, weight):
        """As `SparseColumns.even`."""
        place = self._copy()
        return ByEvenLines(self._copies, place, weight)

    def multiply(self, which, weights, fresh, matrix, most):
        """As `SparseColumns.multiply`, by blocks of fresh columns, whose numbers are counted before they are read."""
        if self._has_all and fresh.all():
            lines, at = self.array.T, np.arange(fresh.size)
        else:
            place = self._copy()
            at = np.lexsort((place, fresh))
            lines = self._copies[: self._size]
            if not np.array_equal(place[at], np.arange(self._size)):  # copies of columns that have left are between
                lines = lines[place[at]]
                self.read += lines.size
            yield
        if which.size < self.n:
            lines, weights = np.ascontiguousarray(lines[:, which]), weights[which]
            self.read += lines.size
            yield
        first, step = int(np.count_nonzero(~fresh)), int(np.clip(LARGEST // self.n, 1, LINES))
        for begin in range(first, fresh.size, step):
            end = min(begin + step, fresh.size)
            q = end - begin
            *ahead, last = in_parts(which.size * (q * (begin + 1) + q * (q + 1) // 2), most)
            for part in ahead:
                self.read += part
                yield
            of_block, known = at[begin:end], at[:end]
            found = (lines[begin:end] * weights) @ lines[:end].T
            matrix[of_block[:, np.newaxis], known[:begin]] += found[:, :begin]
            matrix[known[:begin, np.newaxis], of_block] += found[:, :begin].T
            matrix[of_block[:, np.newaxis], of_block] += found[:, begin:]
            self.read += last
            yield

    def outputs(self, v):
        """z = X v (n,), v (m,) on the chosen columns; or (n, k) and (m, k)."""
        if self._has_all:
            self.read += self.nnz
            return self.array @ v
        place, moved = self._copy(), np.flatnonzero(v if v.ndim == 1 else v.any(axis=1))
        if 2 * moved.size < self._size:
            lines, of_lines = self._copies[place[moved]], v[moved]
        else:
            lines, of_lines = self._copies[: self._size], np.zeros((self._size, *v.shape[1:]))
            of_lines[place] = v
        self.read += lines.size
        return (of_lines.T @ lines).T
