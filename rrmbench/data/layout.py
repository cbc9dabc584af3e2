"""How rows of features become rows of the problem: tasks, entries of a matrix, kernels, added columns.

A model W that is a matrix is stored row by row, so that entry (i, j) of W belongs to column i * columns + j.
"""

import math

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, hstack

from rrmbench.errors import RrmbenchError

LARGEST_MODEL = 2**31 - 1  # entries, the columns that 32-bit indices can number
LARGEST_KERNEL = 5000  # rows: the decomposition of the kernel matrix takes minutes


def with_ones(X):
    """X with a last column of ones."""
    return csr_array(hstack([X, np.ones((X.shape[0], 1))], format="csr"))


def check_columns(d, where):
    """Raise RrmbenchError for more columns than a model can have entries."""
    if d > LARGEST_MODEL:
        raise RrmbenchError(f"{where}: found {d} columns, allowed are at most {LARGEST_MODEL}, that of a bias included")


def with_columns(X, d):
    """X with exactly d columns, and how many of its entries were dropped to get there."""
    kept = X[:, :d] if X.shape[1] > d else csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))
    return kept, X.nnz - kept.nnz


def entries(rows, columns, matrix, where):
    """One row of X for each entry (rows[i], columns[i]) of a matrix, with a single 1: z_i = W[rows[i], columns[i]]."""
    _check_size(matrix, where)
    n = len(rows)
    flat = rows * matrix[1] + columns
    return csr_array((np.ones(n), flat, np.arange(n + 1)), shape=(n, math.prod(matrix)))


def of_tasks(parts, qids, where):
    """Return (the wide rows of every part, the shape (d, k) of the model) for rows X (n, d) with task numbers.

    The k tasks of the first part, the training part, are numbered by ascending qid; feature j of a row of task t goes
    to column j k + t, so that z_i = x_i . W[:, t]. RrmbenchError for a task of another part that is not there.
    """
    known = np.unique(qids[0])
    model = (parts[0].shape[1], len(known))
    _check_size(model, where)
    return [_wide(X, _task_numbers(qid, known, where), len(known)) for X, qid in zip(parts, qids, strict=True)], model


def _task_numbers(qid, known, where):
    new = qid[~np.isin(qid, known)]
    if len(new):
        raise RrmbenchError(
            f"{where}: found qid {new[0]} in the test part, but no training row has it; "
            f"with 'tasks: qid' the model is for the {len(known)} tasks of the training part"
        )
    return np.searchsorted(known, qid)


def _wide(X, task, k):
    columns = X.indices.astype(np.int64) * k + np.repeat(task, np.diff(X.indptr))
    return csr_array((X.data, columns, X.indptr), shape=(X.shape[0], X.shape[1] * k))


def _check_size(model, where):
    if math.prod(model) > LARGEST_MODEL:
        raise RrmbenchError(
            f"{where}: the model has {model[0]} x {model[1]} = {math.prod(model)} entries, "
            f"at most {LARGEST_MODEL} are possible"
        )


def kernelized(X, kernel, where):
    """Return (F, embed, kernel) for the training rows X and a kernel kappa {"name": ..., parameter: value}.

    Pdprox 4.5: the predictor is g = sum_j zeta_j kappa(x_j, .). With the kernel matrix K = U S U' (eigenvalues up to
    n eps max dropped) and F = U S^(1/2), so that K = F F', the coefficients enter by w = F' zeta: the outputs are
    F w = K zeta, and ||w||^2 = zeta' K zeta = ||g||^2 in the space of the kernel. A new row becomes
    `embed`(rows) = kappa(rows, X) U S^(-1/2). The kernel comes back with gamma, which is 1/d where it is None.
    """
    n, d = X.shape
    if n > LARGEST_KERNEL:
        raise RrmbenchError(
            f"{where}: 'kernel' needs the kernel matrix of {n} training rows, at most {LARGEST_KERNEL} are possible; "
            f"'subset: {LARGEST_KERNEL}' takes fewer"
        )
    if "gamma" in kernel and kernel["gamma"] is None:
        kernel = kernel | {"gamma": 1.0 / d}
    K = _kernel_values(X, X, kernel)
    beyond = RrmbenchError(f"{where}: values of the kernel {kernel} are not finite; 'scale' makes the rows smaller")
    if not np.isfinite(K).all():
        raise beyond
    try:
        values, vectors = eigh(K, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise beyond from None
    if not np.isfinite(values).all():
        raise beyond
    kept = values > n * np.finfo(float).eps * values[-1]
    if not kept.any():
        raise RrmbenchError(f"{where}: all values of the kernel {kernel} are zero")
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]

    def embed(rows):
        with np.errstate(over="ignore", invalid="ignore"):
            embedded = _kernel_values(rows, X, kernel) @ vectors / roots
        if not np.isfinite(embedded).all():
            raise beyond
        return csr_array(embedded)

    return csr_array(vectors * roots), embed, kernel


def _kernel_values(A, B, kernel):
    from sklearn.metrics import pairwise

    parameters = {key: value for key, value in kernel.items() if key != "name"}
    with np.errstate(over="ignore", invalid="ignore"):
        return pairwise.pairwise_kernels(A, B, metric=kernel["name"], **parameters)
