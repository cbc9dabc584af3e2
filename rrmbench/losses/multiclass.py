"""Multiclass losses on the k outputs of a matrix-valued model: those of Crammer and Singer, multinomial logistic.

The label y is a class index 0 .. k-1 stored as a float. All are functions of the margins a_j = z_j - z_y, so b has
b_j >= 0 for j != y, their sum at most 1 (to rounding, 1e-12), and b_y = -sum of the others; (b_j) for j != y is the
papers' dual variable in the space of margins. For the losses of Crammer and Singer mu penalizes sum_{j != y} b_j^2, and
the map from outputs to margins has the spread k. q of `dual_point_row` penalizes ||b||^2 = sum b_j^2 + (sum b_j)^2, at
most 2, and so does mu for the multinomial logistic loss.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.circulation import balanced_classes
from rrmbench.numerics.exponentials import exp_of_minus
from rrmbench.numerics.jit import plus
from rrmbench.numerics.output_rows import squares
from rrmbench.numerics.pieces import Parts
from rrmbench.numerics.thresholds import raised
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.parameters import Positive
from rrmbench.registry import loss

STEPS = 100  # of Newton's method at most: 4 to 28 were seen
LAST_STEP = 1e-8  # of the logarithms of probabilities
ROUNDING = 1e-15  # of the greatest h_j, by which equations for them may be off
RADIUS = math.sqrt(2.0)  # of b, for every number of classes


@register_jitable
def total_of(b, y):
    """The sum of b_j over j != y, or NaN where b is not in the domain of both losses."""
    total = 0.0
    for j in range(b.shape[0]):
        if j != y:
            if b[j] < 0.0:
                return math.nan
            total += b[j]
    if total > 1.0 + DOMAIN_ROUNDING or abs(total + b[y]) > DOMAIN_ROUNDING:
        return math.nan
    return min(total, 1.0)


@register_jitable
def squares_of(b, y):
    """The sum of b_j^2 over j != y."""
    total = 0.0
    for j in range(b.shape[0]):
        if j != y:
            total += b[j] * b[j]
    return total


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

    phi*(b) = -s + gamma (sum_{j != y} b_j log b_j + (1 - s) log((1 - s)/2)), s = sum_{j != y} b_j: eq. (15) minimized
    over the component of y, whose margin is always 0. The step of SDCA, option I, has no closed form.
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

    def slope_row(self, b, y, mu, o, out):
        """s o - s (s.o)/sum_j s_j for s_j = b_j/(gamma + mu b_j), j != y, and s_y = r/gamma, r = 1 - s."""
        c = int(y)
        for j in range(b.shape[0]):
            out[j] = b[j] / (self.gamma + mu * b[j])
        out[c] = max(1.0 + b[c], 0.0) / self.gamma
        center_slopes(o, out)


@register_jitable
def center_slopes(o, out):
    """Write s_j (o_j - s.o / sum s) to out (k,) for the s in it."""
    total, mean = 0.0, 0.0
    for j in range(o.shape[0]):
        total += out[j]
        mean += out[j] * o[j]
    mean /= total
    for j in range(o.shape[0]):
        out[j] *= o[j] - mean


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

    def slope_row(self, b, y, mu, o, out):
        """The slope of b along o: s o - s (s.o)/sum_j s_j for s_j = p_j/(1 + mu p_j), p = b + e_y."""
        c = int(y)
        if mu == 0.0:  # s = p, of the sum 1
            mean = o[c]
            for j in range(b.shape[0]):
                mean = plus(mean, b[j] * o[j])
            for j in range(b.shape[0]):
                out[j] = b[j] * (o[j] - mean)
            out[c] += o[c] - mean
            return
        for j in range(b.shape[0]):
            p = b[j] + 1.0 if j == c else b[j]
            out[j] = p / (1.0 + mu * p)
        center_slopes(o, out)


@loss(needs={"classes"})
def max_of_hinge():
    """max(0, max_j 1 + z_j - z_y), the multiclass hinge of Crammer and Singer"""
    return MaxOfHinge()


@loss(needs={"classes"})
def smoothed_max_of_hinge(gamma: Positive = 1.0):
    """max_of_hinge smoothed by gamma [Acc-SDCA, eq. 13]"""
    return MaxOfHinge(), gamma


@loss(needs={"classes"})
def soft_max_of_hinge(gamma: Positive = 1.0):
    """gamma log(1 + sum_j exp((1 - [j = y] + z_j - z_y) / gamma)) [Acc-SDCA, eq. 14]"""
    return SoftMaxOfHinge(gamma, 2.0 * gamma)


@loss(needs={"classes"})
def multinomial_logistic():
    """log sum_j exp(z_j) - z_y, the loss of softmax regression"""
    return MultinomialLogistic()
