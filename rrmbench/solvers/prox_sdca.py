"""Proximal stochastic dual coordinate ascent (Shalev-Shwartz and Zhang 2014)."""

from itertools import count, pairwise
from typing import Literal

import numpy as np

from rrmbench.api import Iterate
from rrmbench.kernels import axpy, kernel, prefetch_rows, psi_prox
from rrmbench.registry import solver


@solver(needs={"strongly_convex", "separable", "coordinate", "rows"}, gives={"dual"})
def prox_sdca(problem, start, rng, *, sampling: Literal["permutation", "uniform"] = "permutation"):
    """Prox-SDCA with option I, the exact maximization in one b_i per step.

    What is maximized is D itself for psi = 0, else its lower bound by the smoothness 1/s of Psi*.

    With p = x_i.w and q = ||x_i||^2 / (s n), s = l2 + kappa, the maximizer is
    b_i = dual(p + q b_i, y_i, mu + q): the derivative of the loss smoothed by q more.
    [Accelerated Prox-SDCA, Figure 1]

    sampling : a fresh permutation of the samples in each pass, or the paper's independent uniform draws.
    Yields three times per pass, where the reductions look at the gap.
    """
    n, s = problem.n, problem.strong_convexity
    b = np.zeros(problem.output_shape) if start is None or start.b is None else start.b.copy()
    v = problem.v(b) if b.any() else np.zeros(problem.shape)
    u = v / s + problem.shift()
    draw = rng.epoch if sampling == "permutation" else lambda n: rng.integers(n, n)
    thirds = [n * k // 3 for k in range(4)]
    fixed = (problem.X.rows, problem.y, problem.loss, problem.mu, problem.regularizer, s)
    advance = steps if "scalar" in problem.traits else vector_steps
    w = np.empty(problem.shape)
    flat_u, flat_w = u.reshape(-1), w.reshape(-1)
    psi_prox(problem.regularizer, flat_u, 1.0 / s, flat_w)
    yield Iterate(w, b)
    for epoch in count():
        order = draw(n)
        for first, last in pairwise(thirds):
            advance(*fixed, order[first:last], b, u)
            psi_prox(problem.regularizer, flat_u, 1.0 / s, flat_w)
            yield Iterate(w, b, passes=epoch + last / n)


@kernel
def steps(rows, y, loss, mu, regularizer, s, order, b, u):
    """One step for each sample of `order`."""
    scale = 1.0 / (s * y.shape[0])
    for k in range(order.shape[0]):
        prefetch_rows(rows, y, order, k)
        i = order[k]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        p = 0.0
        for j in range(begin, end):
            p += rows.data[j] * regularizer.prox(u[rows.indices[j]], 1.0 / s)
        q = rows.sqnorms[i] * scale
        new = loss.dual(p + q * b[i], y[i], mu + q)
        if new != b[i]:
            axpy(rows.indices, rows.data, begin, end, (b[i] - new) * scale, u)
            b[i] = new


@kernel
def vector_steps(rows, y, loss, mu, regularizer, s, order, b, u):
    """As `steps` for k outputs per sample: u is (d, k) and b (n, k). [Accelerated Prox-SDCA, section 5.7]"""
    scale, outputs = 1.0 / (s * y.shape[0]), b.shape[1]
    p, new = np.empty(outputs), np.empty(outputs)
    for i in order:
        q = rows.sqnorms[i] * scale
        for c in range(outputs):
            p[c] = q * b[i, c]
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[e]
            for c in range(outputs):
                p[c] += rows.data[e] * regularizer.prox(u[j, c], 1.0 / s)
        loss.dual_row(p, y[i], mu, q, new)
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[e]
            for c in range(outputs):
                u[j, c] += scale * rows.data[e] * (b[i, c] - new[c])
        b[i] = new
