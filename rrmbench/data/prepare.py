"""`load`: from a `dataset:` block to prepared arrays, made once and then opened from the cache."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from rrmbench import fingerprint
from rrmbench.data import cache, catalogue, checksums, fetch, spec
from rrmbench.errors import RrmbenchError

# what they give is a file, whose content is in the key of the arrays, or values that are in it themselves
NOT_COMPUTING = ("__init__", "catalogue", "commands", "fetch", "places", "sources")
LABELS = ("binary", "classes", "targets", "any")


@dataclass(frozen=True)
class Source:
    """A file to read, as it was when it was found, with what the registry knows of it (None for a bare path)."""

    name: str
    path: Path
    entry: object
    zero_based: bool | None
    format: str
    state: list

    @property
    def where(self):
        return f"data set '{self.name}'" if self.entry else str(self.path)

    def checksum(self, anew=False):
        """The sha256 of the content, `anew` without the memory of `checksums.checksum_of`."""
        if self.entry:
            return fetch.content_checksum(self.name, self.entry, self.path, anew)
        return checksums.checksum_of(self.path, anew)


@dataclass(frozen=True)
class Request:
    """What a `dataset:` block asks for: files, steps, labels; the checksum of the files, and the key of the arrays."""

    train: Source
    test: Source | None
    steps: dict
    labels: str
    checksum: str
    key: str

    def make(self):
        """([(X, y) of the training part, maybe (X, y) of the test part], info), read from the files."""
        made = _prepared(self.train, self.test, self.steps, self.labels)
        for source in (self.train, self.test):
            if source is not None and checksums.state(source.path) != source.state:
                raise RrmbenchError(f"{source.path}: the file was changed while it was read")
        return made


def load(block, labels="binary"):
    """Return the `Prepared` data of a `dataset:` block.

    labels: 'binary' makes y -1 and 1 or raises; 'classes' makes it 0 .. k-1 (`info["classes"]` = k); 'targets' makes
    rows of k numbers (`info["outputs"]` = k), for single labels the unit vectors of the classes; 'any' leaves the
    labels as they are unless the registry says that the set is binary. Order: read, subset, split (with `tasks`, of
    each task), labels, flip, scale (factors of the training part), kernel, bias column, tasks. Raises RrmbenchError
    for missing or bad files and for labels that do not fit.
    """
    request = _request(block, labels)
    found = cache.find(request.key)
    if found is None:
        parts, info = request.make()
        cache.store(request.key, parts, request.checksum, info)
        found = cache.open_cached(request.key)
    return found


def from_source(block, labels="binary"):
    """Return what `load` returns, read and hashed from the files now: no cached array and no remembered checksum.

    The arrays are in memory. Raises what `load` raises.
    """
    request = _request(block, labels, anew=True)
    parts, info = request.make()
    return cache.in_memory(request.key, parts, request.checksum, info)


def files():
    """The files whose code makes the arrays: an edit of one of them makes new arrays."""
    return [file for file in sorted(Path(__file__).parent.glob("*.py")) if file.stem not in NOT_COMPUTING]


def _request(block, labels, anew=False):
    if labels not in LABELS:
        raise ValueError(f"labels: found {labels!r}, allowed is one of {', '.join(LABELS)}")
    block = spec.check(block)
    train, test = _source(block), None
    if "test" in block:
        key = "path" if Path(block["test"]).is_absolute() else "name"
        test = _source({key: block["test"], "format": train.format})
    found = [source.checksum(anew) for source in (train, test) if source]
    checksum = found[0] if test is None else hashlib.sha256("".join(found).encode()).hexdigest()
    steps = spec.preparation_steps(block)
    return Request(train, test, steps, labels, checksum, _key(checksum, steps, labels, train))


def _source(block):
    if "path" in block:
        path = Path(block["path"])
        about = path.name, path, None, block.get("zero_based"), spec.format_of(block)
    else:
        entry = catalogue.get(block["name"])
        path = fetch.obtain(block["name"], entry)
        about = block["name"], path, entry, entry.zero_based, entry.format
    return Source(*about, checksums.state(path))


def _key(checksum, steps, labels, train):
    known = train.entry and train.entry.model_dump(include={"n", "d", "matrix", "task", "labels", "positive"})
    recipe = [fingerprint.digest(*files()), checksum, steps, labels, train.zero_based, train.format, known]
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:32]


def _prepared(train, test, steps, mode):
    """([(X, y) of the training part, maybe (X, y) of the test part], info)."""
    from rrmbench.data import tables, transform
    from rrmbench.problem import labels

    table = tables.read(train, test, steps["tasks"])
    _check_outputs(table, steps, mode, train.where)
    parts = _parts(table, steps, train.where)
    found = parts[0].labels
    convert, meaning = labels.rule(found, train.entry, steps["positive"], mode, train.where)
    y = [convert(part.labels) for part in parts]
    if steps["flip"]:
        if mode in ("classes", "targets"):
            raise RrmbenchError(f"{train.where}: 'flip' flips two labels, a multiclass loss has more")
        y[0] = transform.flipped(y[0], steps["flip"], steps["flip_seed"], train.where)
    X, layout = _features(parts, table.matrix, steps, train.where)
    sizes = labels.sizes(found, y[0], mode)
    info = {
        "name": train.name,
        "task": _task(meaning, sizes, train.entry),
        "labels": meaning,
        "label_values": labels.values_found(found),
    }
    return list(zip(X, y, strict=True)), info | sizes | table.facts | layout


def _check_outputs(table, steps, mode, where):
    if mode in ("classes", "targets") and (table.matrix or steps["tasks"]):
        key = "format: ratings" if table.matrix else "tasks: qid"
        raise RrmbenchError(f"{where}: '{key}' makes one output per row, and the loss is for several")


def _parts(table, steps, where):
    """The parts of a table after subset and split."""
    from rrmbench.data import transform

    train, *test = table.parts
    if steps["subset"] is not None:
        train = train.take(transform.subset_rows(len(train), steps["subset"], steps["subset_seed"], where))
    if steps["split"] is None:
        return [train, *test]
    rows = transform.split_rows(len(train), steps["split"], steps["split_seed"], where, train.qid)
    return [train.take(chosen) for chosen in rows]


def _features(parts, matrix, steps, where):
    """(X of every part, facts on the layout)."""
    from rrmbench.data import layout, transform

    facts = {"bias": steps["bias"]}
    if matrix is not None:
        return [part.X for part in parts], facts | {"model": matrix}
    scale = transform.scaler(parts[0].X, steps["scale"], where)
    X = [scale(part.X) for part in parts]
    if steps["kernel"] is not None:
        X[0], embed, facts["kernel"] = layout.kernelized(X[0], steps["kernel"], where)
        X[1:] = map(embed, X[1:])
    if steps["bias"] != "none":
        X = [layout.with_ones(rows) for rows in X]
    if steps["tasks"] is not None:
        X, facts["model"] = layout.of_tasks(X, [part.qid for part in parts], where)
    return X, facts


def _task(meaning, sizes, entry):
    if sizes["classes"] is not None:
        return "multiclass"
    if meaning != "as in the file" and "outputs" not in sizes:
        return "binary"
    return entry.task if entry else "unknown"
