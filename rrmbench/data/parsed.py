"""What every reader of a data file returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parsed:
    """The rows of a file: X (CSR, columns from 0) and labels (float array, array of texts, or list of tuples).

    zero_based : the index base of a LibSVM file, None of other formats
    qid : int64 array, or None if a row (or every one) has none
    task : what a made data set says of itself, else None
    columns : the names of the columns of X, or None
    """

    X: object
    labels: object
    zero_based: bool | None = None
    qid: object = None
    task: str | None = None
    columns: tuple | None = None

    @property
    def multilabel(self):
        return isinstance(self.labels, list)

    @property
    def has_texts(self):
        return not self.multilabel and self.labels.dtype.kind == "U"
