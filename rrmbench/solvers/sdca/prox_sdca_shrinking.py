"""Prox-SDCA that leaves rows alone whose dual variable does not move, as liblinear's shrinking does."""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import shuffle
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.sdca.output import DualState
from rrmbench.solvers.sdca.steps import Exact, sdca_steps

REST_GROWTH, LONGEST_REST = 4, 256  # of the rounds that a row rests


@solver(needs={"strongly_convex", "separable", "coordinate", "rows"}, gives={"dual"})
def prox_sdca_shrinking(problem, start, rng):
    """Prox-SDCA with option I on the rows that move: a row that r visits did not move rests for 4^r - 1 rounds.

    Where phi* has a bounded domain (hinge, smoothed hinge, absolute, ...) most b_i end at a bound. The exact step then
    gives b_i itself, bit for bit, so that no loss needs a formula or a margin for this case. A row that moves is due in
    the next round. No row rests for longer than LONGEST_REST rounds, so the method is Prox-SDCA in another order: all
    rows are visited again and again, and the certificate is over all rows. Where every b_i moves, it is `prox_sdca`.

    A round visits the rows that are due in random order. Passes count the entries of the rows visited, over all. Yields
    after a third of the rows, or of the entries, or more.
    """
    state, read = DualState(problem, Exact(problem.loss, problem.mu), start), 0
    entries = entries_of(problem)
    total = entries.sum()
    yield Iterate(*state.point(state.b, state.u), checks=state.checks)
    for _, more in thirds(state, rng, entries):
        read += more
        yield Iterate(*state.point(state.b, state.u), passes=read / total, checks=state.checks)


def entries_of(problem):
    """The entries of X that a visit of each row counts (n,); without any, visits count."""
    entries = np.diff(problem.X.rows.indptr)
    return entries if entries.any() else np.ones_like(entries)


def thirds(state, rng, entries):
    """Yield (rows visited, their entries) for a `DualState`, a third of all rows or entries or more at a time."""
    calendar, now = Calendar.of(state.b, LONGEST_REST), 0
    least = state.problem.n / 3.0, entries.sum() / 3.0
    while True:
        seen, read, now = rounds(*state.fixed, state.b, state.u, calendar, entries, rng.state, now, least)
        yield seen, read


class Calendar(NamedTuple):
    """When rows are due, as a linked list for each of the rounds to come, one more than a row may rest at most.

    first : (longest + 1,) the first row that is due in round number r, at r modulo longest + 1; -1 for none
    following : (n,) the row that is due in the same round after this one, or -1
    rest : (n,) the rounds that this row last had to wait
    order, before : (n,) and (n, outputs), the rows of the present round and their b before it
    """

    first: np.ndarray
    following: np.ndarray
    rest: np.ndarray
    order: np.ndarray
    before: np.ndarray

    @classmethod
    def of(cls, b, longest):
        """All rows of b are due in round 0; none will rest for more than `longest` rounds."""
        n = b.shape[0]
        first, following = np.full(longest + 1, -1), np.arange(1, n + 1)
        first[0], following[-1] = 0, -1
        return cls(first, following, np.ones(n, dtype=np.int64), np.empty(n, np.int32), np.empty((n, b.size // n)))


@kernel
def rounds(rows, y, option, regularizer, s, b, u, calendar, entries, state, now, least):
    """Rounds from number `now` until the `least` are visited; return (rows visited, their entries, the next round).

    rows, y, option, regularizer, s, b, u : as of `rrmbench.solvers.sdca.steps.sdca_steps`; b and u are changed
    entries : (n,), as of `entries_of`
    state : (1,) uint64, of the random numbers
    least : (rows, entries), of which either is enough
    """
    flat, before = b.reshape(b.shape[0], -1), calendar.before
    visits = read = 0
    while visits < least[0] and read < least[1]:
        order = calendar.order[: take(calendar, now)]
        shuffle(state, order)
        for k in range(order.shape[0]):
            for c in range(flat.shape[1]):
                before[k, c] = flat[order[k], c]
        sdca_steps(rows, y, option, regularizer, s, order, b, u)
        for k in range(order.shape[0]):
            moved = False
            for c in range(flat.shape[1]):
                moved = moved or flat[order[k], c] != before[k, c]
            postpone(calendar, order[k], moved, now)
            read += entries[order[k]]
        now += 1
        visits += order.shape[0]
    return visits, read, now


@kernel
def take(calendar, now):
    """Move the rows that are due in round `now` from the calendar to `calendar.order`; return their number."""
    slot, size = now % calendar.first.shape[0], 0
    i = calendar.first[slot]
    while i >= 0:
        calendar.order[size] = i
        size += 1
        i = calendar.following[i]
    calendar.first[slot] = -1
    return size


@kernel
def postpone(calendar, i, moved, now):
    """Enter row i again: into the next round if it has moved, else after REST_GROWTH times the rest that it had."""
    slots = calendar.first.shape[0]
    calendar.rest[i] = 1 if moved else min(REST_GROWTH * calendar.rest[i], slots - 1)
    slot = now % slots + calendar.rest[i]  # so that the division is outside of a loop over rows
    slot -= slots if slot >= slots else 0
    calendar.following[i] = calendar.first[slot]
    calendar.first[slot] = i
