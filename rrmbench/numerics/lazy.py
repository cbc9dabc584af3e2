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
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.prefetch import prefetch, prefetch_rows
from rrmbench.numerics.sparse_rows import dot, entries, sample_at
from rrmbench.numerics.whole_arrays import psi_prox


class StochasticSteps:
    """The steps above for one problem and one step length eta.

    Dense rows (with more than a fifth of all columns) and regularizers without `soft_threshold` take the kernel that
    moves all coordinates.
    """

    def __init__(self, problem, eta):
        self.samples = Samples(problem.X.rows, problem.y, problem.loss, problem.mu)
        self.regularizer, self.eta = problem.regularizer, eta
        self.a = 1.0 / (1.0 + eta * problem.strong_convexity)
        self.center_term = problem.center_term()
        n, d = problem.X.shape
        self.lazy = problem.regularization.soft_threshold and 5 * problem.X.nnz < n * d
        if self.lazy:
            self.powers = powers(eta * problem.strong_convexity, n)
            self.last = np.zeros(d, dtype=np.int64)

    def linear(self, g):
        """B (d,) for the constant part g (d,) of the gradient."""
        return (self.a * self.eta) * (g - self.center_term)

    def run(self, order, w, memory):
        """Take one step for each of at most n samples of `order` (m,), changing w (d,) and a `GradientTable`."""
        if self.lazy:
            psi_prox(self.regularizer, w, 0.0, w)  # the closed form starts inside the interval
            lazy_steps(self.samples, memory, self.regularizer, self.eta, self.powers, order, w, self.last)
        else:
            dense_steps(self.samples, memory, self.regularizer, self.eta, self.a, order, w)


class Samples(NamedTuple):
    """The losses phi^mu(x_i.w), i = 0 .. n-1, as kernels take them.

    rows : the rows x_i of X (n, d) in CSR form: indptr (n + 1,), indices and data (nnz,), sqnorms (n,)
    y : (n,)
    """

    rows: tuple
    y: np.ndarray
    loss: tuple
    mu: float


class Snapshot(NamedTuple):
    """Derivatives that stay as they are: the steps above. [Prox-SVRG; SGD with theta = 0 and g = 0]

    B : (d,) a eta (g - kappa center), see `StochasticSteps.linear`
    theta : (n,)
    """

    B: np.ndarray
    theta: np.ndarray
    weight: float = 1.0


class GradientTable(NamedTuple):
    """As `Snapshot` with delta times `weight` in the step, after which theta_i += delta and g += delta x_i / n.

    With g = (1/n) X^T theta at first it stays so; theta and B are changed. [SAGA: weight 1; SAG: 1/n]
    """

    B: np.ndarray
    theta: np.ndarray
    weight: float


def is_table(memory):
    """Whether the memory changes with the steps, known to the compiler; for kernels only."""
    raise NotImplementedError


@overload(is_table)
def _is_table(memory):
    if memory.instance_class is GradientTable:
        return lambda memory: True
    return lambda memory: False


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
def closed_form_steps(w, B, threshold, k, powers):
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
def lazy_steps(samples, memory, regularizer, eta, powers, order, w, last):
    """One step for each sample of `order` (m,) on w (d,).

    powers : (n + 1, 2) or a float, see `power_of`
    last : (d,) the steps that w_j has made, 0 before and after
    """
    rows, y, loss, mu = samples
    B, theta, weight = memory
    a = powers[1, 0]
    threshold = a * eta * regularizer.strength
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        if is_table(memory):
            prefetch(theta, order[min(t + 8, order.shape[0] - 1)])
        i = sample_at(order, t)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        z = 0.0
        for e in entries(begin, end):
            j = rows.indices[e]
            w[j] = regularizer.prox(closed_form_steps(w[j], B[j], threshold, t - last[j], powers), 0.0)
            z += rows.data[e] * w[j]
        delta = loss.dual_point(z, y[i], mu) - theta[i]
        if is_table(memory):
            theta[i] += delta
        move, change = a * eta * delta * weight, a * eta * delta / theta.shape[0]
        for e in entries(begin, end):
            j, x = rows.indices[e], rows.data[e]
            w[j] = regularizer.prox(a * w[j] - B[j] - move * x, a * eta)
            if is_table(memory):
                B[j] += change * x
            last[j] = t + 1
    for j in range(w.shape[0]):
        w[j] = regularizer.prox(closed_form_steps(w[j], B[j], threshold, order.shape[0] - last[j], powers), 0.0)
        last[j] = 0


@kernel
def dense_steps(samples, memory, regularizer, eta, a, order, w):
    """One step for each sample of `order` (m,) on w (d,), with all coordinates in each.

    One loop over the row changes w and the B of a table, so that the row is read no more often than with a snapshot:
    with `change` in B already, which the step must not see, w moves by so much more.
    """
    rows, y, loss, mu = samples
    B, theta, weight = memory
    if is_table(memory):
        weight -= 1.0 / theta.shape[0]
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        i = sample_at(order, t)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        delta = loss.dual_point(dot(rows.indices, rows.data, begin, end, w), y[i], mu) - theta[i]
        if is_table(memory):
            theta[i] += delta
        move, change = eta * delta * weight, a * eta * delta / theta.shape[0]
        for e in entries(begin, end):
            j, x = rows.indices[e], rows.data[e]
            w[j] -= move * x
            if is_table(memory):
                B[j] += change * x
        for j in range(w.shape[0]):
            w[j] = regularizer.prox(a * w[j] - B[j], a * eta)
