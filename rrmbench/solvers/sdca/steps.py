"""The steps of Prox-SDCA: how b_i moves (options I to V of the paper's Figure 1), and the loops over samples.

An option is a NamedTuple with the methods

    step(p, b, y, q)             the new b_i for p = x_i.w and q = ||x_i||^2 / (s n)
    step_row(p, b, y, q, new)    the same for k outputs per sample, p, b and new (k,), written to `new`; p may be
                                 overwritten

which the kernels call as they call a loss. In the paper's sign alpha = -b. All options increase the lower bound of n D

    -phi*(t) - (mu/2) t^2 + p (t - b) - (q/2) (t - b)^2

from its value at t = b. Options III to V move towards u = phi'(p), the derivative of least norm.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.golden_section import GOLDEN_SECTION
from rrmbench.numerics.jit import kernel, plus
from rrmbench.numerics.matrix_products import add_to_rows, sum_rows, sum_soft_rows
from rrmbench.numerics.prefetch import prefetch_rows
from rrmbench.numerics.sparse_rows import axpy, entries, sample_at


def option_of(problem, name):
    """The NamedTuple of option `name`; RrmbenchError where it needs a smooth loss and there is none."""
    loss, mu = problem.loss, problem.mu
    if name == "I" or (name == "II" and "scalar" in problem.traits):
        return Exact(loss, mu)
    if name == "II":
        return LineSearch(loss, mu)
    if "smooth" not in problem.traits:
        raise RrmbenchError(
            f"solver prox_sdca: option {name} needs a smooth loss, found {type(loss).__name__} (allowed are options I "
            "and II, or the reductions smooth and adapt_smooth)"
        )
    gamma, widest = 1.0 / problem.smoothness, problem.R**2 / (problem.strong_convexity * problem.n)
    if name == "V":
        return Fixed(loss, mu, gamma / (gamma + widest))
    return Damped(loss, mu, gamma, widest if name == "IV" else 0.0)


class Exact(NamedTuple):
    """Option I: the maximizer, which is the derivative of the loss smoothed by q more.

    For one output it lies between b and phi'(p), where the bound still rises and where it falls already, so that it is
    also what the line search of option II finds.
    """

    loss: tuple
    mu: float

    def step(self, p, b, y, q):
        return self.loss.dual_point(p + q * b, y, self.mu + q)

    def step_row(self, p, b, y, q, new):
        for c in range(p.shape[0]):
            p[c] += q * b[c]
        self.loss.dual_point_row(p, y, self.mu, q, new)


class LineSearch(NamedTuple):
    """Option II for k outputs: the best point between b and phi'(p), by golden section to 1e-8 of the way."""

    loss: tuple
    mu: float

    def step_row(self, p, b, y, q, new):
        self.loss.dual_point_row(p, y, self.mu, 0.0, new)
        u, low, high = new.copy(), 0.0, 1.0
        while high - low > 1e-8:
            left, right = high - GOLDEN_SECTION * (high - low), low + GOLDEN_SECTION * (high - low)
            if bound_at(self.loss, self.mu, p, b, u, left, y, q, new) < bound_at(
                self.loss, self.mu, p, b, u, right, y, q, new
            ):
                low = left
            else:
                high = right
        best, value = 0.0, bound_at(self.loss, self.mu, p, b, u, 0.0, y, q, new)
        for share in (0.5 * (low + high), 1.0):
            other = bound_at(self.loss, self.mu, p, b, u, share, y, q, new)
            if other > value:
                best, value = share, other
        between_rows(b, u, best, new)


