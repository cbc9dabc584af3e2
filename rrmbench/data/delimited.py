"""CSV: a row per line, cells separated by commas, semicolons or tabs, maybe a first line of names."""

import csv
import io
from array import array
from itertools import chain

from rrmbench.data import columns
from rrmbench.data.libsvm import shown
from rrmbench.data.parsed import Parsed
from rrmbench.data.streams import open_text
from rrmbench.errors import RrmbenchError

SEPARATORS = ("\t", ";", ",")  # the first of them that the first line has


def read(path, label=None, header=None):
    """Read a CSV file whose columns are numbers but for the labels, which may be texts.

    label : the column of labels: a name or a number, see `columns.label_column`
    header : whether the first line has names; None: if none of its cells is a number; it has to be said where
        the first label is a text that no other row has, as where names are years

    Raises RrmbenchError 'FILE:LINE: found 'CELL': ...' at the first bad cell, also for missing values.
    """
    import numpy as np
    from scipy.sparse import csr_array

    values, labels, lines = array("d"), [], array("q")
    with open_text(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            names, rows = _begin(path, text, header)
            width, place = len(names) if names else None, None
            for line, cells in rows:
                if place is None:
                    width = width or len(cells)
                    place = columns.label_column(names or width, label, f"{path}")
                _add(path, line, cells, width, place, values, labels)
                lines.append(line)
        except csv.Error as error:
            raise RrmbenchError(f"{path}: {error}") from None
        except UnicodeDecodeError as error:
            raise RrmbenchError(f"{path}: not UTF-8 text (byte {error.start + 1} of a block)") from None
        finally:
            text.detach()
    if not lines:
        raise RrmbenchError(f"{path}: no data row in the file")
    if header is None and names is None and len(lines) > 1 and _is_like_a_name(labels):
        raise _unclear(path, lines[0], labels[0])
    if width < 2:
        raise RrmbenchError(f"{path}: one column only, and X needs one beside the labels")
    X = np.array(values).reshape(len(lines), width - 1)
    rest = tuple(name for number, name in enumerate(names) if number != place) if names else None
    return Parsed(csr_array(X), columns.labels_of(labels, lambda row: f"{path}:{lines[row]}"), columns=rest)


def _begin(path, text, header):
    """(names or None, an iterator of (line, cells) of the rows)."""
    number, first = next(((n, line) for n, line in enumerate(text) if line.strip()), (0, ""))
    separator = next((sign for sign in SEPARATORS if sign in first), None)
    if not first:
        raise RrmbenchError(f"{path}: the file is empty")
    if separator is None:
        raise RrmbenchError(f"{path}: no comma, semicolon or tab in the first line; CSV needs one between its cells")
    reader = csv.reader(chain([first], text), delimiter=separator, strict=True)
    rows = ((number + reader.line_num, cells) for cells in reader if cells)
    line, cells = next(rows)
    numbers = [cell.strip() for cell in cells if columns.is_number(cell)]
    if header is None and len(numbers) > 1 and numbers == list(map(str, range(len(numbers)))):
        raise RrmbenchError(f"{path}:{line}: found 0, 1, ..., as unnamed columns are called: say header: true or false")
    if header is None and not numbers and (cell := columns.no_name_in(cells)):
        raise _unclear(path, line, cell)
    is_header = not numbers if header is None else header
    if not is_header:
        return None, chain([(line, cells)], rows)
    names = [cell.strip() for cell in cells]
    columns.check_names(names, f"{path}:{line}")
    return names, rows


def _is_like_a_name(labels):
    """Whether the label of the first row is a text that no other row has."""
    return not columns.is_number(labels[0]) and labels[0] not in labels[1:]


def _unclear(path, line, cell):
    found = shown(cell.strip().encode())
    return RrmbenchError(
        f"{path}:{line}: found '{found}' in a first line that may be a row or names: say header: true or false"
    )


def _add(path, line, cells, width, place, values, labels):
    if len(cells) != width:
        raise RrmbenchError(f"{path}:{line}: found {len(cells)} cells, the first line has {width}")
    labels.append(cells.pop(place))
    joined = "".join(cells)
    # Python reads 1_000, digits of other scripts, nan and inf as numbers
    plain = joined.isascii() and "_" not in joined and "n" not in joined and "N" not in joined
    try:
        row = [float(cell) for cell in cells] if plain else None
    except ValueError:
        row = None
    if row is None or float("inf") in row or float("-inf") in row:
        for cell in cells:
            if wrong := columns.problem(cell):
                raise RrmbenchError(f"{path}:{line}: found '{shown(cell.encode())}': {wrong}")
        row = [float(cell) for cell in cells]
    values.extend(row)
