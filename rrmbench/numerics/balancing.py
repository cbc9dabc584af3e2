"""The shift beta at which the dual points of a scalar loss sum to zero: an unregularized bias, minimized exactly.

With b_i(beta) = argmax_b  b (z_i + beta) - phi*(b) - (mu/2) b^2, the sum of the b_i is n times the derivative of the
mean of phi^mu(z_i + beta) in beta. It does not decrease, so its root lies in a bracket [low, high], which inverse
parabolas and bisections narrow. An entry leaves the list when b_i is the same at both ends: where b_i takes few values,
as without smoothing, the list soon is short.
"""

import math

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.tolerances import PARTIAL_SUM

ROUNDING = 1e-14  # a sum is zero if it is at most this part of the sum of magnitudes
GROWTH, LEAP = 8.0, 1e-6  # the steps to a bracket grow by a factor, and by their own size where they are large
SAMPLES = 64  # the first guess is from every 64th sample, where these are so many at least
FARTHEST = 1e308  # no root is looked for beyond
FAILURES = 3  # steps in a row that do not halve the bracket
ARITHMETIC = 40  # bisections by the mean; later ones also go through the exponents


def balance(loss, mu, z, y, side, b):
    """Write to b the dual points at the root, and return the ends (low, high) of an interval that holds it.

    low == high where the sum vanishes there to rounding. Else these are adjacent numbers between which the sum changes
    its sign, and b is the point between the dual points of both whose sum is zero. Where all beta of an interval are
    roots, `side` says which is wanted: -1 the least, 1 the greatest, 0 any. An end that does not exist is infinite.

    z, y, b : (n,)
    side : float
    """
    start, step = _guess(loss, mu, z, y)
    return _balanced(loss, mu, z, y, side, start, step, b)


def _guess(loss, mu, z, y):
    """The root of a few samples, and how far it is from that of a few others; (0, 0) for short lists."""
    if z.shape[0] < SAMPLES * SAMPLES:
        return 0.0, 0.0
    ends = []
    for k in range(2):
        some, labels = z[k::SAMPLES].copy(), y[k::SAMPLES].copy()
        labels.flags.writeable = y.flags.writeable  # the same kernel as for all samples
        ends.append(_balanced(loss, mu, some, labels, 0.0, 0.0, 0.0, np.empty(some.size))[0])
    away = abs(ends[1] - ends[0])
    return (0.5 * ends[0] + 0.5 * ends[1], away) if away < FARTHEST else (0.0, 0.0)


@kernel
def _balanced(loss, mu, z, y, side, beta, step, b):
    """`balance`, the search starting at beta with a step of this length, or with a step of its own for 0."""
    n = z.shape[0]
    at_low, at_high, trial = np.empty(n), np.empty(n), np.empty(n)
    low, high, below, above = -math.inf, math.inf, 0.0, 0.0
    while low == -math.inf or high == math.inf:
        total, size = _sums(loss, mu, z, y, beta, trial)
        sign = _sign(total, size, side)
        if sign == 0.0 or math.isnan(total):
            _copy(trial, b)
            return beta, beta
        if sign < 0.0:
            low, below = beta, total
            at_low, trial = trial, at_low
        else:
            high, above = beta, total
            at_high, trial = trial, at_high
        if abs(beta) >= FARTHEST:
            _copy(at_low if sign < 0.0 else at_high, b)
            return -sign * math.inf, -sign * math.inf
        if step == 0.0:  # the slope is n / (conjugate_convexity + mu) at most: a shorter step would not reach the root
            step = max(abs(total) / n * (loss.conjugate_convexity + mu), 1.0)
        beta = min(max(beta - math.copysign(step, sign), -FARTHEST), FARTHEST)
        step *= max(GROWTH, LEAP * step)
    return _narrowed(loss, mu, z, y, side, low, high, below, above, at_low, at_high, trial, b)