class Damped(NamedTuple):
    """Options III (widest = 0) and IV (widest = R^2/(s n)): the share of the way to phi'(p) that a bound proposes.

    share = min(1, (phi(p) + phi*(b) - p b + (gamma/2) h^2) / (h^2 (gamma + max(q, widest)))), h = phi'(p) - b, where
    phi and phi* include mu.
    """

    loss: tuple
    mu: float
    gamma: float
    widest: float

    def step(self, p, b, y, q):
        u = self.loss.dual_point(p, y, self.mu)
        h = u - b
        if h == 0.0:
            return b
        gain = h * p - penalized(self.loss, self.mu, u, y) + penalized(self.loss, self.mu, b, y)
        return between_numbers(b, u, damped_share(gain, h * h, self.gamma, max(q, self.widest)))

    def step_row(self, p, b, y, q, new):
        self.loss.dual_point_row(p, y, self.mu, 0.0, new)
        gain = penalized_row(self.loss, self.mu, b, y) - penalized_row(self.loss, self.mu, new, y)
        square = 0.0
        for c in range(p.shape[0]):
            h = new[c] - b[c]
            gain += h * p[c]
            square += h * h
        if square > 0.0:
            between_rows(b, new, damped_share(gain, square, self.gamma, max(q, self.widest)), new)


class Fixed(NamedTuple):
    """Option V: always the share gamma/(gamma + R^2/(s n)) of the way to phi'(p)."""

    loss: tuple
    mu: float
    share: float

    def step(self, p, b, y, q):
        return between_numbers(b, self.loss.dual_point(p, y, self.mu), self.share)

    def step_row(self, p, b, y, q, new):
        self.loss.dual_point_row(p, y, self.mu, 0.0, new)
        between_rows(b, new, self.share, new)


@register_jitable
def damped_share(gain, square, gamma, q):
    """The share of options III and IV; gain = phi(p) + phi*(b) - p b, which rounding may make negative."""
    return min(1.0, (max(gain, 0.0) + 0.5 * gamma * square) / (square * (gamma + q)))


@register_jitable
def between_numbers(b, u, share):
    """b + share (u - b), which rounding must not carry beyond u, out of the domain of phi*."""
    return max(min(b, u), min(max(b, u), b + share * (u - b)))


@register_jitable
def between_rows(b, u, share, out):
    """As `between_numbers` for each entry of b, u and out (k,); `out` may be u."""
    for c in range(b.shape[0]):
        out[c] = between_numbers(b[c], u[c], share)


@register_jitable
def penalized(loss, mu, b, y):
    """phi*(b) + (mu/2) b^2."""
    return loss.conjugate(b, y) + 0.5 * mu * b * b


@register_jitable
def penalized_row(loss, mu, b, y):
    """As `penalized`, for a row b (k,)."""
    return loss.conjugate_row(b, y) + 0.5 * mu * loss.penalty_row(b, y)


@register_jitable
def bound_at(loss, mu, p, b, u, share, y, q, trial):
    """The lower bound of n D at `share` of the way from b to u; p, b, u and trial are (k,), `trial` is overwritten."""
    between_rows(b, u, share, trial)
    value = -penalized_row(loss, mu, trial, y)
    for c in range(b.shape[0]):
        h = trial[c] - b[c]
        value += h * (p[c] - 0.5 * q * h)
    return value


@kernel
def sdca_steps(rows, y, option, regularizer, s, order, b, u):
    """One step for each sample of `order` (m,), which changes b (n,) or (n, k) and u = (v(b) + kappa center)/s.

    rows : the rows x_i of X (n, d) in CSR form, `rrmbench.problem.operators.Rows`
    y : (n,), or (n, k) targets
    option : a NamedTuple of this module
    u : (d,) or (d, k)
    """
    if b.ndim == 1:  # known to the compiler
        scalar_steps(rows, y, option, regularizer, s, order, b, u)
    else:
        vector_steps(rows, y, option, regularizer, s, order, b, u)


@kernel
def scalar_steps(rows, y, option, regularizer, s, order, b, u):
    """As `sdca_steps` for one output per sample: u is (d,), b (n,) and order (m,)."""
    scale = 1.0 / (s * y.shape[0])
    for k in range(order.shape[0]):
        prefetch_rows(rows, y, order, k)
        i = sample_at(order, k)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        p = 0.0
        for j in entries(begin, end):
            p += rows.data[j] * regularizer.prox(u[rows.indices[j]], 1.0 / s)
        new = option.step(p, b[i], y[i], rows.sqnorms[i] * scale)
        if new != b[i]:
            axpy(rows.indices, rows.data, begin, end, (b[i] - new) * scale, u)
            b[i] = new


