"""The steps of preparation on CSR rows and labels. Each returns new values and changes nothing."""

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from rrmbench.data import folds
from rrmbench.data.draws import ordering
from rrmbench.errors import RrmbenchError

PIECE = 1 << 20  # stored entries


def subset_rows(n, size, seed, where, kind="rows"):
    """The numbers of a subset of rows: the first `size`, or with a seed a random choice, in file order."""
    if size > n:
        raise RrmbenchError(f"{where}: found subset: {size}, but there are only {n} {kind}")
    return np.arange(size) if seed is None else np.sort(ordering(seed, "subset", n)[:size])


def split_rows(n, fraction, seed, where, groups=None, kind="rows"):
    """The row numbers (training, test) of a random split, each in file order.

    With `groups` (one number a row), the fraction is that of each group, but one row at least is for training.
    """
    order = ordering(seed, "split", n)
    if groups is None:
        train = order[: round(fraction * n)]
    else:
        order = order[np.argsort(groups[order], kind="stable")]
        _, starts = np.unique(groups[order], return_index=True)
        rows = np.split(order, starts[1:])
        train = np.concatenate([group[: max(1, round(fraction * len(group)))] for group in rows])
    if not 0 < len(train) < n:
        raise RrmbenchError(f"{where}: split: {fraction} of {n} {kind} leaves one part empty")
    chosen = np.zeros(n, dtype=bool)
    chosen[train] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def fold_rows(qid, path, steps, where):
    """The row numbers (training, test), given the qid of every row and a file that has its fold.

    test_fold : this fold is the test part and all others the training part; train_fold : the other way round
    """
    ids, numbers = folds.read(path)
    place = np.minimum(np.searchsorted(ids, qid), len(ids) - 1)
    missing = ids[place] != qid
    if missing.any():
        raise RrmbenchError(f"{path}: found no fold of qid {qid[missing][0]}, which {where} has")
    key = "test_fold" if steps["train_fold"] is None else "train_fold"
    chosen = numbers[place] == steps[key]
    if chosen.all() or not chosen.any():
        found = f"{'every' if chosen.all() else 'no'} row is in fold {steps[key]}"
        raise RrmbenchError(
            f"{where}: {found}, {key} leaves one part empty; the folds of {path} are {_listed(numbers)}"
        )
    train = chosen if key == "train_fold" else ~chosen
    return np.flatnonzero(train), np.flatnonzero(~train)


def _listed(numbers):
    found = np.unique(numbers)
    return ", ".join(map(str, found[:20])) + (", ..." if len(found) > 20 else "")


def flipped(y, fraction, seed, where):
    """y with the sign of round(fraction * n) randomly chosen labels changed."""
    if not np.isin(y, (-1.0, 1.0)).all():
        raise RrmbenchError(f"{where}: 'flip' needs labels -1 and 1")
    sign = np.ones(len(y))
    sign[ordering(seed, "flip", len(y))[: round(fraction * len(y))]] = -1.0
    return y * sign


def row_norms(X):
    """The Euclidean norms of the rows, also of those whose squares are beyond the range of floats."""
    # some rows at a time: the steps need several times the memory of what they are applied to
    places = np.searchsorted(X.indptr, np.arange(PIECE, X.nnz, PIECE))
    bounds = np.unique([0, *places, X.shape[0]])
    return np.concatenate([_norms_of(X[a:b]) for a, b in pairwise(bounds)])


def _norms_of(X):
    # powers of two change no digit: wherever the squares can be summed as they are, the result is the same
    _, exponents = np.frexp(abs(X).max(axis=1).toarray().ravel())
    Y = csr_array((np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr))), X.indices, X.indptr), shape=X.shape)
    with np.errstate(over="ignore"):
        return np.ldexp(np.sqrt(np.asarray(Y.multiply(Y).sum(axis=1)).ravel()), exponents)


def scaler(X, scale, where):
    """Return f(X) -> X scaled, with all factors taken from the training rows X.

    unit_rows: every row divided by its norm (an empty row stays). mean_norm: everything divided by the mean
    row norm. max_abs: every column divided by its greatest absolute value. RrmbenchError where a factor or a value
    is beyond the range of floats.
    """
    if scale == "none":
        return lambda part: part
    with np.errstate(over="ignore"):
        factors = SCALES[scale](X)

    def scaled(part):
        with np.errstate(over="ignore", invalid="ignore"):
            f = factors(part)
            values = np.multiply(f, part.data, out=f if f.shape == part.data.shape else None)
            X = csr_array((values, part.indices, part.indptr), shape=part.shape)
        return finite(X, f"scale: {scale}", where)

    return scaled


def _of_rows(_):
    return lambda part: np.repeat(_factors(row_norms(part)), np.diff(part.indptr))


def _of_all(X):
    (factor,) = _factors(row_norms(X).mean(keepdims=True))
    return lambda part: factor


def _of_columns(X):
    factors = _factors(abs(X).max(axis=0).toarray().ravel())
    return lambda part: factors[part.indices]


SCALES = {"unit_rows": _of_rows, "mean_norm": _of_all, "max_abs": _of_columns}


def finite(X, step, where):
    """X, if all its values are finite; else RrmbenchError naming the step that made it."""
    if not np.isfinite(X.data).all():
        raise RrmbenchError(f"{where}: '{step}' gives values that are not finite: the data are too large or too small")
    return X


def _factors(sizes):
    # of a size that is infinite there is no factor; 0 would make the data zero
    return np.divide(1.0, sizes, out=np.where(sizes == 0, 1.0, np.nan), where=(sizes > 0) & np.isfinite(sizes))