@kernel
def _narrowed(loss, mu, z, y, side, low, high, below, above, at_low, at_high, trial, b):
    """`_balanced` from a bracket [low, high] on: the sums at its ends are `below` < 0 < `above`."""
    z, y, place = z.copy(), y.copy(), np.arange(z.shape[0])
    fixed, magnitude, size = 0.0, 0.0, z.shape[0]
    # the last point, the end on the other side of the root, and the part of the way there
    beta, last, other, opposite = low, below, high, above
    t, failures, bisections = below / (below - above), 0, 0
    while True:
        size, fixed, magnitude = _dropped(z, y, place, at_low, at_high, size, fixed, magnitude, b)
        width, before, former = high - low, beta, last
        if failures > FAILURES:
            beta, failures = _middle(low, high, bisections > ARITHMETIC), 0
            bisections += 1
        else:
            beta = before + t * (other - before)
        if not low < beta < high:
            beta = np.nextafter(before, other)
        if not low < beta < high:
            break
        total, sizes = _sums(loss, mu, z[:size], y[:size], beta, trial)
        last = total + fixed
        sign = _sign(last, sizes + magnitude, side)
        if sign == 0.0:
            _put(place, trial, trial, 0.0, size, b)
            return beta, beta
        if sign < 0.0:
            low, below = beta, last
            at_low, trial = trial, at_low
        else:
            high, above = beta, last
            at_high, trial = trial, at_high
        third, value = before, former
        if (beta == low) != (before < beta):  # the point before lies on the other side of the root
            third, value, other, opposite = other, opposite, before, former
        t = _part(beta, other, third, last, opposite, value)
        failures = failures + 1 if high - low > 0.5 * width else 0
    _put(place, at_low, at_high, below / (below - above), size, b)
    return low, high


@kernel
def _part(x1, x2, x3, f1, f2, f3):
    """The t for which x1 + t (x2 - x1) is the root of the inverse parabola through three points, where that is safe.

    Else 1/2 [Chandrupatla 1997]. x1 and x2 are on different sides of the root.
    """
    xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
        return f1 / (f2 - f1) * (f3 / (f2 - f3)) + (x3 - x1) / (x2 - x1) * (f1 / (f3 - f1)) * (f2 / (f3 - f2))
    return 0.5


@kernel
def _sums(loss, mu, z, y, beta, b):
    """Write the dual points at z + beta to b; return their sum and that of their magnitudes."""
    total, size, n = 0.0, 0.0, z.shape[0]
    for begin in range(0, n, PARTIAL_SUM):
        part, magnitude = 0.0, 0.0
        for i in range(begin, min(begin + PARTIAL_SUM, n)):
            b[i] = loss.dual_point(z[i] + beta, y[i], mu)
            part += b[i]
            magnitude += abs(b[i])
        total += part
        size += magnitude
    return total, size


@kernel
def _sign(total, size, side):
    """The sign of a sum; of one that is zero, the sign that leads to the wanted end of the roots."""
    if abs(total) <= ROUNDING * size:
        return -side
    return math.copysign(1.0, total)


@kernel
def _dropped(z, y, place, at_low, at_high, size, fixed, magnitude, b):
    """Keep in the list the entries that change within the bracket; add up the others, whose b is known."""
    kept = 0
    for k in range(size):
        changes = at_low[k] != at_high[k]
        fixed += 0.0 if changes else at_low[k]
        magnitude += 0.0 if changes else abs(at_low[k])
        b[place[k]] = at_low[k]
        z[kept], y[kept], place[kept], at_low[kept], at_high[kept] = z[k], y[k], place[k], at_low[k], at_high[k]
        kept += changes
    return kept, fixed, magnitude


@kernel
def _put(place, at_low, at_high, t, size, b):
    """Write at_low + t (at_high - at_low) to the places of the list."""
    for k in range(size):
        b[place[k]] = at_low[k] + t * (at_high[k] - at_low[k])


@kernel
def _copy(a, b):
    """Write a (n,) to b (n,): of `b[:] = a` numba would compile the error for other shapes, which takes seconds."""
    for i in range(a.shape[0]):
        b[i] = a[i]


@kernel
def _middle(low, high, by_exponent):
    """The mean of two numbers, or, for ends of different orders of magnitude, the geometric one: 64 such at most."""
    if by_exponent and low < 0.0 < high:
        return 0.0
    near, far = min(abs(low), abs(high)), max(abs(low), abs(high))
    if by_exponent and near < 0.25 * far:
        return math.copysign(math.sqrt(max(near, 5e-324)) * math.sqrt(far), low + high)
    return 0.5 * low + 0.5 * high
