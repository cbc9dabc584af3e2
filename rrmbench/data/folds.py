"""Files of folds: a line `qid fold` for each group of rows, two whole numbers; comments (`# ...`) are allowed."""

import numpy as np

from rrmbench.data.libsvm import LARGEST_ID, shown, whole
from rrmbench.data.streams import open_text
from rrmbench.errors import RrmbenchError


def read(path):
    """Return (qids in ascending order, the fold of each) as int64 arrays.

    Raises RrmbenchError 'FILE:LINE: found 'TOKEN': ...' at the first bad line, and for a qid that occurs twice.
    """
    rows, lines = [], []
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            tokens = line.partition(b"#")[0].split()
            if not tokens:
                continue
            if len(tokens) != 2 or not all(token.isdigit() and whole(token) <= LARGEST_ID for token in tokens):
                found = shown(b" ".join(tokens))
                raise RrmbenchError(f"{path}:{number}: found '{found}': expected two whole numbers, qid and fold")
            rows.append((int(tokens[0]), int(tokens[1])))
            lines.append(number)
    if not rows:
        raise RrmbenchError(f"{path}: no line with a qid and its fold in the file")
    ids, numbers = np.array(rows, dtype=np.int64).T
    order = np.argsort(ids, kind="stable")
    ids, numbers = ids[order], numbers[order]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):
        line = min(lines[order[i + 1]] for i in twice)
        raise RrmbenchError(f"{path}:{line}: found a fold of qid {rows[lines.index(line)][0]} for the second time")
    return ids, numbers
