"""Losses on label sequences without any compiled kernel: what `rrmbench.losses.chains` says, recomputed from arrays.

b holds sums over exponentially many labellings in few numbers. That its first rows are the marginals of distributions
with the entropies of its last rows cannot be recomputed from it; what follows from that can be, in `faults`.
"""

import numpy as np

from rrmbench.losses.chains import Sequences

TOLERANCE = 1e-9  # of probabilities and entropies, relative to the number of positions
UNPROVEN = "not recomputed: whether distributions over labellings have the marginals and entropies of b"


def loss_terms(loss, mu, X, w, y):
    """The terms of the mean loss at w = (W; T), with X (N, d) a scipy matrix: three for each sequence."""
    k, tau = w.shape[1], loss.conjugate_convexity + mu
    sequences, T = Sequences.of(y), w[-k:]
    nodes, rows, later = X @ w[:-k], np.arange(len(y)), sequences.later
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


def marginal_sums(X, b):
    """X^T b of the positions and b of the transitions, for X (N, d) a scipy matrix."""
    N = X.shape[0]
    return np.concatenate([X.T @ b[:N], b[N:-2]])


def conjugate_terms(loss, mu, b, y):
    """The terms of the bound of the mean conjugate; the cost is that of the marginals, the entropies are b's own."""
    n, entropy = len(np.unique(y[:, 1])), -float(b[-1, 0])
    missed = b[np.arange(len(y)), y[:, 0].astype(int)]
    smoothing = mu * (len(y) * np.log(b.shape[1]) - entropy)
    return [*(loss.cost * missed / n).tolist(), -loss.conjugate_convexity * entropy / n, smoothing / n]


def faults(loss, b, y):
    """Yield in words what in b is not that of marginals: chances, sums of transitions, cost, entropies."""
    sequences, N, k = Sequences.of(y), len(y), b.shape[1]
    rows = np.arange(N)
    chances, edges = b[:N].copy(), b[N:-2] + sequences.transitions(k)
    chances[rows, sequences.labels] += 1.0
    if not (chances.min() >= -TOLERANCE and np.abs(chances.sum(axis=1) - 1.0).max() <= TOLERANCE):
        yield "b plus the labels has rows that are no probabilities"
        return
    is_later = np.zeros(N, dtype=bool)
    is_later[sequences.later] = True
    before, after = chances[np.append(is_later[1:], False)].sum(axis=0), chances[is_later].sum(axis=0)
    off = max(np.abs(edges.sum(axis=1) - before).max(), np.abs(edges.sum(axis=0) - after).max(), -edges.min())
    if not off <= TOLERANCE * N:
        yield "the transitions in b do not sum up to its positions"
        return
    if b[-2:, 1:].any():
        yield "the last two rows of b have more than one entry"
    entropy, delta = -float(b[-1, 0]), float(b[-2, 0])
    most = min(_entropy(chances), _entropy(chances[~is_later]) + _entropy(edges) - _entropy(edges.sum(axis=1)))
    if not -TOLERANCE * N <= entropy <= most + TOLERANCE * N:
        yield f"the entropies in b sum up to {entropy:.12g}, its marginals allow 0 .. {most:.12g}"
    true = loss.conjugate_convexity * entropy - loss.cost * float(b[rows, sequences.labels].sum())
    if not abs(delta - true) <= TOLERANCE * N:
        yield f"the last row but one of b says {delta:.12g}, its marginals and entropies {true:.12g}"


def _entropy(p):
    """-sum p log p."""
    return -float(np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0.0)))
