"""Rows that rest for longer and longer while their visits do not move them, and when they are due again."""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel

GROWTH = 4  # of the rounds that a row rests, with each visit in vain


class Calendar(NamedTuple):
    """When rows are due: a queue for each length of rest, whose rows leave in the order in which they came.

    waits : (q,) the rounds that a row may rest: 1, 4, 16, ... and the longest
    rows : (q, n) queue r, in which rows rest for waits[r] rounds, as a ring
    ends : (q, 2) where the first row of queue r stands, and where the next one goes
    entered : (q, longest) how many entered queue r in a round, at its number modulo waits[r]
    present : (q,) the present round, modulo waits[r]
    rest : (n,) the queue that each row is in, or last was
    order : (n,) the rows of the present round
    """

    waits: np.ndarray
    rows: np.ndarray
    ends: np.ndarray
    entered: np.ndarray
    present: np.ndarray
    rest: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, n, longest):
        """All n rows are due in the first round; none will rest for more than `longest` rounds."""
        waits = [1]
        while waits[-1] < longest:
            waits.append(min(GROWTH * waits[-1], longest))
        q = len(waits)
        rows, ends, entered = np.empty((q, n), np.int32), np.zeros((q, 2), np.int64), np.zeros((q, longest), np.int64)
        rows[0], entered[0, 0] = np.arange(n), n
        present, rest, order = np.zeros(q, np.int64), np.zeros(n, np.int8), np.empty(n, np.int32)
        return cls(np.array(waits), rows, ends, entered, present, rest, order)


@kernel
def take(calendar):
    """Begin the next round: move the rows that are due to `calendar.order` and return their number."""
    size, n = 0, calendar.order.shape[0]
    for r in range(calendar.waits.shape[0]):
        now = (calendar.present[r] + 1) % calendar.waits[r]
        first = calendar.ends[r, 0]
        for _ in range(calendar.entered[r, now]):
            calendar.order[size] = calendar.rows[r, first]
            size += 1
            first = first + 1 if first + 1 < n else 0
        calendar.present[r], calendar.entered[r, now], calendar.ends[r, 0] = now, 0, first
    return size


@kernel
def postpone(calendar, i, moved):
    """Enter row i again: into the next round if it has moved, else after the next longer rest than it had."""
    r = 0 if moved else min(calendar.rest[i] + 1, calendar.waits.shape[0] - 1)
    place = calendar.ends[r, 1]
    calendar.rest[i] = r
    calendar.rows[r, place] = i
    calendar.ends[r, 1] = place + 1 if place + 1 < calendar.order.shape[0] else 0
    calendar.entered[r, calendar.present[r]] += 1
