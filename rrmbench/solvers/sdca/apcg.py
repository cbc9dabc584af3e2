"""Accelerated proximal coordinate gradient on the dual [Lin, Lu and Xiao 2014]."""

from itertools import count, pairwise
from math import log
from typing import Literal

import numpy as np
from numba.extending import overload, register_jitable

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.matrix_products import add_to_rows, sum_rows
from rrmbench.numerics.prefetch import prefetch, prefetch_rows
from rrmbench.numerics.sparse_rows import entries, sample_at
from rrmbench.numerics.whole_arrays import psi_prox
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.sdca.output import DualState
from rrmbench.solvers.sdca.steps import Exact, of_kind


def apcg_quartering(problem):
    """The passes k of 2 (1 - sqrt(sigma)/n)^(n k) = 1/4 for D(b*) - D(b), log 8 / sqrt(sigma), sigma as in `apcg`.

    [Lin, Lu and Xiao 2014, Theorem 1, with sigma/2 times the squared distance from b* at most D(b*) - D(b)]
    """
    return log(8.0) / convexity_root(problem)


def convexity_root(problem):
    """sqrt(sigma) of `apcg`; a smaller sigma is true as well, and sigma = 1 and n = 1 would make r zero."""
    own = problem.strong_convexity * (problem.loss.conjugate_convexity + problem.mu) * problem.n
    if own == 0.0:  # and R may be 0, too, where no row has an entry
        return 0.0
    return np.sqrt(min(own / (problem.R**2 + own), 0.99))


