"""The steps of preparation on CSR rows and labels. Each returns new values and changes nothing."""

import numpy as np
from scipy.sparse import csr_array, hstack

from rrmbench.data.draws import ordering
from rrmbench.errors import RrmbenchError


def subset_rows(n, size, seed, where):
    """The row numbers of a subset: the first `size`, or with a seed a random choice, in file order."""
    if size > n:
        raise RrmbenchError(f"{where}: found subset: {size}, but there are only {n} rows")
    return np.arange(size) if seed is None else np.sort(ordering(seed, "subset", n)[:size])


def split_rows(n, fraction, seed, where):
    """The row numbers (training, test) of a random split, each in file order."""
    size = round(fraction * n)
    if not 0 < size < n:
        raise RrmbenchError(f"{where}: split: {fraction} of {n} rows leaves one part empty")
    order = ordering(seed, "split", n)
    return np.sort(order[:size]), np.sort(order[size:])


def flipped(y, fraction, seed, where):
    """y with the sign of round(fraction * n) randomly chosen labels changed."""
    if not np.isin(y, (-1.0, 1.0)).all():
        raise RrmbenchError(f"{where}: 'flip' needs labels -1 and 1")
    sign = np.ones(len(y))
    sign[ordering(seed, "flip", len(y))[: round(fraction * len(y))]] = -1.0
    return y * sign


def row_norms(X):
    """The Euclidean norms of the rows."""
    return np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())


def scaler(X, scale):
    """Return f(X) -> X scaled, with all factors taken from the training rows X.

    unit_rows: every row divided by its norm (an empty row stays). mean_norm: everything divided by the mean
    row norm. max_abs: every column divided by its greatest absolute value.
    """
    if scale == "unit_rows":
        return lambda part: _scaled(part, np.repeat(_factors(row_norms(part)), np.diff(part.indptr)))
    if scale == "mean_norm":
        factor = _factors(row_norms(X).mean(keepdims=True))
        return lambda part: _scaled(part, factor)
    if scale == "max_abs":
        factors = _factors(abs(X).max(axis=0).toarray().ravel())
        return lambda part: _scaled(part, factors[part.indices])
    return lambda part: part


def with_ones(X):
    """X with a last column of ones."""
    return csr_array(hstack([X, np.ones((X.shape[0], 1))], format="csr"))


def with_columns(X, d):
    """X with exactly d columns, and how many of its entries were dropped to get there."""
    kept = X[:, :d] if X.shape[1] > d else csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))
    return kept, X.nnz - kept.nnz


def _factors(sizes):
    return np.divide(1.0, sizes, out=np.ones_like(sizes), where=sizes > 0)


def _scaled(X, factors):
    return csr_array((X.data * factors, X.indices, X.indptr), shape=X.shape)
