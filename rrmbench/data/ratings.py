"""The format of ratings: one entry of a matrix per line, `row column value`.

The separator is that of the first line: spaces or tabs, `::` or commas, as in the files of MovieLens (u.data,
ratings.dat, ratings.csv); with commas the first line may have names. The ids of rows and columns are non-negative
integers; further columns, such as time stamps, are ignored. Blank lines and comments (`# ...`) are allowed, and the
file may be compressed like a LibSVM file.
"""

import re
from array import array
from dataclasses import dataclass
from pathlib import Path

from rrmbench.data.libsvm import LARGEST_ID, LINE_ENDS, shown, whole, wrong_number
from rrmbench.data.streams import open_lines
from rrmbench.errors import RrmbenchError

SEPARATORS = (b"::", b",")
NAME = re.compile(rb"[\"']?[A-Za-z_\x80-\xff]")  # the start of each in a first line such as userId,movieId,rating


@dataclass(frozen=True)
class Ratings:
    """The entries of a file, in its order: ids of rows and of columns (int64), values (float64)."""

    rows: object
    columns: object
    values: object


def read(path):
    """Read a file of ratings.

    Raises RrmbenchError 'FILE:LINE: found 'TOKEN': ...' at the first bad token, and for an entry that occurs twice.
    """
    import numpy as np

    rows, columns, values, lines = array("q"), array("q"), array("d"), array("q")
    separator = first = None
    for number, text in _lines(path):
        if first is None:
            first, separator = number, next((sign for sign in SEPARATORS if sign in text), None)
        tokens = [token.strip() for token in text.split(separator)] if separator else text.split()
        problem = _problem(tokens)
        if problem:
            are_names = number == first and len(tokens) >= 3 and all(map(NAME.match, tokens[:3]))
            if are_names and separator == b",":
                continue
            hint = "; a first line of names is allowed with commas alone, remove it" if are_names else ""
            raise RrmbenchError(f"{path}:{number}: found '{shown(problem[0])}': {problem[1]}{hint}")
        rows.append(int(tokens[0]))
        columns.append(int(tokens[1]))
        values.append(float(tokens[2]))
        lines.append(number)
    if not rows:
        raise RrmbenchError(f"{path}: no rating in the file")
    found = Ratings(np.array(rows), np.array(columns), np.array(values))
    _check_distinct(path, found, lines)
    return found


def shape(found):
    """(number of distinct rows, number of distinct columns) of Ratings."""
    import numpy as np

    return len(np.unique(found.rows)), len(np.unique(found.columns))


def write(path, rows, columns, values):
    """Write entries as text, ids as they are, values in full."""
    with Path(path).open("w", encoding="ascii", newline="\n") as out:
        for row, column, value in zip(rows, columns, values, strict=True):
            out.write(f"{row} {column} {value:.17g}\n")


def _lines(path):
    """Yield (number, content) of the lines that hold more than a comment."""
    with open_lines(path) as stream:
        for number, line in enumerate(stream, 1):
            if b"\r" in line.strip():  # lines that end so are one line here, of which the first rating would be read
                raise RrmbenchError(f"{path}:{number}: found '\\r': {LINE_ENDS}")
            if text := line.partition(b"#")[0].strip():
                yield number, text


def _problem(tokens):
    """The first bad token of a line and what is wrong with it, or None."""
    if len(tokens) < 3:
        return b" ".join(tokens), f"{len(tokens)} of three columns (expected: row column value)"
    for token, name in zip(tokens, ("row", "column"), strict=False):
        if not token.isdigit():
            return token, f"the {name} is not a whole number of at least 0 (expected: row column value)"
        if whole(token) > LARGEST_ID:
            return token, f"the {name} is greater than {LARGEST_ID}"
    wrong = wrong_number(tokens[2])
    return (tokens[2], f"the value {wrong}") if wrong else None


def _check_distinct(path, found, lines):
    import numpy as np

    order = np.lexsort((found.columns, found.rows))  # stable: of equal entries, the later line comes later
    again = (np.diff(found.rows[order]) == 0) & (np.diff(found.columns[order]) == 0)
    if again.any():
        first, second = min(((order[i], order[i + 1]) for i in np.flatnonzero(again)), key=lambda pair: pair[1])
        pair = f"{found.rows[second]} {found.columns[second]}"
        raise RrmbenchError(
            f"{path}:{lines[second]}: found '{pair}': this row and column have a rating in line {lines[first]} already"
        )
