"""Large LibSVM files: blocks of lines are read by a compiled parser, in threads, into arrays that grow in place.

It reads what is right, to the same bits as `libsvm`; anything else is left to the reading there, which says what is
wrong.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from rrmbench.data.libsvm import has_lone_returns
from rrmbench.data.streams import open_lines
from rrmbench.numerics.libsvm_rows import parse

BLOCK = 1 << 20  # bytes
THREADS = 4  # at most: one more reads the file and joins what they have read
GROWTH = 1.125


def read(path):
    """(X, labels, qids) as scikit-learn has them, the columns as in the file; None if a line is wrong.

    Memory is needed for the result, at most an eighth more of it, and a few blocks.
    """
    from joblib import cpu_count

    threads = min(THREADS, cpu_count())
    rows, waiting = _Rows(), deque()
    with open_lines(path) as stream, ThreadPoolExecutor(threads) as pool:
        for text in _blocks(stream):
            waiting.append(pool.submit(_parsed, text))
            if len(waiting) > threads + 1 and not rows.add(waiting.popleft().result()):
                return None
        return rows.joined() if all(rows.add(block.result()) for block in waiting) else None


def _blocks(stream):
    """The text of a stream in pieces that end with a line."""
    line = []  # the pieces of one that goes on, joined once: it may be as long as the file
    while chunk := stream.read(BLOCK):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*line, chunk[:end]])
            line = []
        line.append(chunk[end:])
    if rest := b"".join(line):
        yield rest


def _parsed(text):
    """(values, columns, ends of rows, labels, ends of labels, qids) of whole lines; None if one may be wrong."""
    if has_lone_returns(text):  # the parser would take the rows after them for a part of a comment
        return None
    bytes_of = np.frombuffer(text, np.uint8)
    # the shortest entry is "1:1 ", the shortest row "1\n", and a label "1,"; memory that is not written costs nothing
    entries, rows = len(text) // 4 + 1, len(text) // 2 + 1
    values, columns, labels = np.empty(entries), np.empty(entries, np.int32), np.empty(rows)
    row_ends, label_ends, qids = (np.empty(rows, np.int64) for _ in range(3))
    unknown = np.empty((len(text) // 2 + 1, 3), np.int64)
    n, stored, k, m = parse(bytes_of, values, columns, row_ends, labels, label_ends, qids, unknown)
    if n < 0:
        return None
    for place, begin, end in unknown[:m].tolist():
        number = float(text[begin:end])
        if abs(number) == np.inf:
            return None
        if place < 0:
            labels[-1 - place] = number
        else:
            values[place] = number
    return values[:stored], columns[:stored], row_ends[:n], labels[:k], label_ends[:n], qids[:n]


class _Rows:
    """The rows of the blocks so far."""

    def __init__(self):
        self.values, self.columns = _Growing(np.float64), _Growing(np.int32)
        self.row_ends, self.label_ends = _Growing(np.int64, [0]), _Growing(np.int64, [0])
        self.labels, self.qids = _Growing(np.float64), _Growing(np.int64)

    def add(self, block):
        """Whether there is a block, which is added."""
        if block is None:
            return False
        values, columns, row_ends, labels, label_ends, qids = block
        row_ends += self.values.size
        label_ends += self.labels.size
        self.values.add(values)
        self.columns.add(columns)
        self.row_ends.add(row_ends)
        self.labels.add(labels)
        self.label_ends.add(label_ends)
        self.qids.add(qids)
        return True

    def joined(self):
        from scipy.sparse import csr_array

        columns, labels, qids = self.columns.whole(), self.labels.whole(), self.qids.whole()
        shape = (len(qids), int(columns.max(initial=-1)) + 1)
        kind = np.int32 if len(columns) < 2**31 else np.int64  # scipy has one type for both
        X = csr_array((self.values.whole(), columns, self.row_ends.whole().astype(kind)), shape=shape)
        if len(labels) > len(qids):
            labels = [tuple(labels[a:b].tolist()) for a, b in pairwise(self.label_ends.whole().tolist())]
        return X, labels, qids[qids >= 0]


class _Growing:
    """A one-dimensional array that grows where it is: the system moves its pages and copies nothing."""

    def __init__(self, dtype, start=()):
        self.array = np.array(start, dtype)
        self.size = len(start)

    def add(self, part):
        end = self.size + len(part)
        if end > len(self.array):
            self.array.resize(int(GROWTH * end), refcheck=False)
        self.array[self.size : end] = part
        self.size = end

    def whole(self):
        self.array.resize(self.size, refcheck=False)
        return self.array
