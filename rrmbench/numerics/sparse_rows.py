"""The products with one row of a sparse matrix that stochastic steps consist of."""

from rrmbench.numerics.jit import kernel


@kernel
def dot(indices, data, begin, end, w):
    """Return sum of data[k] * w[indices[k]] over begin <= k < end; indices and data (nnz,), w (d,)."""
    total = 0.0
    for k in range(begin, end):
        total += data[k] * w[indices[k]]
    return total


@kernel
def axpy(indices, data, begin, end, a, w):
    """Add a * data[k] to w[indices[k]] for begin <= k < end; indices and data (nnz,), w (d,)."""
    for k in range(begin, end):
        w[indices[k]] += a * data[k]
