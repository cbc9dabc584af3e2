"""Losses on labellings of sequences: conditional random fields and max-margin Markov networks on chains.

n sequences have N positions in all and k labels. The labels y have the shape (N, 2): the label 0 .. k-1 of a position
and the number of its sequence, whose positions are neighbours. The model w = (W; T) has the shape (d + k, k): W scores
labels by features, T scores label j after label i in T[i, j]. z and the dual variable b have the shape (N + k + 2, k):

    rows              z               b, for a distribution over the labellings of each sequence
    first N           X W             P(y_t = j) - [j is the label of t]
    next k            T               the sum over all t of P(y_(t-1) = i, y_t = j), minus that of the labels
    last but one      0               n delta in the first column: the sum over sequences of E cost + temperature H
    last              0               -(sum of the entropies H) in the first column

With the last two rows, the lift of b, Phi*(b) <= -delta and d2(b) <= D - (1/n) sum H, with equality at dual points.
Both are linear in b and true for averages and for t b, 0 <= t <= 1, which mixes with the labels: there all of b is 0.
"""

from typing import NamedTuple

import numpy as np

from rrmbench.losses.chain_marginals import faults, may_be_marginals
from rrmbench.losses.chain_parts import parts_of
from rrmbench.numerics import chains
from rrmbench.registry import loss


class Sequences(NamedTuple):
    """Of y (N, 2): where sequences start (n + 1,), the label of every position, the positions that follow another."""

    starts: np.ndarray
    labels: np.ndarray
    later: np.ndarray

    @classmethod
    def of(cls, y):
        """The Sequences of y (N, 2)."""
        is_first = np.concatenate([[True], y[1:, 1] != y[:-1, 1]])
        starts = np.append(np.flatnonzero(is_first), len(y))
        return cls(starts, y[:, 0].astype(np.int64), np.flatnonzero(~is_first))

    def transitions(self, k):
        """How often label j follows label i, (k, k)."""
        pairs = self.labels[self.later - 1] * k + self.labels[self.later]
        return np.bincount(pairs, minlength=k * k).reshape(k, k).astype(np.float64)


class Chains:
    """z = (X W; T; 0; 0) for a model (W; T) of the shape (d + k, k), one sample a sequence.

    Parameters
    ----------
    X : data operator of the N positions, which maps W (d, k) to (N, k)
    starts : (n + 1,), sequence i is at the positions starts[i] .. starts[i + 1] - 1
    k : the number of labels
    """

    of_loss = True

    def __init__(self, X, starts, k):
        self.positions, self.starts = X, starts
        self.shape = (len(starts) - 1, X.shape[1] + k, k)
        # T is there once, for all sequences together
        self.sqnorms = np.add.reduceat(X.sqnorms, starts[:-1]) + 1.0 / self.shape[0]

    @classmethod
    def of(cls, X, y, k):
        """The Chains of the positions' operator X and labels y."""
        return cls(X, Sequences.of(y).starts, k)

    @property
    def labels(self):
        """N, the number of rows of y."""
        return int(self.starts[-1])

    @property
    def nnz(self):
        return self.positions.nnz

    def columns(self):
        """The matrix of z, for each of the k columns of a model, by columns."""
        from scipy.sparse import block_diag, coo_array, eye_array

        return block_diag([self.positions.columns(), eye_array(self.shape[-1]), coo_array((2, 0))], format="csc")

    def head(self, n):
        """The operator of copies of the first n sequences."""
        return Chains(self.positions.head(int(self.starts[n])), self.starts[: n + 1], self.shape[-1])

    def forward(self, w):
        """z = (X W; T; 0; 0)."""
        N, k = self.labels, self.shape[-1]
        z = np.zeros((N + k + 2, k))
        z[:N] = self.positions.forward(w[:-k])
        z[N:-2] = w[-k:]
        return z

    def adjoint(self, b):
        """(X^T b of the positions; b of the transitions)."""
        N = self.labels
        return np.concatenate([self.positions.adjoint(b[:N]), b[N:-2]])


