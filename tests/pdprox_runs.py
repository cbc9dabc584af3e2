"""Hinge problems and others in the paper's variables, and runs of Pdprox on them."""

from itertools import islice

import numpy as np
import oracles
from runs import dense

from rrmbench import registry
from rrmbench.numerics.random import Rng
from rrmbench.problem.operators import CSR, Flattened
from rrmbench.problem.problem import Problem

STEPS = 60
LAYOUTS = ("double_dual", "double_primal")
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def iterates(spec, p, count=STEPS, start=None, seed=0):
    """Copies of the iterates 1 .. count of a solver, after the one that it starts from."""
    found = [it.copied() for it in islice(registry.build_solver(spec)(p, start, Rng(seed)), 1, count + 1)]
    assert len(found) == count, "the solver ended"
    return found


def after(spec, p, passes, start=None):
    return next(it.copied() for it in registry.build_solver(spec)(p, start, Rng(0)) if it.passes >= passes)


def solved(p, gap=1e-11):
    """The first pair of pdprox_restarted with such a gap."""
    running = registry.build_solver("pdprox_restarted")(p, None, Rng(0))
    it = next(it for it in running if p.gap(it.w, it.b) <= gap or it.passes > 50_000)
    assert it.passes <= 50_000
    return it.copied()


def hinge(regularizer="elastic_net", **changes):
    """A hinge problem with everything that a Problem can add: mu, l2, kappa and a centre."""
    p = oracles.problem("hinge", oracles.example("regularizer", regularizer)).smoothed(0.05)
    return p.regularized(0.02, np.linspace(-1.0, 1.0, p.shape[0]))


# the paper's variables: alpha in [0, 1]^n with alpha_i = -y_i b_i, L(w, alpha) = (1/n) sum alpha_i (1 - y_i x_i.w)


class Folded:
    """The two gradients and the two mappings of the paper for the smoothed hinge, dense and in its own variables."""

    def __init__(self, p):
        self.p, self.n = p, p.n
        self.H = -(dense(p) * p.y[:, None]).T / p.n
        self.a = np.full(p.n, 1.0 / p.n)

    def G_w(self, alpha):
        return self.H @ alpha

    def G_alpha(self, w):
        return self.H.T @ w + self.a

    def project(self, point, step):
        """argmin over [0, 1]^n of ||alpha - point||^2/2 + step mu/(2n) ||alpha||^2: a projection for mu = 0."""
        return np.clip(point / (1.0 + step * self.p.mu / self.n), 0.0, 1.0)

    def map(self, point, step):
        """argmin ||w - point||^2/2 + step Psi(w)."""
        return oracles.prox_Psi(self.p, point, step)


def algorithm_1(f, gamma):
    w, beta = np.zeros(f.H.shape[0]), np.zeros(f.n)
    while True:
        alpha = f.project(beta + gamma * f.G_alpha(w), gamma)
        w = f.map(w - gamma * f.G_w(alpha), gamma)
        beta = f.project(beta + gamma * f.G_alpha(w), gamma)
        yield w, alpha


def algorithm_2(f, gamma):
    u, alpha = np.zeros(f.H.shape[0]), np.zeros(f.n)
    while True:
        w = f.map(u - gamma * f.G_w(alpha), gamma)
        old, alpha = alpha, f.project(alpha + gamma * f.G_alpha(w), gamma)
        u = w + gamma * (f.G_w(old) - f.G_w(alpha))
        yield w, alpha


def algorithm_3(f, gamma):
    w, beta = np.zeros(f.H.shape[0]), np.zeros(f.n)
    while True:
        alpha = f.project(beta + gamma * f.G_alpha(w), gamma)
        old, w = w, f.map(w - gamma * f.G_w(alpha), gamma)
        beta = alpha + gamma * (f.G_alpha(w) - f.G_alpha(old))
        yield w, alpha


def same(ours, printed, p):
    for it, (w, alpha) in zip(ours, printed, strict=False):
        np.testing.assert_allclose(it.w, w, **EXACT)
        np.testing.assert_allclose(-p.y * it.b, alpha, **EXACT)


PRINTED = [({"name": "pdprox_dual", "layout": layout}, algorithm_3) for layout in LAYOUTS]
PRINTED += [({"name": "pdprox_primal", "layout": layout}, algorithm_2) for layout in LAYOUTS]
PRINTED += [({"name": "pdprox_dual", "beta": "prox"}, algorithm_1)]


def multiclass():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((30, 7)), np.arange(30) % 3.0
    return Problem(X, y, "max_of_hinge", {"name": "l21", "strength": 0.05})


def tasks():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((24, 5, 3)) * (np.arange(24) % 3 == np.arange(3)[:, None]).T[:, None]
    rows = CSR.of(X.reshape(24, 15)).rows
    operator = Flattened(rows.data, rows.indices, rows.indptr, (24, 15), (5, 3))
    return Problem(operator, rng.standard_normal(24), "absolute", {"name": "trace_norm", "strength": 0.1})


def whole():
    X, y = oracles.data(40, 12, 0.5, loss="hinge")
    return Problem(X, y, {"name": "hinge", "budget": 7.5}, {"name": "l1", "strength": 0.02})
