"""Prox-SDCA that leaves rows alone whose dual variable does not move, as liblinear's shrinking does."""

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import shuffle
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.sdca.output import DualState
from rrmbench.solvers.sdca.resting import Calendar, postpone, take
from rrmbench.solvers.sdca.steps import Exact, sdca_steps

LONGEST_REST = 256  # rounds


@solver(needs={"strongly_convex", "separable", "coordinate or row_norms", "rows"}, gives={"dual"})
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
    yield Iterate(*state.present(), checks=state.checks)
    for _, more in thirds(state, rng, entries):
        read += more
        yield Iterate(*state.present(), passes=read / total, checks=state.checks)


def entries_of(problem):
    """The entries of X that a visit of each row counts (n,); without any, visits count."""
    entries = np.diff(problem.X.rows.indptr)
    return entries if entries.any() else np.ones_like(entries)


def thirds(state, rng, entries):
    """Yield (rows visited, their entries) for a `DualState`, a third of all rows or entries or more at a time."""
    n = state.problem.n
    calendar, before = Calendar.of(n, LONGEST_REST), np.empty((n, state.b.size // n))
    least = n / 3.0, entries.sum() / 3.0
    while True:
        yield rounds(*state.fixed, state.b, state.u, calendar, before, entries, rng.state, least)


@kernel
def rounds(rows, y, option, regularizer, s, b, u, calendar, before, entries, state, least):
    """Rounds until the `least` are visited; return (rows visited, their entries).

    rows, y, option, regularizer, s, b, u : as of `rrmbench.solvers.sdca.steps.sdca_steps`; b and u are changed
    before : (n, outputs), overwritten
    entries : (n,), as of `entries_of`
    state : (1,) uint64, of the random numbers
    least : (rows, entries), of which either is enough
    """
    flat, visits, read = b.reshape(b.shape[0], -1), 0, 0
    while visits < least[0] and read < least[1]:
        order = calendar.order[: take(calendar)]
        shuffle(state, order)
        for k in range(order.shape[0]):
            for c in range(flat.shape[1]):
                before[k, c] = flat[order[k], c]
        sdca_steps(rows, y, option, regularizer, s, order, b, u)
        for k in range(order.shape[0]):
            moved = False
            for c in range(flat.shape[1]):
                moved = moved or flat[order[k], c] != before[k, c]
            postpone(calendar, order[k], moved)
            read += entries[order[k]]
        visits += order.shape[0]
    return visits, read
