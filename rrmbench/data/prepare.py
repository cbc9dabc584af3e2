"""`load`: from a `dataset:` block to prepared arrays, made once and then opened from the cache."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from rrmbench.data import cache, catalogue, fetch, spec
from rrmbench.errors import RrmbenchError

# what the keys of a block mean when they are absent: both spellings have one identity
ABSENT = {
    "scale": "none",
    "bias": "none",
    "positive": None,
    "subset": None,
    "subset_seed": None,
    "flip": 0.0,
    "flip_seed": 0,
    "split": None,
    "split_seed": 0,
}


@dataclass(frozen=True)
class Source:
    """A file to read, with what the registry knows of it (`entry` is None for a bare path)."""

    name: str
    path: Path
    entry: object
    zero_based: bool | None

    @property
    def where(self):
        return f"data set '{self.name}'" if self.entry else str(self.path)

    @property
    def checksum(self):
        if self.entry:
            return fetch.content_checksum(self.name, self.entry, self.path)
        return cache.checksum_of(self.path)


def load(block, labels="binary"):
    """Return the `Prepared` data of a `dataset:` block.

    labels: 'binary' makes y -1 and 1 or raises; 'classes' makes it 0 .. k-1 (`info["classes"]` = k); 'any' leaves the
    labels as they are unless the registry says that the set is binary. Order: read, subset, split, labels, flip, scale
    (factors of the training part), bias column. Raises RrmbenchError for missing or bad files and for labels that do
    not fit.
    """
    if labels not in ("binary", "classes", "any"):
        raise ValueError(f"labels: found {labels!r}, allowed is 'binary', 'classes' or 'any'")
    block = spec.check(block)
    train, test = _source(block, block.get("zero_based")), None
    if "test" in block:
        key = "path" if Path(block["test"]).is_absolute() else "name"
        test = _source({key: block["test"]}, None)
    checksums = [source.checksum for source in (train, test) if source]
    checksum = checksums[0] if test is None else hashlib.sha256("".join(checksums).encode()).hexdigest()
    steps = ABSENT | {key: value for key, value in block.items() if key in ABSENT}
    key = _key(checksum, steps, labels, train)
    found = cache.find(key)
    if found is None:
        train_part, test_part, info = _prepared(train, test, steps, labels)
        cache.store(key, train_part, test_part, checksum, info)
        found = cache.open_cached(key)
    return found


def _source(block, zero_based):
    if "path" in block:
        path = Path(block["path"])
        return Source(path.name, path, None, zero_based)
    entry = catalogue.get(block["name"])
    return Source(block["name"], fetch.obtain(block["name"], entry), entry, entry.zero_based)


def _key(checksum, steps, labels, train):
    known = train.entry and train.entry.model_dump(include={"n", "d", "task", "labels", "positive"})
    recipe = [cache.FORMAT, checksum, steps, labels, train.zero_based, known]
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:32]


def _prepared(train, test, steps, mode):
    """((X, y) of the training part, (X, y) of the test part or None, info)."""
    from rrmbench.data import labels, transform

    X, found, zero_based = _read(train)
    if steps["subset"] is not None:
        rows = transform.subset_rows(len(found), steps["subset"], steps["subset_seed"], train.where)
        X, found = X[rows], _take(found, rows)
    dropped = 0
    X_test = found_test = None
    if steps["split"] is not None:
        rows, others = transform.split_rows(len(found), steps["split"], steps["split_seed"], train.where)
        X, found, X_test, found_test = X[rows], _take(found, rows), X[others], _take(found, others)
    elif test is not None:
        X_test, found_test, dropped = _read_test(test, zero_based, X.shape[1])
    convert, meaning = labels.rule(found, train.entry, steps["positive"], mode, train.where)
    y = convert(found)
    if steps["flip"]:
        if mode == "classes":
            raise RrmbenchError(f"{train.where}: 'flip' flips two labels, a multiclass loss has more")
        y = transform.flipped(y, steps["flip"], steps["flip_seed"], train.where)
    scale = transform.scaler(X, steps["scale"])
    finish = transform.with_ones if steps["bias"] != "none" else (lambda part: part)
    info = {
        "name": train.name,
        "task": _task(mode, meaning, train.entry),
        "labels": meaning,
        "label_values": labels.values_found(found),
        "classes": int(y.max()) + 1 if mode == "classes" else None,
        "zero_based": zero_based,
        "test_entries_dropped": dropped,
    }
    test_part = None if X_test is None else (finish(scale(X_test)), convert(found_test))
    return (finish(scale(X)), y), test_part, info


def _task(mode, meaning, entry):
    if mode == "classes":
        return "multiclass"
    if meaning != "as in the file":
        return "binary"
    return entry.task if entry else "unknown"


def _read(source):
    """(X, labels, zero_based) of a training file, with the number of columns that the registry says."""
    from rrmbench.data import libsvm, transform

    parsed = libsvm.read(source.path, source.zero_based)
    X = parsed.X
    if source.entry:
        n, d = source.entry.n, source.entry.d
        if X.shape[0] != n or X.shape[1] > d:
            raise RrmbenchError(
                f"{source.path}: found {X.shape[0]} rows and {X.shape[1]} columns, but the registry entry of "
                f"'{source.name}' says {n} rows and {d} columns; another file can be used by its path"
            )
        X, _ = transform.with_columns(X, d)
    return X, parsed.labels, parsed.zero_based


def _read_test(source, zero_based, d):
    """(X, labels, entries dropped) of a test file: index base and columns are those of the training file."""
    from rrmbench.data import libsvm, transform

    parsed = libsvm.read(source.path, zero_based)
    X, dropped = transform.with_columns(parsed.X, d)
    return X, parsed.labels, dropped


def _take(labels, rows):
    return [labels[i] for i in rows] if isinstance(labels, list) else labels[rows]
