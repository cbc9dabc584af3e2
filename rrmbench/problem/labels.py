"""From labels as they were given to y: two values, one class against the rest, classes, or the numbers as they are."""

import numpy as np

from rrmbench.errors import RrmbenchError, listed, printable

AS_THEY_ARE = "as in the file"  # the description of labels that stay what they are
LEAST = 1e-152  # squares of smaller labels have few digits, or are 0
EXACT = 2.0**53  # from where on two whole numbers may be one float


# what a loss on numbers may need of them -> (in words, which are)
SIGNS = {"positive": ("greater than 0", lambda y: y > 0.0), "nonnegative": ("of at least 0", lambda y: y >= 0.0)}


def check_size_and_signs(y, needs, loss):
    """Raise RrmbenchError where a loss (its name) needs labels of a sign that some are not of, or all are too small."""
    if 0.0 < (greatest := np.abs(y).max(initial=0.0)) < LEAST:
        found = f"labels of at most {greatest:g}, whose squares underflow"
        raise RrmbenchError(f"y: found {found}; needed is one of {LEAST:g} or more")
    for need in needs & SIGNS.keys():
        words, fits = SIGNS[need]
        if not np.all(fits(y)):
            raise RrmbenchError(f"y: {loss} needs labels {words}, found {np.min(y):g}")


def mode_of(needs):
    """The `mode` of `rule` for a loss with these needs."""
    return next((mode for mode in ("binary", "classes", "sequences", "targets") if mode in needs), "any")


def rule(labels, entry, positive, mode, where, names=None):
    """Return (convert, description) for the training labels; convert(labels, where) turns those of any part into y.

    where : of the labels, for messages; names : those of labels that are texts, numbered in their order
    entry : what is known of the data: `task`, `labels`, `positive`, each may be None; or None

    mode 'binary': y in {-1, 1}. mode 'any': also there if the registry says binary or `positive` is given,
    else the labels as they are. mode 'classes': y in {0, ..., k-1}, the rank of the label among the k that occur
    in the training part; mode 'sequences' likewise, of every row. mode 'targets': y of the shape (n, k), rows of k
    numbers or, for single labels, the unit vectors of the classes. Raises RrmbenchError listing the values found if the
    rule does not fit.
    """
    if mode in ("classes", "sequences"):
        return _classes(labels, positive, where, names)
    if mode == "targets":
        return _targets(labels, positive, where, names)
    if positive is None and entry is not None:
        positive = entry.positive
    if positive is not None:
        return _one_against_rest(labels, positive, where, names)
    if isinstance(labels, list):
        raise RrmbenchError(
            f"{where}: the rows have lists of labels ({values_found(labels)}); say which one is wanted with 'positive:'"
        )
    if entry is not None and entry.labels:
        return _two_values(labels, {float(k): float(v) for k, v in entry.labels.items()}, where, names)
    if mode == "binary" or (entry is not None and entry.task == "binary"):
        values = _distinct(labels, where)
        if len(values) != 2:
            remedy = "; 'positive: LABEL' takes one class against the rest" if len(values) > 2 else ""
            found = values_found(labels, names)
            raise RrmbenchError(f"{where}: a binary loss needs two label values, found {found}{remedy}")
        return _two_values(labels, {float(values[0]): -1.0, float(values[1]): 1.0}, where, names)
    return (lambda given, where: np.array(given, dtype=np.float64)), AS_THEY_ARE


def sizes(labels, y, mode):
    """{"classes": k or None, "outputs": k where the model has k columns} of the training part."""
    if mode == "classes":
        k = int(y.max()) + 1
        return {"classes": k, "outputs": k}
    if mode == "sequences":
        return {"classes": int(y[:, 0].max()) + 1}
    if mode == "targets":
        k = y.shape[1]
        return {"classes": None if isinstance(labels, list) else k, "outputs": k}
    return {"classes": None}


def numbered_sequences(ids, where, name="qid"):
    """The numbers 0, 1, ... of the sequences of rows with one id each, as floats (n,).

    Raises RrmbenchError where an id comes back after another one: the rows of a sequence are together, in its order.
    """
    is_first = np.concatenate([[True], ids[1:] != ids[:-1]])
    begins = np.flatnonzero(is_first)
    _, first = np.unique(ids[begins], return_index=True)
    if len(first) < len(begins):
        again = begins[np.setdiff1d(np.arange(len(begins)), first)[0]]
        raise RrmbenchError(
            f"{where}: row {again + 1} has the {name} {_text(ids[again])} of earlier rows, and rows of another {name} "
            "are between them; the rows of a sequence must be together, in the order of its positions"
        )
    return np.cumsum(is_first) - 1.0


