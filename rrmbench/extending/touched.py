"""What a solver touches of the data: products and rows, counted where they are read.

A pass is a product with X and one with X^T, 2 nnz entries read. Kernels count for themselves: they are given rows whose
entries are of a type that counts when it is read.
"""

import operator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core.caching import NullCache
from numba.extending import overload

from rrmbench.numerics import jit
from rrmbench.numerics.matrix_products import array_of


class Entries(NamedTuple):
    """Numbers that count how often one of them is read by a kernel; whole arrays are read for preparation only."""

    values: np.ndarray
    reads: np.ndarray

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __getitem__(self, k):
        """As a kernel's: of rows that are read in Python."""
        found = self.values[k]
        self.reads[0] += np.size(found)
        return found


@overload(operator.getitem)
def _read(entries, k):
    if isinstance(entries, types.NamedTuple) and entries.instance_class is Entries:

        def read(entries, k):
            entries.reads[0] += 1
            return entries.values[k]

        return read
    return None


@overload(array_of)
def _read_several(data, begin, end):
    if isinstance(data, types.NamedTuple) and data.instance_class is Entries:

        def read(data, begin, end):
            data.reads[0] += end - begin
            return data.values

        return read
    return None


class Columns:
    """As scipy's CSC of `CSR.columns`, with entries that count; what else is asked of it reads each of them again."""

    def __init__(self, matrix, reads):
        self.matrix, self.shape, self.nnz = matrix, matrix.shape, matrix.nnz
        self.indptr, self.indices, self.data = matrix.indptr, matrix.indices, Entries(matrix.data, reads)

    def __getattr__(self, name):
        return getattr(self._read(), name)

    def __getitem__(self, key):
        found = self.matrix[key]
        self.data.reads[0] += getattr(found, "nnz", 1)
        return found

    def __matmul__(self, other):
        return self._read() @ other

    def __rmatmul__(self, other):
        return other @ self._read()

    def multiply(self, other):
        """Entry by entry, by `other` or by these columns themselves, which are read once."""
        return self._read().multiply(self.matrix if other is self else other)

    def _read(self):
        self.data.reads[0] += self.nnz
        return self.matrix


class Touched:
    """A view of a data operator that counts the entries that are read; a product with 0 reads none.

    What would be read of an array is not seen, so there is none, and solvers take the rows of dense data, too.

    products : so many with X or X^T, `zeros` of them with 0
    passes : what was read so far, in passes
    """

    def __init__(self, X):
        self.X, self.shape, self.sqnorms, self.nnz = X, X.shape, X.sqnorms, X.nnz
        self.products, self.zeros, self.reads = 0, 0, np.zeros(1, dtype=np.int64)
        if hasattr(X, "rows"):
            self.rows, self.array = X.rows._replace(data=Entries(X.rows.data, self.reads)), None

    def __copy__(self):
        return self  # what a copy reads counts too

    def __deepcopy__(self, known):
        return self

    def forward(self, w):
        """z = X w."""
        return self._count(w, self.X.forward)

    def adjoint(self, b):
        """X^T b."""
        return self._count(b, self.X.adjoint)

    def _count(self, x, multiply):
        self.products += 1
        self.zeros += not x.any()
        return multiply(x)

    def columns(self):
        """A copy of X by columns, for which every entry is read once."""
        self.reads[0] += self.nnz
        return Columns(self.X.columns(), self.reads)

    def part(self, samples):
        """Copies of some rows, of which every entry is read once."""
        return TouchedPart(self.X.part(samples), self.reads)

    @property
    def passes(self):
        return (self.products - self.zeros) / 2 + self.reads[0] / (2 * self.nnz)


class TouchedPart(Touched):
    """A view of copies of rows that adds all it reads, for products too, to the reads of the whole."""

    def __init__(self, X, reads):
        super().__init__(X)
        reads[0] += X.nnz
        self.reads, self.rows = reads, self.rows._replace(data=Entries(X.rows.data, reads))

    def _count(self, x, multiply):
        self.reads[0] += self.nnz * x.any()
        return multiply(x)


@contextmanager
def kernels_in_memory():
    """Kernels for `Entries` would spoil the cache on disk for processes that do not know this type."""
    kept = [(compiled, compiled._cache) for compiled in jit._kernels]
    for compiled, _ in kept:
        compiled._cache = NullCache()
    try:
        yield
    finally:
        for compiled, cache in kept:
            compiled._cache = cache