@solver(
    needs={"smooth", "strongly_convex", "scalar", "coordinate", "rows"},
    gives={"dual"},
    passes_to_quarter=apcg_quartering,
)
def apcg(problem, start, rng, *, sampling: Literal["uniform", "permutation"] = "uniform"):
    """APCG for -D(b), with its default step lengths.

    The strong convexity gamma = conjugate_convexity + mu of the conjugates is moved into the smooth part
    f(b) = Psi*(v(b)) + gamma/(2n) ||b||^2. Its coordinates are L_i-smooth with
    L_i = (||x_i||^2 + s gamma n)/(s n^2), and it is sigma-strongly convex in the norm of these L_i with
    sigma = s gamma n / (R^2 + s gamma n). A step of Algorithm 2 on coordinate i is, alpha = sqrt(sigma)/n,

        y = (x + alpha z)/(1 + alpha),  z+ = (1 - alpha) z + alpha y,  c = sqrt(sigma) n L_i
        z+_i = argmin_t (c/2) (t - z+_i)^2 + (gamma y_i - x_i.w(y)) t + phi*(t) - (conjugate_convexity/2) t^2
        x+ = y + n alpha (z+ - z) + n alpha^2 (z - y)

    Only sparse updates are left for x = r u + v and z = -r u + v, where each step multiplies r by
    (1 - alpha)/(1 + alpha). [Lin, Lu and Xiao 2014, sections 3.2 and 4]

    sampling : independent uniform draws of the coordinates, which the theory is about, or a fresh permutation of them
        in each pass, which took 25 to 50 % fewer passes wherever it was tried.

    Yields three times per pass, where the reductions look at the gap. Checks are the product X^T b of a start that is
    not zero.
    """
    draw = rng.drawing(sampling)
    n, s, root = problem.n, problem.strong_convexity, convexity_root(problem)
    state = DualState(problem, Exact(problem.loss, problem.mu), start)
    (w, b), checks, r = state.present(), state.checks, 1.0
    # Pairs (u_i, v_i), and (p_j, q_j) with r p + q = (v(x) + kappa center)/s: one cache line for both.
    uv = np.column_stack((np.zeros(n), b))
    pq = np.column_stack((np.zeros(problem.shape), state.u))
    yield Iterate(w, b, checks=checks)
    thirds = [n * k // 3 for k in range(4)]
    fixed = (problem.X.rows, problem.y, problem.loss, problem.mu, problem.regularizer, s, root, n)
    for epoch in count():
        order = draw(n)
        for first, last in pairwise(thirds):
            r = apcg_steps(*fixed, order[first:last], r, uv, pq)
            combine(r, uv, b)
            combine(r, pq, w)
            psi_prox(problem.regularizer, w, 1.0 / s, w)
            yield Iterate(w, b, passes=epoch + last / n, checks=checks)


@kernel
def combine(r, pairs, out):
    """out = r pairs[:, 0] + pairs[:, 1]; pairs (m, 2) and out (m,), or (m, 2, k) and (m, k)."""
    for i in range(out.shape[0]):
        if out.ndim == 1:  # known to the compiler
            out[i] = r * pairs[i, 0] + pairs[i, 1]
        else:
            for c in range(out.shape[1]):
                out[i, c] = r * pairs[i, 0, c] + pairs[i, 1, c]


@kernel
def rescale(r, pairs):
    """Multiply pairs[:, 0] by r; pairs (m, 2) or (m, 2, k)."""
    for i in range(pairs.shape[0]):
        if pairs.ndim == 2:
            pairs[i, 0] *= r
        else:
            for c in range(pairs.shape[2]):
                pairs[i, 0, c] *= r


@kernel
def apcg_steps(rows, y, loss, mu, regularizer, s, root, coordinates, order, r, uv, pq):
    """One step for each of `order` (m,), drawn from so many `coordinates`; root = sqrt(sigma). Return the new r.

    rows : the rows x_i of X (n, d) in CSR form, `rrmbench.problem.operators.Rows`
    y : (n,), or (n, k) targets
    uv : (n, 2) the pairs (u_i, v_i), or (n, 2, k); pq : (d, 2) the pairs (p_j, q_j), or (d, 2, k). Both are changed.
    """
    alpha = root / coordinates
    rho = (1.0 - alpha) / (1.0 + alpha)
    if uv.ndim == 2:  # known to the compiler
        return scalar_apcg_steps(rows, y, loss, mu, regularizer, s, root, rho, order, r, uv, pq)
    return vector_apcg_steps(rows, y, Exact(loss, mu), regularizer, s, root, rho, order, r, uv, pq)


@register_jitable
def halves(root, r, h):
    """The changes of u_i and v_i that change z_i = v_i - r u_i by h, and x_i = v_i + r u_i by root h."""
    return (root - 1.0) * h / (2.0 * r), (root + 1.0) * h / 2.0


@kernel
def scalar_apcg_steps(rows, y, loss, mu, regularizer, s, root, rho, order, r, uv, pq):
    """As `apcg_steps` for one output per sample, rho being the factor of r in each step."""
    scale, gamma = 1.0 / (s * y.shape[0]), loss.conjugate_convexity + mu
    for k in range(order.shape[0]):
        prefetch_rows(rows, y, order, k)
        prefetch(uv, 2 * order[min(k + 8, order.shape[0] - 1)])
        i = sample_at(order, k)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        r *= rho
        z = 0.0
        for e in entries(begin, end):
            j = rows.indices[e]
            z += rows.data[e] * regularizer.prox(r * pq[j, 0] + pq[j, 1], 1.0 / s)
        ru, v = r * uv[i, 0], uv[i, 1]
        c = root * (rows.sqnorms[i] * scale + gamma)
        h = loss.dual_point(c * (v - ru) + z - gamma * (v + ru), y[i], c - loss.conjugate_convexity) - (v - ru)
        if h != 0.0:
            du, dv = halves(root, r, h)
            uv[i, 0] += du
            uv[i, 1] += dv
            for e in entries(begin, end):
                j, x = rows.indices[e], rows.data[e]
                pq[j, 0] -= scale * du * x
                pq[j, 1] -= scale * dv * x
        if r < 1e-100:
            rescale(r, uv)
            rescale(r, pq)
            r = 1.0
    return r


@kernel
def vector_apcg_steps(rows, y, option, regularizer, s, root, rho, order, r, uv, pq):
    """As `apcg_steps` for k outputs per sample, with gamma = 0: all of phi* is in the proximal step.

    This is the step of `option`, the exact one of Prox-SDCA, at z_i and w(y), with root ||x_i||^2 for ||x_i||^2.
    """
    scale, outputs = 1.0 / (s * y.shape[0]), uv.shape[2]
    both = pq.reshape(pq.shape[0], 2 * outputs)
    p, z, new, change = np.empty((1, outputs)), np.empty(outputs), np.empty(outputs), np.empty((1, 2 * outputs))
    for k in range(order.shape[0]):
        prefetch_rows(rows, y, order, k)
        i = sample_at(order, k)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        r *= rho
        for c in entries(0, outputs):
            z[c] = uv[i, 1, c] - r * uv[i, 0, c]
        pair_outputs(regularizer, 1.0 / s, rows, begin, end, r, both, p, change)
        option.step_row(p[0], z, y[i], root * rows.sqnorms[i] * scale, new)
        moved = False
        for c in entries(0, outputs):
            h = new[c] - z[c]
            moved = moved or h != 0.0
            du, dv = halves(root, r, h)
            uv[i, 0, c] += du
            uv[i, 1, c] += dv
            change[0, c], change[0, outputs + c] = -scale * du, -scale * dv
        if moved:
            add_to_rows(rows.indices, rows.data, begin, end, change, 0, both)
        if r < 1e-100:
            rescale(r, uv)
            rescale(r, pq)
            r = 1.0
    return r


def pair_outputs(regularizer, t, rows, begin, end, r, both, p, sums):
    """Write the sum of x_j prox_t(r p_j + q_j) over the entries of a row to p (1, k); for kernels only.

    both : (d, 2 k) the rows p_j and q_j, one behind the other
    sums : (1, 2 k), overwritten
    """
    raise NotImplementedError


@overload(pair_outputs)
def _pair_outputs(regularizer, t, rows, begin, end, r, both, p, sums):
    def of_rows(regularizer, t, rows, begin, end, r, both, p, sums):
        sum_rows(rows.indices, rows.data, begin, end, both, sums, 0)
        for c in entries(0, p.shape[1]):
            p[0, c] = r * sums[0, c] + sums[0, p.shape[1] + c]

    def of_proximal_points(regularizer, t, rows, begin, end, r, both, p, sums):
        p[:] = 0.0
        for e in entries(begin, end):
            j, x = rows.indices[e], rows.data[e]
            for c in entries(0, p.shape[1]):
                p[0, c] += x * regularizer.prox(r * both[j, c] + both[j, p.shape[1] + c], t)

    def of_shrunk_rows(regularizer, t, rows, begin, end, r, both, p, sums):
        p[:] = 0.0
        for e in entries(begin, end):
            j, square = rows.indices[e], 0.0
            for c in entries(0, p.shape[1]):
                sums[0, c] = r * both[j, c] + both[j, p.shape[1] + c]
                square += sums[0, c] ** 2
            x = rows.data[e] * regularizer.shrinkage(square, t)
            if x != 0.0:
                for c in entries(0, p.shape[1]):
                    p[0, c] += x * sums[0, c]

    return of_kind(regularizer, {"is_zero": of_rows, "on_rows": of_shrunk_rows}, of_proximal_points)
