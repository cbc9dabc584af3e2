"""The smaller Gram matrix of the data, X^T X or X X^T, also of some rows with weights.

A product of two stored entries reads the second one, so that a row (of X^T X, a column for X X^T) of m entries counts
m (m + 3)/2 entries read: its own and the pairs of its upper triangle. A pass is 2 nnz of them, as everywhere. Of sparse
rows, X X^T has half a pass more, for a copy of X by columns.
"""

from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.sparse_rows import entries

DENSE = 0.1  # the part of all pairs from which on dense blocks are multiplied faster than single pairs
LEAST = 64  # and the size from which on
BLOCK = 2**22  # entries of a dense block
ROUNDING = 1e-8  # of the greatest weight, by which differences of others may be those of quotients


def add_gram(X, of_columns, G, samples=None, weights=None):
    """Add X^T diag(weights) X (d, d) if `of_columns`, else X X^T (n, n), to G, which is zero.

    Yields after each part of the work, at least once a pass.

    X : a counting view (`Problem.counted`), whose `passes` grow by what is read
    samples, weights : ascending numbers of rows (m,) and >= 0 (m,), for data with rows: the others are not read. All
        rows have the weight 1 without them. Of weights (k, m) G is (k, d, d); rows are read once for all k
    """
    if not hasattr(X, "rows"):
        yield from _by_products(X, of_columns, G)
        return
    if X.array is not None:
        lengths = np.diff(X.rows.indptr) if of_columns else np.bincount(X.rows.indices, minlength=X.shape[1])
        yield from of_array(X, X.array if of_columns else X.array.T, lengths, G, samples, weights)
        return
    if of_columns:
        indptr, indices, data = X.rows[:3]
    else:
        indptr, indices, data = _columns(X)
        yield
    if samples is None:
        samples, weights = np.arange(indptr.size - 1), np.ones(indptr.size - 1)
    yield from of_lines(X, indptr, indices, data, G, samples, weights)


