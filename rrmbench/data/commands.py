"""What `rrmbench data get|info|add|list` do. Plain values are returned; nothing is printed."""

import logging
import re
from pathlib import Path

import numpy as np

from rrmbench import plugin_files
from rrmbench.data import catalogue, checksums, fetch, makers, origin, places, ratings, readers, spec, transform
from rrmbench.errors import RrmbenchError, listed, printable, quoted, shortened
from rrmbench.folders import write_text
from rrmbench.matching import check_apart
from rrmbench.problem import labels
from rrmbench.yaml_reader import dumped, parse

log = logging.getLogger(__name__)
LONGEST_NAME = 200  # bytes: files of the cache are named after it


def listing():
    """One dict per registered data set: name, task, n, d, here (its path, or how to get it), title.

    d is the shape of a model on the set as it is: (columns,), and of ratings (rows, columns) of the matrix.
    """
    rows = []
    for name in catalogue.names():
        entry = catalogue.get(name)
        here = fetch.locate(entry)
        if here is None:
            here = "made when used" if entry.file is None else "download" if entry.file.url else "not available"
        rows.append(
            {
                "name": name,
                "task": entry.task,
                "n": entry.n,
                "d": entry.matrix or (entry.d,),
                "here": str(here),
                "title": entry.title,
            }
        )
    return rows


def get(name):
    """Find, make or download a data set and check it: dict of name, path, sha256, checksum (its state)."""
    if makers.is_maker(name):
        return _made(spec.check(name))
    entry = catalogue.get(name)
    path = fetch.obtain(name, entry)
    sha256 = fetch.content_checksum(name, entry, path)
    return {"name": name, "path": str(path), "sha256": sha256, "checksum": _state(entry, path)}


def _made(block):
    path, sha256 = origin.file_of(block)
    return {"name": block["name"], "path": str(path), "sha256": sha256, "checksum": "made here"}


def named(text, sets):
    """The `dataset:` block of a name or path and texts KEY=VALUE; imports a plug-in file, which the user named."""
    if makers.is_plugin(text):
        block = {"path": spec.existing(text, "dataset")}
        plugin_files.load_plugin(block["path"])
    else:
        block = spec.check(text)
    check_apart(sets)
    for setting in sets:
        key, equals, value = setting.partition("=")
        if not equals:
            raise RrmbenchError(f"--set {shortened(setting)}: allowed is KEY=VALUE such as n=100")
        block[key.strip()] = parse(value, f"--set {shortened(setting)}").value
    return block


def info(block, format=None):
    """Facts of a data set, read from its file as it is: dict in the order to show.

    block : a name, a path, or a mapping as in a configuration, without steps of preparation
    format : that of a bare path

    Raises RrmbenchError for a key that would change nothing here.
    """
    block = _in_format(block, format)
    for key in (*spec.ABSENT, "test"):
        if key in block:
            raise RrmbenchError(
                f"data info: found '{key}', which prepares data for a run; allowed are keys that say how a file "
                "is read, and parameters of data that are made"
            )
    source = origin.source_of(block)
    entry, about = source.entry, {}
    if source.generated:
        facts = _made(block)
    elif entry:
        facts = get(block["name"])
        about = entry.model_dump(include={"title", "licence", "citation", "note"})
    else:
        facts = {"name": source.name, "path": block["path"], "sha256": source.checksum(), "checksum": "unknown"}
    with np.errstate(over="ignore"):  # a mean that is infinite is shown so
        if source.format == "ratings":
            sizes = _sizes_of_ratings(readers.read("ratings", source.path))
        else:
            parts = readers.read(source.format, source.path, source.zero_based, source.options)
            sizes = _sizes(parts[0], entry) | ({"test rows": parts[1].X.shape[0]} if len(parts) > 1 else {})
    return facts | sizes | {key: value for key, value in about.items() if value}


