"""Rows (k,) of dual variables of losses on the margins z_j - z_y of k classes, y the class of the sample.

b_j >= 0 for j != y, their sum at most 1 (to rounding, 1e-12), and b_y = -sum of the others: with 1 more at y, b is the
shares of the classes, a distribution. Those of losses with exponentials are the solution of equations, `write_shares`.
"""

import math

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.exponentials import exp_of_minus
from rrmbench.numerics.jit import plus
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING

RADIUS = math.sqrt(2.0)  # of b, for every number of classes
STEPS = 100  # of Newton's method at most: 4 to 28 were seen
LAST_STEP = 1e-8  # of the logarithms of probabilities
ROUNDING = 1e-15  # of the greatest h_j, by which equations for them may be off


@register_jitable
def total_of(b, y):
    """The sum of b_j over j != y, or NaN where b is not in their domain."""
    total = 0.0
    for j in range(b.shape[0]):
        if j != y:
            if b[j] < 0.0:
                return math.nan
            total += b[j]
    if total > 1.0 + DOMAIN_ROUNDING or abs(total + b[y]) > DOMAIN_ROUNDING:
        return math.nan
    return min(total, 1.0)


@register_jitable(forceinline=True)
def sum_of_others(b, y):
    """The sum of b_j over j != y."""
    total = 0.0
    for j in range(y):
        total = plus(total, b[j])
    for j in range(y + 1, b.shape[0]):
        total = plus(total, b[j])
    return total


@register_jitable
def close_row(b, y):
    """Set b_y to minus the sum of the others, scaled down first where rounding has brought it above 1."""
    total = sum_of_others(b, y)
    if total > 1.0:
        for j in range(b.shape[0]):
            b[j] /= total
        total = 1.0
    b[y] = -total


@register_jitable(forceinline=True)
def share_out(b, c):
    """Write b_j / sum_l b_l - [j = c] to b (k,) >= 0, with the sum 0."""
    total = 0.0
    for j in range(b.shape[0]):
        total = plus(total, b[j])
    scale = 1.0 / total
    for j in range(b.shape[0]):
        b[j] *= scale
    close_row(b, c)


@register_jitable
def write_shares(h, m, p):
    """Write the p_j with log p_j + m_j p_j = h_j - eta, eta so that their sum is 1, to p (k,); h and m >= 0 are (k,).

    Newton's method on all t_j = -log p_j and eta at once, in eta on the logarithm of the sum. t - m e^-t is concave, so
    that a tangent leads to a t_j that is at most the root for its eta: a sum of p below 1 bounds the eta that is sought
    from above, one of the lower bounds p_j (1 - residual_j) above 1 bounds it from below. A step beyond a bound goes
    half the way to it. Steps converge quadratically, so that those of 1e-8 are the last, or those that are rounding.
    """
    k = h.shape[0]
    most, low, high, largest = math.log(k), -math.inf, -math.inf, 0.0
    for j in range(k):
        low = max(low, h[j] - m[j])  # where the greatest p_j is 1
        high = max(high, h[j] - m[j] / k + most)  # and where it is 1/k
        largest = max(largest, abs(h[j]))
    work, eta, rounding = np.empty((3, k)), high, ROUNDING * largest
    t, ahead, gain = work[0], work[1], work[2]
    for j in range(k):
        t[j] = max(eta - h[j], most)
    for _ in range(STEPS):
        total, lower, linear, slope, moved = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(k):
            p[j] = exp_of_minus(t[j])
            gain[j] = 1.0 / (1.0 + m[j] * p[j])
            residual = eta - h[j] - t[j] + m[j] * p[j]
            ahead[j] = t[j] + residual * gain[j]
            total = plus(total, p[j])
            lower = plus(lower, p[j] * max(1.0 - residual, 0.0))
            linear = plus(linear, p[j] * (1.0 - residual * gain[j]))
            slope = plus(slope, p[j] * gain[j])
        if total < 1.0:
            high = min(high, eta)
        if lower > 1.0:
            low = max(low, eta)
        new = eta + (math.log(linear) * linear if linear > 0.0 else linear - 1.0) / slope
        if new > high:
            new = 0.5 * (eta + high)
        elif new < low:
            new = 0.5 * (eta + low)
        for j in range(k):
            before = t[j]
            t[j] = max(ahead[j] + (new - eta) * gain[j], max(new - h[j], 0.0))
            beyond = max(abs(t[j] - before) - rounding * gain[j], 0.0)
            moved = plus(moved, beyond * beyond)
        eta = new
        if moved <= LAST_STEP * LAST_STEP:
            break
    for j in range(k):
        p[j] = exp_of_minus(t[j])
