"""Block-coordinate Frank-Wolfe on the dual of a maximum over labellings, with steps among the labellings met.

With score_i(y) = cost_i(y) + w.psi_i(y), psi_i the features of sequence i with the labels y, the loss is the mean of
max_y score_i(y) - score_i(y_i). The dual has a distribution a_i over the labellings of each sequence:

    max over a    (1/n) sum_i sum_y a_i(y) cost_i(y) - Psi*(v),  v = -(1/n) sum_i sum_y a_i(y) (psi_i(y) - psi_i(y_i))
    w = grad Psi*(v)

A move of a share t of sequence i from y' to y raises n D by t (score_i(y) - score_i(y')) - (q/2) t^2 ||psi_i(y) -
psi_i(y')||^2, q = 1/(s n).
"""

from typing import NamedTuple

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.losses.chains import Sequences
from rrmbench.numerics import chains
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import shuffle
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.sdca.labellings import (
    Products,
    differing,
    give_to,
    joined,
    kept,
    product,
    take_from,
    transitions,
    write_outputs,
    write_products,
    write_scores,
)
from rrmbench.solvers.sdca.resting import Calendar, postpone, take

LONGEST = 5000  # positions of a sequence, whose labellings may differ at all of them: their products are a matrix
FIRST_ROOM = 8  # labellings of a sequence that may have a share; twice as many whenever one has no room
LEFT = 1e-3  # of the difference of scores in a sequence, which its moves may leave
MOVES = 100  # of a visit
ROUNDING = 1e-15  # of a score
LONGEST_REST = 16  # rounds: one of several that rest may hold up all others, which then only settle
REVISITS = 3  # rounds among the labellings met, after a third of the sequences or more were visited


@solver(needs={"labellings", "Zero", "strongly_convex"}, gives={"dual"})
def bcfw(problem, start, rng):
    """Block-coordinate Frank-Wolfe with pairwise steps, for max-margin Markov networks.

    [Lacoste-Julien et al. 2013, Algorithm 4; Shah, Kolmogorov and Lampert 2015; Osokin et al. 2016]

    A visit of a sequence finds its best labelling at w, then moves shares from the labelling of least score to that of
    greatest score, among this one and those that have a share, each move as far as D rises, until the scores differ
    by little. A sequence that does not move rests, as a row of `prox_sdca_shrinking`. After a third of the sequences,
    those of several labellings are visited three times without a search for others, and b is formed anew, without the
    rounding of its changes. A start is the first iterate, and of no use beyond: its b are marginals, which do not tell
    of which labellings.

    Passes count the entries of X that are read, half a pass for all of them: for the outputs of a sequence, without a
    search only where its labellings differ, then, where they do, for the change of w, and for products of these
    positions, which are kept. Yields after half a pass at most, unless a single sequence takes more.
    """
    yield Iterate(problem.start(start), None if start is None else start.b)
    sequences, nnz = Sequences.of(problem.y), problem.X.nnz
    longest = int(np.diff(sequences.starts).max())
    if longest > LONGEST:
        raise RrmbenchError(f"solver bcfw: found a sequence of {longest} positions, allowed are at most {LONGEST}")
    known, scale = Products.of(sequences), 1.0 / (problem.strong_convexity * problem.n)
    given = problem.X.positions.rows, *sequences[:2], problem.loss.cost, scale, known
    per_pass = 2.0 * nnz or problem.n  # without entries, visits count
    shares, w, read = Shares.of(sequences, problem.n), problem.shift(), 0
    b = dual_variable(problem, sequences, shares)  # 0, by a kernel that few passes over few rows may not come to
    calendar = Calendar.of(problem.n, LONGEST_REST)
    while True:
        visits = 0
        while visits < problem.n / 3.0:
            order, done = calendar.order[: take(calendar)], 0
            shuffle(rng.state, order)
            while done < order.size:
                more, entries, is_full = visit(*given, order[done:], nnz, shares, w, b, calendar)
                done, read = done + more, read + (entries if nnz else more)
                if is_full:
                    shares = shares.enlarged()
                yield Iterate(w, b, read / per_pass)
            visits += order.size
        several = np.flatnonzero(np.count_nonzero(shares.share, axis=1) > 1)
        for _ in range(REVISITS):
            shuffle(rng.state, several)
            done = 0
            while done < several.size:
                more, entries = revisit(*given, several[done:], nnz, shares, w, b)
                done, read = done + more, read + (entries if nnz else more)
                yield Iterate(w, b, read / per_pass)
        b = dual_variable(problem, sequences, shares)
        yield Iterate(w, b, read / per_pass)


