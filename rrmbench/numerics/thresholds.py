"""The thresholds behind projections on l1 balls and behind squared l1 norms, one for each row of a matrix."""

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.jit import kernel


@kernel
def row_thresholds(w, size, slack):
    """The theta_j >= 0 with sum_k (|w_jk| - theta_j)+ = size + slack theta_j, 0 where the sum at 0 is less.

    w is (rows, columns), the result (rows,).

    slack = 0: |w_j| cut off at theta_j is what is left of w_j outside of the l1 ball of radius `size`. size = 0:
    w_j soft-thresholded by theta_j has an l1 norm of slack theta_j.
    """
    thetas = np.empty(w.shape[0])
    work = np.empty(w.shape[1])
    for j in range(w.shape[0]):
        thetas[j] = threshold(w[j], size, slack, work)
    return thetas


@register_jitable
def threshold(row, size, slack, work):
    """One theta of `row_thresholds`: the greatest (sum of the k largest |row| - size) / (k + slack); row, work (k,).

    Any set of entries gives a lower bound in this way. The bounds by the largest one and by all of them leave few.
    """
    total, largest = 0.0, 0.0
    for x in row:
        total += abs(x)
        largest = max(largest, abs(x))
    theta = max(0.0, (largest - size) / (1.0 + slack), (total - size) / (row.shape[0] + slack))
    count = 0
    for x in row:
        if abs(x) > theta:
            work[count] = abs(x)
            count += 1
    return raised(theta, size, slack, work, count)[0]


@register_jitable
def raised(theta, size, slack, above, count):
    """`threshold` from a lower bound theta and the entries above it, above[:count]; return (threshold, new count).

    The bound by the entries above a bound is a greater one, until it is that of the entries above itself. `above` has
    these first then. It takes three or four rounds of additions, and no sorting.
    """
    while True:
        total = -size
        for k in range(count):
            total += above[k]
        bound = total / (count + slack)
        if not bound > theta:  # or NaN, of no entries and no slack
            return theta, count
        theta, left = bound, 0
        for k in range(count):
            x = above[k]
            above[left] = x
            left += x > theta
        count = left
