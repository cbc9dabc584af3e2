"""`load`: from a `dataset:` block to prepared arrays, made once and then opened from the cache."""

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rrmbench import fingerprint
from rrmbench.data import cache, checksums, origin, spec
from rrmbench.data.columns import SIGNS
from rrmbench.errors import RrmbenchError, listed, nearest, printable, shown

log = logging.getLogger("rrmbench.data")

# what they give is a file, whose content is in the key of the arrays, or values that are in it themselves
NOT_COMPUTING = ("__init__", "catalogue", "commands", "generated", "makers", "origin", "places", "sources")
NOT_COMPUTING += ("download", "fetch")
COMPILED = ("decimal_floats", "libsvm_rows")  # what reads large files
LABELS = ("binary", "classes", "sequences", "targets", "any")


@dataclass(frozen=True)
class Request:
    """What a `dataset:` block asks for: files, steps, labels; the checksum of the files, and the key of the arrays.

    folds : the file that says in which fold a qid is
    others : further files that are read
    """

    train: origin.Source
    test: origin.Source | None
    folds: origin.Source | None
    steps: dict
    labels: str
    checksum: str
    key: str
    others: tuple = ()

    def make(self):
        """([(X, y) of the training part, maybe (X, y) of the test part], info), read from the files."""
        made = _prepared(self.train, self.test, self.folds, self.steps, self.labels)
        for source in (self.train, self.test, self.folds, *self.others):
            if source is not None and checksums.state(source.path) != source.state:
                raise RrmbenchError(f"{source.path}: the file was changed while it was read")
        return made


def load(block, labels="binary"):
    """Return the `Prepared` data of a `dataset:` block.

    labels: 'binary' makes y -1 and 1 or raises; 'classes' makes it 0 .. k-1 (`info["classes"]` = k); 'sequences' makes
    it (N, 2), the class and the number of the sequence, the rows of one qid, which are together (`info["sequences"]`:
    how many in each part); 'targets' makes rows of k numbers (`info["outputs"]` = k), for single labels the unit
    vectors of the classes; 'any' leaves the labels as they are unless the registry says that the set is binary.
    Order: read, subset, folds or split (with `tasks`, of each task), labels, flip, scale (factors of the training
    part), kernel, bias column, tasks; subset and split are of whole sequences. Raises RrmbenchError for missing or bad
    files and for labels that do not fit.
    """
    request = _request(block, labels)
    found = cache.find(request.key)
    if found is None:
        parts, info = request.make()
        _warn(request, info)
        cache.store(request.key, parts, request.checksum, info, code())
        found = cache.open_cached(request.key)
    return found


def _warn(request, info):
    """Tell of what makes the metrics of a test part say something else than one expects."""
    train, test = request.train, request.test
    if dropped := info["test_entries_dropped"]:
        log.warning(
            "%s: %d entries are in columns that the training part does not have; they are left out", test.where, dropped
        )
    if test is not None and test.checksum() == train.checksum():
        log.warning("%s: the test part has the content of the training part", test.where)


def from_source(block, labels="binary"):
    """Return what `load` returns, read and hashed from the files now: no cached array and no remembered checksum.

    The arrays are in memory. Raises what `load` raises.
    """
    request = _request(block, labels, anew=True)
    parts, info = request.make()
    return cache.in_memory(request.key, parts, request.checksum, info)


def files():
    """The files whose code makes the arrays: an edit of one of them makes new arrays."""
    own = [file for file in sorted(Path(__file__).parent.glob("*.py")) if file.stem not in NOT_COMPUTING]
    return own + [fingerprint.PACKAGE / "numerics" / f"{name}.py" for name in COMPILED]


def code():
    """The digest of `files`."""
    return fingerprint.digest(*files())


