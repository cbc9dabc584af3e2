"""Some columns of a sparse matrix: their entries by rows and by columns, and their inner products.

`place` (d,) says of every column of the whole matrix which number it has among the chosen ones, -1 for the others.
Numbers ascend with the columns, so the entries of a row stay sorted.
"""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.sparse_rows import axpy, entries

AT_ONCE = 8  # rows of an array whose columns are copied: those of one column are what memory writes in one go
BLOCK = 32  # rows and columns of a block: two of them fit in the nearest cache


class Part(NamedTuple):
    """A sparse matrix: entries data[indptr[i]:indptr[i+1]] of line i at places indices[indptr[i]:indptr[i+1]]."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


def frozen(part):
    """The part with arrays that nobody writes to, as those of X: kernels are compiled once."""
    for array in part:
        array.flags.writeable = False
    return part


@kernel
def gradient_and_sqnorms(rows, b, g, sqnorms, counts):
    """In one reading of X (n, d): add X^T b to g, squared norms of the columns to sqnorms, their entries to counts."""
    for i in range(b.shape[0]):
        for e in entries(rows.indptr[i], rows.indptr[i + 1]):
            j, x = rows.indices[e], rows.data[e]
            g[j] += b[i] * x
            sqnorms[j] += x * x
            counts[j] += 1


@kernel
def whole_gradient_and_sqnorms(X, b, g, sqnorms):
    """In one reading of an array X (n, d): add X^T b to g, squared norms of the columns to sqnorms."""
    n, d = X.shape
    for i in range(0, n - n % 4, 4):  # of four rows at once, which takes half of the time
        first, second, third, fourth = X[i], X[i + 1], X[i + 2], X[i + 3]
        for j in entries(0, d):
            g[j] += b[i] * first[j] + b[i + 1] * second[j] + b[i + 2] * third[j] + b[i + 3] * fourth[j]
            sqnorms[j] += first[j] ** 2 + second[j] ** 2 + third[j] ** 2 + fourth[j] ** 2
    for i in range(n - n % 4, n):
        for j in entries(0, d):
            g[j] += b[i] * X[i, j]
            sqnorms[j] += X[i, j] ** 2


@kernel
def chosen_rows(rows, which, place, part):
    """Write the chosen columns of the rows `which` (n,) to the rows of `part` (n, m), whose arrays have the room."""
    size = 0
    for k in range(which.shape[0]):
        part.indptr[k] = size
        for e in entries(rows.indptr[which[k]], rows.indptr[which[k] + 1]):
            j = place[rows.indices[e]]
            if j >= 0:
                part.indices[size] = j
                part.data[size] = rows.data[e]
                size += 1
    part.indptr[-1] = size


def in_columns(rows, which, numbers, d, room):
    """The entries of the rows `which` (n,) in the columns `numbers` (m,) of d as a Part, which nobody writes to.

    room : at least as many as there are
    """
    place = np.full(d, -1, dtype=np.int32)
    place[numbers] = np.arange(numbers.size, dtype=np.int32)
    indptr = np.empty(which.size + 1, dtype=rows.indptr.dtype)
    indices, data = np.empty(room, dtype=np.uint32), np.empty(room)
    chosen_rows(rows, which, place, Part(indptr, indices, data))
    return frozen(Part(indptr, indices[: indptr[-1]], data[: indptr[-1]]))


@kernel
def copy_columns(X, numbers, lines):
    """Write the columns `numbers` (m,) of an array X (n, d) to lines (m, n)."""
    n = X.shape[0]
    for top in range(0, n, AT_ONCE):
        first, size = np.uint64(top), np.uint64(min(AT_ONCE, n - top))
        for k in range(numbers.shape[0]):
            j, line = np.uint64(numbers[k]), lines[k]
            for i in range(size):
                line[first + i] = X[first + i, j]


@kernel
def weigh_rows(columns, numbers, weights, data, sqnorms):
    """Write the entries of the columns `numbers` (m,), in row i times weights[i], to `data` (nnz,), at their places.

    sqnorms (m,) becomes the sums of their squares.
    """
    for k in range(numbers.shape[0]):
        total = 0.0
        for e in entries(columns.indptr[numbers[k]], columns.indptr[numbers[k] + 1]):
            x = weights[columns.indices[e]] * columns.data[e]
            data[e] = x
            total += x * x
        sqnorms[k] = total


@kernel
def count_rows(columns, numbers, counts):
    """Add to counts (n,) how many entries of the columns `numbers` (m,) are in each row."""
    for j in numbers:
        for e in entries(columns.indptr[j], columns.indptr[j + 1]):
            counts[columns.indices[e]] += 1


@kernel
def rows_of(columns, numbers, part):
    """Write the columns `numbers` (m,) to the rows of `part`, whose indptr (n + 1,) knows the numbers of entries."""
    at = part.indptr[:-1].copy()
    for k in range(numbers.shape[0]):
        for e in entries(columns.indptr[numbers[k]], columns.indptr[numbers[k] + 1]):
            i = columns.indices[e]
            part.indices[at[i]] = k
            part.data[at[i]] = columns.data[e]
            at[i] += 1


@kernel
def mirror(gram):
    """Copy the part below the diagonal to the part above it, in blocks that the cache holds."""
    size = gram.shape[0]
    for a in range(0, size, BLOCK):
        for b in range(0, a + 1, BLOCK):
            for j in range(a, min(a + BLOCK, size)):
                for k in range(b, min(b + BLOCK, j)):
                    gram[k, j] = gram[j, k]


@kernel
def add_products(rows, which, weights, fresh, matrix):
    """Add sum weights[i] x_ij x_ik over the rows i of `which` to matrix[j, k], j >= k, where column j or k is fresh.

    rows : (n, m); weights : (n,); fresh : (m,); matrix : (m, m). Returns the number of entries read.
    """
    seen, read = np.empty(matrix.shape[0], np.int64), 0
    for i in which:
        begin, end, size = rows.indptr[i], rows.indptr[i + 1], 0
        for e in entries(begin, end):
            j = rows.indices[e]
            x, line = weights[i] * rows.data[e], matrix[j]
            if fresh[j]:
                seen[size] = e
                size += 1
                axpy(rows.indices, rows.data, begin, e + 1, x, line)
                read += e + 2 - begin
            else:
                for f in seen[:size]:
                    line[rows.indices[f]] += x * rows.data[f]
                read += size + 1
    return read


@kernel
def spread(matrix, places, larger):
    """larger[places[j], places[k]] = matrix[j, k]."""
    for j in range(places.shape[0]):
        line = larger[places[j]]
        for k in range(places.shape[0]):
            line[places[k]] = matrix[j, k]


@kernel
def proximal_steps(regularizer, x, t, w):
    """w_j = argmin_u t_j psi(u) + (u - x_j)^2 / 2."""
    for j in range(x.shape[0]):
        w[j] = regularizer.prox(x[j], t[j])
