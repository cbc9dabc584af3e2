"""Proximal stochastic steps on sparse rows: coordinates that a row does not touch wait.

A step with the sample i moves every coordinate of w,

    w = prox_{eta Psi}(w - eta (g + delta x_i)),   delta = phi'(x_i.w) - theta_i,

but outside of the row only by T(w_j) = prox_{a eta psi}(a w_j - B_j), a = 1/(1 + eta s) and
B = a eta (g - kappa center). If psi is a multiple of |w|, then T^k has a closed form, and a coordinate is
brought up to date when a row needs it; otherwise, and on dense rows, all coordinates move in each step.
"""

import numpy as np
from numba.extending import register_jitable

from rrmbench.kernels import axpy, dot, kernel, prefetch_rows


class StochasticSteps:
    """The steps above for one problem and one step length eta.

    Dense rows (with more than a fifth of all columns) and regularizers without `soft_threshold` take the
    kernel that moves all coordinates.
    """

    def __init__(self, problem, eta):
        self.problem, self.eta = problem, eta
        self.a = 1.0 / (1.0 + eta * problem.strong_convexity)
        self.pull = problem.strong_convexity * problem.shift()  # kappa center
        n, d = problem.X.shape
        self.lazy = getattr(problem.regularizer, "soft_threshold", False) and 5 * problem.X.nnz < n * d
        if self.lazy:
            self.powers = powers(eta * problem.strong_convexity, n)
            self.last = np.zeros(d, dtype=np.int64)

    def run(self, order, w, g, theta):
        """Take one step for each of at most n samples of `order`, changing w."""
        p, a, eta = self.problem, self.a, self.eta
        B = (a * eta) * (g - self.pull)
        if self.lazy:
            threshold = a * eta * p.regularizer.strength
            lazy_steps(
                p.X.rows, p.y, p.loss, p.mu, order, theta, eta, self.powers, threshold, B, w, self.last
            )
        else:
            dense_steps(p.X.rows, p.y, p.loss, p.mu, p.regularizer, order, theta, eta, a, B, w)


def powers(growth, n):
    """Rows (a^k, 1 + a + ... + a^(k-1)) for k = 0 .. n, a = 1/(1 + growth), each to the last digits."""
    k = np.arange(n + 1.0)
    if growth == 0.0:
        return np.column_stack((np.ones(n + 1), k))
    rate = -np.log1p(growth)
    return np.column_stack((np.exp(k * rate), np.expm1(k * rate) * -((1.0 + growth) / growth)))


@register_jitable
def soft(x, threshold):
    return x - min(max(x, -threshold), threshold)


@kernel
def repeated(w, B, threshold, k, powers):
    """T^k(w), T(w) = soft(a w - B, threshold)."""
    power, total = powers[k, 0], powers[k, 1]
    up = power * w - (B + threshold) * total
    down = power * w - (B - threshold) * total
    if threshold > 0.0:
        if w > 0.0 and up < 0.0 and threshold < B:
            return through_zero(w, B, threshold, k, powers)
        if w < 0.0 and down > 0.0 and threshold < -B:
            return -through_zero(-w, -B, threshold, k, powers)
    return max(0.0, up) + min(0.0, down)


@kernel
def through_zero(w, B, threshold, k, powers):
    """T^k(w) for w > 0 and B > threshold, where w falls to 0 in less than k steps and then goes on below."""
    low, high = 0, k
    while high - low > 1:  # the last step that ends at or above 0
        m = (low + high) // 2
        if powers[m, 0] * w >= (B + threshold) * powers[m, 1]:
            low = m
        else:
            high = m
    w = soft(powers[1, 0] * (powers[low, 0] * w - (B + threshold) * powers[low, 1]) - B, threshold)
    return powers[k - high, 0] * w - (B - threshold) * powers[k - high, 1]


@kernel
def lazy_steps(rows, y, loss, mu, order, theta, eta, powers, threshold, B, w, last):
    """One step for each sample of `order`; last[j] counts the steps that w_j has made, 0 before and after."""
    a = powers[1, 0]
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        i = order[t]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        z = 0.0
        for e in range(begin, end):
            j = rows.indices[e]
            w[j] = repeated(w[j], B[j], threshold, t - last[j], powers)
            z += rows.data[e] * w[j]
        move = a * eta * (loss.dual(z, y[i], mu) - theta[i])
        for e in range(begin, end):
            j = rows.indices[e]
            w[j] = soft(a * w[j] - B[j] - move * rows.data[e], threshold)
            last[j] = t + 1
    for j in range(w.shape[0]):
        w[j] = repeated(w[j], B[j], threshold, order.shape[0] - last[j], powers)
        last[j] = 0


@kernel
def dense_steps(rows, y, loss, mu, regularizer, order, theta, eta, a, B, w):
    """One step for each sample of `order`, with all coordinates in each."""
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        i = order[t]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        delta = loss.dual(dot(rows.indices, rows.data, begin, end, w), y[i], mu) - theta[i]
        axpy(rows.indices, rows.data, begin, end, -eta * delta, w)
        for j in range(w.shape[0]):
            w[j] = regularizer.prox(a * w[j] - B[j], a * eta)
