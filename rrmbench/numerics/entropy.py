"""Steps on the capped simplex {0 <= w <= cap, sum w = 1}: in the entropy geometry and in the Euclidean one.

Where cap is 1/n up to rounding, the uniform point is the only one.
"""

import math

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.box_hyperplane import weighted_projection
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import below
from rrmbench.numerics.whole_arrays import is_finite

EQUAL = 4e-16  # by how much a sum of n terms may be off 1, divided by n


def capped_softmax(theta, cap):
    """argmax theta.w - sum w log w over the capped simplex; a new array of theta's shape, NaN where theta diverges.

    w_i = min(cap, exp(theta_i - tau)) with sum 1: the m largest theta get cap, where m is the least number with

        (1 - m cap) exp(theta_(m+1)) / sum_(k > m) exp(theta_(k)) <= cap

    A random entry decides which part of the others holds theta_(m+1), as in quickselect, so that time is O(n) on
    average. Sums are kept relative to their greatest term: entries of theta may be far apart.
    """
    return np.exp(capped_log_softmax(theta, cap))


def capped_log_softmax(theta, cap):
    """log w of the w of `capped_softmax`, finite where w underflows."""
    flat = np.ascontiguousarray(theta, dtype=float).reshape(-1)
    logs = np.empty(flat.shape)
    _capped_log_softmax(flat, float(cap), logs)
    return logs.reshape(np.shape(theta))


@kernel
def _capped_log_softmax(theta, cap, logs):
    """Write the logarithms of the maximizer to logs; theta and logs are (n,)."""
    if not is_finite(theta):
        logs[:] = math.nan
        return
    n = theta.shape[0]
    if n * cap <= 1.0:
        logs[:] = -math.log(n)
        return
    rest, size, capped = theta.copy(), n, 0
    top, weight = -math.inf, 0.0  # sum of exp over the entries known to be below cap: weight exp(top)
    least = math.inf  # of the theta that get cap
    state = np.full(1, n, dtype=np.uint64)
    while size > 0:
        pivot = rest[below(state, size)]
        above, total = 0, weight * math.exp(top - pivot) if weight > 0.0 else 0.0
        for k in range(size):
            above += rest[k] > pivot
            total += math.exp(rest[k] - pivot) if rest[k] <= pivot else 0.0
        is_capped = 1.0 - (capped + above) * cap > cap * total
        kept = 0
        for k in range(size):
            x = rest[k]
            rest[kept] = x
            kept += (x < pivot) if is_capped else (x > pivot)
        if is_capped:
            capped += size - kept
            least = pivot
        else:
            top, weight = pivot, total
        size = kept
    log_cap, left, share = math.log(cap), 1.0 - capped * cap, 0.0
    if left > 4.0 * EQUAL and weight > 0.0:
        share = math.log(left / weight)
    else:  # what is left is rounding: tau is that of the last one to get cap
        top, share = least, log_cap
    for i in range(n):
        logs[i] = log_cap if theta[i] > top else min(log_cap, theta[i] - top + share)


@register_jitable
def wright_omega(x):
    """The v > 0 with v + log v = x, by Fritsch, Shafer and Crowley's iteration, which is of fourth order."""
    if x < -50.0:
        return math.exp(x)
    if x > 1e15:
        return x - math.log(x)
    v = math.exp(x) if x < -2.0 else 1.0 + 0.5 * (x - 1.0) + (x - 1.0) ** 2 / 16.0 if x < 4.0 else x - math.log(x)
    for _ in range(3):
        r = x - v - math.log(v)
        a = 2.0 * (v + 1.0) * (v + 1.0 + 2.0 / 3.0 * r)
        v *= 1.0 + r / (v + 1.0) * (a - r) / (a - 2.0 * r)
    return v


def entropic_projection(x, gamma, cap):
    """argmin gamma sum w log w + ||w - x||^2 / 2 over the capped simplex; a new array of x's shape.

    w_i = min(cap, root of gamma log w + w = x_i - eta), eta the root of sum w = 1, by Newton's method on the logarithm
    of the sum within a bracket. It starts at the eta of the greater of both terms at w_i = 1/n: that of the Euclidean
    projection, which is the solution for gamma = 0, or that of the entropy alone. NaN where x diverges.
    """
    flat = np.ascontiguousarray(x, dtype=float).reshape(-1)
    if not np.isfinite(flat).all():
        return np.full(np.shape(x), math.nan)
    n = flat.size
    if n * cap <= 1.0:
        return np.full(np.shape(x), 1.0 / n)
    if gamma * n <= 1.0:
        w = weighted_projection(flat, 1.0, 0.0, float(cap), 1.0, 1.0)
        if gamma == 0.0:
            return w.reshape(np.shape(x))
        eta = np.min(flat - w, where=w > 0.0, initial=np.inf)
    else:
        eta = np.min(flat - gamma * capped_log_softmax(flat / gamma, cap))
    w = np.empty(n)
    _entropic_projection(flat, float(gamma), float(cap), float(eta), w)
    return w.reshape(np.shape(x))


@kernel
def _entropic_projection(x, gamma, cap, eta, w):
    """Write the minimizer to w; x and w are (n,), gamma > 0, n cap > 1, and eta is where to begin."""
    n = x.shape[0]
    at_uniform = gamma * math.log(1.0 / n) + 1.0 / n
    low, high = np.min(x) - at_uniform, np.max(x) - at_uniform  # all w_i are >= 1/n at low, <= 1/n at high
    eta = min(max(eta, low), high)
    for _ in range(200):
        total, slope = _entropic_terms(x, gamma, cap, eta, w)
        if total >= 1.0:
            low = eta
        if total <= 1.0:
            high = eta
        new = eta + math.log(total) * total / slope if slope > 0.0 and total > 0.0 else 0.5 * (low + high)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(total - 1.0) <= EQUAL * n or new == eta:
            break
        eta = new
    _scale_below_cap(w, cap)


@kernel
def _entropic_terms(x, gamma, cap, eta, w):
    """Write the w of this eta; return their sum and minus its slope in eta."""
    total, slope, log_gamma = 0.0, 0.0, math.log(gamma)
    at_cap = eta + gamma * math.log(cap) + cap
    for i in range(x.shape[0]):
        if x[i] >= at_cap:
            w[i] = cap
        else:
            v = wright_omega((x[i] - eta) / gamma - log_gamma)
            w[i] = min(gamma * v, cap)
            slope += v / (1.0 + v)
        total += w[i]
    return total, slope


@kernel
def _scale_below_cap(w, cap):
    """Scale the entries below cap so that the sum is 1, which it was up to rounding."""
    at_cap, free = 0.0, 0.0
    for x in w:
        if x < cap:
            free += x
        else:
            at_cap += x
    if free <= EQUAL * w.shape[0]:  # the others are 1 up to rounding
        return
    scale = max(1.0 - at_cap, 0.0) / free
    for i in range(w.shape[0]):
        w[i] = min(w[i] * scale, cap) if w[i] < cap else w[i]
