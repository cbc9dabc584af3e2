"""Pegasos [Shalev-Shwartz et al. 2011], deterministic and stochastic."""

from itertools import count
from math import inf, sqrt
from typing import Literal

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.prefetch import prefetch_rows
from rrmbench.numerics.sparse_rows import axpy, dot, sample_at
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver

SMALL = 1e-100  # scale of the array, below which it is multiplied out


def draws_nothing(sampling, **parameters):
    """Whether a step is with all samples."""
    return sampling == "all"


@solver(needs={"Hinge", "Zero", "strongly_convex", "rows"}, deterministic=draws_nothing)
def pegasos(
    problem,
    start,
    rng,
    *,
    sampling: Literal["all", "uniform", "permutation"] = "uniform",
    projection: Literal["ball", "none"] = "ball",
):
    """Pegasos: subgradient steps for the support vector machine, then a projection on a ball.

    w = (1 - eta s) w - eta g with eta = 1/(s t) in step t = 1, 2, ...; g is phi'(x_i.w) x_i for a random sample, or the
    mean over all samples; the least-norm phi' at the kink.

    sampling : "all" is the deterministic method of Pdprox, footnote 2, a pass per step; "uniform" draws samples as
        Figure 1 of the paper does, "permutation" goes through all of them in a fresh order in each pass.
    projection : "ball" has the radius sqrt(mean phi(0) / s), 1/sqrt(s) for the hinge loss, in which w* lies since
        s ||w*||^2 <= P(0) for losses >= 0 [Shalev-Shwartz et al. 2011, Theorem 1, Figure 1]; it tames the first
        steps, which are long. "none" leaves it out, as the paper allows.

    As t starts at 1, the first step forgets the start. For Psi with a centre, all this is relative to the minimizer of
    Psi. A stochastic step costs the row's entries: w is a scalar times a vector, and ||w||^2 is updated with it.
    """
    w = problem.start(start)
    yield Iterate(w)
    center = problem.shift()
    z0, passes = (problem.X.forward(center), 0.5) if center.any() else (np.zeros(problem.n), 0.0)
    radius = sqrt(problem.mean_loss(z0) / problem.strong_convexity) if projection == "ball" else inf
    u = w - center
    fixed = problem, u, z0, radius
    advance = full_steps(*fixed) if sampling == "all" else random_steps(*fixed, sampling, rng)
    for k, b in enumerate(advance, start=1):
        np.add(u, center, out=w)
        yield Iterate(w, b, passes + k)


def full_steps(problem, u, z0, radius):
    """Steps with all samples on u = w - center, X center = z0; yields the average of phi' after each."""
    s, average = problem.strong_convexity, np.zeros(problem.n)
    for t in count(1):
        b = problem.loss_dual(problem.X.forward(u) + z0)
        average += (b - average) / t
        u *= 1.0 - 1.0 / t
        u += problem.v(b) / (s * t)
        norm = float(np.linalg.norm(u))
        if norm > radius:
            u *= radius / norm
        yield average


def random_steps(problem, u, z0, radius, sampling, rng):
    """n stochastic steps on u = w - center, X center = z0, at a time; yields None after each n."""
    n, s = problem.n, problem.strong_convexity
    fixed = problem.X.rows, problem.y, problem.loss, problem.mu, s, radius, z0
    for k in count():
        order = rng.drawing(sampling)(n)
        stochastic_steps(*fixed, order, k * n, u)
        yield None


@kernel
def stochastic_steps(rows, y, loss, mu, s, radius, z0, order, t, u):
    """A step for each sample of `order` (m,), after t steps before them, changing u (d,).

    Between the steps u = a v: the number a is kept apart and v is stored in place of u.

    rows : the rows x_i of X (n, d) in CSR form, `rrmbench.problem.operators.Rows`
    y, z0 : (n,); z0 = X center
    """
    a, square = 1.0, 0.0
    for j in range(u.shape[0]):
        square += u[j] * u[j]
    for k in range(order.shape[0]):
        prefetch_rows(rows, y, order, k)
        i = sample_at(order, k)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        p = a * dot(rows.indices, rows.data, begin, end, u)
        b = loss.dual_point(p + z0[i], y[i], mu)
        t += 1
        shrink, move = 1.0 - 1.0 / t, -b / (s * t)
        square = shrink * shrink * square + move * (2.0 * shrink * p + move * rows.sqnorms[i])
        a *= shrink
        if a < SMALL:  # among others after t = 1, where a = 0
            fold(a, u)
            a = 1.0
        if b != 0.0:
            axpy(rows.indices, rows.data, begin, end, move / a, u)
        if square > radius * radius:
            a *= radius / np.sqrt(square)
            square = radius * radius
    fold(a, u)


@kernel
def fold(a, u):
    """u = a u; u (d,)."""
    for j in range(u.shape[0]):
        u[j] *= a
