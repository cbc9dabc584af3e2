"""Rows as arrays: what a made data set returns is checked here, and kept in the cache as one file of arrays.

The file is arrays in numpy's format, one after the other: first the bytes of a JSON list of what follows, then for each
part the values, column numbers and row ends of X, the labels and maybe the qids. Equal arrays give equal bytes, so that
the checksum of the file is that of the arrays.
"""

import json
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, issparse

from rrmbench.data.columns import NO_LABEL
from rrmbench.data.parsed import Parsed
from rrmbench.data.streams import open_text
from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.problem.operators import check_mask, check_names, check_order, in_rows, names_of

KEYS = ("X", "y", "qid", "X_test", "y_test", "qid_test", "task")
TASKS = ("binary", "regression", "multiclass")
NUMBERS = "biuf"  # kinds of numpy's types


def checked(made, where):
    """[Parsed of the training part, maybe of the test part] of what a function returned.

    made : (X, y), or a mapping of `KEYS`; RrmbenchError for anything else
    """
    if isinstance(made, tuple) and len(made) == 2:
        made = dict(zip(("X", "y"), made, strict=True))
    if not isinstance(made, dict):
        raise RrmbenchError(f"{where}: found {_kind(made)}, allowed is (X, y) or a mapping of {', '.join(KEYS)}")
    for key in made:
        if key not in KEYS:
            raise RrmbenchError(f"{where}: found {shown(key)}{nearest(key, KEYS)} (allowed: {', '.join(KEYS)})")
    for key in ("X", "y"):
        other = f"{key}_test"
        if key not in made or (other not in made and ("X_test" in made or "y_test" in made or "qid_test" in made)):
            raise RrmbenchError(f"{where}: found no {key if key not in made else other}")
    if ("qid" in made) != ("qid_test" in made) and "X_test" in made:
        raise RrmbenchError(f"{where}: found qids of one part only")
    task = made.get("task")
    if isinstance(task, np.ndarray) and task.size == 1:
        task = task.item()
    if not (task is None or (isinstance(task, str) and task in TASKS)):
        raise RrmbenchError(f"{where}: task: found {shown(task)}, allowed is {', '.join(TASKS)}{nearest(task, TASKS)}")
    check_names(names_of(made["X"]), made.get("X_test"), f"{where}: X_test")
    parts = [
        rows(*(made.get(key + end) for key in ("X", "y", "qid")), f"{where}: ", end)
        for end in ("", "_test")
        if "X" + end in made
    ]
    if len({part.X.shape[1] for part in parts}) > 1:
        raise RrmbenchError(f"{where}: found {parts[0].X.shape[1]} columns of X and {parts[1].X.shape[1]} of X_test")
    return [replace(part, task=task) for part in parts]


def rows(X, y, qid, where, end=""):
    """The Parsed of a matrix (n, d), dense or sparse, labels (n,) or (n, k), or (n,) texts, and maybe qids (n,).

    Raises RrmbenchError that begins with `where` for what has another shape or is no finite number; `end` is that of
    the names in it.
    """
    check_order(X, y, where)
    X = matrix(X, f"{where}X{end}")
    labels = _labels(y, f"{where}y{end}")
    if labels.shape[0] != X.shape[0]:
        raise RrmbenchError(f"{where}found {X.shape[0]} rows of X{end} and {labels.shape[0]} of y{end}")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    labels = labels if labels.ndim == 1 else [tuple(row) for row in labels.tolist()]
    if qid is not None:
        qid = _qids(qid, X.shape[0], f"{where}qid{end}")
    return Parsed(X, labels, qid=qid)


def matrix(X, where):
    """A dense or sparse matrix as csr_array of float64 in canonical order, without the zeros it may store."""
    if issparse(X):
        if X.ndim != 2 or X.dtype.kind not in NUMBERS:
            raise RrmbenchError(f"{where}: found {_kind(X)}, allowed is a matrix of numbers")
        made = in_rows(X, where)
        made.eliminate_zeros()
    else:
        made = csr_array(_array(X, where, (2,)))
    if not np.isfinite(made.data).all():
        _refuse_not_finite(made.tocoo(), where)
    n, d = made.shape
    if not (n and d and made.nnz):
        raise RrmbenchError(f"{where}: found {n} x {d} with {made.nnz} values other than 0, needed is one at least")
    return made


