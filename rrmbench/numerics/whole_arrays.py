"""Losses of single samples and regularizers of single coordinates on whole arrays: sums, and one result per entry."""

import math

import numpy as np
from numba.extending import register_jitable

from rrmbench.numerics.jit import kernel, plus

BLOCK = 64  # samples whose rows of outputs stay in the cache


@kernel
def mean_loss(loss, mu, z, y):
    """(1/n) sum of phi^mu(z_i), phi^mu(z) = max_b b z - phi*(b) - (mu/2) b^2."""
    total = 0.0
    if mu == 0.0:
        for i in range(z.shape[0]):
            total = plus(total, loss.value(z[i], y[i]))
        return total / z.shape[0]
    for i in range(z.shape[0]):
        b = loss.dual_point(z[i], y[i], mu)
        total += b * z[i] - loss.conjugate(b, y[i]) - 0.5 * mu * b * b
    return total / z.shape[0]


@kernel
def mean_conjugate(loss, mu, b, y):
    """(1/n) sum of phi*(b_i) + (mu/2) b_i^2, +inf outside the domain."""
    total = 0.0
    for i in range(b.shape[0]):
        total += loss.conjugate(b[i], y[i]) + 0.5 * mu * b[i] * b[i]
    return total / b.shape[0]


@register_jitable(forceinline=True)
def dual_points(loss, mu, z, y, b, size):
    """`loss_dual` of the first `size` samples, within a kernel: several are computed at once, also of few."""
    if mu == 0.0:  # known to the compiler in this loop, which then has no branches
        for i in range(size):
            b[i] = loss.dual_point(z[i], y[i], 0.0)
        return
    for i in range(size):
        b[i] = loss.dual_point(z[i], y[i], mu)


@kernel
def loss_dual(loss, mu, z, y, b):
    """b_i = argmax_b b z_i - phi*(b) - (mu/2) b^2, the derivative of phi^mu at z_i."""
    dual_points(loss, mu, z, y, b, z.shape[0])


@kernel
def mean_loss_rows(loss, mu, z, y):
    """As `mean_loss`, for a loss on rows z_i of length k."""
    total = 0.0
    if mu == 0.0:
        values = np.empty(BLOCK)
        for first in range(0, z.shape[0], BLOCK):
            of_block = z[first : first + BLOCK]
            loss.value_rows(of_block, y[first : first + BLOCK], values)
            for i in range(of_block.shape[0]):
                total = plus(total, values[i])
        return total / z.shape[0]
    b = np.empty(z.shape[1])
    for i in range(z.shape[0]):
        loss.dual_point_row(z[i], y[i], mu, 0.0, b)
        total -= loss.conjugate_row(b, y[i]) + 0.5 * mu * loss.penalty_row(b, y[i])
        for j in range(b.shape[0]):
            total += b[j] * z[i, j]
    return total / z.shape[0]


@kernel
def mean_conjugate_rows(loss, mu, b, y):
    """As `mean_conjugate`, for a loss on rows of length k."""
    total = 0.0
    for i in range(b.shape[0]):
        total += loss.conjugate_row(b[i], y[i]) + 0.5 * mu * loss.penalty_row(b[i], y[i])
    return total / b.shape[0]


@kernel
def loss_dual_rows(loss, mu, q, z, y, b):
    """As `loss_dual`, for a loss on rows of length k, with (q/2) ||b_i||^2 subtracted too."""
    if mu == 0.0 and q == 0.0:
        for first in range(0, z.shape[0], BLOCK):
            block = slice(first, first + BLOCK)
            loss.dual_point_rows(z[block], y[block], b[block])
        return
    for i in range(z.shape[0]):
        loss.dual_point_row(z[i], y[i], mu, q, b[i])


@kernel
def slopes(loss, mu, b, y, s):
    """Write the s_i with which D_i = diag(s_i) - s_i s_i^T / sum(s_i) is the second derivative of phi^mu to s (n, k).

    b : (n, k), the b_i = argmax_b b.z_i - (phi^mu)*(b), whose slope along o is D_i o
    """
    for i in range(b.shape[0]):
        loss.slopes_row(b[i], y[i], mu, s[i])


@kernel
def slopes_along(loss, mu, b, y, o, out):
    """Write the D_i o_i to out, see `slopes`; b, o and out are (n, k)."""
    for i in range(b.shape[0]):
        s, total, mean = out[i], 0.0, 0.0
        loss.slopes_row(b[i], y[i], mu, s)
        for j in range(s.shape[0]):
            total = plus(total, s[j])
            mean = plus(mean, s[j] * o[i, j])
        mean /= total
        for j in range(s.shape[0]):
            s[j] *= o[i, j] - mean


@kernel
def psi_value(regularizer, w):
    """Sum of psi(w_j)."""
    total = 0.0
    for j in range(w.shape[0]):
        total += regularizer.psi(w[j])
    return total


@kernel
def psi_conjugate(regularizer, v):
    """Sum of psi*(v_j)."""
    total = 0.0
    for j in range(v.shape[0]):
        total += regularizer.psi_conjugate(v[j])
    return total


@kernel
def psi_prox(regularizer, x, t, w):
    """w_j = argmin_u t psi(u) + (u - x_j)^2 / 2; x and w (d,) may be one array."""
    for j in range(x.shape[0]):
        w[j] = regularizer.prox(x[j], t)


@kernel
def is_finite(x):
    """Whether no entry is infinite or NaN."""
    for value in x.flat:  # noqa: SIM110, numba has no generators in all()
        if not math.isfinite(value):
            return False
    return True


def toward(x, y, theta):
    """x + theta (y - x) for 0 <= theta <= 1, a new array, whose entries are between those of x and of y.

    In one go, as temporary arrays cost as much as a part of a product with X.
    """
    out = np.empty(x.shape)
    _toward(x.reshape(-1), y.reshape(-1), theta, out.reshape(-1))
    return out


@kernel
def _toward(x, y, theta, out):
    for i in range(x.shape[0]):
        low, high = (x[i], y[i]) if x[i] <= y[i] else (y[i], x[i])
        between = x[i] + theta * (y[i] - x[i])
        if between < low:  # by rounding, which would leave a domain; no min and max, so that NaN stays
            between = low
        elif between > high:
            between = high
        out[i] = between
