"""Prepared data as raw arrays on disk, opened with mmap so that all workers share one copy.

A folder `data/<key>/` holds one `.npy` file per array and `header.json`, which has a checksum of each and one of
itself; it appears whole by a rename. A process checks them before it first uses a folder, and again if a file of it
was changed; its children take the arrays as they are.
"""

import hashlib
import io
import json
import logging
import os
import shutil
import tempfile
import tokenize
from dataclasses import dataclass

import numpy as np

from rrmbench.atomic import fresh_path
from rrmbench.data.checksums import state
from rrmbench.errors import RrmbenchError
from rrmbench.folders import cache_root, sealed, unsealed, writing_to

log = logging.getLogger("rrmbench.data")
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

    @property
    def dimensions(self):
        """(samples, features, outputs) of the training part."""
        return (*self.shape, self.info.get("outputs") or 1)

    def operator(self):
        """The data operator of the training part."""
        return self._operator(self.X_parts, self.shape)

    def test_operator(self):
        """The data operator of the test part, or None."""
        return None if self.test_X_parts is None else self._operator(self.test_X_parts, self.test_shape)

    def _operator(self, parts, shape):
        from rrmbench.problem.operators import CSR, Flattened

        if "model" in self.info:
            return Flattened(*parts, shape, self.info["model"])
        return CSR(*parts, shape, self.info.get("outputs"))


def open_cached(key):
    """Open prepared data by its key, unchecked; needs only numpy. RrmbenchError if they are not (wholly) there."""
    folder = _folder(key)
    try:
        facts = json.loads(_plain(folder / "header.json").read_text(encoding="utf-8"))["facts"]
        arrays = {name: _open(folder, name, *kind) for name, (*kind, _) in facts["arrays"].items()}
        return _assembled(key, facts, arrays)
    except (OSError, ValueError, EOFError, KeyError, TypeError, SyntaxError, tokenize.TokenError):
        raise RrmbenchError(
            f"{folder}: the prepared data are missing or damaged; 'rrmbench run' makes them again"
        ) from None


def find(key):
    """Open prepared data by its key if they are as they were stored, or return None; a log line tells of damage."""
    folder = _folder(key)
    if not os.path.lexists(folder):
        return None
    if not sound(folder):
        log.warning("%s: the prepared data are damaged; they are made again", folder)
        return None
    return open_cached(key)


_checked = {}  # folder: the states of its files when they were found sound


def sound(folder):
    """Whether header and arrays have the checksums that they were stored with."""
    try:
        states = {file.name: state(file) for file in folder.iterdir()}
        if _checked.get(folder) != states:
            arrays = unsealed(_plain(folder / "header.json").read_text(encoding="utf-8"))["arrays"]
            if any(_file_checksum(folder, name) != kind[-1] for name, kind in arrays.items()):
                return False
            _checked[folder] = states
    except (OSError, ValueError, RrmbenchError):
        return False
    return True


def _file_checksum(folder, name):
    import xxhash

    with _plain(folder / f"{name}.npy").open("rb") as stream:
        return hashlib.file_digest(stream, xxhash.xxh3_128).hexdigest()


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


def store(key, parts, checksum, info, code=None):
    """Write `parts`, the (X, y) of the training part and maybe of a test part, under `key`, atomically.

    code : the digest of the code that made them
    """
    arrays = _arrays_of(parts)
    folder = _folder(key)
    with writing_to(folder.parent) as parent:
        fresh = fresh_path(parent)
        try:
            os.mkdir(fresh)
            kinds = {name: [array.dtype.str, array.shape, _save(fresh, name, array)] for name, array in arrays.items()}
            with open(os.path.join(fresh, "header.json"), "w", encoding="utf-8") as out:
                out.write(sealed(_facts(parts, checksum, info) | {"arrays": kinds, "code": code}))
            _put(fresh, folder, key)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def code_of(folder):
    """The digest of the code that made a folder of prepared data; None where its header does not say.

    This is no use of the data: where the system can, the time of the last reading stays.
    """
    for flags in (getattr(os, "O_NOATIME", 0), 0):  # only a file's owner may ask for this
        try:
            with os.fdopen(os.open(_plain(folder / "header.json"), os.O_RDONLY | flags), encoding="utf-8") as file:
                return unsealed(file.read()).get("code")
        except PermissionError:
            continue
        except (OSError, ValueError):
            break
    return None


def _save(folder, name, array):
    """Write an array as `.npy`; return the xxh3_128 of the whole file, which says dtype and shape first."""
    import xxhash

    start = io.BytesIO()
    np.lib.format.write_array_header_1_0(start, np.lib.format.header_data_from_array_1_0(array))
    digest = xxhash.xxh3_128(start.getvalue())
    digest.update(array)
    with open(os.path.join(folder, name + ".npy"), "wb") as out:
        out.write(start.getvalue())
        array.tofile(out)
    return digest.hexdigest()


def _plain(path):
    """The path; OSError for what is no plain file: a pipe would have everybody wait for its other end."""
    if not path.is_file():
        raise OSError(None, "no plain file")
    return path


def _folder(key):
    return cache_root() / "data" / key


def _open(folder, name, dtype, shape):
    array = np.load(_plain(folder / f"{name}.npy"), mmap_mode="r", allow_pickle=False)
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
        "indices": X.indices.view(np.uint32) if X.indices.dtype == np.int32 else X.indices.astype(np.uint32),
        "indptr": X.indptr.astype(pointers),
        "y": y.astype(np.float64, copy=False),
    }


def _put(fresh, folder, key):
    try:
        os.rename(fresh, folder)
    except OSError:
        if sound(folder):  # another process was faster
            return
        damaged = tempfile.mkdtemp(dir=folder.parent, prefix=".old-")
        os.rename(folder, os.path.join(damaged, key))
        shutil.rmtree(damaged, ignore_errors=True)
        os.rename(fresh, folder)
