"""The smaller Gram matrix of the data, X^T X or X X^T.

A product of two stored entries reads the second one, so that a row (of X^T X, a column for X X^T) of m entries counts
m (m + 3)/2 entries read: its own and the pairs of its upper triangle. A pass is 2 nnz of them, as everywhere.
"""

from itertools import pairwise

import numpy as np

from rrmbench.numerics.jit import kernel

DENSE = 0.1  # the part of all pairs from which on dense blocks are multiplied faster than single pairs
LEAST = 64  # and the size from which on
BLOCK = 2**22  # entries of a dense block


def add_gram(X, of_columns, G):
    """Add X^T X (d, d) if `of_columns`, else X X^T (n, n), to G, which is zero; yields after each part of the work.

    X : a counting view (`Problem.counted`), whose `passes` grow by what is read
    """
    if not hasattr(X, "rows"):
        yield from _by_products(X, of_columns, G)
        return
    indptr, indices, data = X.rows[:3] if of_columns else _columns(X)
    m, size = np.diff(indptr).astype(np.int64), G.shape[0]
    reads = np.concatenate(([0], np.cumsum(m * (m + 3) // 2)))
    dense = size >= LEAST and reads[-1] > DENSE * m.size * (size * size / 2.0)
    before, a_pass = X.passes, 2.0 * max(X.nnz, 1)
    # both kernels are called, on no row, so that the few rows of a warm-up call them too
    scatter(indptr, indices, data, 0, np.zeros((0, size)))
    add_pairs(indptr, indices, data, 0, 0, G)
    for begin, end in _parts(reads, a_pass, max(BLOCK // size, 1) if dense else None):
        if dense:
            block = np.zeros((end - begin, size))
            scatter(indptr, indices, data, begin, block)
            G += block.T @ block
        else:
            add_pairs(indptr, indices, data, begin, end, G)
        X.passes = before + float(reads[end]) / a_pass
        yield
    if not dense:
        G += np.triu(G, 1).T + np.tril(G, -1).T


def _columns(X):
    """The columns of X in the form of `Rows`."""
    columns, rows = X.columns(), X.rows
    arrays = columns.indptr.astype(rows.indptr.dtype), columns.indices.astype(np.uint32), columns.data
    for array in arrays:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False  # as those of the rows: kernels are compiled once
    return arrays


def _parts(reads, a_pass, rows):
    """Pairs (begin, end) of rows: so many `rows`, or what counts about a pass."""
    n = reads.size - 1
    if rows is None:
        wanted = np.linspace(0.0, reads[-1], int(reads[-1] // a_pass) + 2)
        ends = np.unique([*np.searchsorted(reads, wanted[1:-1]), n])
    else:
        ends = np.append(np.arange(rows, n, rows), n)
    return pairwise([0, *ends[ends > 0]])


def _by_products(X, of_columns, G):
    """As `add_gram`, of an operator without rows: a pass per column of the matrix."""
    shape = X.shape[1:] if of_columns else X.shape[:1]
    for j in range(G.shape[0]):
        unit = np.zeros(G.shape[0])
        unit[j] = 1.0
        unit = unit.reshape(shape)
        G[j] = (X.adjoint(X.forward(unit)) if of_columns else X.forward(X.adjoint(unit))).reshape(-1)
        yield


@kernel
def add_pairs(indptr, indices, data, begin, end, G):
    """Add to G (d, d) the products of all pairs a <= b of entries of each row begin <= i < end."""
    for i in range(begin, end):
        for a in range(indptr[i], indptr[i + 1]):
            j, x = indices[a], data[a]
            for b in range(a, indptr[i + 1]):
                G[j, indices[b]] += x * data[b]


@kernel
def scatter(indptr, indices, data, begin, block):
    """Write the rows from `begin` on to the dense block (rows, d), which is zero."""
    for i in range(block.shape[0]):
        for a in range(indptr[begin + i], indptr[begin + i + 1]):
            block[i, indices[a]] = data[a]
