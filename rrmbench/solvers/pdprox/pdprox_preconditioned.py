"""Pdprox-dual with a step length of its own for each coordinate of w and of b [Pock and Chambolle 2011]."""

from math import sqrt
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from rrmbench.numerics.jit import kernel
from rrmbench.parameters import Positive
from rrmbench.registry import solver
from rrmbench.solvers.pdprox.begin import origin, product_at, z_at
from rrmbench.solvers.pdprox.pdprox import dual_steps

Exponent = Annotated[float, Ge(0), Le(2)]


@solver(needs={"scalar", "coordinate", "rows", "conjugate_prox"}, deterministic=True)
def pdprox_preconditioned(
    problem, start, rng, *, exponent: Exponent = 1.0, step_scale: Positive = 1.0, ratio: Positive = 1.0
):
    """pdprox_dual (Algorithm 3) with diagonal preconditioning, for data whose ||X|| is hard to bound.

    With K = X/n, tau_j = f sqrt(ratio) / sum_i |K_ij|^(2 - a) and sigma_i = f / (sqrt(ratio) sum_j |K_ij|^a), f =
    step_scale and a = exponent; the theory has f <= 1. Sums are over nonzeros. [Pock and Chambolle 2011, Lemma 2]
    They read X once, which the clock includes and no column counts.
    """
    problem = problem.counted()
    at = origin(problem, start)
    yield at
    z = yield from product_at(z_at, problem, at)
    yield from dual_steps(problem, at, z, Diagonal(problem, exponent, step_scale, ratio))


class Diagonal:
    """As `step_sizes.StepSizes`, with arrays tau (d,) and sigma (n,) that stay as they are."""

    def __init__(self, problem, exponent, step_scale, ratio):
        self.problem = problem
        columns, rows = powers(problem.X, exponent)
        self.tau, self.sigma = step_scale * sqrt(ratio) / columns, step_scale / sqrt(ratio) / rows
        self._center_term = problem.center_term()

    def primal(self, w, v):
        p, new = self.problem, np.empty(w.shape)
        primal_prox(p.regularizer, p.l2 + p.kappa, self._center_term, w, v, self.tau, new)
        return new

    def dual(self, b, z):
        p, new = self.problem, np.empty(b.shape)
        dual_prox(p.loss, p.mu, p.y, b, z, self.sigma, new)
        return new

    def advance(self):
        return 1.0

    def shorten_if_unsafe(self, x, image):
        pass


def powers(X, exponent):
    """(sum_i |K_ij|^(2 - a) for each column j, sum_j |K_ij|^a for each row i) of K = X/n; 1 for an empty sum."""
    (n, d), rows = X.shape, X.rows
    sizes = np.abs(rows.data) / n
    given = sizes > 0.0  # 0^0 = 1
    sizes, of_row = sizes[given], np.repeat(np.arange(n), np.diff(rows.indptr))[given]
    columns = np.bincount(rows.indices[given], sizes ** (2.0 - exponent), d)
    sums = np.bincount(of_row, sizes**exponent, n)
    return np.where(columns > 0.0, columns, 1.0), np.where(sums > 0.0, sums, 1.0)


@kernel
def primal_prox(regularizer, s, center_term, w, v, tau, new):
    """new_j = argmin_u  tau_j Psi_j(u) + (u - w_j - tau_j v_j)^2 / 2; w, v, tau and new are (d,).

    s, center_term : l2 + kappa, and kappa center (d,)
    """
    for j in range(w.shape[0]):
        t = tau[j]
        scale = 1.0 + t * s
        new[j] = regularizer.prox((w[j] + t * (v[j] + center_term[j])) / scale, t / scale)


@kernel
def dual_prox(loss, mu, y, b, z, sigma, new):
    """new_i = argmin_u  t phi^mu*(u) + (u - b_i - t z_i)^2 / 2, t = sigma_i/n; y, b, z, sigma and new are (n,)."""
    n = b.shape[0]
    for i in range(n):
        q = n / sigma[i]
        new[i] = loss.dual_point(q * b[i] + z[i], y[i], mu + q)
