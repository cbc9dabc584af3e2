"""Data operators: the linear map z = X w from models to outputs, and its adjoint.

An operator has `shape` = (n, shape of w...), `forward(w) -> z`, `adjoint(b) -> X^T b`. Full-gradient methods
use nothing else. The first axis of z counts samples. What the model looks like is the operator's affair: for a
matrix-valued model w has shape (d, k) and z (n, k), and `CSR` serves both; `Flattened` serves tasks and the entries
of a matrix, where w is a matrix and z a vector; an operator for label sequences is another class with the same
methods. `sqnorms` (n,) are the squared norms of the samples' maps, so that ||X||^2 <= sum sqnorms; `head(n)` is a
small operator of the same kind, for compiling kernels; `nnz` is the number of stored entries. `variance` is the mean
squared distance of the samples' maps to their mean, where it is known. One that also has `rows` gives compiled kernels
its samples one by one, and `part(samples)` is the operator of copies of some of them.
"""

from copy import copy
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import NamedTuple

import numpy as np

from rrmbench.errors import RrmbenchError, shown
from rrmbench.numerics import matrix_products
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.sparse_rows import entries

COMPRESSED = "csr", "csc", "bsr"  # formats of scipy that check themselves
DENSE = 0.5  # of the entries of X, stored: products with an array are two to eight times as fast then; .22 is for rows
PIECE = 2**20  # entries of the rows that are copied at a time
LARGEST = 2**24  # entries of an array that has zeros filled in, in each process


