"""Files of numpy and scipy: .npz with arrays X and y or with a sparse matrix, .npy with a matrix. Never a pickle."""

import io
import tokenize
import zipfile
import zlib

from rrmbench.data import arrays, columns
from rrmbench.data.streams import open_text
from rrmbench.errors import RrmbenchError

FIELDS = ("format", "shape", "data", "indices", "indptr", "row", "col", "offsets", "_is_array")  # of a matrix of scipy
LARGEST = 2**31 - 1  # rows and columns of a sparse matrix


def read_npz(path, y=None):
    """Read X and y, maybe qid and the same with `_test`; or a matrix as `scipy.sparse.save_npz` writes it.

    y : the file of the labels, where the archive has none

    Returns [Parsed of the training part, maybe of the test part].
    """
    found = _archive(path)
    if {"format", "shape", "data"} <= set(found):
        fields = {key: found.pop(key) for key in FIELDS if key in found}
        found = {"X": _sparse(path, fields)} | found
    if y is not None:
        if "y" in found:
            raise RrmbenchError(f"{path}: it has an array y itself, and 'y: {y}' names another one")
        found["y"] = read_labels(y)
    if "X" in found and "y" not in found:
        raise RrmbenchError(f"{path}: found no y (it has: {', '.join(found)}); 'y: FILE.npy' names a file of labels")
    return arrays.checked(found, f"{path}")


def read_npy(path, y=None, label=None):
    """Read a matrix (n, d), and the labels from the file `y` or from the column `label` of it."""
    import numpy as np

    X = _array(path)
    if X.ndim != 2 or X.dtype.kind not in arrays.NUMBERS:
        raise RrmbenchError(
            f"{path}: found an array of {X.dtype} of the shape {X.shape}, allowed is a matrix of numbers"
        )
    if (y is None) == (label is None):
        raise RrmbenchError(f"{path}: needed is where the labels are: 'y: FILE.npy', or 'label: NUMBER' of a column")
    if y is not None:
        return arrays.rows(X, read_labels(y), None, f"{path}: ")
    place = columns.label_column(X.shape[1], label, f"{path}")
    if X.shape[1] < 2:
        raise RrmbenchError(f"{path}: one column only, and X needs one beside the labels")
    return arrays.rows(np.delete(X, place, axis=1), X[:, place], None, f"{path}: ")


def read_labels(path):
    """The array of labels in a .npy file, or the array y of an .npz file."""
    if not str(path).endswith(".npz"):
        return _array(path)
    found = _archive(path)
    if "y" not in found:
        raise RrmbenchError(f"{path}: found no y (it has: {', '.join(found)})")
    return found["y"]


def _array(path):
    return _loaded(path, lambda file: file)


def _archive(path):
    return _loaded(path, lambda archive: {key: archive[key] for key in _distinct(path, archive.files)})


def _distinct(path, names):
    """The names of the arrays of an archive; RrmbenchError for two of one name, of which numpy would read the last."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RrmbenchError(f"{path}: found two arrays of the name {twice}")
    return names


def _loaded(path, take):
    import numpy as np

    try:
        with open_text(path) as stream:
            file = stream if stream.seekable() else io.BytesIO(stream.read())
            if not file.read(6).startswith((b"\x93NUMPY", b"PK")):
                raise RrmbenchError(f"{path}: no file that numpy has written")
            file.seek(0)
            return take(np.load(file, allow_pickle=False))
    except (ValueError, TypeError, LookupError, EOFError, AttributeError, NotImplementedError, MemoryError) as error:
        raise RrmbenchError(f"{path}: cannot be read as a file of numpy, without pickles: {_said(error)}") from None
    except (zipfile.BadZipFile, zlib.error, SyntaxError, tokenize.TokenError, RuntimeError) as error:
        raise RrmbenchError(f"{path}: the file is damaged: {_said(error)}") from None


def _said(error):
    return str(error).split("\n")[0][:200] or type(error).__name__


def _sparse(path, found):
    import numpy as np
    from scipy.sparse import csr_array, load_npz

    shape = found["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or not (0 < shape.min() and shape.max() <= LARGEST):
        raise RrmbenchError(
            f"{path}: found a sparse matrix of the shape {shape.tolist()}, allowed are 1 to {LARGEST} each"
        )
    copy = io.BytesIO()
    np.savez(copy, **found)
    copy.seek(0)
    try:
        X = load_npz(copy)
        X = csr_array(X.astype(np.float64) if X.dtype.kind in arrays.NUMBERS else X)  # entries of one place are summed
        X.check_format(full_check=True)
    except (ValueError, TypeError, LookupError, OverflowError, MemoryError, NotImplementedError) as error:
        raise RrmbenchError(f"{path}: no sparse matrix of scipy: {_said(error)}") from None
    return X
