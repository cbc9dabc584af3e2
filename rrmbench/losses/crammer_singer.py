"""Losses of Crammer and Singer on the k outputs of a matrix-valued model.

The label y is a class index 0 .. k-1 stored as a float. The losses are functions of the margins a_j = z_j - z_y, and b
is as in `rrmbench.numerics.class_shares`; (b_j) for j != y is the papers' dual variable in the space of margins. mu
penalizes sum_{j != y} b_j^2, and the map from outputs to margins has the spread k. q of `dual_point_row` penalizes
||b||^2 = sum_{j != y} b_j^2 + (sum_{j != y} b_j)^2, at most 2.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.circulation import balanced_classes
from rrmbench.numerics.class_shares import RADIUS, close_row, share_out, total_of, write_shares
from rrmbench.numerics.pieces import Parts
from rrmbench.numerics.thresholds import raised
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.parameters import Positive
from rrmbench.registry import loss


@register_jitable
def squares_of(b, y):
    """The sum of b_j^2 over j != y."""
    total = 0.0
    for j in range(b.shape[0]):
        if j != y:
            total += b[j] * b[j]
    return total


@register_jitable
def penalized_shares(z, c, mu, q, b):
    """Fill b (k,) but for b_c: b_j = (a_j - theta)+ / (mu + q), a_j = 1 + z_j - z_c, the minimizer over b >= 0, sum b =
    beta <= 1 of ||(mu + q) b - a||^2 + q (mu + q) beta^2.

    theta = q beta, so sum_j (a_j - theta)+ = (mu + q) theta/q; if beta exceeds 1, the threshold of the projection on
    the simplex instead, sum_j (a_j - theta)+ = mu + q. This is [Acc-SDCA, OptimizeDual] with its printed else-branch
    corrected. The sums there are of differences to the greatest z_j: those of margins have lost the digits of a small
    mu + q.
    """
    total, count, top = mu + q, 0, -math.inf
    for j in range(z.shape[0]):
        if j != c:
            top = max(top, z[j])
            b[count] = 1.0 + z[j] - z[c]  # into b, which spares an array
            count += b[count] > 0.0
    theta, count = raised(0.0, 0.0, total / q if q > 0.0 else math.inf, b, count)
    left = total
    for k in range(count):
        left -= b[k] - theta
    if left >= 0.0:
        for j in range(z.shape[0]):
            b[j] = max(1.0 + z[j] - z[c] - theta, 0.0) / total
        return
    count = 0
    for j in range(z.shape[0]):
        b[count] = z[j] - top
        count += j != c and b[count] > -total
    theta = raised(-math.inf, total, 0.0, b, count)[0]
    for j in range(z.shape[0]):
        b[j] = max(z[j] - top - theta, 0.0) / total


class MaxOfHinge(NamedTuple):
    """phi(z) = max(0, max_{j != y} 1 + z_j - z_y),  phi*(b) = -sum_{j != y} b_j.

    The step of SDCA, option I, is that of `penalized_shares` at z = p + q b, p = x_i.w, q = ||x_i||^2/(s n), and b_y =
    -sum_{j != y} b_j. [Acc-SDCA, section 5.7]
    """

    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0  # in the margins
    outputs = "vector"
    dual_radius = RADIUS

    def spread(self, k):
        return float(k)

    def value_row(self, z, y):
        largest = 0.0
        c = int(y)
        for j in range(z.shape[0]):
            if j != c:
                largest = max(largest, 1.0 + z[j] - z[c])
        return largest

    def conjugate_row(self, b, y):
        total = total_of(b, int(y))
        return math.inf if math.isnan(total) else -total

    def penalty_row(self, b, y):
        return squares_of(b, int(y))

    def balanced(self, b, y):
        return balanced_classes(b, y)

    def dual_point_row(self, z, y, mu, q, b):
        c = int(y)
        if mu + q == 0.0:  # the least-norm subgradient: equal shares of the margins that attain the maximum
            largest, attained = 0.0, 0
            for j in range(z.shape[0]):
                b[j] = 1.0 + z[j] - z[c] if j != c else 0.0
                largest = max(largest, b[j])
            for j in range(z.shape[0]):
                attained += b[j] == largest and largest > 0.0
            for j in range(z.shape[0]):
                b[j] = 1.0 / attained if b[j] == largest and largest > 0.0 else 0.0
        else:
            penalized_shares(z, c, mu, q, b)
            b[c] = 0.0
        close_row(b, c)

    def prox_slopes_row(self, b, y, mu, q, s):
        """s_j = 1/(mu + q) for the j != y with b_j > 0, and s_y = 1/q where these b_j leave some of 1."""
        c = int(y)
        for j in range(b.shape[0]):
            s[j] = 1.0 / (mu + q) if b[j] > 0.0 else 0.0
        s[c] = 1.0 / q if 1.0 + b[c] > DOMAIN_ROUNDING else 0.0

    def parts(self, y, k):
        """u are the b_j of j != y, those of a sample a group."""
        from scipy.sparse import coo_array

        own = y.astype(int)
        i, j = np.nonzero(np.arange(k) != own[:, None])
        rows = np.concatenate([i * k + j, i * k + own[i]])
        u = np.arange(i.size)
        columns = coo_array((np.repeat([1.0, -1.0], u.size), (rows, np.tile(u, 2))), (y.size * k, u.size))
        return Parts(np.full(u.size, -1.0), columns, i, 1.0)


class SoftMaxOfHinge(NamedTuple):
    """phi(z) = gamma log(1 + sum_j exp((c_j + a_j)/gamma)), c_j = 1 for j != y, c_y = a_y = 0 [Acc-SDCA, (14)].

    phi*(b) = -s + gamma (sum_{j != y} b_j log b_j + (1 - s) log((1 - s)/2)), s = sum_{j != y} b_j: [Acc-SDCA, (15)]
    minimized over the component of y, whose margin is always 0. The step of SDCA, option I, has no closed form.
    """

    gamma: float
    conjugate_convexity: float
    lipschitz: float = 1.0
    outputs = "vector"
    dual_radius = RADIUS

    def spread(self, k):
        return float(k)

    def value_row(self, z, y):
        c, largest = int(y), 0.0
        for j in range(z.shape[0]):
            if j != c:
                largest = max(largest, 1.0 + z[j] - z[c])
        total = 2.0 * math.exp(-largest / self.gamma)
        for j in range(z.shape[0]):
            if j != c:
                total += math.exp((1.0 + z[j] - z[c] - largest) / self.gamma)
        return largest + self.gamma * math.log(total)

    def conjugate_row(self, b, y):
        c = int(y)
        s = total_of(b, c)
        if math.isnan(s):
            return math.inf
        entropy = (1.0 - s) * math.log(0.5 * (1.0 - s)) if s < 1.0 else 0.0
        for j in range(b.shape[0]):
            if j != c and b[j] > 0.0:
                entropy += b[j] * math.log(b[j])
        return self.gamma * entropy - s

    def penalty_row(self, b, y):
        return squares_of(b, int(y))

    def balanced(self, b, y):
        return balanced_classes(b, y)

    def dual_point_row(self, z, y, mu, q, b):
        """gamma log b_j + (mu + q) b_j = c_j + a_j - eta for j != y and gamma log r + q r = q + gamma log 2 - eta for
        r = 1 - s, eta so that r and the b_j sum to 1: `write_shares`, with r in the place of b_y.
        """
        c, h, m = int(y), np.empty(z.shape[0]), np.full(z.shape[0], (mu + q) / self.gamma)
        for j in range(z.shape[0]):
            h[j] = (1.0 + z[j] - z[c]) / self.gamma
        h[c], m[c] = q / self.gamma + math.log(2.0), q / self.gamma
        write_shares(h, m, b)
        share_out(b, c)

    def slopes_row(self, b, y, mu, s):
        """s_j = b_j/(gamma + mu b_j) for j != y, and s_y = r/gamma for r = 1 + b_y, what the others leave of 1."""
        c = int(y)
        for j in range(b.shape[0]):
            s[j] = b[j] / (self.gamma + mu * b[j])
        s[c] = max(1.0 + b[c], 0.0) / self.gamma


@loss(needs={"classes"})
def max_of_hinge():
    """max(0, max_{j != y} 1 + z_j - z_y), the multiclass hinge of Crammer and Singer"""
    return MaxOfHinge()


@loss(needs={"classes"})
def smoothed_max_of_hinge(gamma: Positive = 1.0):
    """max_of_hinge smoothed by gamma [Acc-SDCA, (13)]"""
    return MaxOfHinge(), gamma


@loss(needs={"classes"})
def soft_max_of_hinge(gamma: Positive = 1.0):
    """gamma log(1 + sum_j exp((1 - [j = y] + z_j - z_y) / gamma)) [Acc-SDCA, (14)]"""
    return SoftMaxOfHinge(gamma, 2.0 * gamma)
