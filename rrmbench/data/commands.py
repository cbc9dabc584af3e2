"""What `rrmbench data get|info|add|list` do. Plain values are returned; nothing is printed."""

from pathlib import Path

import numpy as np
import yaml

from rrmbench.data import cache, catalogue, fetch, labels, libsvm, places, spec, transform
from rrmbench.errors import RrmbenchError


def listing():
    """One dict per registered data set: name, task, n, d, here (its path, or how to get it), title."""
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
                "d": entry.d,
                "here": str(here),
                "title": entry.title,
            }
        )
    return rows


def get(name):
    """Find, make or download a data set and check it: dict of name, path, sha256, checksum (its state)."""
    entry = catalogue.get(name)
    path = fetch.obtain(name, entry)
    sha256 = fetch.content_checksum(name, entry, path)
    return {"name": name, "path": str(path), "sha256": sha256, "checksum": _state(entry, path)}


def info(name_or_path):
    """Facts of a data set, read from its file: dict in the order to show."""
    source = spec.check(name_or_path)
    if "name" in source:
        facts, entry = get(source["name"]), catalogue.get(source["name"])
        path, about = Path(facts["path"]), entry.model_dump(include={"title", "licence", "citation", "note"})
    else:
        entry, path, about = None, Path(source["path"]), {}
        facts = {
            "name": path.name,
            "path": str(path),
            "sha256": cache.checksum_of(path),
            "checksum": "unknown",
        }
    parsed = libsvm.read(path, entry.zero_based if entry else None)
    return facts | _sizes(parsed, entry) | {key: value for key, value in about.items() if value}


def add(path, name, title=None):
    """Describe a private LibSVM file in the user's own registry; return the path of the new entry."""
    path = Path(path).expanduser().resolve()
    if not name.replace("_", "").replace("-", "").isalnum():
        raise RrmbenchError(f"name: found '{name}', allowed are letters, digits, '_' and '-'")
    if name in catalogue.names():
        raise RrmbenchError(f"name: '{name}' is a registered data set already; choose another name")
    if not path.is_file():
        raise RrmbenchError(f"{path}: no such file")
    parsed = libsvm.read(path)
    entry = {
        "title": title or path.name,
        "task": _task(parsed),
        "n": parsed.X.shape[0],
        "d": parsed.X.shape[1],
        "zero_based": parsed.zero_based,
        "file": {"name": path.name, "path": str(path), "sha256": cache.checksum_of(path)},
    }
    file = places.own_registry() / f"{name}.yaml"
    cache.write_text(file, yaml.safe_dump(entry, sort_keys=False, allow_unicode=True))
    return file


def _state(entry, path):
    if entry.file is None:
        return "made here"
    expected, source = fetch.expected_checksum(entry, path)
    return f"as {source} says" if expected else "unknown"


def _sizes(parsed, entry):
    X = parsed.X
    n, d = X.shape[0], max(X.shape[1], entry.d if entry else 0)
    norms = transform.row_norms(X)
    return {
        "n": n,
        "d": d,
        "columns in the file": X.shape[1],
        "nonzeros": X.nnz,
        "density": X.nnz / (n * d),
        "indices from": 0 if parsed.zero_based else 1,
        "task": entry.task if entry else _task(parsed),
        "labels": labels.values_found(parsed.labels),
        "mean row norm": float(norms.mean()),
        "greatest row norm": float(norms.max()),
        "empty rows": int((norms == 0).sum()),
    }


def _task(parsed):
    """What the labels look like: two values are binary, few whole numbers classes, others regression."""
    if parsed.multilabel:
        return "multilabel"
    values = np.unique(parsed.labels)
    if len(values) == 2:
        return "binary"
    return "multiclass" if len(values) <= 100 and (values == np.round(values)).all() else "regression"
