"""Dual variables of multiclass losses whose columns sum to zero, as a free bias asks for.

b_ij, j != y_i, is a flow from the class of sample i to class j. With the flows F_cj = sum of b_ij over y_i = c between
classes, the sum of column j is what enters class j minus what leaves it: the columns sum to zero where F is a
circulation, a sum of cycles.
"""

import numpy as np

from rrmbench.numerics.jit import kernel


def balanced_classes(b, y):
    """b (n, k) with every b_ij, j != y_i, scaled by K_cj / F_cj, K the cycles of F, and b_iy minus the others' sum.

    What is not in K has no cycle, so it is a sum of paths of at most k - 1 edges from classes that more leaves to
    classes that more enters: b loses at most k - 1 times its imbalance, so nothing at the optimum.
    """
    own = y.astype(np.int64)
    rows, k = np.arange(own.size), b.shape[1]
    b = b.copy()
    b[rows, own] = 0.0
    flows = np.zeros((k, k))
    np.add.at(flows, own, b)
    kept = flows.copy()
    remove_acyclic(kept)
    b *= np.divide(kept, flows, out=np.zeros_like(flows), where=flows > 0.0)[own]
    b[rows, own] = -b.sum(axis=1)
    return b


@kernel
def remove_acyclic(flows):
    """Leave of the flows (k, k) a sum of cycles, such that the rest has none; two-way flows first."""
    k = flows.shape[0]
    rest = np.zeros((k, k))
    for i in range(k):
        for j in range(k):
            rest[i, j] = max(flows[i, j] - flows[j, i], 0.0) if i != j else 0.0
    cancel_cycles(rest)
    for i in range(k):
        for j in range(k):
            flows[i, j] = max(flows[i, j] - rest[i, j], 0.0)


@kernel
def cancel_cycles(rest):
    """Subtract cycles from the flows until there are none, each by the least flow along it.

    A walk goes from class to class along `following`, which moves on past edges without flow and to classes that no
    cycle goes through, never back: flows only fall. Where the walk meets itself, its end is a cycle.
    """
    k = rest.shape[0]
    following, place = np.zeros(k, dtype=np.int64), np.full(k, -1)  # place: in the walk, k where no cycle goes through
    walk, size = np.empty(k, dtype=np.int64), 0
    for first in range(k):
        if place[first] == -1:
            walk[0], size, place[first] = first, 1, 0
        while size > 0:
            i = walk[size - 1]
            while following[i] < k and (rest[i, following[i]] <= 0.0 or place[following[i]] == k):
                following[i] += 1
            if following[i] == k:
                place[i] = k
                size -= 1
                continue
            j = following[i]
            if place[j] == -1:
                walk[size], place[j] = j, size
                size += 1
                continue
            begin, least = place[j], rest[i, j]
            for p in range(begin, size - 1):
                least = min(least, rest[walk[p], walk[p + 1]])
            for p in range(begin, size):
                rest[walk[p], following[walk[p]]] -= least
            while size > begin + 1:  # the walk goes on from where the cycle began
                size -= 1
                place[walk[size]] = -1