def _labels(y, where):
    check_mask(y, where)
    found = np.asarray(y) if not isinstance(y, list | tuple) or all(isinstance(one, str) for one in y) else None
    if found is None or found.ndim != 1 or not all(isinstance(one, str) for one in found.tolist()):
        return _array(y, where, (1, 2))
    texts = np.char.strip(found.astype(str))
    missing = [row for row, text in enumerate(texts.tolist()) if NO_LABEL.fullmatch(text)]
    if missing:
        found = f"found '{texts[missing[0]]}': " if texts[missing[0]] else ""
        raise RrmbenchError(f"{where}[{missing[0]}]: {found}the label is missing")
    return texts


def _array(values, where, dimensions):
    check_mask(values, where)
    try:
        found = np.asarray(values)
    except ValueError:  # rows of different lengths
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in NUMBERS or found.ndim not in dimensions:
        allowed = " or ".join(f"{k}-dimensional" for k in dimensions)
        raise RrmbenchError(f"{where}: found {_kind(values)}, allowed is a {allowed} array of numbers")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        place = np.argwhere(~np.isfinite(found))[0]
        raise RrmbenchError(f"{where}{place.tolist()}: found {found[tuple(place)]}, which is not finite")
    return found


def _refuse_not_finite(X, where):
    wrong = np.flatnonzero(~np.isfinite(X.data))[0]
    raise RrmbenchError(f"{where}[{X.row[wrong]}, {X.col[wrong]}]: found {X.data[wrong]}, which is not finite")


def _qids(qid, n, where):
    check_mask(qid, where)
    found = np.asarray(qid)
    if found.shape != (n,) or found.dtype.kind not in "iu" or (n and (found.min() < 0 or found.max() >= 2**63)):
        raise RrmbenchError(f"{where}: found {_kind(qid)}, allowed are {n} whole numbers from 0 to 2^63 - 1")
    return found.astype(np.int64)


def _kind(value):
    shape = getattr(value, "shape", None)
    about = f" of {value.dtype} of the shape {shape}" if shape is not None and hasattr(value, "dtype") else ""
    return type(value).__name__ + about


def write(path, parts):
    """Write the parts, a list of Parsed, as one file of arrays."""
    names, arrays = [], []
    for part in parts:
        labels = part.labels if part.has_texts else np.array(part.labels, dtype=np.float64)
        found = {
            "data": part.X.data.astype("<f8"),
            "indices": part.X.indices.astype("<i8"),
            "indptr": part.X.indptr.astype("<i8"),
            "labels": labels.astype(labels.dtype.newbyteorder("<")),
        }
        if part.qid is not None:
            found["qid"] = part.qid.astype("<i8")
        names.append({"arrays": list(found), "columns": part.X.shape[1], "task": part.task})
        arrays += found.values()
    with open(path, "wb") as out:
        for array in [np.frombuffer(json.dumps(names).encode(), np.uint8), *arrays]:
            np.lib.format.write_array(out, array, version=(1, 0), allow_pickle=False)


def read(path):
    """The parts that `write` wrote."""
    with open_text(path) as stream:
        parts = json.loads(_next(stream).tobytes())
        return [_part({name: _next(stream) for name in part["arrays"]}, part) for part in parts]


def _next(stream):
    return np.lib.format.read_array(stream, allow_pickle=False)


def _part(found, about):
    labels = found["labels"]
    X = csr_array(
        (found["data"], found["indices"], found["indptr"]), shape=(len(found["indptr"]) - 1, about["columns"])
    )
    labels = labels if labels.ndim == 1 else [tuple(row) for row in labels.tolist()]
    return Parsed(X, labels, qid=found.get("qid"), task=about["task"])
