"""Points of the ball {gamma ||w||_1 + ||w||_2^2 / 2 <= r}, in time O(n) [AGM, section 5.5.2]."""

import math

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import below


def ball_point(u, gamma, r):
    """(m, w): w maximizes u.w over the ball, w_i = (u_i/m - gamma)+, for u >= 0; w has u's shape.

    m > 0 is the multiplier of the constraint, the root of

        m^2 (2 r + |A| gamma^2) = sum_A u_i^2,    A = {i : u_i > m gamma}.

    For u = 0 it is m = 0, w = 0. The projection of g on the ball is w with the signs of g for u = |g| + gamma, if g is
    outside: w_i (1 + l) = |g_i| - l gamma with l = m - 1. (The equation is the corrected h(l) = 0 of the paper.)
    A random entry decides which of the others are in A, as in quickselect, so that time is O(n) on average.
    """
    flat = np.ascontiguousarray(u, dtype=float).reshape(-1)
    scale = float(np.max(flat, initial=0.0))  # m is homogeneous in u; squares must not overflow
    if scale == 0.0:
        return 0.0, np.zeros(np.shape(u))
    if not math.isfinite(scale):
        return math.nan, np.full(np.shape(u), math.nan)
    m = _multiplier(flat / scale, float(gamma), float(r))
    return m * scale, np.maximum(u / (m * scale) - gamma, 0.0)


@kernel
def _multiplier(u, gamma, r):
    """The m of `ball_point`; u (n,) is overwritten."""
    size, count, squares = u.shape[0], 0, 0.0  # count and squares are of entries known to be in A
    state = np.full(1, size, dtype=np.uint64)
    while size > 0:
        pivot = u[below(state, size)]
        above, total = count, squares
        for k in range(size):
            above += u[k] > pivot
            total += u[k] * u[k] if u[k] > pivot else 0.0
        pivot_is_out = pivot * pivot * (2.0 * r + above * gamma * gamma) < gamma * gamma * total
        kept = 0
        for k in range(size):
            x = u[k]
            u[kept] = x
            if pivot_is_out:
                kept += x > pivot
            else:
                kept += x < pivot
                count += x >= pivot
                squares += x * x if x >= pivot else 0.0
        size = kept
    return math.sqrt(squares / (2.0 * r + count * gamma * gamma))
