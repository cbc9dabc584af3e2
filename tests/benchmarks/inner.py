"""Time the O(n) inner solvers of AGM, section 5.5, next to versions of them that sort, in ns per entry.

    python tests/benchmarks/inner.py [greatest power of ten]

The sorting versions are numpy's; tests compare the results of both.
"""

import sys
import time

import numpy as np

from rrmbench.numerics.box_hyperplane import weighted_projection
from rrmbench.numerics.elastic_net_ball import ball_point
from rrmbench.numerics.entropy import capped_softmax

ROUNDS = 3


def sorted_projection(m, weights, lower, upper, sigma, z):
    """As `weighted_projection`, for sigma without zeros: all kinks sorted, F summed up over them."""
    c, r = sigma * m, sigma**2 / weights
    lo, hi = np.minimum(sigma * lower, sigma * upper), np.maximum(sigma * lower, sigma * upper)
    first, last = (lo - c) / r, (hi - c) / r
    finite = [np.isfinite(first), np.isfinite(last)]
    kinks = np.concatenate([first[finite[0]], last[finite[1]]])
    order = np.argsort(kinks)
    kinks = kinks[order]
    slopes = np.sum(r[~finite[0]]) + np.cumsum(np.concatenate([r[finite[0]], -r[finite[1]]])[order])
    at_first = np.clip(c + kinks[0] * r, lo, hi).sum()
    values = at_first + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(kinks))])
    k = np.searchsorted(values, z)  # the root is between the kinks k - 1 and k
    if k == 0:
        slope = np.sum(r[~finite[0]])
        t = kinks[0] + ((z - values[0]) / slope if slope > 0.0 else 0.0)
    else:
        t = kinks[k - 1] + ((z - values[k - 1]) / slopes[k - 1] if slopes[k - 1] > 0.0 else 0.0)
    return np.clip(c + t * r, lo, hi) / sigma


def sorted_softmax(theta, cap):
    """As `capped_softmax`: theta sorted, the sums of its tails by logaddexp."""
    if theta.size * cap <= 1.0:
        return np.full(theta.shape, 1.0 / theta.size)
    order = np.argsort(-theta)
    ordered = theta[order]
    tails = np.logaddexp.accumulate(ordered[::-1])[::-1]
    left = 1.0 - np.arange(theta.size) * cap
    m = np.flatnonzero(left * np.exp(ordered - tails) <= cap)[0]
    w = np.empty(theta.shape)
    w[order[:m]], w[order[m:]] = cap, max(left[m], 0.0) * np.exp(ordered[m:] - tails[m])
    return w


def sorted_ball_point(u, gamma, r):
    """As `ball_point`: u sorted, the multiplier of each number of largest entries."""
    ordered = np.sort(u)[::-1]
    m = np.sqrt(np.cumsum(ordered**2) / (2.0 * r + np.arange(1, u.size + 1) * gamma**2))
    inside = np.flatnonzero(ordered > m * gamma)
    m = m[inside[-1]] if inside.size else 0.0
    return m, np.maximum(u / m - gamma, 0.0) if m > 0.0 else np.zeros(u.shape)


def cases(n):
    """(label, O(n), sorting) for random problems of the size n."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    m, theta = 10.0 * (1.0 - y * rng.standard_normal(n)), 2.0 * rng.standard_normal(n)
    box = m, np.ones(n), np.zeros(n), np.ones(n), y, 0.0
    u = np.abs(theta) + 0.1
    yield "box and hyperplane", lambda: weighted_projection(*box), lambda: sorted_projection(*box)
    yield "capped softmax", lambda: capped_softmax(theta, 5.0 / n), lambda: sorted_softmax(theta, 5.0 / n)
    yield "elastic-net ball", lambda: ball_point(u, 0.1, 1.0), lambda: sorted_ball_point(u, 0.1, 1.0)


def seconds(function):
    """The least CPU time of a call."""
    times = []
    for _ in range(ROUNDS + 1):  # the first one compiles
        begin = time.thread_time()
        function()
        times.append(time.thread_time() - begin)
    return min(times[1:])


def main(power=6):
    print(f"{'ns per entry':20s} {'n':>9s} {'O(n)':>8s} {'sorting':>8s}")
    for n in 10 ** np.arange(3, power + 1):
        for label, linear, sorting in cases(int(n)):
            print(f"{label:20s} {n:9d} {1e9 * seconds(linear) / n:8.1f} {1e9 * seconds(sorting) / n:8.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
