"""Rows of a sparse matrix in kernels: loops over their entries, and the products that stochastic steps consist of.

The places of arrays are unsigned numbers here. This spares numba the test for negative ones in each access: with it
a step of Prox-SDCA takes 1.4 to 1.8 times as long.
"""

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.jit import kernel


@register_jitable
def entries(begin, end):
    """The places begin, ..., end - 1 of entries in `data` and `indices`, 0 <= begin, for loops."""
    return range(np.uint64(begin), np.uint64(end))


@register_jitable
def sample_at(order, k):
    """The number order[k] of a sample, at least 0 and below 2^32."""
    return np.uint32(order[k])


@kernel
def dot(indices, data, begin, end, w):
    """Return sum of data[k] * w[indices[k]] over begin <= k < end; indices and data (nnz,), w (d,)."""
    total = 0.0
    for k in entries(begin, end):
        total += data[k] * w[indices[k]]
    return total


@kernel
def axpy(indices, data, begin, end, a, w):
    """Add a * data[k] to w[indices[k]] for begin <= k < end; indices and data (nnz,), w (d,)."""
    for k in entries(begin, end):
        w[indices[k]] += a * data[k]