class ChainLoss(NamedTuple):
    """Phi(z) = (1/n) sum_i tau log sum_y exp((cost(y) + score(y))/tau) - score(y_i), tau = conjugate_convexity.

    score(y) = sum_t (X W)[t, y_t] + sum_(t > 0) T[y_(t-1), y_t]; cost(y) = cost times the number of positions that
    differ from y_i; for tau = 0 the maximum over y [AGM, section 5.4]. Smoothing adds mu to tau and subtracts mu D:
    d2 = (1/n) sum_i (l_i log k - H_i) for sequences of length l_i, so that 0 <= d2 <= D = (1/n) sum_i l_i log k.
    """

    cost: float
    conjugate_convexity: float
    outputs = "whole"
    conjugate_prox = False
    matrix = True  # the model is one
    unproven = "that distributions over labellings have the marginals and entropies of b"

    @property
    def labellings(self):
        """Whether this is a maximum over labellings, without an entropy."""
        return self.conjugate_convexity == 0.0

    def operator(self, X, y):
        """The Chains of the operator X of the positions."""
        return Chains.of(X, y, int(y[:, 0].max()) + 1)

    def shape(self, X, y):
        return len(y) + X.shape[-1] + 2, X.shape[-1]

    def diameter(self, X, y):
        """D, the greatest d2."""
        return self._entropy_bound(y, X.shape[-1])

    def S(self, X, y):
        """(1/n) sum ((sum_t ||x_t||)^2 + (l - 1)^2)/2: half the square of the range of the scores along a unit model.

        The variance of a score is at most a quarter of its squared range; scores of two labels at t differ by at most
        sqrt(2) ||x_t|| ||W||, and two transitions by at most sqrt(2) ||T||.
        """
        lengths = np.diff(X.starts)
        norms = np.add.reduceat(np.sqrt(X.positions.sqnorms), X.starts[:-1])
        return float(np.mean(norms**2 + (lengths - 1.0) ** 2)) / 2.0

    def value(self, z, y):
        return self.smooth_value(z, y, 0.0)

    def smooth_value(self, z, y, mu):
        sequences, k, tau = Sequences.of(y), z.shape[1], self.conjugate_convexity + mu
        nodes, transitions = z[: len(y)], z[len(y) : -2]
        given = sequences.starts, sequences.labels, self.cost
        if tau > 0.0:
            total = chains.partition(nodes, transitions, *given, tau)
        else:
            total = chains.best(nodes, transitions, *given, np.empty(len(y), dtype=np.int64))
        total -= float(nodes[np.arange(len(y)), sequences.labels].sum())
        total -= float(np.vdot(transitions, sequences.transitions(k)))
        return total / (len(sequences.starts) - 1) - mu * self._entropy_bound(y, k)

    def plain_terms(self, z, y, mu):
        """The terms of `smooth_value` by plain numpy: two for each sequence."""
        k, tau = z.shape[1], self.conjugate_convexity + mu
        sequences, T = Sequences.of(y), z[len(y) : -2]
        nodes, rows, later = z[: len(y)].copy(), np.arange(len(y)), sequences.later
        chosen = nodes[rows, sequences.labels]
        chosen[later] += T[sequences.labels[later - 1], sequences.labels[later]]
        nodes += self.cost
        nodes[rows, sequences.labels] -= self.cost
        starts, lengths = sequences.starts[:-1], np.diff(sequences.starts)
        messages = nodes[starts]
        for t in range(1, lengths.max()):
            longer = lengths > t
            messages[longer] = nodes[starts[longer] + t] + _soft_max(messages[longer][:, :, None] + T, tau)
        n = len(starts)
        totals = _soft_max(messages, tau) - mu * lengths * np.log(k)
        return [*(totals / n).tolist(), *(-np.add.reduceat(chosen, starts) / n).tolist()]

    def dual_point(self, z, y, mu):
        """The marginals at the temperature tau + mu, minus the labels, with the lift; of a best labelling at 0."""
        sequences, k, tau = Sequences.of(y), z.shape[1], self.conjugate_convexity + mu
        N = len(y)
        b = np.zeros(z.shape)
        given = z[:N], z[N:-2], sequences.starts, sequences.labels, self.cost
        entropy = 0.0
        if tau > 0.0:
            _, entropy = chains.expectations(*given, tau, b[:N], b[N:-2])
        else:
            path = np.empty(N, dtype=np.int64)
            chains.best(*given, path)
            b[np.arange(N), path] = 1.0
            b[N:-2] = sequences._replace(labels=path).transitions(k)
        self.complete(b, entropy, sequences)
        return b

    def complete(self, b, entropy, sequences):
        """Turn the marginals in b, of distributions with this sum of entropies, into a dual variable, in place."""
        labels = np.arange(len(sequences.labels)), sequences.labels
        b[labels] -= 1.0
        b[len(sequences.labels) : -2] -= sequences.transitions(b.shape[1])
        b[-2, 0] = self.conjugate_convexity * entropy - self.cost * b[labels].sum()
        b[-1, 0] = -entropy

    def conjugate(self, b, y):
        """-delta, a bound of Phi*(b) that is exact at dual points; +inf where b is of no distribution."""
        return -float(b[-2, 0]) / _count(y) if may_be_marginals(b, Sequences.of(y)) else float("inf")

    def parts(self, y, k):
        """Those of `rrmbench.losses.chain_parts`; of the conjugate where this is a maximum over labellings."""
        return parts_of(Sequences.of(y), k, self.cost)

    def d2(self, b, y):
        return max(self._entropy_bound(y, b.shape[1]) + float(b[-1, 0]) / _count(y), 0.0)

    def necessary(self, b, y):
        """What in b is not that of the marginals of distributions, in words, or None; in plain numpy."""
        return next(faults(b, Sequences.of(y), self.cost, self.conjugate_convexity), None)

    def _entropy_bound(self, y, k):
        return len(y) / _count(y) * float(np.log(k))


def _soft_max(x, tau):
    """tau log sum exp(x/tau) over axis 1, the maximum for tau = 0."""
    most = x.max(axis=1)
    if tau == 0.0:
        return most
    return most + tau * np.log(np.exp((x - most[:, None]) / tau).sum(axis=1))


def labelling(z, y):
    """The labels (N,) of greatest score for outputs z of the sequences of y (N, 2)."""
    sequences, path = Sequences.of(y), np.empty(len(y), dtype=np.int64)
    chains.best(z[: len(y)], z[len(y) : -2], sequences.starts, sequences.labels, 0.0, path)
    return path


def _count(y):
    """The number n of sequences."""
    return 1 + int(np.count_nonzero(y[1:, 1] != y[:-1, 1]))


@loss(needs={"sequences"})
def crf():
    """log sum_y exp(score(y)) - score(y_i), a conditional random field on label sequences [AGM, section 5.4]"""
    return ChainLoss(0.0, 1.0)


@loss(needs={"sequences"})
def m3n():
    """max_y cost(y) + score(y) - score(y_i), a max-margin Markov network, cost: the wrong labels [AGM, section 5.4]"""
    return ChainLoss(1.0, 0.0)
