"""The LibSVM text format: one row per line, `label [qid:q] index:value ... [# comment]`.

scikit-learn parses small files. It lets NaN, infinities, digits with underscores, indices with signs and whatever
begins with `qid` through, takes what follows a carriage return in a comment for a part of it, and its errors name no
line; so text and arrays are checked, and when anything is wrong our own reading finds the first bad token. Large files
are read by `libsvm_blocks`, if every line of them is right.
"""

import re
from pathlib import Path

from rrmbench.data.parsed import Parsed
from rrmbench.data.streams import COMPRESSED, open_lines
from rrmbench.errors import RrmbenchError, printable

LARGEST_INDEX = 2**31 - 1
LARGEST_ID = 2**63 - 1
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# what scikit-learn takes for a query id, but for `qid:` and digits
WRONG_QID = re.compile(rb"qid(?!:[0-9]+(?:[\s#]|$))")
SPACES = (b" ", b"\t", b"\v", b"\f", b"\r")
CHUNK = 1 << 18
LINE_ENDS = "a line ends with '\\n' or '\\r\\n'"  # and not with a carriage return alone
LARGE = 1 << 24  # bytes of text, which scikit-learn reads in about the time that the parser of blocks compiles in
NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)


def read(path, zero_based=None):
    """Read a LibSVM file. `zero_based=None`: indices count from 0 if and only if an index 0 occurs.

    Raises RrmbenchError 'FILE:LINE: found 'TOKEN': ...' at the first bad token.
    """
    X, labels, qid = (_parse_blocks(path) if _is_large(path) else None) or _parse_lines(path, zero_based)
    if X.shape[0] == 0:
        raise RrmbenchError(f"{path}: no data row in the file")
    if X.nnz == 0:
        raise RrmbenchError(f"{path}: no row of the file has a feature")
    smallest = X.indices.min()
    _check_finite(path, X, labels, zero_based)
    if len(qid) and qid.min() < 0:
        _examine(path, zero_based)
    if X.indices.max() > LARGEST_INDEX or (smallest == 0 and zero_based is False):
        _examine(path, zero_based)
    if zero_based is None:
        zero_based = bool(smallest == 0)
    return Parsed(X if zero_based else _from_zero(X), labels, zero_based, qid if len(qid) == X.shape[0] else None)


def line_without_qid(path):
    """The number of the first line with a row that has no qid, or None."""
    with open_lines(path) as stream:
        for number, line in enumerate(stream, 1):
            tokens = line.partition(b"#")[0].split(maxsplit=2)
            if tokens and not (len(tokens) > 1 and tokens[1].startswith(b"qid:")):
                return number
    return None


def write(path, rows, labels, qids=None):
    """Write rows (iterables of (column from 0, value)) as LibSVM text, indices from 1, floats in full."""
    starts = [f"{label:.17g}" for label in labels]
    if qids is not None:
        starts = [f"{start} qid:{qid}" for start, qid in zip(starts, qids, strict=True)]
    with Path(path).open("w", encoding="ascii", newline="\n") as out:
        for row, start in zip(rows, starts, strict=True):
            out.write(" ".join([start, *(f"{j + 1}:{float(v)!r}" for j, v in row)]) + "\n")


class _Lines:
    """The lines of a stream, noting a token that is bad but which scikit-learn would read.

    A few searches through many lines at a time tell where such a token may be; only those lines are examined.
    """

    def __init__(self, stream):
        self.read = stream.read
        self.stream = stream
        self.bad = False

    def __iter__(self):
        while lines := self.stream.readlines(CHUNK):
            if _suspicious(b"".join(lines)):
                self.bad = self.bad or any(_suspicious(line) and _problem(line) for line in lines)
            yield from lines


def _suspicious(text):
    """Whether there may be an underscore in a number, a sign before an index, a wrong query id, or a line in a line."""
    # a search for one byte is a hundred times as fast as one for two
    signs = [sign for sign in (b"+", b"-") if sign in text]
    spaces = [space for space in SPACES if signs and space in text]
    return (
        b"_" in text
        or has_lone_returns(text)
        or any(space + sign in text for space in spaces for sign in signs)
        or (b"q" in text and WRONG_QID.search(text) is not None)
    )


def has_lone_returns(text):
    """Whether there are carriage returns that end no line, as where they alone end the lines of a file."""
    returns = text.count(b"\r")
    return returns > 0 and returns > text.count(b"\r\n")


