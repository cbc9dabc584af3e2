"""Products with lines of a matrix, rows or columns, that may have all their entries.

The indices of a *whole* line, which ascend, say nothing, and are not read: a product takes 0.3 ns for each entry
instead of 0.6, since several entries are multiplied at once. Steps on single samples are by
`rrmbench.numerics.sparse_rows`: where lines are short, the test takes a tenth of their time.

numba inlines these functions, and prunes what counts references, only where the helpers are forced in: without it a
product of 72 entries takes 43 ns instead of 9.
"""

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.jit import kernel


@register_jitable(forceinline=True)
def is_whole(begin, end, d):
    """Whether a line with the entries begin, ..., end - 1 has all d of them."""
    return np.int64(end) - np.int64(begin) == d


@register_jitable(forceinline=True)
def places(begin, end):
    """As `sparse_rows.entries`."""
    return range(np.uint64(begin), np.uint64(end))


@register_jitable(fastmath={"reassoc", "nsz"}, forceinline=True)  # sums of several entries at once, in another order
def whole_dot(data, begin, w):
    """`dot` of a whole line."""
    total, first = 0.0, np.uint64(begin)
    for j in places(0, w.shape[0]):
        total += data[first + j] * w[j]
    return total


@register_jitable(fastmath={"reassoc", "nsz"}, forceinline=True)
def part_dot(indices, data, begin, end, w):
    """`dot` of a line whose indices are read."""
    total = 0.0
    for k in places(begin, end):
        total += data[k] * w[indices[k]]
    return total


@register_jitable(forceinline=True)
def whole_axpy(data, begin, a, w):
    """`axpy` of a whole line."""
    first = np.uint64(begin)
    for j in places(0, w.shape[0]):
        w[j] += a * data[first + j]


@register_jitable(forceinline=True)
def whole_weighted_axpy(line, weights, a, w):
    """Add a * weights[j] * line[j] to all w[j]."""
    for j in places(0, w.shape[0]):
        w[j] += a * weights[j] * line[j]


@register_jitable(fastmath={"reassoc", "nsz"}, forceinline=True)
def whole_weighted_square(line, weights):
    """Return sum of weights[j] * line[j]^2."""
    total = 0.0
    for j in places(0, line.shape[0]):
        total += weights[j] * line[j] * line[j]
    return total


@kernel
def dot(indices, data, begin, end, w):
    """Return sum of data[k] * w[indices[k]] over begin <= k < end; indices and data (nnz,), w (d,)."""
    if is_whole(begin, end, w.shape[0]):
        return whole_dot(data, begin, w)
    return part_dot(indices, data, begin, end, w)


@kernel
def axpy(indices, data, begin, end, a, w):
    """Add a * data[k] to w[indices[k]] for begin <= k < end; indices and data (nnz,), w (d,)."""
    if is_whole(begin, end, w.shape[0]):
        whole_axpy(data, begin, a, w)
        return
    for k in places(begin, end):
        w[indices[k]] += a * data[k]


@kernel
def products(rows, w, z):
    """z = X w, for the rows of X (n, d)."""
    for i in range(z.shape[0]):
        z[i] = dot(rows.indices, rows.data, rows.indptr[i], rows.indptr[i + 1], w)
