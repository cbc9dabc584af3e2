"""Proximal stochastic steps on sparse rows: coordinates that a row does not touch wait.

A step with the sample i moves every coordinate of w,

    w = prox_{eta Psi}(w - eta (g + delta x_i)),   delta = phi'(x_i.w) - theta_i,

but outside of the row only by T(w_j) = prox_{a eta psi}(a w_j - B_j), a = 1/(1 + eta s) and
B = a eta (g - kappa center). If psi is a multiple of |w| on an interval, then T^k has a closed form, and a
coordinate is brought up to date when a row needs it; otherwise, and on dense rows, all coordinates move in each step.

The projection on the interval comes once, after the k steps without it: these are monotone in w, so they run in one
direction, and where they leave the interval the projected ones stay at its end.
"""

import math

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from rrmbench.numerics.jit import axpy, dot, kernel, prefetch, prefetch_rows, psi_prox


class StochasticSteps:
    """The steps above for one problem and one step length eta.

    Dense rows (with more than a fifth of all columns) and regularizers without `soft_threshold` take the kernels that
    move all coordinates.
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
        p, B = self.problem, self.linear(g)
        fixed = (p.X.rows, p.y, p.loss, p.mu, p.regularizer, order, theta, self.eta)
        if self.lazy:
            psi_prox(p.regularizer, w, 0.0, w)  # the closed form starts inside the interval
            lazy_steps(*fixed, self.powers, B, w, self.last)
        else:
            dense_steps(*fixed, self.a, B, w)

    def linear(self, g):
        """B for the constant part g of the gradient."""
        return (self.a * self.eta) * (g - self.pull)

    def run_table(self, order, w, B, theta, weight):
        """As `run` with delta times `weight`, while theta_i += delta and g += delta x_i / n.

        B is `linear(g)` of g = (1/n) X^T theta at first; theta and B are changed. [SAGA: weight 1; SAG: 1/n]
        """
        p = self.problem
        fixed = (p.X.rows, p.y, p.loss, p.mu, p.regularizer, order, theta, weight, self.eta)
        if self.lazy:
            psi_prox(p.regularizer, w, 0.0, w)
            lazy_table_steps(*fixed, self.powers, B, w, self.last)
        else:
            dense_table_steps(*fixed, self.a, B, w)


@register_jitable
def power(growth, k):
    """(a^k, 1 + a + ... + a^(k-1)) for a = 1/(1 + growth), each to the last digits."""
    if growth == 0.0:
        return 1.0, float(k)
    exponent = -k * np.log1p(growth)
    return np.exp(exponent), -np.expm1(exponent) * ((1.0 + growth) / growth)


@kernel
def powers(growth, n):
    """The table of `power(growth, k)`, k = 0 .. n."""
    table = np.empty((n + 1, 2))
    for k in range(n + 1):
        table[k, 0], table[k, 1] = power(growth, k)
    return table


def power_of(how, k):
    """power(growth, k), `how` being growth itself or the table of its powers; for kernels only."""
    raise NotImplementedError


@overload(power_of)
def _power_of(how, k):
    if isinstance(how, types.Array):
        return lambda how, k: (how[k, 0], how[k, 1])
    return lambda how, k: power(how, k)


@register_jitable
def soft(x, threshold):
    return x - min(max(x, -threshold), threshold)


@kernel
def repeated(w, B, threshold, k, powers):
    """T^k(w), T(w) = soft(a w - B, threshold); `powers` as in `power_of`."""
    power, total = power_of(powers, k)
    if threshold == 0.0:
        return power * w - B * total
    up = power * w - (B + threshold) * total
    down = power * w - (B - threshold) * total
    falls = (w > 0.0) & (up < 0.0) & (threshold < B)
    rises = (w < 0.0) & (down > 0.0) & (threshold < -B)
    if falls | rises:  # one test that is rarely true: no branch to mispredict
        return math.copysign(1.0, w) * through_zero(abs(w), abs(B), threshold, k, powers)
    return max(0.0, up) + min(0.0, down)


@kernel
def through_zero(w, B, threshold, k, powers):
    """T^k(w) for w > 0 and B > threshold, where w falls to 0 in less than k steps and then goes on below."""
    low, high = 0, k
    while high - low > 1:  # the last step that ends at or above 0
        m = (low + high) // 2
        power, total = power_of(powers, m)
        if power * w >= (B + threshold) * total:
            low = m
        else:
            high = m
    power, total = power_of(powers, low)
    w = soft(power_of(powers, 1)[0] * (power * w - (B + threshold) * total) - B, threshold)
    power, total = power_of(powers, k - high)
    return power * w - (B - threshold) * total


@kernel
def lazy_steps(rows, y, loss, mu, regularizer, order, theta, eta, powers, B, w, last):
    """One step for each sample of `order`; last[j] counts the steps that w_j has made, 0 before and after."""
    a = powers[1, 0]
    threshold = a * eta * regularizer.strength
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        i = order[t]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        z = 0.0
        for e in range(begin, end):
            j = rows.indices[e]
            w[j] = regularizer.prox(repeated(w[j], B[j], threshold, t - last[j], powers), 0.0)
            z += rows.data[e] * w[j]
        move = a * eta * (loss.dual(z, y[i], mu) - theta[i])
        for e in range(begin, end):
            j = rows.indices[e]
            w[j] = regularizer.prox(a * w[j] - B[j] - move * rows.data[e], a * eta)
            last[j] = t + 1
    catch_up(regularizer, threshold, order.shape[0], powers, B, w, last)


@kernel
def lazy_table_steps(rows, y, loss, mu, regularizer, order, theta, weight, eta, powers, B, w, last):
    """As `lazy_steps`, for `StochasticSteps.run_table`."""
    a = powers[1, 0]
    threshold = a * eta * regularizer.strength
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        prefetch(theta, order[min(t + 8, order.shape[0] - 1)])
        i = order[t]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        z = 0.0
        for e in range(begin, end):
            j = rows.indices[e]
            w[j] = regularizer.prox(repeated(w[j], B[j], threshold, t - last[j], powers), 0.0)
            z += rows.data[e] * w[j]
        delta = loss.dual(z, y[i], mu) - theta[i]
        theta[i] += delta
        move, change = a * eta * delta * weight, a * eta * delta / theta.shape[0]
        for e in range(begin, end):
            j, x = rows.indices[e], rows.data[e]
            w[j] = regularizer.prox(a * w[j] - B[j] - move * x, a * eta)
            B[j] += change * x
            last[j] = t + 1
    catch_up(regularizer, threshold, order.shape[0], powers, B, w, last)


@kernel
def catch_up(regularizer, threshold, steps, powers, B, w, last):
    """Let every coordinate have made `steps` steps, and set last to 0."""
    for j in range(w.shape[0]):
        w[j] = regularizer.prox(repeated(w[j], B[j], threshold, steps - last[j], powers), 0.0)
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


@kernel
def dense_table_steps(rows, y, loss, mu, regularizer, order, theta, weight, eta, a, B, w):
    """As `dense_steps`, for `StochasticSteps.run_table`.

    One loop over the row changes w and B, so that the row is read no more often than without a table: with `change`
    in B already, which the step must not see, w moves by so much more.
    """
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        i = order[t]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        delta = loss.dual(dot(rows.indices, rows.data, begin, end, w), y[i], mu) - theta[i]
        theta[i] += delta
        move, change = eta * delta * (weight - 1.0 / theta.shape[0]), a * eta * delta / theta.shape[0]
        for e in range(begin, end):
            j, x = rows.indices[e], rows.data[e]
            w[j] -= move * x
            B[j] += change * x
        for j in range(w.shape[0]):
            w[j] = regularizer.prox(a * w[j] - B[j], a * eta)