def of_lines(X, indptr, indices, data, G, samples, weights):
    """As `add_gram`, of sparse lines; passes are those of X."""
    size = G.shape[-1]
    # both kernels are called, on no row, so that the few rows of a warm-up call them too
    none = np.zeros(0, dtype=np.int64), np.zeros(0)
    scatter(indptr, indices, data, none[0], np.zeros((0, size)))
    add_pairs(indptr, indices, data, *none, G if G.ndim == 2 else G[0])
    m = indptr[samples + 1] - indptr[samples]
    reads = np.concatenate(([0], np.cumsum(reads_of(m))))
    several, before, a_pass = G.ndim > 2, X.passes, 2.0 * max(X.nnz, 1)
    dense = several or (size >= LEAST and reads[-1] > DENSE * m.size * (size * size / 2.0))
    in_blocks = dense and not several
    for begin, end in _of_so_many(m.size, max(BLOCK // size, 1)) if in_blocks else of_a_pass(reads, a_pass):
        part, of_part = samples[begin:end], weights[..., begin:end]
        if dense:
            yield from told_ahead(X, before + float(reads[end]) / a_pass)
            block = np.zeros((end - begin, size))
            scatter(indptr, indices, data, part, block)
            _add_product(block, of_part, G)
        else:
            add_pairs(indptr, indices, data, part, of_part, G)
        X.passes = before + float(reads[end]) / a_pass
        yield
    if not dense:
        G += G.T
        G.flat[:: size + 1] *= 0.5


def renew_gram(X, G, of, weights):
    """Make G = X^T diag(weights) X (d, d) of G = X^T diag(of) X, and of = weights, (n,) >= 0. Yields as `add_gram`.

    By the rows whose weights differ beyond ROUNDING, where they count less than those with a weight, else anew.
    """
    change, reads = weights - of, reads_of(np.diff(X.rows.indptr))
    change[np.abs(change) <= ROUNDING * np.max(weights)] = 0.0
    if reads @ (change != 0.0) >= reads @ (weights > 0.0):
        G[:], of[:], change = 0.0, 0.0, weights
    for sign in (1.0, -1.0):  # `add_gram` takes no weights below 0
        rows = np.flatnonzero(sign * change > 0.0)
        part = np.zeros_like(G)
        yield from add_gram(X, True, part, rows, sign * change[rows])
        G += sign * part
    of += change


def reads_of(lengths):
    """The entries read for the products of all pairs of entries of rows of these lengths (m,), for each row (m,)."""
    lengths = lengths.astype(np.int64)
    return lengths * (lengths + 3) // 2


def solver_of(G):
    """The function r -> G^-1 r of a symmetric positive semidefinite G, of a singular one the pseudoinverse."""
    try:
        factors = cho_factor(G, check_finite=False)
    except LinAlgError:
        values, vectors = eigh(G, check_finite=False)
        kept = values > len(G) * np.finfo(float).eps * values[-1]
        values, vectors = values[kept], vectors[:, kept]
        return lambda r: vectors @ ((vectors.T @ r) / values)
    return lambda r: cho_solve(factors, r, check_finite=False)


def of_array(X, lines, lengths, G, samples=None, weights=None):
    """As `add_gram`, of lines of an array that have so many entries; passes are those of X."""
    if samples is not None:
        lengths = lengths[samples]
    reads = np.concatenate(([0], np.cumsum(reads_of(lengths))))
    before, a_pass = X.passes, 2.0 * max(X.nnz, 1)
    for begin, end in _of_so_many(lengths.size, max(BLOCK // max(G.shape[-1], 1), 1)):
        yield from told_ahead(X, after := before + float(reads[end]) / a_pass)
        if samples is None:
            _add_product(lines[begin:end], np.ones(1), G)
        else:
            _add_product(lines[samples[begin:end]], weights[..., begin:end], G)
        X.passes = after
        yield


def _add_product(block, weights, G):
    """Add block^T diag(weights) block to G (d, d), or to G (k, d, d) for weights (k, m)."""
    if G.ndim > 2:
        for of_one, G_of_one in zip(weights, G, strict=True):
            _add_product(block, of_one, G_of_one)
        return
    if np.any(weights != 1.0):
        block = np.sqrt(weights)[:, np.newaxis] * block
    G += block.T @ block


def told_ahead(X, after):
    """Yield after each of the passes up to `after`, which are counted before they are made, but for the last one."""
    while X.passes + 1.0 < after:
        X.passes += 1.0
        yield


def _columns(X):
    """The columns of X, a counting view, in the form of `Rows`; half a pass."""
    columns, rows = X.columns(), X.rows
    X.passes += 0.5
    arrays = columns.indptr.astype(rows.indptr.dtype), columns.indices.astype(np.uint32), columns.data
    for array in arrays:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False  # as those of the rows: kernels are compiled once
    return arrays


def of_a_pass(reads, a_pass):
    """Pairs (begin, end) of lines that count about a pass; reads (m + 1,) are the entries that the first k count."""
    m = reads.size - 1
    wanted = np.linspace(0.0, reads[-1], int(reads[-1] // a_pass) + 2) if reads[-1] > a_pass else np.zeros(2)
    ends = np.unique([*np.searchsorted(reads, wanted[1:-1]), m])
    return pairwise([0, *ends[ends > 0]])


def _of_so_many(m, rows):
    """Pairs (begin, end) of so many lines, the last of fewer."""
    return pairwise([*range(0, m, rows), m])


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
def add_pairs(indptr, indices, data, lines, weights, G):
    """Add to G (d, d) the products of all pairs a <= b of entries of each of the lines (m,), times its weight (m,)."""
    for s in range(lines.shape[0]):
        begin, end = indptr[lines[s]], indptr[lines[s] + 1]
        for a in entries(begin, end):
            j, x = indices[a], weights[s] * data[a]
            for b in entries(a, end):
                G[j, indices[b]] += x * data[b]


@kernel
def scatter(indptr, indices, data, lines, block):
    """Write the lines (m,) to the dense block (m, d), which is zero."""
    for s in range(lines.shape[0]):
        for a in entries(indptr[lines[s]], indptr[lines[s] + 1]):
            block[s, indices[a]] = data[a]
