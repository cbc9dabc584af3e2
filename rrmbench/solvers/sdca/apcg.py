"""Accelerated proximal coordinate gradient on the dual [Lin, Lu and Xiao 2014]."""

from itertools import count, pairwise
from math import log
from typing import Literal

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.prefetch import prefetch, prefetch_rows
from rrmbench.numerics.sparse_rows import entries, sample_at
from rrmbench.numerics.whole_arrays import psi_prox
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver


def apcg_quartering(problem):
    """The passes k of 2 (1 - sqrt(sigma)/n)^(n k) = 1/4 for D(b*) - D(b), log 8 / sqrt(sigma), sigma as in `apcg`.

    [Lin, Lu and Xiao 2014, Theorem 1, with sigma/2 times the squared distance from b* at most D(b*) - D(b)]
    """
    return log(8.0) / convexity_root(problem)


def convexity_root(problem):
    """sqrt(sigma) of `apcg`; a smaller sigma is true as well, and sigma = 1 and n = 1 would make r zero."""
    own = problem.strong_convexity * (problem.loss.conjugate_convexity + problem.mu) * problem.n
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
    b = problem.start_dual(start)
    # Pairs (u_i, v_i), and (p_j, q_j) with r p + q = (v(x) + kappa center)/s: one cache line for both.
    uv = np.column_stack((np.zeros(n), b))
    q, checks = (problem.shift() + problem.v(b) / s, 0.5) if b.any() else (problem.shift(), 0.0)
    pq = np.column_stack((np.zeros(problem.shape), q))
    r, w = 1.0, np.empty(problem.shape)
    psi_prox(problem.regularizer, q, 1.0 / s, w)
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
    """out = r pairs[:, 0] + pairs[:, 1]; pairs (m, 2), out (m,)."""
    for k in range(out.shape[0]):
        out[k] = r * pairs[k, 0] + pairs[k, 1]


@kernel
def rescale(r, pairs):
    """Multiply pairs[:, 0] by r; pairs (m, 2)."""
    for k in range(pairs.shape[0]):
        pairs[k, 0] *= r


@kernel
def apcg_steps(rows, y, loss, mu, regularizer, s, root, coordinates, order, r, uv, pq):
    """One step for each of `order` (m,), drawn from so many `coordinates`; root = sqrt(sigma). Return the new r.

    rows : the rows x_i of X (n, d) in CSR form, `rrmbench.problem.operators.Rows`
    y : (n,)
    uv : (n, 2) the pairs (u_i, v_i); pq : (d, 2) the pairs (p_j, q_j). Both are changed.
    """
    scale, gamma, alpha = 1.0 / (s * y.shape[0]), loss.conjugate_convexity + mu, root / coordinates
    rho = (1.0 - alpha) / (1.0 + alpha)
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
            du, dv = (root - 1.0) * h / (2.0 * r), (root + 1.0) * h / 2.0
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
