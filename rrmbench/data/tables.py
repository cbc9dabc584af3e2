"""From the files of a `dataset:` block to rows of features and labels, whatever their format."""

from dataclasses import dataclass, replace

import numpy as np

from rrmbench.data import layout, libsvm, ratings, readers
from rrmbench.errors import RrmbenchError, listed


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

    names : the texts that were labels, whose places here are the labels now; or None
    task, labels, positive : as in an Entry of the registry, of data that have none
    """

    parts: list
    facts: dict
    matrix: tuple | None = None
    names: list | None = None
    task: str | None = None
    labels: dict | None = None
    positive: int | None = None


def read(train, test, why_qid):
    """The Table of a training `origin.Source` and of one for a test part, or None.

    Every row must have a qid where there is a reason `why_qid`, as messages say it. A test file of features takes
    index base and columns from the training file. The ids of ratings are numbered in ascending order, together for both
    files.
    """
    return _of_ratings(train, test) if train.format == "ratings" else _of_rows(train, test, why_qid)


def _of_rows(train, test, why_qid):
    found = _rows(train, train.zero_based, why_qid)
    dropped = 0
    if train.entry:
        found[0] = replace(found[0], X=_registered(found[0].X, train))
    if test is not None:
        if len(found) > 1:
            raise RrmbenchError(f"{train.where}: it has a test part of its own, and 'test' names another one")
        other = _rows(test, found[0].zero_based, why_qid)[0]
        _check_columns(found[0], other, "libsvm" in (train.format, test.format), test.where)
        X, dropped = layout.with_columns(other.X, found[0].X.shape[1])
        found.append(replace(other, X=X))
    found, names = _numbered(found, (test or train).where)
    parts = [Part(parsed.X, parsed.labels, parsed.qid if why_qid else None) for parsed in found]
    facts = {"zero_based": found[0].zero_based, "test_entries_dropped": dropped}
    return Table(parts, facts, names=names, task=found[0].task)


def _rows(source, zero_based, why_qid):
    """[the Parsed rows of a file, maybe those of a test part in it]."""
    found = readers.read(source.format, source.path, zero_based, source.options)
    if why_qid and any(parsed.qid is None for parsed in found):
        line = f":{libsvm.line_without_qid(source.path)}: the row" if source.format == "libsvm" else ": it"
        raise RrmbenchError(f"{source.path if source.format == 'libsvm' else source.where}{line} has no qid, {why_qid}")
    return found


def _check_columns(train, test, sparse, where):
    """The columns of a test part are those of training; of LibSVM text, which is sparse, the last may be empty."""
    for name, other in zip(train.columns or (), test.columns or (), strict=False):
        if name != other:
            raise RrmbenchError(f"{where}: found the column '{other}' where the training part has '{name}'")
    if not sparse and train.X.shape[1] != test.X.shape[1]:
        raise RrmbenchError(f"{where}: found {test.X.shape[1]} columns of X, the training part has {train.X.shape[1]}")


def _numbered(found, where):
    """(parts whose labels are numbers, the texts that the numbers stand for or None)."""
    if not any(parsed.has_texts for parsed in found):
        return found, None
    if not all(parsed.has_texts for parsed in found):
        raise RrmbenchError(f"{where}: the labels of one part are texts, those of the other one are numbers")
    names = np.unique(found[0].labels)
    for parsed in found:
        if unknown := sorted(set(parsed.labels.tolist()) - set(names.tolist())):
            raise RrmbenchError(f"{where}: found the labels {listed(unknown)}, in training only {listed(names)}")
    numbered = [replace(parsed, labels=np.searchsorted(names, parsed.labels).astype(float)) for parsed in found]
    return numbered, names.tolist()


def _registered(X, source):
    """X with the number of columns that the registry says."""
    n, d = source.entry.n, source.entry.d
    if X.shape[0] != n or X.shape[1] > d:
        raise RrmbenchError(
            _another(source, f"{X.shape[0]} rows and {X.shape[1]} columns", f"{n} rows and {d} columns")
        )
    return layout.with_columns(X, d)[0]


def _of_ratings(train, test):
    files = [readers.read("ratings", source.path) for source in (train, test) if source]
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
