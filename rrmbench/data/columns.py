"""Tables with named or numbered columns: which of them has the labels, and cells that are no numbers."""

import re

from rrmbench.data.libsvm import shown, wrong_number
from rrmbench.errors import RrmbenchError, listed, nearest, quoted

USUAL = ("y", "label", "target", "class")  # names of the column of labels, where none is given
MISSING = re.compile(r"|\?|na|n/a|nan|null|none", re.IGNORECASE)
# numbers in spellings that are not read: 1_000, 1 000, 0,5, 0x1, 10%; groups of digits have at most three
OTHER_NUMBER = re.compile(
    r"[+-]?(0x[0-9a-f]+|(\d+|\d{1,3}([_ ',]\d{1,3})+)(,\d*)?(\.\d*)?(e[+-]?\d+)?\s*%?)", re.IGNORECASE
)
SIGNS = {"+": 1.0, "-": -1.0}
NO_LABEL = re.compile(r"|\?|na|n/a|nan|<na>|null", re.IGNORECASE)  # "none" may be a class


def label_column(names, label, where):
    """The number of the column with the labels; RrmbenchError where nothing tells it.

    names : of all columns, or their number where they have none
    label : what the user says: a name, a number from 0, negative from the end, or None
    """
    count = names if isinstance(names, int) else len(names)
    known = [] if isinstance(names, int) else list(names)
    has = f"the {count} columns are {listed(map(quoted, known))}" if known else f"{count} columns have no names"
    if isinstance(label, str):
        if known.count(label) != 1:
            what = "two columns of" if label in known else "no column of"
            raise RrmbenchError(f"{where}: label: {what} the name {label!r}{nearest(label, known)}; {has}")
        return known.index(label)
    if label is not None:
        if not -count <= label < count:
            raise RrmbenchError(f"{where}: label: found {label}, allowed are {-count} to {count - 1}; {has}")
        return label % count
    usual = [number for number, name in enumerate(known) if name.lower() in USUAL]
    if len(usual) != 1:
        raise RrmbenchError(
            f"{where}: say which column has the labels, 'label: NAME' or 'label: NUMBER' (0 is the first, -1 the "
            f"last); {has}"
        )
    return usual[0]


def check_names(names, where):
    """Refuse names of columns that are empty or occur twice."""
    for number, name in enumerate(names):
        if not name.strip():
            raise RrmbenchError(
                f"{where}: column {number} has no name, as that of an index which was written along; write the table "
                "without it"
            )
        if name in names[:number]:
            raise RrmbenchError(f"{where}: two columns have the name {quoted(name)}")


def is_number(cell):
    """Whether a cell, as text, is a finite number."""
    return wrong_number(cell.strip().encode()) is None


def looks_like_number(cell):
    """Whether a cell, as text, is a number in some spelling, of whatever size."""
    text = cell.strip()
    return wrong_number(text.encode()) != "is not a number" or OTHER_NUMBER.fullmatch(text) is not None


def no_name_in(cells):
    """The first cell of a first line that may be a row of missing and misspelt numbers and maybe a label, or None."""
    values = [cell for cell in cells if looks_like_number(cell) or MISSING.fullmatch(cell.strip())]
    return next(filter(str.strip, values), None) if len(cells) - len(values) <= 1 else None


def problem(cell):
    """What is wrong with the text of a cell of X, or None."""
    if MISSING.fullmatch(cell.strip()):
        return "the value is missing; fill it in or leave the row out"
    wrong = wrong_number(cell.strip().encode())
    if wrong == "is not a number":
        return "is not a number; columns of X are numbers, and texts have to be encoded, as one column for each value"
    return wrong


def labels_of(cells, place):
    """Labels as a float array, or as an array of texts where none is a number; `+` and `-` are 1 and -1.

    place : function of a row's number to where it stands, for messages
    """
    import numpy as np

    for row, cell in enumerate(cells):
        if NO_LABEL.fullmatch(cell.strip()):
            raise RrmbenchError(f"{place(row)}: found '{shown(cell.encode())}': the label is missing")
    numbers = [is_number(cell) for cell in cells]
    if all(numbers):
        return np.array([float(cell) for cell in cells])
    if any(numbers):
        row = numbers.index(not numbers[0])
        kinds = ("a number", "a text") if numbers[row] else ("a text", "a number")
        found = shown(cells[row].encode())
        raise RrmbenchError(f"{place(row)}: found '{found}': the label is {kinds[0]}, that of the first row {kinds[1]}")
    texts = [cell.strip() for cell in cells]
    if SIGNS.keys() >= set(texts):
        return np.array([SIGNS[text] for text in texts])
    if all(map(looks_like_number, texts)):  # in alphabetical order, which is not theirs, they would be classes
        wrong = wrong_number(texts[0].encode())
        raise RrmbenchError(
            f"{place(0)}: found '{shown(cells[0].encode())}': the label {wrong}; labels that are numbers are written "
            "like 1000, 0.5 or 1e-3"
        )
    return np.array(texts)
