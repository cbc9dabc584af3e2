"""The F1 loss as a sum over labellings: all of them, one by one, and by the recursions of the paper in logarithms."""

import itertools

import numpy as np
from numba import njit


def labellings(y):
    """(flips (2^n, n) of 0 and 1, Delta (2^n,)): all labellings by what they change of y, and one minus their F1."""
    flips = np.array(list(itertools.product((0.0, 1.0), repeat=y.size)))
    positive, errors = np.sum(y > 0), flips.sum(axis=1)
    found = positive + flips @ -y  # labels that are positive after the flips
    return flips, 1.0 - 2.0 * (positive - flips @ (y > 0)) / (positive + found), errors


def enumerated(z, y, mu):
    """(value, q, delta, H) of the F1 loss at z: smoothed by mu > 0 with relative entropy, or its maximum for mu = 0."""
    flips, delta, _ = labellings(y)
    scores = delta - flips @ (2.0 * y * z) / y.size
    if mu == 0.0:
        return scores.max(), None, None, None
    weights = np.exp((scores - scores.max()) / mu)
    weights /= weights.sum()
    entropy = -np.sum(weights[weights > 0.0] * np.log(weights[weights > 0.0]))
    log_sum = np.log(np.mean(np.exp((scores - scores.max()) / mu)))
    return scores.max() + mu * log_sum, weights @ flips, weights @ delta, entropy


@njit
def logaddexp(a, b):
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@njit
def forward(r):
    """a (n + 1, n + 1): a_k(v), the logarithm of the weight of all choices of v of the first k."""
    n = r.size
    a = np.full((n + 1, n + 1), -np.inf)
    a[0, 0] = 0.0
    for k in range(1, n + 1):
        a[k, 0] = 0.0
        for v in range(1, k + 1):
            a[k, v] = logaddexp(a[k - 1, v], a[k - 1, v - 1] + r[k - 1])
    return a


@njit
def backward(r, a, xi, log_sum):
    """The marginals q (n,), from the logarithms xi (n + 1,) of what goes on from v flips in all."""
    n = r.size
    q = np.zeros(n)
    for k in range(n, 0, -1):
        for v in range(k):
            q[k - 1] += np.exp(a[k - 1, v] + r[k - 1] + xi[v + 1] - log_sum)
            xi[v] = logaddexp(xi[v], r[k - 1] + xi[v + 1])
    return q


@njit
def in_logarithms(r, s, mu):
    """(log Z, q of the positives, q of the negatives, E Delta) for log-weights r, s of the flips, in any order.

    [AGM, Algorithms 5 and 6] in logarithms: memory O(n+^2 + n-^2).
    """
    positives, negatives = r.size, s.size
    a, c = forward(r), forward(s)
    xi, eta = np.full(positives + 1, -np.inf), np.full(negatives + 1, -np.inf)
    for i in range(positives + 1):
        for j in range(negatives + 1):
            d = (i + j) / (2.0 * positives - i + j) / mu
            xi[i] = logaddexp(xi[i], d + c[negatives, j])
            eta[j] = logaddexp(eta[j], d + a[positives, i])
    log_sum = -np.inf
    for i in range(positives + 1):
        log_sum = logaddexp(log_sum, xi[i] + a[positives, i])
    delta = 0.0
    for i in range(positives + 1):
        for j in range(negatives + 1):
            d = (i + j) / (2.0 * positives - i + j)
            delta += d * np.exp(d / mu + a[positives, i] + c[negatives, j] - log_sum)
    return log_sum, backward(r, a, xi, log_sum), backward(s, c, eta, log_sum), delta