def _is_large(path):
    path = Path(path)
    ratio = 4 if path.suffix in COMPRESSED else 1  # of compressed text
    return path.is_file() and ratio * path.stat().st_size >= LARGE


def _parse_blocks(path):
    from rrmbench.data import libsvm_blocks

    return libsvm_blocks.read(path)


def _parse_lines(path, zero_based):
    try:
        return _parse(path, multilabel=False)
    except (ValueError, OverflowError):
        return _parse_lists(path, zero_based)


def _parse(path, multilabel):
    from sklearn.datasets import load_svmlight_file

    with open_lines(path) as stream:
        lines = _Lines(stream)
        parsed = load_svmlight_file(lines, zero_based=True, multilabel=multilabel, query_id=True)
    if lines.bad:
        _examine(path, None)
    return parsed


def _parse_lists(path, zero_based):
    """Parse again what is no single-label file: it has lists of labels, or a bad token."""
    try:
        X, labels, qid = _parse(path, multilabel=True)
    except (ValueError, OverflowError) as error:
        _examine(path, zero_based)
        raise RrmbenchError(f"{path}: {error}") from error
    if not all(labels):
        _examine(path, zero_based)
    return X, _label_lists(path), qid


def _label_lists(path):
    """The lists of labels in the order of the file; scikit-learn sorts each of them."""
    with open_lines(path) as stream:
        rows = (line.partition(b"#")[0].split(maxsplit=1) for line in stream)
        return [tuple(float(part) for part in row[0].split(b",")) for row in rows if row]


def _from_zero(X):
    from scipy.sparse import csr_array

    X.indices -= 1  # in place: X is large, and nobody else has it
    return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], X.shape[1] - 1))


def _check_finite(path, X, labels, zero_based):
    import numpy as np

    flat = np.concatenate([np.asarray(row, float) for row in labels]) if isinstance(labels, list) else labels
    if not (np.isfinite(X.data).all() and np.isfinite(flat).all()):
        _examine(path, zero_based)


def _examine(path, zero_based):
    """Raise RrmbenchError at the first bad token, if there is one."""
    with open_lines(path) as stream:
        for number, line in enumerate(stream, 1):
            if problem := _problem(line, zero_based):
                raise RrmbenchError(f"{path}:{number}: found '{shown(problem[0])}': {problem[1]}")


def shown(token):
    """A token of a file as messages quote it."""
    text = printable(token[:300].decode("utf-8", "backslashreplace"))
    return text if len(text) <= 60 else text[:60] + "..."


def _problem(line, zero_based=None):
    """The first bad token of a line and what is wrong with it, or None."""
    if b"\r" in line.rstrip():
        return b"\r", LINE_ENDS
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return None
    label, *features = tokens
    if b":" in label:
        return label, "the line has no label (expected: label index:value ...)"
    for part in label.split(b","):
        if wrong := wrong_number(part):
            return label, f"the label {wrong}"
    if features and features[0].startswith(b"qid:"):
        query = features.pop(0)
        if not query[4:].isdigit():
            return query, "qid is not a whole number"
        if whole(query[4:]) > LARGEST_ID:
            return query, f"qid is greater than {LARGEST_ID}"
    previous = -1
    for token in features:
        index, colon, value = token.partition(b":")
        if not colon or not index.isdigit():
            return token, "expected index:value with a whole number as index"
        column = whole(index)
        if wrong := _wrong_index(column, previous, zero_based):
            return token, wrong
        if wrong := wrong_number(value):
            return token, f"the value {wrong}"
        previous = column
    return None


def _wrong_index(column, previous, zero_based):
    if column > LARGEST_INDEX:
        return f"the index is greater than {LARGEST_INDEX}"
    if column == 0 and zero_based is False:
        return "index 0, but the indices of this file count from 1"
    if column == previous:
        return f"the index {column} occurs twice in the row"
    if column < previous:
        return f"the index {column} comes after {previous}; indices must increase"
    return None


def whole(digits):
    """The number that `digits` are; LARGEST_ID + 1 for every greater one (Python refuses thousands of digits)."""
    digits = digits.lstrip(b"0") or b"0"
    return min(int(digits), LARGEST_ID + 1) if len(digits) < 20 else LARGEST_ID + 1


def wrong_number(text):
    """What is wrong with a number of a file, or None."""
    if NOT_FINITE.fullmatch(text):
        return "is not finite"
    if not NUMBER.fullmatch(text):
        return "is not a number"
    return "is too large for a float" if abs(float(text)) == float("inf") else None
