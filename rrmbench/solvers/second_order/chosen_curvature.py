"""The second derivative of the mean loss in chosen coordinates, of losses on one output or on several."""

from itertools import pairwise

import numpy as np

from rrmbench.numerics import restricted, whole_arrays
from rrmbench.solvers.second_order import gram
from rrmbench.solvers.second_order.curvature import curvatures, greatest_diagonal

NUMBERS = 2**18  # in a block of rows, of chosen entries, which stays in the cache
LACKS = 0.8  # of the mean square of a column, below which some samples are too few for it


def add_second_derivative(X, problem, samples, z, b, coordinates, greatest, H):
    """Add the mean D_i (x) x_i x_i^T of some samples in the flat coordinates (m,) to H (m, m), which is zero.

    D_i is the second derivative of phi at sample i. The diagonal of H is raised in columns of which the samples hold
    too little. Yields after each part of the work, at least once a pass. A copy of the samples, or of their chosen
    columns, counts half a pass of them; of samples that are not all, so do the norms of the columns of the copy.

    X : the counting view whose passes grow
    samples : ascending numbers, or None for all
    z, b : (n,) or (n, k), the outputs and the derivatives of all samples
    greatest : the `greatest_diagonal` of the problem at the coordinates (m,)
    """
    if len(problem.shape) == 1:
        squares = yield from _of_one(X, problem, samples, z, coordinates, H)
    else:
        squares = yield from _of_several(X, problem, samples, b, coordinates, H)
    if samples is not None:
        _add_lacking(squares, greatest, H)


def _of_one(X, problem, samples, z, features, H):
    """As `add_second_derivative`, of losses on one output, whose D_i are numbers: a Gram matrix with these weights.

    Returns the diagonal of that for the greatest D_i (m,), or None of all samples.
    """
    is_part, a_pass = samples is not None, 2.0 * max(X.nnz, 1)
    which = samples if is_part else np.arange(problem.n)
    c = curvatures(problem, z[which], problem.y[which])
    seen, squares = np.flatnonzero(c), None
    read = int((X.rows.indptr[which + 1] - X.rows.indptr[which]).sum())
    if X.array is not None:
        lines = X.array[which[:, np.newaxis], features]
        making = gram.of_array(X, lines, np.full(which.size, features.size), H, seen, c[seen])
        if is_part:
            squares = np.einsum("ij,ij->j", lines, lines)
            read += lines.size
    else:
        part = restricted.in_columns(X.rows, which, features, problem.shape[0], read)
        making = gram.of_lines(X, *part, H, seen, c[seen])
        if is_part:
            squares = np.bincount(part.indices, part.data**2, features.size)
            read += part.data.size
    X.passes += read / a_pass
    yield
    yield from making
    H /= which.size
    return squares * (problem.smoothness / which.size) if is_part else None


def _of_several(X, problem, samples, b, coordinates, H):
    """As `add_second_derivative`, of losses on several outputs; returns as `_of_one`.

    D_i = diag(s_i) - s_i s_i^T / sum(s_i), so that this is a matrix of each output less one product for all.
    """
    part, of_part, (d, k) = problem, b, problem.shape
    if samples is not None:
        part, of_part = problem.on(samples), b[samples]
        X.passes += part.X.nnz / max(X.nnz, 1)  # the copy, and the norms of its columns
    features, outputs = np.divmod(coordinates, k)
    order = np.argsort(outputs, kind="stable")  # those of an output one behind the other
    features, outputs = features[order], outputs[order]
    ends = np.searchsorted(outputs, np.arange(k), side="right")
    reads = np.concatenate(([0.0], np.cumsum(_reads(part.X, features, outputs))))
    a_pass, before = 2.0 * max(X.nnz if X.array is None else X.array.size, 1) * k, X.passes
    G, size = np.zeros(H.shape), max(NUMBERS // max(order.size, d), 1)
    for begin in range(0, part.n, size):
        block = slice(begin, min(begin + size, part.n))
        after = before + reads[block.stop] / a_pass
        yield from gram.told_ahead(X, after)
        s = np.empty((block.stop - begin, k))
        whole_arrays.slopes(part.loss, part.mu, of_part[block], part.y[block], s)
        U = _lines(part.X, block)[:, features] * np.sqrt(s)[:, outputs]
        for first, end in pairwise([0, *ends]):
            G[first:end, first:end] += U[:, first:end].T @ U[:, first:end]
        U *= np.sqrt(s / s.sum(axis=1, keepdims=True))[:, outputs]
        G -= U.T @ U
        X.passes = after
        yield
    H[np.ix_(order, order)] = G / part.n
    return None if samples is None else greatest_diagonal(part.counted())[coordinates // k, 0]


def _add_lacking(of_part, of_all, H):
    """Add to the diagonal of H what its samples lack of columns, at the mean curvature of what they have.

    Few of them or none may tell of a rare feature, and steps on it would be too long.

    of_part, of_all : the `greatest_diagonal` at each coordinate (m,) of the samples of H, and of all
    """
    if of_part.any():
        lacking = np.where(of_part < LACKS * of_all, of_all - of_part, 0.0)
        H.flat[:: len(H) + 1] += np.trace(H) / of_part.sum() * lacking


def _reads(X, features, outputs):
    """The products of pairs of chosen entries of each row (n,), and of pairs of one output once more."""
    total = gram.reads_of(_sizes(X, features))
    for e in range(outputs.max(initial=-1) + 1):
        m = _sizes(X, features[outputs == e])
        total = total + m * (m + 1) // 2
    return total


def _sizes(X, features):
    """How many of the chosen entries each row has (n,); of dense data all of them."""
    if X.array is not None:
        return np.full(X.shape[0], features.size)
    chosen = np.bincount(features, minlength=X.shape[1])
    return np.add.reduceat(np.append(chosen[X.rows.indices], 0), X.rows.indptr[:-1]) * (np.diff(X.rows.indptr) > 0)


def _lines(X, block):
    """The rows of X in a slice (m, d) with their zeros."""
    if X.array is not None:
        return X.array[block]
    lines = np.zeros((block.stop - block.start, X.shape[1]))
    gram.scatter(*X.rows[:3], np.arange(block.start, block.stop), lines)
    return lines
