"""Losses on label sequences without any compiled kernel: the value that `rrmbench.losses.chains` says."""

import numpy as np

from rrmbench.losses.chains import Sequences


def loss_terms(loss, mu, z, y):
    """The terms of the mean loss at z = (X W; T; 0; 0): two for each sequence."""
    k, tau = z.shape[1], loss.conjugate_convexity + mu
    sequences, T = Sequences.of(y), z[len(y) : -2]
    nodes, rows, later = z[: len(y)].copy(), np.arange(len(y)), sequences.later
    chosen = nodes[rows, sequences.labels]
    chosen[later] += T[sequences.labels[later - 1], sequences.labels[later]]
    nodes += loss.cost
    nodes[rows, sequences.labels] -= loss.cost
    starts, lengths = sequences.starts[:-1], np.diff(sequences.starts)
    messages = nodes[starts]
    for t in range(1, lengths.max()):
        longer = lengths > t
        messages[longer] = nodes[starts[longer] + t] + _soft_max(messages[longer][:, :, None] + T, tau)
    n = len(starts)
    totals = _soft_max(messages, tau) - mu * lengths * np.log(k)
    return [*(totals / n).tolist(), *(-np.add.reduceat(chosen, starts) / n).tolist()]


def _soft_max(x, tau):
    """tau log sum exp(x/tau) over axis 1, the maximum for tau = 0."""
    most = x.max(axis=1)
    if tau == 0.0:
        return most
    return most + tau * np.log(np.exp((x - most[:, None]) / tau).sum(axis=1))