def _request(block, labels, anew=False):
    if labels not in LABELS:
        raise ValueError(f"labels: found {labels!r}, allowed is one of {', '.join(LABELS)}")
    block = spec.check(block)
    train = origin.source_of(block)
    test, folds, y = origin.test_of(block, train), origin.folds_of(block, train), origin.labels_of(train)
    found = [source.checksum(anew) for source in (train, test, folds, y) if source]
    checksum = found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()
    steps = spec.preparation_steps(block)
    key = _key(checksum, steps, labels, train)
    return Request(train, test, folds, steps, labels, checksum, key, (y,) if y else ())


def _key(checksum, steps, labels, train):
    known = train.entry and train.entry.model_dump(include={"n", "d", "matrix", "task", "labels", "positive"})
    options = {key: value for key, value in train.options.items() if key != "y"}  # whose content is in the checksum
    recipe = [code(), checksum, steps, labels, train.zero_based, train.format, options, known]
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:32]


def _prepared(train, test, folds, steps, mode):
    """([(X, y) of the training part, maybe (X, y) of the test part], info)."""
    from rrmbench.data import tables, transform
    from rrmbench.problem import labels

    table = tables.read(train, test, _why_qid(steps, folds, mode))
    _check_outputs(table, steps, mode, train.where)
    taken = [key for key in ("split", "test_fold", "train_fold") if steps[key] is not None]
    if len(table.parts) > 1 and taken:
        raise RrmbenchError(f"{train.where}: it has a test part of its own, and '{taken[0]}' makes another one")
    numbers = [labels.numbered_sequences(part.qid, train.where) for part in table.parts] if mode == "sequences" else []
    parts = _parts(table, steps, folds, train.where, *numbers[:1])
    found = parts[0].labels
    if mode in ("binary", "classes") and steps["subset"] and steps["subset_seed"] is None and _is_constant(found):
        only = labels.values_found(found, table.names)
        raise RrmbenchError(
            f"{train.where}: its first {steps['subset']} rows have one label value, {only}; "
            "'subset_seed: 0' takes random ones in place of the first"
        )
    positive = _positive(steps["positive"], train.entry or table, table.names, train.where)
    wheres = _wheres_of_parts(train.where, (test or train).where, steps, taken)
    convert, meaning = labels.rule(found, train.entry or table, positive, mode, wheres[0], table.names)
    if table.names is not None and meaning == labels.AS_THEY_ARE:
        texts = listed(map(printable, table.names), 5)
        raise RrmbenchError(
            f"{train.where}: found labels that are texts ({texts}), the loss needs numbers; 'positive: LABEL' takes "
            "one against the rest, as 1 and -1"
        )
    y = [convert(part.labels, where) for part, where in zip(parts, wheres, strict=False)]
    if mode == "sequences":
        numbers = [labels.numbered_sequences(part.qid, train.where) for part in parts]
        y = [np.column_stack(columns) for columns in zip(y, numbers, strict=True)]
        table.facts["sequences"] = [int(number[-1]) + 1 for number in numbers]
    if steps["flip"]:
        if mode in ("classes", "sequences", "targets"):
            raise RrmbenchError(f"{train.where}: 'flip' flips two labels, a multiclass loss has more")
        y[0] = transform.flipped(y[0], steps["flip"], steps["flip_seed"], train.where)
    X, layout = _features(parts, table.matrix, steps, train.where)
    sizes = labels.sizes(found, y[0], mode)
    info = {
        "name": train.name,
        "task": _task(meaning, sizes, train.entry or table),
        "labels": meaning if table.names is None else f"{meaning}, of {listed(_places(table.names))}",
        "label_values": labels.values_found(found),
    }
    return list(zip(X, y, strict=True)), info | sizes | table.facts | layout


def _wheres_of_parts(train, test, steps, taken):
    """What messages say of (the training part, the test part): their files, or also what made parts of one file."""
    if not taken:
        return train, test
    key = taken[0]
    made_by = f"{key}: {steps[key]}" + (f", split_seed: {steps['split_seed']}" if key == "split" else "")
    return tuple(f"{train}, the {part} part by '{made_by}'" for part in ("training", "test"))


def _is_constant(labels):
    return not isinstance(labels, list) and labels.min() == labels.max()


