"""What every reader of a data file returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parsed:
    """The rows of a file: X (CSR, columns from 0) and labels (float array or list of tuples).

    zero_based : the index base of a LibSVM file, None of other formats
    qid : int64 array, or None if a row (or every one) has none
    task : what a made data set says of itself, else None
    """

    X: object
    labels: object
    zero_based: bool | None = None
    qid: object = None
    task: str | None = None

    @property
    def multilabel(self):
        return isinstance(self.labels, list)
