"""The multinomial logistic loss, of softmax regression, on the k outputs of a matrix-valued model.

The label y is a class index 0 .. k-1 stored as a float. b is as in `rrmbench.numerics.class_shares`; mu and q of
`dual_point_row` both penalize ||b||^2 = sum_{j != y} b_j^2 + (sum_{j != y} b_j)^2, at most 2.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.circulation import balanced_classes
from rrmbench.numerics.class_shares import RADIUS, share_out, sum_of_others, total_of, write_shares
from rrmbench.numerics.exponentials import exp_of_minus
from rrmbench.numerics.output_rows import squares
from rrmbench.registry import loss


@register_jitable(forceinline=True)
def write_distances(z, e):
    """Write max_l z_l - z_j >= 0 to e (k,); return the maximum."""
    top = -math.inf
    for j in range(z.shape[0]):
        top = max(top, z[j])
    for j in range(z.shape[0]):
        e[j] = top - z[j]
    return top


@register_jitable(forceinline=True)
def exponentiate(e):
    """Write e^-e_j to e (m,), of entries >= 0; of several rows in one loop, which computes several at once."""
    for j in range(e.shape[0]):
        e[j] = exp_of_minus(e[j])


@register_jitable(forceinline=True)
def log_sum(e, below, c):
    """log sum_j e^(z_j - z_c) of e_j = e^(z_j - max z) and below = max z - z_c, exact where the others are small."""
    own = math.expm1(-below) if below > 0.0 else 0.0
    return below + math.log1p(sum_of_others(e, c) + own)


class MultinomialLogistic(NamedTuple):
    """phi(z) = log sum_j exp(z_j) - z_y,  phi*(b) = sum_j p_j log p_j for the distribution p = b + e_y.

    The step of SDCA, option I, has no closed form: p_j solves log p_j + m p_j = t_j + m [j = y] - eta for m = mu + q,
    t = p' + q b, p' = x_i.w, q = ||x_i||^2/(s n), and eta is the root of sum_j p_j = 1. phi is (1/2)-smooth, as the sum
    of the absolute values of a zero-sum vector is at least sqrt(2) times its norm [Pinsker's inequality].
    """

    conjugate_convexity: float = 2.0
    lipschitz: float = RADIUS
    outputs = "vector"

    def spread(self, k):
        return 1.0

    def value_row(self, z, y):
        e = np.empty(z.shape[0])
        top = write_distances(z, e)
        exponentiate(e)
        return log_sum(e, top - z[int(y)], int(y))

    def value_rows(self, z, y, values):
        e = np.empty(z.shape)
        for i in range(z.shape[0]):
            values[i] = write_distances(z[i], e[i]) - z[i, int(y[i])]
        exponentiate(e.reshape(-1))
        for i in range(z.shape[0]):
            values[i] = log_sum(e[i], values[i], int(y[i]))

    def dual_point_rows(self, z, y, b):
        for i in range(z.shape[0]):
            write_distances(z[i], b[i])
        exponentiate(b.reshape(-1))
        for i in range(z.shape[0]):
            share_out(b[i], int(y[i]))

    def conjugate_row(self, b, y):
        c = int(y)
        s = total_of(b, c)
        if math.isnan(s):
            return math.inf
        total = (1.0 - s) * math.log1p(-s) if s < 1.0 else 0.0
        for j in range(b.shape[0]):
            if j != c and b[j] > 0.0:
                total += b[j] * math.log(b[j])
        return total

    def penalty_row(self, b, y):
        return squares(b)

    def balanced(self, b, y):
        return balanced_classes(b, y)

    def dual_point_row(self, z, y, mu, q, b):
        c, m = int(y), mu + q
        if m > 0.0:
            h = z.copy()
            h[c] += m
            write_shares(h, np.full(z.shape[0], m), b)
        else:
            write_distances(z, b)
            exponentiate(b)
        share_out(b, c)

    def slopes_row(self, b, y, mu, s):
        """s_j = p_j/(1 + mu p_j), p = b + e_y."""
        c = int(y)
        for j in range(b.shape[0]):
            p = b[j] + 1.0 if j == c else b[j]
            s[j] = p / (1.0 + mu * p)


@loss(needs={"classes"})
def multinomial_logistic():
    """log sum_j exp(z_j) - z_y, the loss of softmax regression"""
    return MultinomialLogistic()
