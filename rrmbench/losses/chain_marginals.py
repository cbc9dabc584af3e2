"""What the dual variables of losses on chains say of distributions over labellings, and whether there are such ones.

b and Sequences are as in `rrmbench.losses.chains`.
"""

import numpy as np

ROUNDING = 1e-12  # of a probability
TOLERANCE = 1e-9  # of probabilities and entropies that are read from a file, relative to the number of positions


def marginals(b, sequences):
    """What b, with the labels added, says of the distributions of labellings.

    (chances of the labels at each position (N, k), sums of the joint chances of neighbours (k, k), which positions have
    one before them (N,), how far the joint chances are from the chances that they sum up to, and below 0)
    """
    N = len(sequences.labels)
    chances, edges = b[:N].copy(), b[N:-2] + sequences.transitions(b.shape[1])
    chances[np.arange(N), sequences.labels] += 1.0
    is_later = np.zeros(N, dtype=bool)
    is_later[sequences.later] = True
    before, after = chances[np.roll(is_later, -1)].sum(axis=0), chances[is_later].sum(axis=0)
    off = max(np.abs(edges.sum(axis=1) - before).max(), np.abs(edges.sum(axis=0) - after).max(), -edges.min())
    return chances, edges, is_later, off


def may_be_marginals(b, sequences):
    """Whether nodes and edges of b + labels are nonnegative and agree in their sums: necessary, not sufficient."""
    chances, _, _, off = marginals(b, sequences)
    are_chances = chances.min() >= -ROUNDING and np.abs(chances.sum(axis=1) - 1.0).max() <= b.shape[1] * ROUNDING
    return bool(are_chances and off <= len(sequences.labels) * ROUNDING)


def faults(b, sequences, cost, temperature):
    """Yield in words what in b is not that of marginals: chances, sums of transitions, cost, entropies."""
    N = len(sequences.labels)
    chances, edges, is_later, off = marginals(b, sequences)
    if not (chances.min() >= -TOLERANCE and np.abs(chances.sum(axis=1) - 1.0).max() <= TOLERANCE):
        yield "b plus the labels has rows that are no probabilities"
        return
    if not off <= TOLERANCE * N:
        yield "the transitions in b do not sum up to its positions"
        return
    low, high = _transition_bounds(chances, sequences.later)
    if not (np.all(edges >= low - TOLERANCE * N) and np.all(edges <= high + TOLERANCE * N)):
        yield "the transitions in b are none that its positions allow"
        return
    if b[-2:, 1:].any():
        yield "the last two rows of b have more than one entry"
    entropy, delta = -float(b[-1, 0]), float(b[-2, 0])
    most = min(_entropy(chances), _entropy(chances[~is_later]) + _entropy(edges) - _entropy(edges.sum(axis=1)))
    if not -TOLERANCE * N <= entropy <= most + TOLERANCE * N:
        yield f"the entropies in b sum up to {entropy:.12g}, its marginals allow 0 .. {most:.12g}"
    true = temperature * entropy - cost * float(b[np.arange(N), sequences.labels].sum())
    if not abs(delta - true) <= TOLERANCE * N:
        yield f"the last row but one of b says {delta:.12g}, its marginals and entropies {true:.12g}"


def _transition_bounds(chances, later):
    """The sums over t of max(0, p_(t-1)(i) + p_t(j) - 1) and of min(p_(t-1)(i), p_t(j)), (k, k) each.

    Between them are the sums of the joint probabilities of neighbours with the chances (N, k), whatever they are.
    """
    low, high = (np.zeros((chances.shape[1], chances.shape[1])) for _ in range(2))
    for t in np.array_split(later, 1 + later.size // 4096):
        before, here = chances[t - 1][:, :, None], chances[t][:, None, :]
        low += np.maximum(before + here - 1.0, 0.0).sum(axis=0)
        high += np.minimum(before, here).sum(axis=0)
    return low, high


def _entropy(p):
    """-sum p log p."""
    return -float(np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0.0)))