def _places(names):
    return (f"{number} = {printable(name)}" for number, name in enumerate(names))


def _positive(positive, about, names, where):
    """The `positive:` of a block, or of the registry, as a number, where the labels have `names` too."""
    positive = about.positive if positive is None else positive
    positive = positive if names else SIGNS.get(positive, positive)
    if isinstance(positive, str) and positive not in (names or ()):
        kind = f"the labels are {listed(names)}{nearest(positive, names)}" if names else "the labels are numbers"
        raise RrmbenchError(f"{where}: positive: found {shown(positive)}, {kind}")
    if names and positive is not None and not isinstance(positive, str):
        raise RrmbenchError(f"{where}: positive: found {positive}, the labels are texts: {listed(names)}")
    return names.index(positive) if isinstance(positive, str) else positive


def _why_qid(steps, folds, mode):
    """What every row must have a qid for, or None."""
    if steps["tasks"]:
        return "by which 'tasks: qid' tells the tasks"
    if mode == "sequences":
        return "by which the loss tells the sequences"
    return "by which 'folds' tells the parts" if folds else None


def _check_outputs(table, steps, mode, where):
    if mode in ("classes", "sequences", "targets") and (table.matrix or steps["tasks"]):
        key = "format: ratings" if table.matrix else "tasks: qid"
        raise RrmbenchError(f"{where}: '{key}' makes one output per row, and the loss is for several")
    if mode == "sequences" and steps["bias"] not in ("none", "regularized"):
        raise RrmbenchError(
            f"{where}: found 'bias: {steps['bias']}', with a loss on sequences allowed are 'none' and 'regularized'"
        )


def _parts(table, steps, folds, where, sequences=None):
    """The parts of a table after subset, and folds or split.

    sequences : of the training part, where these are chosen and not rows: the number of each row's
    """
    from rrmbench.data import transform

    train, *test = table.parts
    kind = "rows" if sequences is None else "sequences"

    def count():
        return len(train) if sequences is None else len(np.unique(sequences))

    def rows_of(chosen):
        return chosen if sequences is None else np.flatnonzero(np.isin(sequences, np.unique(sequences)[chosen]))

    if steps["subset"] is not None:
        rows = rows_of(transform.subset_rows(count(), steps["subset"], steps["subset_seed"], where, kind))
        train, sequences = train.take(rows), None if sequences is None else sequences[rows]
    if folds is not None:
        return [train.take(rows) for rows in transform.fold_rows(train.qid, folds.path, steps, where)]
    if steps["split"] is None:
        return [train, *test]
    groups = train.qid if steps["tasks"] else None
    halves = transform.split_rows(count(), steps["split"], steps["split_seed"], where, groups, kind)
    return [train.take(rows_of(chosen)) for chosen in halves]


def _features(parts, matrix, steps, where):
    """(X of every part, facts on the layout)."""
    from rrmbench.data import layout, transform

    facts = {"bias": steps["bias"]}
    if matrix is not None:
        return [part.X for part in parts], facts | {"model": matrix}
    layout.check_columns(parts[0].X.shape[1] + (steps["bias"] in ("regularized", "free")), where)
    scale = transform.scaler(parts[0].X, steps["scale"], where)
    X = [scale(part.X) for part in parts]
    if steps["kernel"] is not None:
        X[0], embed, facts["kernel"] = layout.kernelized(X[0], steps["kernel"], where)
        X[1:] = map(embed, X[1:])
    if steps["bias"] in ("regularized", "free"):
        X = [layout.with_ones(rows) for rows in X]
    if steps["tasks"] is not None:
        X, facts["model"] = layout.of_tasks(X, [part.qid for part in parts], where)
    return X, facts


def _task(meaning, sizes, entry):
    from rrmbench.problem import labels

    if sizes["classes"] is not None:
        return "multiclass"
    if meaning != labels.AS_THEY_ARE and "outputs" not in sizes:
        return "binary"
    return entry.task or "unknown"
