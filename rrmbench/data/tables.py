"""From the files of a `dataset:` block to rows of features and labels, whatever their format."""

from dataclasses import dataclass, replace

from rrmbench.data import arrays, layout, libsvm, ratings
from rrmbench.errors import RrmbenchError


@dataclass(frozen=True)
class Part:
    """Rows of a data set: X (CSR), labels (float array or list of tuples), qid (one a row, or None)."""

    X: object
    labels: object
    qid: object = None

    def __len__(self):
        return self.X.shape[0]

    def take(self, rows):
        labels = [self.labels[i] for i in rows] if isinstance(self.labels, list) else self.labels[rows]
        return Part(self.X[rows], labels, None if self.qid is None else self.qid[rows])


@dataclass(frozen=True)
class Table:
    """[the training part, maybe a test part], plain facts, of ratings the shape of the matrix, and what is known.

    task, labels, positive : as in an Entry of the registry, of data that have none
    """

    parts: list
    facts: dict
    matrix: tuple | None = None
    task: str | None = None
    labels: dict | None = None
    positive: int | None = None


def read(train, test, why_qid):
    """The Table of a training `prepare.Source` and of one for a test part, or None.

    Every row must have a qid where there is a reason `why_qid`, as messages say it. A test file of features takes
    index base and columns from the training file. The ids of ratings are numbered in ascending order, together for both
    files.
    """
    return _of_ratings(train, test) if train.format == "ratings" else _of_rows(train, test, why_qid)


def _of_rows(train, test, why_qid):
    found = _rows(train, train.zero_based, why_qid)
    parts, dropped = [_part(parsed, why_qid) for parsed in found], 0
    if train.entry:
        parts[0] = replace(parts[0], X=_registered(parts[0].X, train))
    if test is not None:
        if len(parts) > 1:
            raise RrmbenchError(f"{train.where}: it has a test part of its own, and 'test' names another one")
        other = _part(_rows(test, found[0].zero_based, why_qid)[0], why_qid)
        X, dropped = layout.with_columns(other.X, parts[0].X.shape[1])
        parts.append(replace(other, X=X))
    return Table(parts, {"zero_based": found[0].zero_based, "test_entries_dropped": dropped}, task=found[0].task)


def _rows(source, zero_based, why_qid):
    """[the Parsed rows of a file, maybe those of a test part in it]."""
    found = arrays.read(source.path) if source.format == "arrays" else [libsvm.read(source.path, zero_based)]
    if why_qid and any(parsed.qid is None for parsed in found):
        line = f":{libsvm.line_without_qid(source.path)}: the row" if source.format == "libsvm" else ": it"
        raise RrmbenchError(f"{source.path if source.format == 'libsvm' else source.where}{line} has no qid, {why_qid}")
    return found


def _part(parsed, why_qid):
    return Part(parsed.X, parsed.labels, parsed.qid if why_qid else None)


def _registered(X, source):
    """X with the number of columns that the registry says."""
    n, d = source.entry.n, source.entry.d
    if X.shape[0] != n or X.shape[1] > d:
        raise RrmbenchError(
            _another(source, f"{X.shape[0]} rows and {X.shape[1]} columns", f"{n} rows and {d} columns")
        )
    return layout.with_columns(X, d)[0]


def _of_ratings(train, test):
    import numpy as np

    files = [ratings.read(source.path) for source in (train, test) if source]
    if train.entry:
        _check_registered(files[0], train)
    row_ids, rows = np.unique(np.concatenate([file.rows for file in files]), return_inverse=True)
    column_ids, columns = np.unique(np.concatenate([file.columns for file in files]), return_inverse=True)
    matrix = (len(row_ids), len(column_ids))
    X = layout.entries(rows, columns, matrix, train.where)
    ends = np.cumsum([len(file.values) for file in files])
    parts = [Part(X[end - len(file.values) : end], file.values) for file, end in zip(files, ends, strict=True)]
    return Table(parts, {"zero_based": None, "test_entries_dropped": 0}, matrix)


def _check_registered(file, source):
    found = (len(file.values), *ratings.shape(file))
    said = (source.entry.n, *source.entry.matrix)
    if found != said:
        text = "{} ratings of {} rows and {} columns"
        raise RrmbenchError(_another(source, text.format(*found), text.format(*said)))


def _another(source, found, said):
    return (
        f"{source.path}: found {found}, but the registry entry of '{source.name}' says {said}; "
        "another file can be used by its path"
    )