class Shares(NamedTuple):
    """The labellings that have a share in the distributions of the sequences.

    share : (n, room), 0 where there is none; the sum of a row is 1
    paths : (room, N), labelling a of sequence i is paths[a, starts[i] : starts[i + 1]]
    """

    share: np.ndarray
    paths: np.ndarray

    @classmethod
    def of(cls, sequences, n):
        """All shares are of the true labels, so b = 0."""
        share, paths = np.zeros((n, FIRST_ROOM)), np.zeros((FIRST_ROOM, len(sequences.labels)), dtype=np.int64)
        share[:, 0], paths[0] = 1.0, sequences.labels
        return cls(share, paths)

    def enlarged(self):
        """The same with room for twice as many."""
        return Shares(
            np.concatenate([self.share, np.zeros_like(self.share)], axis=1),
            np.concatenate([self.paths, np.zeros_like(self.paths)]),
        )


def dual_variable(problem, sequences, shares):
    """b of the distributions; no entropy is known of them, so that 0 bounds it."""
    b = np.zeros(problem.output_shape)
    add_marginals(*shares, sequences.starts, b[: len(problem.y)], b[len(problem.y) : -2])
    problem.loss.complete(b, 0.0, sequences)
    return b


@kernel
def add_marginals(share, paths, starts, chances, edges):
    """Add P(y_t = j) of all distributions to chances (N, k), the sums of P(y_(t-1) = i, y_t = j) to edges (k, k)."""
    for i in range(share.shape[0]):
        total = 0.0
        for a in range(share.shape[1]):
            total += share[i, a]
        for a in range(share.shape[1]):
            if share[i, a] > 0.0:
                p = share[i, a] / total
                for t in range(starts[i], starts[i + 1]):
                    chances[t, paths[a, t]] += p
                    if t > starts[i]:
                        edges[paths[a, t - 1], paths[a, t]] += p


class Room(NamedTuple):
    """What a visit writes to, for labellings of at most `longest` positions.

    nodes : (longest, k) X W
    here : (room,) the places of the labellings that have a share
    scores, change, G : (room,), (room,) and (room, room), their scores, changes of their shares, and products
    positions, edges : (longest,) as of `differing`
    products : (longest, longest) of positions; row (d,) is 0
    """

    nodes: np.ndarray
    here: np.ndarray
    scores: np.ndarray
    change: np.ndarray
    G: np.ndarray
    positions: np.ndarray
    edges: np.ndarray
    products: np.ndarray
    row: np.ndarray


@kernel
def visit(rows, starts, labels, cost, scale, known, order, most, shares, w, b, calendar):
    """Visit the sequences of `order`; return (how many of them, the entries of X read, whether one has no room).

    They are fewer than all where the next one has no room for another labelling, or where `most` entries were read.
    scale is 1/(s n).
    """
    read, at = 0, room_for(starts, order, shares, w)
    everywhere, path, ends = np.arange(at.nodes.shape[0]), np.empty(at.nodes.shape[0], np.int64), np.zeros(2, np.int64)
    for place in range(order.shape[0]):
        i = order[place]
        begin, size = starts[i], starts[i + 1] - starts[i]
        read += write_outputs(rows, w, begin, everywhere[:size], at.nodes)
        ends[1] = size
        chains.best(at.nodes[:size], transitions(w), ends, labels[begin : begin + size], cost, path)
        m = joined(shares.share[i], shares.paths, begin, path[:size], at.here)
        if m > at.here.shape[0]:
            return place, read, True
        moved = False
        if m > 1:
            c, e = differing(shares.paths, at.here[:m], begin, size, at.positions, at.edges)
            moved, more = settle(rows, begin, size, labels, cost, scale, kept(known, i), shares, i, w, b, at, m, c, e)
            read += more
        postpone(calendar, i, moved)
        if read >= most:
            return place + 1, read, False
    return order.shape[0], read, False


