"""Methods on full gradients."""

from itertools import pairwise
from math import sqrt

import numpy as np
import oracles
import pytest
from runs import REGULARIZERS, dense, iterates

from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem

# full gradients


def test_gd_on_the_lasso_is_ista():
    p = oracles.problem("squared", {"name": "l1", "strength": 0.05})
    X, w = dense(p), np.zeros(12)
    eta = 0.9 * p.n / np.sum(X**2)
    for it in iterates({"name": "gd", "step": "bound", "step_scale": 0.9}, p, 50)[2:]:
        u = w - eta * X.T @ (X @ w - p.y) / p.n
        w = np.sign(u) * np.maximum(np.abs(u) - eta * 0.05, 0.0)
        np.testing.assert_allclose(it.w, w, atol=1e-13)


def test_agd_is_nesterovs_scheme_with_the_quadratic_in_the_gradient():
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"]).regularized(0.05, np.linspace(-1.0, 1.0, 12))
    X, s = dense(p), p.strong_convexity
    w = y = np.zeros(12)
    step, q = 1 / (p.L + s), sqrt(s / (p.L + s))
    for it in iterates("agd", p, 60)[2:]:
        gradient = X.T @ oracles.derivatives(p, X @ y) / p.n + p.l2 * y + p.kappa * (y - p.center)
        u = y - step * gradient
        w, old = np.sign(u) * np.maximum(np.abs(u) - step * REGULARIZERS["elastic_net"]["l1"], 0.0), w
        y = w + (1 - q) / (1 + q) * (w - old)
        np.testing.assert_allclose(it.w, w, atol=1e-12)


@pytest.mark.parametrize("restart", ["none", "gradient"])
@pytest.mark.parametrize("step", ["bound", "backtracking"])
@pytest.mark.parametrize("start", [None, Iterate(np.linspace(-1.0, 1.0, 12))], ids=["zero", "started"])
def test_fista_is_beck_and_teboulles(step, restart, start):
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"])
    X, w = dense(p), np.zeros(12) if start is None else start.w
    ours = iterates({"name": "fista", "step": step, "restart": restart}, p, 70, start)[2:]
    passes = 0.5 if start is None else 1.0
    accepted, restarts, L = 0, 0, p.L
    if step == "backtracking":
        g = X.T @ oracles.derivatives(p, X @ w) / p.n
        L = max(p.smoothness * np.sum((X @ g) ** 2) / (p.n * g @ g), p.L / p.n)
        passes += 0.5
    y, t, it = w, 1.0, iter(ours)
    while accepted < 40:
        g = X.T @ oracles.derivatives(p, X @ y) / p.n
        new = oracles.prox_Psi(p, y - g / L, 1 / L)
        passes += 0.5
        ours = next(it)
        assert ours.passes == passes
        move, f = new - y, lambda u: p.mean_loss(X @ u)
        if L < p.L and f(new) > f(y) * (1 + 1e-14) + g @ move + L / 2 * move @ move:
            L = min(1.5 * L, p.L)
            np.testing.assert_allclose(ours.w, w, atol=1e-12)
            continue
        np.testing.assert_allclose(ours.w, new, atol=1e-11)
        np.testing.assert_allclose(ours.b, oracles.derivatives(p, X @ y), atol=1e-11)
        if restart == "gradient" and (y - new) @ (new - w) > 0:
            t, restarts = 1.0, restarts + 1
        t, t_old = (1 + sqrt(1 + 4 * t * t)) / 2, t
        w, y = new, new + (t_old - 1) / t * (new - w)
        passes, accepted = passes + 0.5, accepted + 1
    assert (restarts > 0) == (restart == "gradient")
    assert L == p.L if step == "bound" else L < 0.8 * p.L


@pytest.mark.parametrize("solver", ["gd", "agd", "fista"])
def test_backtracking_stays_below_the_bound_at_the_optimum(solver):
    p = oracles.problem("squared_hinge", REGULARIZERS["elastic_net"])
    solve = {"name": solver, "step": "backtracking"}
    rejected = [b.passes - a.passes == 0.5 for a, b in pairwise(iterates(solve, p, 3000)[2:])]
    assert sum(rejected) < 8
    assert not any(rejected[100:])
    still = Problem(np.eye(2), np.zeros(2), "squared")  # no gradient to see a curvature along
    assert not iterates(solve if solver != "agd" else "gd", still, 5)[-1].w.any()


def test_subgradient_takes_normalized_steps():
    p = oracles.problem("absolute", {"name": "l1", "strength": 0.05})
    X, w = dense(p), np.ones(12)
    start = Iterate(w)
    for k, it in enumerate(iterates({"name": "subgradient", "step_scale": 0.3}, p, 30, start)[1:], start=1):
        g = X.T @ oracles.derivatives(p, X @ w) / p.n + 0.05 * np.sign(w)
        w = w - 0.3 / sqrt(k) * g / np.linalg.norm(g)
        np.testing.assert_allclose(it.w, w, atol=1e-5)
        w = it.w


def test_the_subgradient_of_psi_is_that_at_w_and_not_farther_than_a_millionth_of_a_step_away():
    p = oracles.problem("absolute", {"name": "l1", "strength": 0.05})
    w = np.logspace(-7.5, 0.0, 12) * (-1.0) ** np.arange(12)
    g = dense(p).T @ oracles.derivatives(p, dense(p) @ w) / p.n + 0.05 * np.sign(w)
    first = iterates({"name": "subgradient", "step_scale": 0.3}, p, 3, Iterate(w.copy()))[1]
    np.testing.assert_allclose(first.w, w - 0.3 * g / np.linalg.norm(g), atol=1e-9)


def test_subgradient_stays_in_the_box_and_at_the_optimum():
    p = oracles.problem("absolute", REGULARIZERS["box"])
    for it in iterates("subgradient", p, 100):
        assert np.isfinite(p.primal(it.w))
    solved = Problem(np.eye(2), np.zeros(2), "absolute")
    assert not iterates("subgradient", solved, 5)[-1].w.any()
