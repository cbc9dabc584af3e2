"""From labels as they were given to y: two values, one class against the rest, classes, or the numbers as they are."""

import numpy as np

from rrmbench.errors import RrmbenchError

AS_THEY_ARE = "as in the file"  # the description of labels that stay what they are
EXACT = 2.0**53  # from where on two whole numbers may be one float


def mode_of(needs):
    """The `mode` of `rule` for a loss with these needs."""
    return next((mode for mode in ("binary", "classes", "sequences", "targets") if mode in needs), "any")


def rule(labels, entry, positive, mode, where):
    """Return (convert, description) for the training labels; `convert` turns labels of either part into y.

    entry : what is known of the data: `task`, `labels`, `positive`, each may be None; or None

    mode 'binary': y in {-1, 1}. mode 'any': also there if the registry says binary or `positive` is given,
    else the labels as they are. mode 'classes': y in {0, ..., k-1}, the rank of the label among the k that occur
    in the training part; mode 'sequences' likewise, of every row. mode 'targets': y of the shape (n, k), rows of k
    numbers or, for single labels, the unit vectors of the classes. Raises RrmbenchError listing the values found if the
    rule does not fit.
    """
    if mode in ("classes", "sequences"):
        return _classes(labels, positive, where)
    if mode == "targets":
        return _targets(labels, positive, where)
    if positive is None and entry is not None:
        positive = entry.positive
    if positive is not None:
        return _one_against_rest(labels, positive, where)
    if isinstance(labels, list):
        raise RrmbenchError(
            f"{where}: the rows have lists of labels ({values_found(labels)}); say which one is wanted with 'positive:'"
        )
    if entry is not None and entry.labels:
        return _two_values(labels, {float(k): float(v) for k, v in entry.labels.items()}, where)
    if mode == "binary" or (entry is not None and entry.task == "binary"):
        values = _distinct(labels, where)
        if len(values) != 2:
            raise RrmbenchError(
                f"{where}: a binary loss needs two label values, found {values_found(labels)}; "
                "'positive: LABEL' takes one class against the rest"
            )
        return _two_values(labels, {float(values[0]): -1.0, float(values[1]): 1.0}, where)
    return (lambda given: np.array(given, dtype=np.float64)), AS_THEY_ARE


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


def values_found(labels):
    """The distinct label values, as text."""
    values = np.unique(flat(labels))
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


def _classes(labels, positive, where):
    if positive is not None or isinstance(labels, list):
        found = f"'positive: {positive}'" if positive is not None else f"lists of labels ({values_found(labels)})"
        raise RrmbenchError(f"{where}: a multiclass loss needs one class per row, found {found}")
    values = _distinct(labels, where)
    if len(values) < 2:
        raise RrmbenchError(f"{where}: a multiclass loss needs two classes at least, found {values_found(labels)}")
    if not (values == np.round(values)).all():  # a regression's, each of which would be a class of its own
        raise RrmbenchError(f"{where}: labels of classes are whole numbers or texts, found {values_found(labels)}")

    def convert(given):
        if isinstance(given, list) or not np.isin(given, values).all():
            raise RrmbenchError(
                f"{where}: found the labels {values_found(given)}, in training only {values_found(labels)}"
            )
        return np.searchsorted(values, given).astype(np.float64)

    return convert, f"{len(values)} classes, numbered from 0"


def _targets(labels, positive, where):
    if positive is not None:
        raise RrmbenchError(f"{where}: a loss on several outputs needs all labels, found 'positive: {positive}'")
    if isinstance(labels, list):
        k = len(labels[0])
        return (lambda given: _numbers(given, k, where)), f"{k} numbers a row"
    number, meaning = _classes(labels, None, where)
    units = np.eye(len(np.unique(labels)))
    return (lambda given: units[number(given).astype(int)]), f"{meaning}, as unit vectors"


def _numbers(given, k, where):
    rows = given if isinstance(given, list) else [(label,) for label in given]
    for i, row in enumerate(rows, 1):
        if len(row) != k or k < 2:
            needed = f"{k} in every row, as in the first one" if k > 1 else "two in every row at least"
            raise RrmbenchError(f"{where}: a loss on several outputs needs {needed}; row {i} has {len(row)}")
    return np.array(rows, dtype=np.float64)


def _one_against_rest(labels, positive, where):
    _distinct(labels, where)

    def convert(given):
        if isinstance(given, list):
            return np.array([1.0 if positive in row else -1.0 for row in given])
        return np.where(given == positive, 1.0, -1.0)

    if len(np.unique(convert(labels))) < 2:
        share = "every row" if (convert(labels) > 0).all() else "no row"
        raise RrmbenchError(f"{where}: {share} has the label {positive} (positive); found {values_found(labels)}")
    return convert, f"{positive} -> 1, others -> -1"


def _two_values(labels, signs, where):
    def convert(given):
        wrong = isinstance(given, list) or not np.isin(given, list(signs)).all()
        if wrong:
            allowed = ", ".join(map(_text, signs))
            raise RrmbenchError(f"{where}: found the labels {values_found(given)}, allowed are {allowed}")
        return np.where(given == next(iter(signs)), *signs.values())

    if len(np.unique(convert(labels))) < 2:
        raise RrmbenchError(f"{where}: all rows have the same label {values_found(labels)}; a binary loss needs two")
    return convert, ", ".join(f"{_text(k)} -> {v:.0f}" for k, v in signs.items())