def values_found(labels, names=None):
    """The distinct label values, as text; of labels that are texts, these are their names."""
    values = np.unique(flat(labels))
    if names is not None:
        return listed([printable(names[int(value)]) for value in values], 10)
    shown = ", ".join(map(_text, values[:10]))
    return shown if len(values) <= 10 else f"{shown}, ... ({len(values)} values)"


def _text(number):
    """A number as text, with all digits that tell it from others: 1, 0.5, 9007199254740991."""
    return str(number).removesuffix(".0")


def flat(labels):
    """All label values of all rows as one float array."""
    if isinstance(labels, list):
        return np.concatenate([np.asarray(row, dtype=np.float64) for row in labels])
    return labels


def _distinct(labels, where):
    """The distinct labels; RrmbenchError where rounding may have made one of two."""
    values = np.unique(flat(labels))
    if np.abs(values).max(initial=0.0) >= EXACT:
        found = values[np.abs(values) >= EXACT][0]
        raise RrmbenchError(
            f"{where}: found the label {found:.0f}; labels of classes must be smaller than 2^53 in size"
        )
    return values


def _classes(labels, positive, where, names):
    if positive is not None or isinstance(labels, list):
        found = f"'positive: {positive}'" if positive is not None else f"lists of labels ({values_found(labels)})"
        raise RrmbenchError(f"{where}: a multiclass loss needs one class per row, found {found}")
    values, found = _distinct(labels, where), values_found(labels, names)
    if len(values) < 2:
        raise RrmbenchError(f"{where}: a multiclass loss needs two classes at least, found {found} alone")
    if not (values == np.round(values)).all():  # a regression's, each of which would be a class of its own
        raise RrmbenchError(f"{where}: labels of classes are whole numbers or texts, found {found}")

    def convert(given, where):
        if wrong := _others(given, values, names):
            raise RrmbenchError(f"{where}: found {wrong}, in training only {found}")
        return np.searchsorted(values, given).astype(np.float64)

    return convert, f"{len(values)} classes, numbered from 0"


def _others(given, known, names):
    """What to say of the labels that are not among the known ones, or None."""
    if isinstance(given, list):
        return f"lists of labels {values_found(given)}"
    others = np.unique(given[~np.isin(given, known)])
    return f"the label{'s' if others.size > 1 else ''} {values_found(others, names)}" if others.size else None


def _targets(labels, positive, where, names):
    if positive is not None:
        raise RrmbenchError(f"{where}: a loss on several outputs needs all labels, found 'positive: {positive}'")
    if isinstance(labels, list):
        k = len(labels[0])
        return (lambda given, where: _numbers(given, k, where)), f"{k} numbers a row"
    if not (labels == np.round(labels)).all():
        found = values_found(labels, names)
        raise RrmbenchError(
            f"{where}: a loss on several outputs needs two targets a row at least, or classes, found {found}"
        )
    number, meaning = _classes(labels, None, where, names)
    units = np.eye(len(np.unique(labels)))
    return (lambda given, where: units[number(given, where).astype(int)]), f"{meaning}, as unit vectors"


def _numbers(given, k, where):
    rows = given if isinstance(given, list) else [(label,) for label in given]
    for i, row in enumerate(rows, 1):
        if len(row) != k or k < 2:
            needed = f"{k} in every row, as in the first one" if k > 1 else "two in every row at least"
            raise RrmbenchError(f"{where}: a loss on several outputs needs {needed}; row {i} has {len(row)}")
    return np.array(rows, dtype=np.float64)


def _one_against_rest(labels, positive, where, names):
    _distinct(labels, where)

    def convert(given, where):
        if isinstance(given, list):
            return np.array([1.0 if positive in row else -1.0 for row in given])
        return np.where(given == positive, 1.0, -1.0)

    signs = convert(labels, where)
    if len(np.unique(signs)) < 2:
        share = "every row" if (signs > 0).all() else "no row"
        name = positive if names is None else printable(names[positive])
        raise RrmbenchError(f"{where}: {share} has the label {name} (positive); found {values_found(labels, names)}")
    return convert, f"{positive} -> 1, others -> -1"


def _two_values(labels, signs, where, names):
    def convert(given, where):
        if wrong := _others(given, list(signs), names):
            allowed = values_found(np.array(list(signs)), names)
            raise RrmbenchError(f"{where}: found {wrong}, allowed are {allowed}")
        return np.where(given == next(iter(signs)), *signs.values())

    if len(np.unique(convert(labels, where))) < 2:
        found = values_found(labels, names)
        raise RrmbenchError(f"{where}: all rows have the same label {found}; a binary loss needs two")
    return convert, ", ".join(f"{_text(k)} -> {v:.0f}" for k, v in signs.items())
