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

from rrmbench.numerics.jit import kernel

SAFE = 256.0  # exp(-2 SAFE), the least scale of a product of two messages, is far above the least float
NEGLIGIBLE = -50.0  # exp of less than this changes no sum of floats that has a term 1
LANES = 8  # rows are padded with zeros to a multiple, since vector instructions need no remainder then


@kernel
def partition(nodes, transitions, starts, labels, cost, tau):
    """The sum over sequences of tau log Z."""
    return _sweep(nodes, transitions, starts, labels, cost, tau, np.empty((0, 0)), np.empty((0, 0)))[0]


@kernel
def expectations(nodes, transitions, starts, labels, cost, tau, marginals, edges):
    """Fill `marginals` (N, k), P(y_t = j), and `edges` (k, k), the sum of P(y_(t-1) = i, y_t = j) over all t > 0.

    Returns (sum of tau log Z, sum of the entropies of the distributions) over sequences. The entropy is log Z minus the
    mean of score / tau, which equals the entropies of the edges minus those of the inner nodes.
    """
    edges[:] = 0.0
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
    chances, next_chances, sums = np.zeros(width), np.zeros(width), np.zeros((k, width))
    total, entropy = 0.0, 0.0
    for i in range(starts.shape[0] - 1):
        begin, size = starts[i], starts[i + 1] - starts[i]
        shift = (size - 1) * top
        for t in range(size):
            shift += _relative_row(nodes[begin + t], labels[begin + t], cost, tau, logits[t])
        if multiplies:
            log_Z = _multiply_forward(logits, matrix, size, before, after)
        else:
            log_Z = _add_forward(logits, relative, size, before, after)
        total += shift + tau * log_Z
        if marginals.shape[0] == 0:
            continue
        entropy += log_Z
        if multiplies:
            _shares(after[size - 1, :k], chances)
        else:
            _softmax(after[size - 1, :k], chances)
        for t in range(size - 1, -1, -1):
            for j in range(k):
                p = chances[j]
                marginals[begin + t, j] = p
                if p > 0.0:
                    entropy -= p * logits[t, j]
            if t == 0:
                break
            if multiplies:
                _multiply_back(transposed, before[t], after[t - 1], chances, next_chances, sums)
            else:
                _add_back(relative, before[t], after[t - 1], chances, next_chances, sums)
            chances, next_chances = next_chances, chances
    if marginals.shape[0] > 0:
        for i in range(k):
            for j in range(k):
                edges[i, j] = sums[i, j] * (matrix[i, j] if multiplies else 1.0)
                if edges[i, j] > 0.0:
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
def _multiply_forward(logits, matrix, size, before, after):
    """Return log Z of the relative scores, from messages that are products with matrix = exp(relative transitions).

    before[t] = after[t - 1] matrix is proportional to the sums over the labellings up to t - 1, after[t] to before[t]
    exp(logits[t]), with the scale that makes it 1 at a greatest logit.
    """
    k, log_Z = matrix.shape[0], 0.0
    for t in range(size):
        message = before[t]
        if t == 0:
            message[:k] = 1.0
        else:
            _product(after[t - 1], matrix, message)
        best = 0
        for j in range(k):
            if logits[t, j] > logits[t, best]:
                best = j
        log_Z += math.log(message[best])
        scale = 1.0 / message[best]
        for j in range(k):
            after[t, j] = scale * message[j] * math.exp(logits[t, j])
    total = 0.0
    for j in range(k):
        total += after[size - 1, j]
    return log_Z + math.log(total)


@kernel
def _product(x, A, out):
    """out_j = sum_i x_i A[i, j] over the rows of A."""
    k, width = A.shape
    out[:] = 0.0
    for i in range(0, k - 3, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(width):
            out[j] += (a * A[i, j] + b * A[i + 1, j]) + (c * A[i + 2, j] + d * A[i + 3, j])
    for i in range(k // 4 * 4, k):
        a = x[i]
        for j in range(width):
            out[j] += a * A[i, j]


@kernel
def _shares(weights, chances):
    """chances[j] = weights[j] / sum of the weights."""
    total = 0.0
    for j in range(weights.shape[0]):
        total += weights[j]
    for j in range(weights.shape[0]):
        chances[j] = weights[j] / total


@kernel
def _multiply_back(transposed, before, after, chances, earlier, sums):
    """From the chances of the labels of a position to those of the one before it, `earlier`.

    P(y_(t-1) = i, y_t = j) = after[i] matrix[i, j] r_j with r = chances / before; adds after[i] r_j to sums[i, j].
    """
    k, width = transposed.shape
    ratios = chances
    for j in range(k):
        ratios[j] /= before[j]
    _product(ratios, transposed, earlier)
    for i in range(k):
        a = after[i]
        earlier[i] *= a
        for j in range(width):
            sums[i, j] += a * ratios[j]


@kernel
def _add_forward(logits, relative, size, before, after):
    """As `_multiply_forward`, with the logarithms of the messages in `before` and `after`, not rescaled."""
    k = relative.shape[0]
    most = np.empty(k)
    for t in range(size):
        if t == 0:
            before[t] = 0.0
        else:
            most[:] = -math.inf
            for i in range(k):
                for j in range(k):
                    x = after[t - 1, i] + relative[i, j]
                    most[j] = x if x > most[j] else most[j]
            for j in range(k):
                total = 0.0
                for i in range(k):  # one sum at a time: vector code would compute exponentials that nothing needs
                    x = after[t - 1, i] + relative[i, j] - most[j]
                    if x > NEGLIGIBLE:
                        total += math.exp(x)
                before[t, j] = most[j] + math.log(total)
        for j in range(k):
            after[t, j] = before[t, j] + logits[t, j]
    return _softmax(after[size - 1, :k], most)


@kernel
def _softmax(x, chances):
    """chances = exp(x) / sum exp(x); returns log sum exp(x)."""
    top, total = x.max(), 0.0
    for j in range(x.shape[0]):
        chances[j] = math.exp(x[j] - top)
        total += chances[j]
    for j in range(x.shape[0]):
        chances[j] /= total
    return top + math.log(total)


@kernel
def _add_back(relative, before, after, chances, earlier, sums):
    """As `_multiply_back`, from logarithms; adds P(y_(t-1) = i, y_t = j) = exp(after[i] + relative[i, j] - before[j])
    chances[j] to sums[i, j].
    """
    k = relative.shape[0]
    for i in range(k):
        total = 0.0
        for j in range(k):
            x = after[i] + relative[i, j] - before[j]
            if x > NEGLIGIBLE and chances[j] > 0.0:
                p = math.exp(x) * chances[j]
                sums[i, j] += p
                total += p
        earlier[i] = total


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
