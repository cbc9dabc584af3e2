"""The Euclidean projection on a box cut by a half-space, exactly [Pdprox, Lemma 13].

`box_hyperplane.weighted_projection` could do it, in two to six times the time: it has four arrays where this has two.
"""

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import below
from rrmbench.numerics.tolerances import PARTIAL_SUM


def project(a, s, v, rho):
    """argmin ||alpha - a||^2 over 0 <= alpha_i <= s, sum v_i alpha_i <= rho.

    alpha_i = clip(a_i - eta v_i, 0, s), where eta = 0 if that meets the constraint, and else solves (17):

        sum_i v_i clip(a_i - eta v_i, 0, s) = rho.

    The left side is piecewise linear in eta, with breakpoints (a_i - s)/v_i and a_i/v_i. The piece that holds the root
    is found as quickselect finds a median, in time O(n) on average, and its linear equation solved.

    Parameters
    ----------
    a : (n,) the point
    s : float > 0, possibly inf
    v : (n,) weights >= 0
    rho : float >= 0
    """
    alpha = np.empty(a.shape)
    _project(a, float(s), v, float(rho), alpha)
    return alpha


@kernel
def _project(a, s, v, rho, alpha):
    """As `project`, written to `alpha` (n,)."""
    total, _ = _left_side(a, s, v, 0.0, 0.0)
    eta, rest = 0.0, 0.0
    if total > rho:
        eta = _root(a, s, v, rho)
        # eta + rest is eta in twice the precision, since a_i - eta may be much smaller than a_i
        for _ in range(2):
            total, slope = _left_side(a, s, v, eta, rest)
            if slope > 0.0:
                rest += (total - rho) / slope
    for i in range(a.shape[0]):
        alpha[i] = min(max(a[i] - eta * v[i] - rest * v[i], 0.0), s)


@kernel
def _left_side(a, s, v, eta, rest):
    """The left side of (17) at eta + rest, and minus its slope there; a and v are (n,)."""
    total, slope, n = 0.0, 0.0, a.shape[0]
    for begin in range(0, n, PARTIAL_SUM):
        part = 0.0
        for i in range(begin, min(begin + PARTIAL_SUM, n)):
            t = a[i] - eta * v[i] - rest * v[i]
            part += min(max(t, 0.0), s) * v[i]
            slope += v[i] * v[i] if 0.0 < t < s else 0.0
        total += part
    return total, slope


@kernel
def _root(a, s, v, rho):
    """The eta > 0 that solves (17), whose left side exceeds rho at eta = 0; a and v are (n,).

    The root stays between `low` and `high`. An entry leaves the list when none of its breakpoints is between them any
    more: then it is 0, or s, or linear in eta over the whole interval.
    """
    a, v, high = _positive(a, v)
    low, size, fixed, slope = 0.0, a.shape[0], 0.0, 0.0
    state = np.full(1, size, dtype=np.uint64)
    while True:
        kept = 0
        for k in range(size):  # without branches, which random entries would mispredict
            x, weight = a[k], v[k]
            lower, upper = (x - s) / weight, x / weight
            stays = (low < lower < high) | (low < upper < high)
            at_s = lower >= high
            linear = (not stays) & (not at_s) & (upper >= high)
            a[kept], v[kept] = x, weight
            kept += stays
            fixed += (s * weight if at_s else 0.0) + (x * weight if linear else 0.0)
            slope += weight * weight if linear else 0.0
        size = kept
        if size == 0:
            return min(max((fixed - rho) / slope, low), high) if slope > 0.0 else high
        k = below(state, size)
        eta = (a[k] - s) / v[k]
        if not low < eta < high:
            eta = a[k] / v[k]
        total, _ = _left_side(a[:size], s, v[:size], eta, 0.0)
        if total + fixed - eta * slope > rho:
            low = eta
        else:
            high = eta


@kernel
def _positive(a, v):
    """Copies (size,) of the entries of a and v (n,) that depend on eta >= 0, and their last breakpoint."""
    kept_a, kept_v, size, high = np.empty(a.shape[0]), np.empty(a.shape[0]), 0, 0.0
    for i in range(a.shape[0]):
        matters = (a[i] > 0.0) & (v[i] > 0.0)
        kept_a[size], kept_v[size] = a[i], v[i]
        high = max(high, a[i] / v[i]) if matters else high
        size += matters
    return kept_a[:size], kept_v[:size], high