class Rows(NamedTuple):
    """The rows of a sparse matrix, as kernels see them.

    Row i is data[indptr[i]:indptr[i+1]] at columns indices[indptr[i]:indptr[i+1]]. Unsigned indices spare numba
    the test for negative ones, a fifth of the time of an epoch.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    sqnorms: np.ndarray


def _numbers(X, names):
    """An array of objects, as frames with columns of several types make it, as one of numbers where it has only these.

    names : of its columns, for the message, or None
    """
    if X.dtype != object or X.ndim != 2:
        return X
    for (i, j), value in np.ndenumerate(X):
        if not isinstance(value, Real):
            where = f"X[{i}, {j}]" if names is None else f"column '{names[j]}', row {i}"
            raise RrmbenchError(f"X: found {shown(str(value))} in {where}, needed are numbers")
    try:
        return X.astype(np.float64)
    except OverflowError:
        raise RrmbenchError("X: found a whole number above 1.8e308, needed are numbers of float64") from None


def check_mask(values, where, needed="numbers"):
    """Raise RrmbenchError where an array, or a row of a list, has masked entries: numpy would take what lies below."""
    rows = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows):
        raise RrmbenchError(f"{where}: found masked entries, needed are {needed}")


def check_order(X, y, where=""):
    """Raise RrmbenchError where X and y are of pandas, and name the same rows in another order: places would count."""
    if not (hasattr(X, "iloc") and hasattr(y, "iloc")) or X.index.equals(y.index):
        return
    mine, others = X.index, y.index
    alike = len(mine) == len(others) and mine.nlevels == others.nlevels and mine.is_unique and others.is_unique
    if alike and others.isin(mine).all():
        found = "the index of X in another order, and rows are taken by their places"
        raise RrmbenchError(f"{where}y: found {found}; y.loc[X.index] is in that of X, y.to_numpy() has no index")


def names_of(X):
    """The names of the columns of a frame, or None."""
    return list(X.columns) if hasattr(X, "iloc") and hasattr(X, "columns") else None


def check_names(names, X, where):
    """Raise RrmbenchError where X is a frame whose columns have other names than those that are known, or None."""
    for known, found in zip(names or (), names_of(X) or (), strict=False):
        if known != found:
            raise RrmbenchError(f"{where}: found the column {shown(found)} where the training part has {shown(known)}")


def in_rows(X, where):
    """A copy of a sparse matrix of scipy as csr_array of float64, each entry once.

    Raises RrmbenchError where values are masked, and where its arrays of indices contradict each other or its shape:
    scipy reads and writes beyond the ends of arrays then.
    """
    from scipy.sparse import csr_array

    check_mask(getattr(X, "data", None), where)
    _check_indices(X, where)
    made = csr_array(X.astype(np.float64), copy=True)  # before entries of one place are summed, which small types wrap
    if X.format not in (*COMPRESSED, "coo"):  # lists of rows, say
        _check_indices(made, where)
    made.sum_duplicates()
    return made


def _check_indices(X, where):
    try:
        if X.format in COMPRESSED:
            copy(X).check_format(full_check=True)  # which gives its object other arrays
        elif X.format == "coo":
            for size, indices in zip(X.shape, (X.row, X.col), strict=True):
                if indices.shape != X.data.shape or (indices.size and not 0 <= indices.min() <= indices.max() < size):
                    raise ValueError(f"an index array is not one of {X.nnz} numbers from 0 to {size - 1}")
    except (ValueError, TypeError, IndexError) as error:
        raise RrmbenchError(f"{where}: found a sparse matrix that contradicts itself: {error}") from None


class CSR:
    """A sparse matrix X (n, d) by rows; float64, never written to.

    Parameters
    ----------
    data, indices, indptr : arrays of the compressed rows; `indices` uint32, `indptr` int32 or int64
    shape : (n, d)
    outputs : k for models of shape (d, k) and outputs (n, k); None for vectors

    `array` (n, d) is X with its zeros where X is dense, else None. Where every entry is stored, it is `data` itself.
    """

    def __init__(self, data, indices, indptr, shape, outputs=None):
        from scipy.sparse import csr_array

        size = (int(shape[0]), int(shape[1]))
        self.shape = size if outputs is None else (*size, outputs)
        data, indices, indptr = (_frozen(a) for a in (data, indices, indptr))
        sqnorms = np.empty(size[0])
        _sqnorms(indptr, data, sqnorms)
        self.rows = Rows(indptr, indices, data, _frozen(sqnorms))
        signed = indices.view(np.int32) if indptr.dtype == np.int32 else indices.astype(np.int64)
        self._matrix = csr_array((data, signed, indptr), shape=size, copy=False)
        self._transposed = self._matrix.T
        self.array = self._as_array()

    @classmethod
    def of(cls, X, outputs=None):
        """Return the operator of a dense array or any scipy sparse matrix; RrmbenchError if it is no finite matrix."""
        from scipy.sparse import csr_array, issparse

        check_mask(X, "X")
        try:
            X = X if issparse(X) else _numbers(np.asarray(X), getattr(X, "columns", None))
        except ValueError as error:  # rows of several lengths
            raise RrmbenchError(f"X: found {shown(X)}, needed is a matrix (n, d) of numbers: {error}") from None
        if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
            found = f"{X.dtype} of the shape {X.shape}"
            raise RrmbenchError(f"X: found {found}, needed is a matrix (n, d) of numbers")
        if X.shape[1] >= 2**31:
            raise RrmbenchError(f"X: found {X.shape[1]} columns, allowed are at most {2**31 - 1}")
        X = in_rows(X, "X") if issparse(X) else csr_array(X, dtype=np.float64)
        if not np.isfinite(X.data).all():
            rows, columns = X.nonzero()
            first = np.flatnonzero(~np.isfinite(X.data[X.data != 0.0]))[0]
            found = f"X[{rows[first]}, {columns[first]}] = {X[rows[first], columns[first]]}"
            raise RrmbenchError(f"X: found {found}, needed are finite numbers")
        kind = np.int32 if X.nnz < 2**31 else np.int64
        return cls(X.data, X.indices.astype(np.uint32), X.indptr.astype(kind), X.shape, outputs)

    @property
    def nnz(self):
        return self.rows.data.shape[0]

    @property
    def sqnorms(self):
        return self.rows.sqnorms

    @cached_property
    def variance(self):
        """(1/n) sum ||x_i - mean row||^2, a sum of squares without cancellation."""
        n, d = self.shape[:2]
        present = np.bincount(self.rows.indices, minlength=d)
        mean = np.bincount(self.rows.indices, self.rows.data, d) / n
        away = self.rows.data - mean[self.rows.indices]
        return float(away @ away + (n - present) @ mean**2) / n

    def head(self, n):
        """The operator of copies of the first n rows."""
        return CSR(*_head(self.rows, n), (n, self.shape[1]), *self.shape[2:]).with_products_of(self)

    def part(self, samples):
        """The operator of copies of some rows, ascending numbers (m,)."""
        some = self._matrix[samples]
        part = (some.data, some.indices.astype(np.uint32), some.indptr.astype(self.rows.indptr.dtype))
        return CSR(*part, (len(samples), self.shape[1]), *self.shape[2:]).with_products_of(self)

    def with_products_of(self, X):
        """This operator, an array or none as X is: it is for compiling what X calls."""
        if (self.array is None) != (X.array is None):
            self.array = None if X.array is None else _frozen(self._matrix.toarray())
        return self

    def _as_array(self):
        n, d = self.shape[:2]
        if self.nnz == n * d and (self.rows.indices.reshape(n, d) == np.arange(d)).all():
            return self.rows.data.reshape(n, d)
        return _frozen(self._matrix.toarray()) if DENSE * n * d <= self.nnz and n * d <= LARGEST else None

    def columns(self):
        """A copy of X by columns (scipy's CSC)."""
        return self._matrix.tocsc()

    def forward(self, w):
        """z = X w."""
        if self.array is None and _has_columns(w):
            return matrix_products.times(self.rows, self.shape[1], w)
        return (self._matrix if self.array is None else self.array) @ w

    def adjoint(self, b):
        """X^T b."""
        if self.array is None and _has_columns(b):
            return matrix_products.transposed_times(self.rows, self.shape[1], b)
        return (self._transposed if self.array is None else self.array.T) @ b

    def magnitudes(self, b):
        """|X|^T |b|, the magnitudes of the terms of X^T b, which rounding is relative to."""
        n, d = self.shape[:2]
        found = np.zeros((d, *b.shape[1:]))
        places = np.searchsorted(self.rows.indptr, np.arange(PIECE, self.nnz, PIECE))
        for first, end in pairwise(np.unique([0, *places, n])):  # a copy of some rows at a time, not of X
            found += abs(self._matrix[first:end]).T @ np.abs(b[first:end])
        return found


def _has_columns(w):
    """Whether w is a matrix of several columns."""
    return w.ndim > 1 and w.shape[1] > 1


class Flattened:
    """z = X vec(W) for a matrix model W of shape `model`, vec row by row; X a sparse matrix (n, product of `model`).

    Multi-task data with k tasks have model (d, k), and feature j of a sample of task t in column j k + t. The
    entries of a matrix have a 1 in column i * columns + j. Compiled kernels are for vector models: there are no `rows`,
    but those of `flat`, the operator of vec(W).

    Parameters
    ----------
    data, indices, indptr : as of `CSR`
    shape : (n, product of `model`)
    model : the shape of W
    """

    def __init__(self, data, indices, indptr, shape, model):
        self.flat = CSR(data, indices, indptr, shape)
        self.shape = (int(shape[0]), *(int(size) for size in model))

    @property
    def nnz(self):
        return self.flat.nnz

    @property
    def sqnorms(self):
        return self.flat.sqnorms

    @property
    def variance(self):
        return self.flat.variance

    def head(self, n):
        """The operator of copies of the first n rows, on the same model."""
        flat = self.flat
        head = Flattened(*_head(flat.rows, n), (n, flat.shape[1]), self.shape[1:])
        head.flat.with_products_of(flat)
        return head

    def forward(self, w):
        """z = X vec(W)."""
        return self.flat.forward(w.reshape(-1))

    def adjoint(self, b):
        """X^T b as a matrix."""
        return self.flat.adjoint(b).reshape(self.shape[1:])

    def magnitudes(self, b):
        """|X|^T |b| as a matrix."""
        return self.flat.magnitudes(b).reshape(self.shape[1:])


def _head(rows, n):
    end = rows.indptr[n]
    return rows.data[:end].copy(), rows.indices[:end].copy(), rows.indptr[: n + 1].copy()


def _frozen(array):
    # A memory map is a subclass that numba would compile for anew; so is a writable array.
    array = np.asarray(array).view(np.ndarray)
    array.flags.writeable = False
    return array


@kernel
def _sqnorms(indptr, data, out):
    for i in range(out.shape[0]):
        total = 0.0
        for k in entries(indptr[i], indptr[i + 1]):
            total += data[k] * data[k]
        out[i] = total
