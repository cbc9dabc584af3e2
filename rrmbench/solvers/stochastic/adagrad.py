"""Diagonal AdaGrad as composite mirror descent [Duchi, Hazan and Singer 2011]."""

from itertools import count
from typing import Literal

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.lazy import closed_form_steps
from rrmbench.numerics.prefetch import prefetch_rows
from rrmbench.numerics.sparse_rows import dot, entries, sample_at
from rrmbench.numerics.whole_arrays import psi_prox
from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver


@solver(needs={"scalar", "coordinate", "rows"})
def adagrad(
    problem,
    start,
    rng,
    *,
    step_scale: Positive = 0.3,
    delta: Positive = 1e-8,
    sampling: Literal["permutation", "uniform"] = "uniform",
):
    """A stochastic proximal step in the metric H = delta + diag(sum of squared gradients)^(1/2).

    w = argmin_u eta (g.u + Psi(u)) + (u - w).H (u - w)/2, g = phi'(x_i.w) x_i, H including g, so in each coordinate
    w_j = prox_{eta/H_j Psi}(w_j - (eta/H_j) g_j); the least-norm subgradient where phi has a kink. eta = step_scale;
    the regret bound [Duchi, Hazan and Singer 2011, Theorem 5] is least at eta = max_t ||w_t - w*||_inf / sqrt(2), which
    is not known: tune it (on text, tables and images in rows of norm 1, 0.1 or 1 was the best power of ten).

    Coordinates that a row does not touch wait for a closed form where psi is a multiple of |w| on an interval
    (`rrmbench.numerics.lazy`), so a step costs the row's entries; other regularizers need all d coordinates in each.
    """
    n, s = problem.n, problem.strong_convexity
    w = problem.start(start)
    squares, last = np.zeros(problem.shape), np.zeros(problem.shape, dtype=np.int64)
    advance = adagrad_lazy_steps if problem.regularization.soft_threshold else adagrad_dense_steps
    center_term = problem.center_term()
    draw = rng.drawing(sampling)
    fixed = (problem.X.rows, problem.y, problem.loss, problem.mu, problem.regularizer, s, center_term)
    yield Iterate(w)
    psi_prox(problem.regularizer, w, 0.0, w)  # the closed form starts inside the interval
    for passes in count(1):
        advance(*fixed, step_scale, delta, draw(n), w, squares, last)
        yield Iterate(w, passes=passes)


@kernel
def moved(regularizer, s, center_term, step, g, w):
    """argmin_u g u + Psi(u) + (u - w)^2 / (2 step) in one coordinate, all numbers; center_term = kappa center_j."""
    a = 1.0 / (1.0 + step * s)
    return regularizer.prox(a * (w - step * (g - center_term)), a * step)


@kernel
def waited(regularizer, s, center_term, step, k, w):
    """k times `moved` with g = 0."""
    if k == 0:
        return w
    weight = step / (1.0 + step * s)
    return regularizer.prox(
        closed_form_steps(w, -weight * center_term, weight * regularizer.strength, k, step * s), 0.0
    )


@kernel
def adagrad_lazy_steps(rows, y, loss, mu, regularizer, s, center_term, eta, delta, order, w, squares, last):
    """One step for each sample of `order` (m,), changing w (d,) and squares (d,), the sums of squared gradients.

    rows : the rows x_i of X (n, d) in CSR form, `rrmbench.problem.operators.Rows`
    y : (n,); center_term : (d,) kappa center
    last : (d,) the steps that w_j has made, 0 before and after
    """
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        i = sample_at(order, t)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        z = 0.0
        for e in entries(begin, end):
            j = rows.indices[e]
            w[j] = waited(regularizer, s, center_term[j], eta / (delta + np.sqrt(squares[j])), t - last[j], w[j])
            z += rows.data[e] * w[j]
        b = loss.dual_point(z, y[i], mu)
        for e in entries(begin, end):
            j = rows.indices[e]
            g = b * rows.data[e]
            squares[j] += g * g
            w[j] = moved(regularizer, s, center_term[j], eta / (delta + np.sqrt(squares[j])), g, w[j])
            last[j] = t + 1
    for j in range(w.shape[0]):
        w[j] = waited(
            regularizer, s, center_term[j], eta / (delta + np.sqrt(squares[j])), order.shape[0] - last[j], w[j]
        )
        last[j] = 0


@kernel
def adagrad_dense_steps(rows, y, loss, mu, regularizer, s, center_term, eta, delta, order, w, squares, last):
    """As `adagrad_lazy_steps`, all coordinates in each step; `last` is not used."""
    g = np.zeros(w.shape[0])
    for t in range(order.shape[0]):
        prefetch_rows(rows, y, order, t)
        i = sample_at(order, t)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        b = loss.dual_point(dot(rows.indices, rows.data, begin, end, w), y[i], mu)
        for e in entries(begin, end):
            g[rows.indices[e]] = b * rows.data[e]
        for j in range(w.shape[0]):
            squares[j] += g[j] * g[j]
            w[j] = moved(regularizer, s, center_term[j], eta / (delta + np.sqrt(squares[j])), g[j], w[j])
        for e in entries(begin, end):
            g[rows.indices[e]] = 0.0
