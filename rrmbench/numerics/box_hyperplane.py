"""The weighted projection on a box cut by a hyperplane, in time O(n) [AGM, section 5.5.1]."""

import math

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import below
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING, PARTIAL_SUM

EQUAL = 1e-14  # by how much the sum may be off where F is flat, relative to the sum of all terms


def weighted_projection(m, weights, lower, upper, sigma, z):
    """argmin (1/2) sum weights_i (a_i - m_i)^2  over  lower <= a <= upper,  sum sigma_i a_i = z;  a new array (n,).

    a_i = clip(m_i + t sigma_i / weights_i, lower_i, upper_i), where t is the root of

        F(t) = sum_i sigma_i clip(m_i + t sigma_i / weights_i, lower_i, upper_i) = z,

    a nondecreasing, piecewise linear function with up to 2n kinks. Algorithm 8 halves the kinks around the root by
    their median; here a random kink takes the place of the median, as in quickselect, so that time is O(n) on average
    for every input. Kinks that are equal to an end of the bracket are dropped with it, so duplicates cost nothing.
    The sum is z up to rounding even where t and m are so large that F jumps between adjacent floats.

    Parameters
    ----------
    m : (n,) finite
    weights : float or (n,), > 0
    lower, upper : float or (n,), lower <= upper, possibly infinite
    sigma : (n,) finite, of any sign
    z : float

    Raises RrmbenchError if no a in the box has this sum.
    """
    m = np.ascontiguousarray(m, dtype=float)
    weights, lower, upper, sigma = (_filled(x, m.shape) for x in (weights, lower, upper, sigma))
    a = np.empty(m.shape)
    least, greatest = _weighted_projection(m, weights, lower, upper, sigma, float(z), a)
    if not least <= z <= greatest:
        raise RrmbenchError(
            f"the projection on a box and a hyperplane: found sum sigma_i a_i = {z:.17g}, allowed is a number between "
            f"{least:.17g} and {greatest:.17g}, the sums of the box"
        )
    return a


def _filled(x, shape):
    return np.ascontiguousarray(np.broadcast_to(np.asarray(x, dtype=float), shape))


@kernel
def _weighted_projection(m, weights, lower, upper, sigma, z, a):
    """Write the projection to a; return the least and the greatest z that the box allows, up to rounding.

    In h_i = sigma_i a_i every term is clip(c_i + t r_i, lo_i, hi_i) with r_i > 0. All arrays are (n,).
    """
    n = m.shape[0]
    c, r, lo, hi = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    size, least, greatest, scale = 0, 0.0, 0.0, 0.0
    for i in range(n):
        a[i] = min(max(m[i], lower[i]), upper[i])
        if sigma[i] != 0.0:
            p, q = sigma[i] * lower[i], sigma[i] * upper[i]
            c[size], r[size] = sigma[i] * m[i], sigma[i] * sigma[i] / weights[i]
            lo[size], hi[size] = min(p, q), max(p, q)
            least += lo[size]
            greatest += hi[size]
            for bound in (p, q):
                scale += abs(bound) if abs(bound) < math.inf else 0.0
            size += 1
    if size > 0 and least - DOMAIN_ROUNDING * scale <= z <= greatest + DOMAIN_ROUNDING * scale:
        z = min(max(z, least), greatest)
        c, r, lo, hi = c[:size], r[:size], lo[:size], hi[:size]
        h = np.empty(size)
        _terms(c, r, lo, hi, z, _root(c.copy(), r.copy(), lo.copy(), hi.copy(), z), h)
        k = 0
        for i in range(n):
            if sigma[i] != 0.0:
                a[i] = min(max(h[k] / sigma[i], lower[i]), upper[i])
                k += 1
    return least - DOMAIN_ROUNDING * scale, greatest + DOMAIN_ROUNDING * scale


@kernel
def _sum(c, r, lo, hi, t, rest):
    """F and its slope at t + rest."""
    total, slope, n = 0.0, 0.0, c.shape[0]
    for begin in range(0, n, PARTIAL_SUM):
        part = 0.0
        for i in range(begin, min(begin + PARTIAL_SUM, n)):
            x = c[i] + t * r[i] + rest * r[i]
            part += min(max(x, lo[i]), hi[i])
            slope += r[i] if lo[i] < x < hi[i] else 0.0
        total += part
    return total, slope


@kernel
def _root(c, r, lo, hi, z):
    """A t with F(t) = z, up to rounding, known to exist. The arrays are overwritten.

    The root stays between `low` and `high`. An entry leaves the list when none of its kinks is between them any more:
    then it is lo, or hi, or linear in t over the whole interval.
    """
    low, high, size, fixed, slope = -math.inf, math.inf, c.shape[0], 0.0, 0.0
    state = np.full(1, size, dtype=np.uint64)
    while True:
        kept = 0
        for k in range(size):  # without branches, which random entries would mispredict
            x, rate, bottom, top = c[k], r[k], lo[k], hi[k]
            first, last = (bottom - x) / rate, (top - x) / rate
            stays = (low < first < high) | (low < last < high)
            at_lo = (not stays) & (first >= high)
            at_hi = (not stays) & (not at_lo) & (last <= low)
            linear = not (stays | at_lo | at_hi)
            c[kept], r[kept], lo[kept], hi[kept] = x, rate, bottom, top
            kept += stays
            fixed += (bottom if at_lo else 0.0) + (top if at_hi else 0.0) + (x if linear else 0.0)
            slope += rate if linear else 0.0
        size = kept
        if size == 0:
            if slope > 0.0:
                return min(max((z - fixed) / slope, low), high)
            return low if low > -math.inf else high if high < math.inf else 0.0
        k = below(state, size)
        t = (lo[k] - c[k]) / r[k]
        if not low < t < high:
            t = (hi[k] - c[k]) / r[k]
        total, _ = _sum(c[:size], r[:size], lo[:size], hi[:size], t, 0.0)
        if total + fixed + t * slope > z:
            high = t
        else:
            low = t


@kernel
def _terms(c, r, lo, hi, z, t, h):
    """Write h_i = clip(c_i + t r_i, lo_i, hi_i) after t is corrected, so that they sum to z up to rounding."""
    rest = 0.0
    # t + rest is t in twice the precision, since c_i + t r_i may be much smaller than c_i
    for _ in range(2):
        total, slope = _sum(c, r, lo, hi, t, rest)
        if slope > 0.0:
            rest += (z - total) / slope
    total, slope = _sum(c, r, lo, hi, t, rest)
    scale = 0.0
    for i in range(h.shape[0]):
        h[i] = min(max(c[i] + t * r[i] + rest * r[i], lo[i]), hi[i])
        scale += abs(h[i])
    if slope > 0.0 or abs(total - z) <= EQUAL * scale:
        return
    # F jumps over z between floats: a mixture of the terms at this t and at a next one that is on the other side
    direction = 1.0 if total < z else -1.0
    step, other = abs(t) * 2.0**-53 + 2.0**-1000, total
    while (other - z) * direction < 0.0 and step < math.inf:
        step *= 2.0
        other, _ = _sum(c, r, lo, hi, t + direction * step, rest)
    share = (z - total) / (other - total) if other != total else 0.0
    for i in range(h.shape[0]):
        x = min(max(c[i] + (t + direction * step) * r[i] + rest * r[i], lo[i]), hi[i])
        h[i] += share * (x - h[i])
