"""Sums over all labellings of many sequences: partition functions, marginals, entropies, and best labellings.

A labelling y of a sequence of l positions with k labels has the score

    sum_t nodes[t, y_t] + cost [y_t != labels_t]  +  sum_{t > 0} transitions[y_(t-1), y_t]

and at the temperature tau > 0 the probability exp(score / tau) / Z. Every function takes

    nodes (N, k) float64, transitions (k, k) float64
    starts (n + 1,) int64: sequence i is at the rows starts[i] .. starts[i + 1] - 1 of nodes, one at least
    labels (N,) int64 in 0 .. k-1, cost float: the Hamming cost of every position that differs from labels

and is O(k^2) a position. Scores are taken relative to their maxima, so nothing overflows. Where transitions / tau has
a range of at most SAFE, exp(transitions / tau) is computed once, and messages are products with this matrix: nothing
that matters underflows. Elsewhere messages are logarithms.
"""

import math

import numpy as np

from rrmbench.numerics.chain_messages import add_back, add_forward, multiply_back, multiply_forward, shares, softmax
from rrmbench.numerics.jit import kernel

SAFE = 256.0  # exp(-2 SAFE), the least scale of a product of two messages, is far above the least float
LANES = 8  # rows are padded with zeros to a multiple, since vector instructions need no remainder then


@kernel
def partition(nodes, transitions, starts, labels, cost, tau):
    """The sum over sequences of tau log Z."""
    return _sweep(nodes, transitions, starts, labels, cost, tau, np.empty((0, 0)), np.empty((0, 0)))[0]


@kernel
def expectations(nodes, transitions, starts, labels, cost, tau, marginals, edges):
    """Fill `marginals` (N, k), P(y_t = j), and `edges` (k, k), the sum of P(y_(t-1) = i, y_t = j) over all t > 0.

    Returns (sum of tau log Z, sum of the entropies of the distributions) over sequences. The entropy of one is log Z
    minus the mean of score / tau, and that of its last label plus those of all labels given the next one.
    """
    return _sweep(nodes, transitions, starts, labels, cost, tau, marginals, edges)


@kernel
def _sweep(nodes, transitions, starts, labels, cost, tau, marginals, edges):
    """As `expectations`; without the marginals, and with the entropy 0, where `marginals` is empty."""
    k, longest = nodes.shape[1], 0
    for i in range(starts.shape[0] - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    width = (k + LANES - 1) // LANES * LANES
    top, span = transitions.max(), (transitions.max() - transitions.min()) / tau
    multiplies = span <= SAFE
    relative, matrix, transposed = np.zeros((k, k)), np.zeros((k, width)), np.zeros((k, width))
    for i in range(k):
        for j in range(k):
            relative[i, j] = (transitions[i, j] - top) / tau
            matrix[i, j] = math.exp(relative[i, j])
            transposed[j, i] = matrix[i, j]
    logits, before, after = np.zeros((longest, width)), np.zeros((longest, width)), np.zeros((longest, width))
    totals = np.zeros((0 if multiplies else longest, k))
    chances, next_chances, sums = np.zeros(width), np.zeros(width), np.zeros((k, width))
    total, entropy = 0.0, 0.0
    for i in range(starts.shape[0] - 1):
        begin, size = starts[i], starts[i + 1] - starts[i]
        shift = (size - 1) * top
        for t in range(size):
            shift += _relative_row(nodes[begin + t], labels[begin + t], cost, tau, logits[t])
        if multiplies:
            log_Z = multiply_forward(logits, matrix, size, before, after)
        else:
            log_Z = add_forward(logits, relative, size, before, totals, after)
        total += shift + tau * log_Z
        if marginals.shape[0] == 0:
            continue
        if multiplies:
            shares(after[size - 1, :k], chances)
            entropy += log_Z
        else:
            entropy += softmax(after[size - 1, :k], chances)[1]
        for t in range(size - 1, -1, -1):
            for j in range(k):
                p = chances[j]
                marginals[begin + t, j] = p
                if multiplies and p > 0.0:
                    entropy -= p * logits[t, j]
            if t == 0:
                break
            if multiplies:
                multiply_back(transposed, before[t], after[t - 1], chances, next_chances, sums)
            else:
                entropy += add_back(relative, before[t], totals[t], after[t - 1], chances, next_chances, sums)
            chances, next_chances = next_chances, chances
    if marginals.shape[0] > 0:
        for i in range(k):
            for j in range(k):
                edges[i, j] = sums[i, j] * (matrix[i, j] if multiplies else 1.0)
                if multiplies and edges[i, j] > 0.0:
                    entropy -= edges[i, j] * relative[i, j]
    return total, max(entropy, 0.0)


@kernel
def _relative_row(row, label, cost, tau, logits):
    """Fill `logits` with (row[j] + cost [j != label] - m)/tau, m the greatest of these scores; return m."""
    k, top = row.shape[0], -math.inf
    for j in range(k):
        top = max(top, row[j] + (cost if j != label else 0.0))
    for j in range(k):
        logits[j] = (row[j] + (cost if j != label else 0.0) - top) / tau
    return top


@kernel
def best(nodes, transitions, starts, labels, cost, path):
    """Fill `path` (N,) with labellings of greatest score, the limit of tau = 0; return the sum of these scores.

    Of equal scores the lower label wins, from the last position to the first (the algorithm of Viterbi).
    """
    k, longest = nodes.shape[1], 0
    for i in range(starts.shape[0] - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    scores, total = np.empty((longest, k)), 0.0  # of the best labelling up to a position, by its label there
    for i in range(starts.shape[0] - 1):
        begin, size = starts[i], starts[i + 1] - starts[i]
        for t in range(size):
            most = scores[t]
            most[:] = -math.inf if t > 0 else 0.0
            for h in range(k if t > 0 else 0):
                for j in range(k):
                    x = scores[t - 1, h] + transitions[h, j]
                    most[j] = x if x > most[j] else most[j]
            for j in range(k):
                most[j] += nodes[begin + t, j] + (cost if j != labels[begin + t] else 0.0)
        end = np.argmax(scores[size - 1])
        total += scores[size - 1, end]
        path[begin + size - 1] = end
        for t in range(size - 2, -1, -1):
            end = np.argmax(scores[t] + transitions[:, end])
            path[begin + t] = end
    return total