@kernel
def vector_steps(rows, y, option, regularizer, s, order, b, u):
    """As `sdca_steps` for k outputs per sample: u is (d, k), b (n, k) and order (m,). [Acc-SDCA, section 5.7]"""
    scale, outputs = 1.0 / (s * y.shape[0]), b.shape[1]
    p, new = np.empty((1, outputs)), np.empty(outputs)
    for k in range(order.shape[0]):
        prefetch_rows(rows, y, order, k)
        i = sample_at(order, k)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        row_outputs(regularizer, 1.0 / s, rows, begin, end, u, p)
        option.step_row(p[0], b[i], y[i], rows.sqnorms[i] * scale, new)
        moved = False
        for c in entries(0, outputs):
            h = b[i, c] - new[c]
            moved = moved or h != 0.0
            p[0, c], b[i, c] = scale * h, new[c]
        if moved:
            add_to_rows(rows.indices, rows.data, begin, end, p, 0, u)


def psi_of(problem):
    """The regularizer for kernels: of single coordinates, or of the rows of W."""
    return problem.regularizer.row_norm(problem.shape) if "row_norms" in problem.traits else problem.regularizer


def row_outputs(regularizer, t, rows, begin, end, u, p):
    """Write the sum of x_j prox_t(u_j) over the entries of a row to p (1, k), u being (d, k); for kernels only."""
    raise NotImplementedError


@overload(row_outputs)
def _row_outputs(regularizer, t, rows, begin, end, u, p):
    def of_rows(regularizer, t, rows, begin, end, u, p):
        sum_rows(rows.indices, rows.data, begin, end, u, p, 0)

    def of_proximal_points(regularizer, t, rows, begin, end, u, p):
        p[:] = 0.0
        for e in entries(begin, end):
            j, x = rows.indices[e], rows.data[e]
            for c in entries(0, p.shape[1]):
                p[0, c] += x * regularizer.prox(u[j, c], t)

    def of_soft_rows(regularizer, t, rows, begin, end, u, p):
        sum_soft_rows(rows.indices, rows.data, begin, end, u, t * regularizer.strength, p, 0)

    def of_shrunk_rows(regularizer, t, rows, begin, end, u, p):
        shrunk = np.empty(end - begin)
        for e in range(shrunk.shape[0]):
            square = 0.0
            for c in entries(0, p.shape[1]):
                square = plus(square, u[rows.indices[begin + e], c] ** 2)
            shrunk[e] = rows.data[begin + e] * regularizer.shrinkage(square, t)
        sum_rows(rows.indices[begin:end], shrunk, 0, shrunk.shape[0], u, p, 0)

    kinds = {"is_zero": of_rows, "is_l1": of_soft_rows, "on_rows": of_shrunk_rows}
    return of_kind(regularizer, kinds, of_proximal_points)


def of_kind(regularizer, kinds, other):
    """That of the `kinds` {attribute: implementation} whose attribute the class of a numba type has, or `other`."""
    found = (one for kind, one in kinds.items() if getattr(regularizer.instance_class, kind, False))
    return next(found, other)


@kernel
def summed_steps(rows, y, option, regularizer, s, order, b, u, total):
    """As `sdca_steps`, and add to `total` (n, outputs) the sum of b over the steps, each as it was before the step.

    A change h in step k = 0 .. m-1 of m is missing in the k + 1 terms up to its own, so the sum is m b - sum (k + 1) h
    with the b of the end: only the entries that a step changes are touched.
    """
    flat = b.reshape(b.shape[0], -1)
    old = np.empty(flat.shape[1])
    for k in range(order.shape[0]):
        i = sample_at(order, k)
        for c in range(old.shape[0]):
            old[c] = flat[i, c]
        sdca_steps(rows, y, option, regularizer, s, order[k : k + 1], b, u)
        for c in range(old.shape[0]):
            total[i, c] -= (k + 1) * (flat[i, c] - old[c])
    for i in range(flat.shape[0]):
        for c in range(old.shape[0]):
            total[i, c] += order.shape[0] * flat[i, c]
