"""Prox-SDCA that leaves rows alone whose dual variable does not move, as liblinear's shrinking does."""

import numpy as np

from rrmbench.api import Iterate
from rrmbench.kernels import kernel
from rrmbench.registry import solver
from rrmbench.solvers.prox_sdca_output import Ascent
from rrmbench.solvers.prox_sdca_steps import Exact

LONGEST = 64  # rounds


@solver(needs={"strongly_convex", "separable", "coordinate", "rows"}, gives={"dual"})
def prox_sdca_shrinking(problem, start, rng):
    """Prox-SDCA with option I on the rows that move: one that did not in r visits in a row rests for 2^r - 1 rounds.

    Where phi* has a bounded domain (hinge, smoothed hinge, absolute, ...) most b_i end at a bound, and the exact step
    then gives b_i itself, bit for bit; no formula or margin per loss is needed to see that. A row that moves is back in
    every round. No row rests for longer than LONGEST rounds, which makes this Prox-SDCA in another order: all rows are
    looked at again and again, and the certificate is over all rows. Where nothing gets stuck, this is `prox_sdca`.

    A round visits the rows that are due in random order. Passes count the rows visited, over n. Yields after at least a
    third of a pass.
    """
    ascent, n = Ascent(problem, Exact(problem.loss, problem.mu), start), problem.n
    rows_of_b = ascent.b.reshape(n, -1)
    due, rest, active = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), np.empty(n, dtype=np.int32)
    visits, reported, now = 0, 0, 0
    yield Iterate(*ascent.point(ascent.b, ascent.u), checks=ascent.checks)
    while True:
        size = rows_due(due, now, active)
        if size > 0:
            order = active[:size][rng.permutation(size)]
            before = rows_of_b[order]
            ascent.run(order)
            postpone(order, before, rows_of_b, now, rest, due)
        now += 1
        visits += size
        if 3 * (visits - reported) >= n:
            reported = visits
            yield Iterate(*ascent.point(ascent.b, ascent.u), passes=visits / n, checks=ascent.checks)


@kernel
def rows_due(due, now, out):
    """Write the rows with due <= now to `out` and return their number."""
    size = 0
    for i in range(due.shape[0]):
        out[size] = i
        size += due[i] <= now
    return size


@kernel
def postpone(order, before, b, now, rest, due):
    """Double the rest of the rows whose b is as it was before, and end that of the others."""
    for k in range(order.shape[0]):
        i = order[k]
        moved = False
        for c in range(b.shape[1]):
            moved = moved or b[i, c] != before[k, c]
        rest[i] = 1 if moved else min(2 * rest[i], LONGEST)
        due[i] = now + rest[i]
