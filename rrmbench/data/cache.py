"""Prepared data as raw arrays on disk, opened with mmap so that all workers share one copy.

A folder `data/<key>/` holds one `.npy` file per array and `header.json`; it appears whole by a rename.
"""

import json
import os
import shutil
import tempfile
from dataclasses import dataclass

import numpy as np

from rrmbench.data import streams
from rrmbench.data.places import cache_root, writing_to
from rrmbench.errors import RrmbenchError

FORMAT = 3
MATRIX = ("data", "indices", "indptr")


@dataclass(frozen=True)
class Prepared:
    """A data set ready for a problem; every array is read-only and shared.

    `X_parts` = (data float64, indices uint32, indptr int32 or int64) of the training rows in CSR form, `y`
    float64, (n,) or for targets (n, k); `test_*` are None without a test part. `checksum` is of the raw content of
    all files used, `key` names the folder in the cache, `info` is a dict of plain facts: `model`, the shape of a model
    that is a matrix whose rows X has side by side; `outputs`, the k of a model (d, k) for k outputs a sample;
    `classes`; `kernel`; `bias`.
    """

    X_parts: tuple
    shape: tuple
    y: np.ndarray
    checksum: str
    key: str
    info: dict
    test_X_parts: tuple | None = None
    test_shape: tuple | None = None
    test_y: np.ndarray | None = None

    def operator(self):
        """The data operator of the training part."""
        return self._operator(self.X_parts, self.shape)

    def test_operator(self):
        """The data operator of the test part, or None."""
        return None if self.test_X_parts is None else self._operator(self.test_X_parts, self.test_shape)

    def _operator(self, parts, shape):
        from rrmbench.operators import CSR, Flattened

        if "model" in self.info:
            return Flattened(*parts, shape, self.info["model"])
        return CSR(*parts, shape, self.info.get("outputs"))


def open_cached(key):
    """Open prepared data by its key; needs only numpy. RrmbenchError if it is not (wholly) there."""
    found = find(key)
    if found is None:
        raise RrmbenchError(
            f"{_folder(key)}: the prepared data are missing or damaged; 'rrmbench run' makes them again"
        )
    return found


def find(key):
    """Open prepared data by its key, or return None if the folder is missing or damaged."""
    folder = _folder(key)
    try:
        header = json.loads((folder / "header.json").read_text(encoding="utf-8"))
        arrays = {name: _open(folder, name, *kind) for name, kind in header["arrays"].items()}
        return _assembled(key, header, arrays)
    except (OSError, ValueError, EOFError, KeyError, TypeError):
        return None


def in_memory(key, parts, checksum, info):
    """The Prepared of `parts` as `store` takes them, without any file."""
    arrays = _arrays_of(parts)
    for array in arrays.values():
        array.flags.writeable = False
    return _assembled(key, json.loads(json.dumps(_facts(parts, checksum, info))), arrays)


def _assembled(key, facts, arrays):
    parts = {part: tuple(arrays[part + name] for name in MATRIX) for part in ("", "test_") if part + "data" in arrays}
    test_shape = facts["test_shape"]
    return Prepared(
        X_parts=parts[""],
        shape=tuple(facts["shape"]),
        y=arrays["y"],
        checksum=facts["checksum"],
        key=key,
        info=facts["info"],
        test_X_parts=parts.get("test_"),
        test_shape=test_shape and tuple(test_shape),
        test_y=arrays.get("test_y"),
    )


def store(key, parts, checksum, info):
    """Write `parts`, the (X, y) of the training part and maybe of a test part, under `key`, atomically."""
    arrays = _arrays_of(parts)
    kinds = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
    header = _facts(parts, checksum, info) | {"arrays": kinds}
    folder = _folder(key)
    with writing_to(folder.parent) as parent:
        fresh = tempfile.mkdtemp(dir=parent, prefix=".new-")
        try:
            for name, array in arrays.items():
                np.save(os.path.join(fresh, name + ".npy"), array, allow_pickle=False)
            with open(os.path.join(fresh, "header.json"), "w", encoding="utf-8") as out:
                json.dump(header, out)
            _put(fresh, folder, key)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def checksum_of(path, anew=False):
    """The sha256 of a file's uncompressed content, remembered by path, size and time of change.

    `anew`: the memory is left alone.
    """
    if anew:
        return streams.checksum(path)
    status = os.stat(path)
    entry = f"{path}|{status.st_size}|{status.st_mtime_ns}"
    index = cache_root() / "checksums.json"
    known = _read_index(index)
    if entry not in known:
        # a write by another process in between can drop an entry; it is computed again then
        known = _read_index(index) | {entry: streams.checksum(path)}
        write_text(index, json.dumps(known, indent=0))
    return known[entry]


def write_text(path, text):
    """Replace a small text file of the cache atomically."""
    with writing_to(path.parent) as folder:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(temporary, path)


def _folder(key):
    return cache_root() / "data" / key


def _open(folder, name, dtype, shape):
    array = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    if array.dtype.str != dtype or array.shape != tuple(shape):
        raise ValueError(f"{name} is {array.dtype} {array.shape}")
    return np.asarray(array)


def _facts(parts, checksum, info):
    shapes = [X.shape for X, _ in parts]
    test_shape = shapes[1] if len(parts) > 1 else None
    return {"shape": shapes[0], "test_shape": test_shape, "checksum": checksum, "info": info}


def _arrays_of(parts):
    return {
        part + name: np.ascontiguousarray(array)
        for part, (X, y) in zip(("", "test_"), parts, strict=False)
        for name, array in _arrays(X, y).items()
    }


def _arrays(X, y):
    pointers = np.int32 if X.nnz < 2**31 else np.int64
    return {
        "data": X.data.astype(np.float64, copy=False),
        "indices": X.indices.astype(np.uint32),
        "indptr": X.indptr.astype(pointers),
        "y": y.astype(np.float64, copy=False),
    }


def _put(fresh, folder, key):
    try:
        os.rename(fresh, folder)
    except OSError:
        if find(key) is not None:  # another process was faster
            return
        damaged = tempfile.mkdtemp(dir=folder.parent, prefix=".old-")
        os.rename(folder, os.path.join(damaged, key))
        shutil.rmtree(damaged, ignore_errors=True)
        os.rename(fresh, folder)


def _read_index(index):
    try:
        known = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