def add(path, name, title=None, format=None, label=None):
    """Describe a private file in the user's own registry; return the path of the new entry.

    label : of a CSV or Parquet file, the column of the labels
    """
    path = Path(spec.existing(str(path), "path"))
    if makers.is_plugin(str(path)):
        raise RrmbenchError(
            f"path: found the plug-in file {path}, allowed is a file of data; a configuration names the function in "
            f"it: 'dataset: {{path: {path.name}}}'"
        )
    if not name.replace("_", "").replace("-", "").isalnum():
        raise RrmbenchError(f"name: found '{quoted(name)}', allowed are letters, digits, '_' and '-'")
    if len(name.encode()) > LONGEST_NAME:
        raise RrmbenchError(f"name: found one of {len(name.encode())} bytes, allowed are {LONGEST_NAME}")
    if catalogue.file_of(name) is not None:
        raise RrmbenchError(f"name: '{name}' is a registered data set already; choose another name")
    if makers.is_maker(name):
        raise RrmbenchError(f"name: '{name}' is a function that makes data; choose another name")
    if parse(name, "name").value != name:  # as of null, true and 1e5
        raise RrmbenchError(f"name: found '{name}', which is no text in a configuration; choose another name")
    label = int(label) if label is not None and re.fullmatch(r"-?\d{1,9}", label) else label
    block = spec.check({"path": str(path)} | ({} if format is None else {"format": format}))
    format = spec.format_of(block)
    block = spec.check(block | ({} if label is None else {"label": label}))
    if format == "ratings":
        described = _described_ratings(readers.read("ratings", path))
    else:
        parsed = readers.read(format, path, options=spec.options_of(block))[0]
        described = _described(parsed)
        if described["task"] == "binary" and _labels_found(parsed) != "-1, 1":
            log.warning("%s: of the labels %s the last is 1, the other -1, for every loss", name, _labels_found(parsed))
        described |= {} if format == "libsvm" else {"format": format}
        described |= {} if label is None else {"label": label}
    about = {"name": path.name, "path": str(path), "sha256": checksums.checksum_of(path)}
    entry = {"title": title or printable(path.name)} | described | {"file": about}
    file = places.own_registry() / f"{name}.yaml"
    text = dumped(entry)
    catalogue.read(file, text)  # what cannot be read again would stop every command that lists data sets
    write_text(file, text)
    return file


def _in_format(block, format):
    """The checked block, in the format of the option --format, if any."""
    block = spec.check(block)
    if format is None:
        return block
    if "format" in block:
        raise RrmbenchError(f"--format {format}: the format is set already, as {block['format']}")
    return spec.check(block | {"format": format})


def _labels_found(parsed):
    return listed(map(printable, np.unique(parsed.labels))) if parsed.has_texts else labels.values_found(parsed.labels)


def _described(parsed):
    n, d = parsed.X.shape
    return {"task": _task(parsed), "n": n, "d": d, "nonzeros": parsed.X.nnz, "zero_based": bool(parsed.zero_based)}


def _described_ratings(found):
    return {"task": "completion", "format": "ratings", "n": len(found.values), "matrix": list(ratings.shape(found))}


def _state(entry, path):
    if entry.file is None:
        return "made here"
    expected, source = fetch.expected_checksum(entry, path)
    return f"as {source} says" if expected else "unknown"


def _sizes(parsed, entry):
    X = parsed.X
    n, d = X.shape[0], max(X.shape[1], entry.d if entry else 0)
    norms, nonzeros = transform.row_norms(X), int(np.count_nonzero(X.data))
    return {
        "n": n,
        "d": d,
        "columns in the file": X.shape[1],
        "nonzeros": nonzeros,
        **({"stored zeros": X.nnz - nonzeros} if nonzeros < X.nnz else {}),
        "density": nonzeros / (n * d),
        **({} if parsed.zero_based is None else {"indices from": 0 if parsed.zero_based else 1}),
        "task": entry.task if entry else _task(parsed),
        "labels": _labels_found(parsed),
        "qid": "none" if parsed.qid is None else f"{len(np.unique(parsed.qid))} values",
        "mean row norm": float(norms.mean()),
        "greatest row norm": float(norms.max()),
        "empty rows": int((norms == 0).sum()),
    }


def _sizes_of_ratings(found):
    rows, columns = ratings.shape(found)
    n = len(found.values)
    facts = {
        "ratings": n,
        "rows": rows,
        "columns": columns,
        "density": n / (rows * columns),
        "task": "completion",
        "values": labels.values_found(found.values),
        "mean value": float(found.values.mean()),
    }
    for name, ids in (("row", found.rows), ("column", found.columns)):
        counts = np.unique(ids, return_counts=True)[1]
        facts[f"ratings per {name}"] = f"{counts.min()} to {counts.max()}, median {np.median(counts):g}"
    return facts


def _task(parsed):
    """What the labels look like: two values are binary, few whole numbers classes, others regression."""
    if parsed.task:
        return parsed.task
    if parsed.multilabel:
        return "multilabel"
    values = np.unique(parsed.labels)
    if len(values) == 2:
        return "binary"
    if parsed.has_texts:
        return "multiclass"
    return "multiclass" if len(values) <= 100 and (values == np.round(values)).all() else "regression"
