"""All labellings of short sequences, one by one: what the kernels and losses on chains are compared with."""

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np


class Sums(NamedTuple):
    """Of one sequence: tau log Z, entropy, marginals (l, k), sums of the marginals of edges (k, k), greatest score."""

    value: float
    entropy: float
    nodes: np.ndarray
    edges: np.ndarray
    best: float


def labellings(length, k):
    """All labellings of a sequence, (k^length, length)."""
    return np.array(list(product(range(k), repeat=length)))


def score(nodes, transitions, path):
    """The score of one labelling."""
    return sum(nodes[t, a] for t, a in enumerate(path)) + sum(transitions[a, b] for a, b in pairwise(path))


def statistics(path, k):
    """(which label is where (l, k), how often is a label followed by another (k, k)) of one labelling."""
    edges = np.zeros((k, k))
    for a, b in pairwise(path):
        edges[a, b] += 1.0
    return np.eye(k)[path], edges


def sums(nodes, transitions, labels, cost, tau):
    """The Sums of one sequence, of the scores plus cost times the number of labels that differ from `labels`."""
    length, k = nodes.shape
    paths = labellings(length, k)
    scores = np.array([score(nodes, transitions, path) + cost * np.sum(path != labels) for path in paths])
    x = (scores - scores.max()) / tau
    log_Z = np.log(np.exp(x).sum())
    chances = np.exp(x - log_Z)
    both = [statistics(path, k) for path in paths]
    return Sums(
        scores.max() + tau * log_Z,
        -np.sum(chances * (x - log_Z), where=chances > 0.0),
        np.tensordot(chances, [a for a, _ in both], 1),
        np.tensordot(chances, [b for _, b in both], 1),
        scores.max(),
    )


def over_sequences(nodes, transitions, starts, labels, cost, tau):
    """The Sums of all sequences: marginals one sequence after the other, everything else summed up."""
    found = [sums(nodes[a:b], transitions, labels[a:b], cost, tau) for a, b in pairwise(starts)]
    return Sums(
        sum(s.value for s in found),
        sum(s.entropy for s in found),
        np.concatenate([s.nodes for s in found]),
        sum(s.edges for s in found),
        sum(s.best for s in found),
    )