@kernel
def revisit(rows, starts, labels, cost, scale, known, order, most, shares, w, b):
    """As `visit`, among the labellings that have a share; return (how many sequences, the entries of X read)."""
    read, at = 0, room_for(starts, order, shares, w)
    for place in range(order.shape[0]):
        i, m = order[place], 0
        for a in range(shares.share.shape[1]):
            if shares.share[i, a] > 0.0:
                at.here[m] = a
                m += 1
        if m > 1:
            begin, size = starts[i], starts[i + 1] - starts[i]
            c, e = differing(shares.paths, at.here[:m], begin, size, at.positions, at.edges)
            read += write_outputs(rows, w, begin, at.positions[:c], at.nodes)
            read += settle(rows, begin, size, labels, cost, scale, kept(known, i), shares, i, w, b, at, m, c, e)[1]
        if read >= most:
            return place + 1, read
    return order.shape[0], read


@kernel
def room_for(starts, order, shares, w):
    """The Room for visits of the sequences of `order`."""
    room, longest = shares.share.shape[1], 0
    for i in order:
        longest = max(longest, starts[i + 1] - starts[i])
    return Room(
        np.empty((longest, w.shape[1])),
        np.empty(room, np.int64),
        np.empty(room),
        np.empty(room),
        np.empty((room, room)),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty((longest, longest)),
        np.zeros(w.shape[0] - w.shape[1]),
    )


@kernel
def settle(rows, begin, size, labels, cost, scale, kept, shares, i, w, b, at, m, c, e):
    """Move shares of sequence i between the first m labellings of `at.here`, and w and b with them.

    They differ at the first c of `at.positions` and the first e of `at.edges`; `at.nodes` has X W there. Returns
    (whether any moved, the entries of X read).
    """
    share, paths, here = shares.share[i], shares.paths, at.here[:m]
    positions, edges = at.positions[:c], at.edges[:e]
    write_scores(at.nodes, transitions(w), labels, cost, paths, here, begin, positions, edges, at.scores)
    read = write_products(rows, begin, size, positions, kept, at.row, at.products)
    for a in range(m):
        at.change[a] = -share[here[a]]
        for o in range(a + 1):
            at.G[a, o] = product(paths[here[a]], paths[here[o]], begin, positions, edges, at.products)
            at.G[o, a] = at.G[a, o]
    moved = balance(share, here, at.scores, at.G, scale)
    if moved:
        for a in range(m):
            at.change[a] += share[here[a]]
        read += take_from(rows, paths, here, at.change, begin, positions, edges, scale, w)
        give_to(paths, here, at.change, begin, positions, edges, labels, cost, b)
    return moved, read


@kernel
def balance(share, here, scores, G, q):
    """Move shares between the labellings of `here` until their scores differ by little; return whether any moved."""
    m, allowed, moved = here.shape[0], -1.0, False
    for _ in range(MOVES):
        high, low = 0, -1
        for a in range(m):
            if scores[a] > scores[high]:
                high = a
            if share[here[a]] > 0.0 and (low < 0 or scores[a] < scores[low]):
                low = a
        apart = scores[high] - scores[low]
        if allowed < 0.0:
            allowed = max(LEFT * apart, ROUNDING * abs(scores[high]))
        if apart <= allowed:
            break
        curvature = q * (G[high, high] - 2.0 * G[high, low] + G[low, low])
        t = share[here[low]]
        if apart < t * curvature:
            t = apart / curvature
        share[here[low]] -= t
        share[here[high]] += t
        for a in range(m):
            scores[a] -= t * q * (G[a, high] - G[a, low])
        moved = True
    return moved
