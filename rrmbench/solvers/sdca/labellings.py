"""The labellings of a sequence that `bcfw` compares: where they differ, their scores, and products of their features.

psi(y), the features of a sequence with the labels y, has the sum of the x_t of all positions with y_t = j in column j,
and how often label j follows label i in (i, j) of the transitions, which are the last k rows of w (d + k, k).

paths : (room, N), labelling a of a sequence is paths[a, begin : begin + size]
here : (m,) which of them are compared
rows : those of X (N, d) in CSR form
positions, edges : those at which not all labellings of `here` agree, see `differing`
"""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.sparse_rows import entries

KEPT = 3e7  # products of positions that are kept at most, those of the shortest sequences


class Products(NamedTuple):
    """The products x_t.x_u of positions of a sequence, as far as they are known and kept.

    first : (n + 1,); x_t.x_u of sequence i, which has l positions, is values[first[i] + t l + u], u < t
    values : NaN for those that are not known; the longest sequences have no room where there would be more than `KEPT`
    """

    first: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, sequences):
        """Nothing is known."""
        squares = np.diff(sequences.starts) ** 2
        order = np.argsort(squares, kind="stable")
        squares[order[np.cumsum(squares[order]) > KEPT]] = 0
        first = np.concatenate([[0], np.cumsum(squares)])
        return cls(first, np.full(first[-1], np.nan))


@kernel
def kept(known, i):
    """The place of sequence i among the values of Products."""
    return known.values[known.first[i] : known.first[i + 1]]


@kernel
def transitions(w):
    """The last k rows of w (d + k, k), the scores of an edge's two labels."""
    return w[w.shape[0] - w.shape[1] :]


@kernel
def write_outputs(rows, w, begin, positions, nodes):
    """Write X W of a sequence's `positions` to these rows of nodes (size, k); return the entries of X read."""
    read = 0
    for t in positions:
        for c in range(w.shape[1]):
            nodes[t, c] = 0.0
        for e in entries(rows.indptr[begin + t], rows.indptr[begin + t + 1]):
            j, x = rows.indices[e], rows.data[e]
            for c in range(w.shape[1]):
                nodes[t, c] += x * w[j, c]
        read += rows.indptr[begin + t + 1] - rows.indptr[begin + t]
    return read


@kernel
def joined(share, paths, begin, path, here):
    """Fill `here` with the places of the labellings that have a share, and that of `path` (size,); return their number.

    The number is greater than their room where `path` is new and there is no place for it.
    """
    m, known, free = 0, False, -1
    for a in range(share.shape[0]):
        if share[a] > 0.0:
            here[m] = a
            m += 1
            same = True
            for t in range(path.shape[0]):
                same = same and paths[a, begin + t] == path[t]
            known = known or same
        elif free < 0:
            free = a
    if known:
        return m
    if free >= 0:
        here[m] = free
        for t in range(path.shape[0]):
            paths[free, begin + t] = path[t]
    return m + 1


@kernel
def differing(paths, here, begin, size, positions, edges):
    """Fill `positions` with those of 0 .. size - 1 where not all labellings of `here` agree; return how many there are.

    `edges` gets the positions t > 0 that, or whose predecessors, are among them; their number is returned, too.
    """
    c, e, before = 0, 0, False
    for t in range(size):
        differs = False
        for a in here:
            differs = differs or paths[a, begin + t] != paths[here[0], begin + t]
        if differs:
            positions[c] = t
            c += 1
        if t > 0 and (differs or before):
            edges[e] = t
            e += 1
        before = differs
    return c, e


@kernel
def write_scores(nodes, transitions, labels, cost, paths, here, begin, positions, edges, scores):
    """Write the scores of the labellings `here`, without what they have in common."""
    for a in range(here.shape[0]):
        path, score = paths[here[a]], 0.0
        for t in positions:
            j = path[begin + t]
            score += nodes[t, j] + (cost if j != labels[begin + t] else 0.0)
        for t in edges:
            score += transitions[path[begin + t - 1], path[begin + t]]
        scores[a] = score


@kernel
def write_products(rows, begin, size, positions, kept, row, products):
    """Write x_t.x_u of the positions t and u to products[t, u], those that are not `kept` by reading X.

    Returns the entries of X read. row (d,) is 0, and is 0 again.
    """
    read = 0
    for c in range(positions.shape[0]):
        t, unknown = positions[c], 0
        products[t, t] = rows.sqnorms[begin + t]
        for u in positions[:c]:
            products[t, u] = kept[t * size + u] if kept.shape[0] > 0 else np.nan
            unknown += np.isnan(products[t, u])
        if unknown > 0:
            first, last = rows.indptr[begin + t], rows.indptr[begin + t + 1]
            for e in entries(first, last):
                row[rows.indices[e]] = rows.data[e]
            read += last - first
            for u in positions[:c]:
                if np.isnan(products[t, u]):
                    products[t, u] = 0.0
                    for e in entries(rows.indptr[begin + u], rows.indptr[begin + u + 1]):
                        products[t, u] += row[rows.indices[e]] * rows.data[e]
                    read += rows.indptr[begin + u + 1] - rows.indptr[begin + u]
                    if kept.shape[0] > 0:
                        kept[t * size + u] = products[t, u]
            for e in entries(first, last):
                row[rows.indices[e]] = 0.0
        for u in positions[:c]:
            products[u, t] = products[t, u]
    return read


@kernel
def product(p, q, begin, positions, edges, products):
    """psi(p).psi(q) of two labellings of a sequence, without what all its labellings have in common.

    The part that is left out is a term of p plus a term of q: the same for all pairs in the differences that moves use.
    """
    total = 0.0
    for t in positions:
        for u in positions:
            if p[begin + t] == q[begin + u]:
                total += products[t, u]
    for t in edges:
        for u in edges:
            if p[begin + t - 1] == q[begin + u - 1] and p[begin + t] == q[begin + u]:
                total += 1.0
    return total


@kernel
def take_from(rows, paths, here, change, begin, positions, edges, scale, w):
    """Add -scale sum_a change[a] psi(labelling a) to w, where the changes sum to 0; return the entries of X read."""
    read = 0
    for t in positions:
        for e in entries(rows.indptr[begin + t], rows.indptr[begin + t + 1]):
            j, x = rows.indices[e], scale * rows.data[e]
            for a in range(here.shape[0]):
                w[j, paths[here[a], begin + t]] -= change[a] * x
        read += rows.indptr[begin + t + 1] - rows.indptr[begin + t]
    of_edges = transitions(w)
    for t in edges:
        for a in range(here.shape[0]):
            of_edges[paths[here[a], begin + t - 1], paths[here[a], begin + t]] -= scale * change[a]
    return read


@kernel
def give_to(paths, here, change, begin, positions, edges, labels, cost, b):
    """Add sum_a change[a] of the marginals of labelling a, and of its cost, to b, the rows of `rrmbench.losses.chains`.

    The changes sum to 0, so that the marginals at other positions stay.
    """
    lift = b.shape[0] - 2
    of_edges = b[lift - b.shape[1] : lift]
    for a in range(here.shape[0]):
        path = paths[here[a]]
        for t in positions:
            b[begin + t, path[begin + t]] += change[a]
            if path[begin + t] != labels[begin + t]:
                b[lift, 0] += cost * change[a]
        for t in edges:
            of_edges[path[begin + t - 1], path[begin + t]] += change[a]
