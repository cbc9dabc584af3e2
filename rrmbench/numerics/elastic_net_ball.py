"""Points of the ball {gamma ||w||_1 + ||w||_2^2 / 2 <= r}, in time O(n) [AGM, section 5.5.2]."""

import math

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import below


def ball_point(u, gamma, r, shift=0.0):
    """(m, w): w maximizes (u + shift).w over the ball, for u >= 0; w is shaped like u. Both are 0 for u + shift = 0.

    w_i = ((u_i + shift)/m - gamma)+, m > 0 the multiplier of the constraint, the root of

        m^2 (2 r + |A| gamma^2) = sum_A (u_i + shift)^2,    A = {i : u_i + shift > m gamma}.

    The projection of g on the ball is w with the signs of g for u = |g| and shift = gamma, if g is outside:
    w_i (1 + l) = |g_i| - l gamma with l = m - 1. (The equation is the corrected h(l) = 0 of the paper.)

    Where gamma^2 is much greater than r, u/m and gamma agree in all digits. So the unknown is e = M - m gamma for the
    greatest entry M of u + shift, and w_i = (e - a_i)+ / m with the differences a_i = M - u_i - shift, which have their
    digits; e^2 - 2 M e + C = 0, C = (gamma^2 sum_A a_i (M - a_i/2) + r M^2) / (r + |A| gamma^2/2).
    A random entry decides which of the others are in A, as in quickselect, so that time is O(n) on average.
    """
    flat = np.ascontiguousarray(u, dtype=float).reshape(-1)
    most = float(np.max(flat, initial=0.0))
    M = most + shift  # all is homogeneous in M; squares must not overflow
    if M == 0.0:
        return 0.0, np.zeros(np.shape(u))
    if not math.isfinite(M):
        return math.nan, np.full(np.shape(u), math.nan)
    m, e = _multiplier((most - flat) / M, float(gamma), float(r))
    if m * gamma <= 0.5:
        return m * M, np.maximum((np.asarray(u) / M + shift / M) / m - gamma, 0.0)
    return m * M, np.maximum(e - (most - np.asarray(u)) / M, 0.0) / m


@kernel
def _multiplier(a, gamma, r):
    """The m and e of `ball_point` for M = 1; a (n,), the least of them 0, is overwritten."""
    size, count, first, second = a.shape[0], 0, 0.0, 0.0  # count, sums of a and of a^2 over entries known to be in A
    squares = gamma * gamma
    state = np.full(1, size, dtype=np.uint64)
    while size > 0:
        pivot = a[below(state, size)]
        nearer, total, square = count, first, second
        for k in range(size):
            if a[k] < pivot:
                nearer += 1
                total += a[k]
                square += a[k] * a[k]
        gained = nearer * pivot * (1.0 - 0.5 * pivot) - total + 0.5 * square
        pivot_is_out = r * (1.0 - pivot) * (1.0 - pivot) <= squares * gained
        kept = 0
        for k in range(size):
            x = a[k]
            a[kept] = x
            if pivot_is_out:
                kept += x < pivot
            else:
                kept += x > pivot
                if x <= pivot:
                    count += 1
                    first += x
                    second += x * x
        size = kept
    C = (squares * (first - 0.5 * second) + r) / (r + 0.5 * count * squares)
    of_squares = count - 2.0 * first + second  # sum of (1 - a_i)^2
    return math.sqrt(of_squares / (2.0 * r + count * squares)), C / (1.0 + math.sqrt(max(1.0 - C, 0.0)))
