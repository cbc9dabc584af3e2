"""Messages along one sequence, in two arithmetics: products with a matrix, and sums of exponentials of logarithms.

Everything is relative to the greatest scores, see `rrmbench.numerics.chains`: logits (l, k) are at most 0, relative
(k, k) are transitions at most 0 and matrix = exp(relative). Rows may be padded with zeros beyond k. before, after and
totals have a row for each position.
"""

import math

import numpy as np

from rrmbench.numerics.jit import kernel

NEGLIGIBLE = -50.0  # exp of less than this changes no sum of floats that has a term 1


@kernel
def multiply_forward(logits, matrix, size, before, after):
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
def shares(weights, chances):
    """chances[j] = weights[j] / sum of the weights."""
    total = 0.0
    for j in range(weights.shape[0]):
        total += weights[j]
    for j in range(weights.shape[0]):
        chances[j] = weights[j] / total


@kernel
def multiply_back(transposed, before, after, chances, earlier, sums):
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
def add_forward(logits, relative, size, before, totals, after):
    """Return log Z as `multiply_forward`, from the logarithms of messages.

    With x_ij = after[t - 1, i] + relative[i, j]: before[t, j] = max_i x_ij, totals[t, j] = sum_i exp(x_ij -
    before[t, j]), after[t] = before[t] + log(totals[t]) + logits[t].
    """
    k = relative.shape[0]
    after[0] = logits[0]
    for t in range(1, size):
        most, old = before[t], after[t - 1]
        most[:] = -math.inf
        for i in range(k):
            for j in range(k):
                x = old[i] + relative[i, j]
                most[j] = x if x > most[j] else most[j]
        for j in range(k):
            total = 0.0
            for i in range(k):  # one sum at a time: vector code would compute exponentials that nothing needs
                x = old[i] + relative[i, j] - most[j]
                if x > NEGLIGIBLE:
                    total += math.exp(x)
            totals[t, j] = total
            after[t, j] = most[j] + math.log(total) + logits[t, j]
    return softmax(after[size - 1, :k], np.empty(k))[0]


@kernel
def softmax(x, chances):
    """chances = exp(x) / sum exp(x); returns (log sum exp(x), the entropy of the chances)."""
    top, total, mean = x.max(), 0.0, 0.0
    for j in range(x.shape[0]):
        chances[j] = math.exp(x[j] - top)
        total += chances[j]
    for j in range(x.shape[0]):
        chances[j] /= total
        if chances[j] > 0.0:
            mean += chances[j] * (x[j] - top)
    return top + math.log(total), math.log(total) - mean


@kernel
def add_back(relative, before, totals, after, chances, earlier, sums):
    """As `multiply_back`, from logarithms; returns the mean entropy of the earlier label given the label.

    P(y_(t-1) = i | y_t = j) = exp(after[i] + relative[i, j] - before[j]) / totals[j], and P(y_(t-1) = i, y_t = j) is
    added to sums[i, j].
    """
    k, entropy = relative.shape[0], 0.0
    earlier[:] = 0.0
    for j in range(k):
        if chances[j] > 0.0:
            share, log_total = chances[j] / totals[j], math.log(totals[j])
            for i in range(k):
                x = after[i] + relative[i, j] - before[j]
                if x > NEGLIGIBLE:
                    p = math.exp(x) * share
                    sums[i, j] += p
                    earlier[i] += p
                    entropy += p * (log_total - x)
    return entropy
