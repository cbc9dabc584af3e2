"""Fobos and RDA against their formulas on dense arrays, and their theorems."""

from itertools import islice
from math import sqrt

import numpy as np
import oracles
import pytest
from dense_steps import (
    CENTER,
    ELASTIC,
    L1,
    L2,
    at,
    each_start,
    greatest_norm,
    mean_square,
    steps,
    subgradient,
    together,
)
from runs import dense

# fobos and rda


def cases():
    """(problem, the three regimes of a step: "smooth", "strong" or "plain")."""
    return [
        pytest.param(oracles.problem("hinge", L1), "plain", id="plain"),
        pytest.param(oracles.problem("generalized_hinge", L1), "plain", id="steeper"),
        pytest.param(oracles.problem("absolute", ELASTIC), "strong", id="strong"),
        pytest.param(oracles.problem("hinge", L1).regularized(0.2, CENTER), "strong", id="centred"),
        pytest.param(oracles.problem("logistic", ELASTIC), "smooth", id="smooth"),
        pytest.param(oracles.problem("hinge", L1).smoothed(0.3), "smooth", id="smoothed"),
    ]


each_regime = pytest.mark.parametrize(("p", "regime"), cases())


@each_regime
@each_start
def test_fobos_is_forward_and_backward(p, regime, start):
    X, w, mean = dense(p), np.zeros(12) if start is None else CENTER, np.zeros(p.n)
    for k, it in enumerate(islice(steps({"name": "fobos", "step_scale": 0.7}, p, start), 30), start=1):
        eta = {
            "plain": lambda k=k: 1 / (p.lipschitz * greatest_norm(X) * sqrt(k)),
            "strong": lambda k=k: 1 / (p.strong_convexity * k),
            "smooth": lambda: 1 / (p.smoothness * mean_square(X)),
        }[regime]() * 0.7
        mean = (1 - 1 / k) * mean + oracles.derivatives(p, X @ w) / k
        w = oracles.prox_Psi(p, w - eta * subgradient(p, X, w), eta)
        np.testing.assert_allclose(it.w, w, atol=1e-10)
        np.testing.assert_allclose(it.b, mean, atol=1e-10)
        assert it.passes == k


@each_regime
@each_start
@pytest.mark.parametrize("output", ["last", "average"])
def test_rda_is_dual_averaging(p, regime, start, output):
    X, w0 = dense(p), np.zeros(12) if start is None else CENTER
    points, g = [w0], np.zeros(12)
    solver = {"name": "rda", "step_scale": 0.7, "output": output}
    for k, it in enumerate(islice(steps(solver, p, start), 30), start=1):
        g = (1 - 1 / k) * g + subgradient(p, X, points[-1]) / k
        beta = {
            "plain": lambda k=k: p.lipschitz * greatest_norm(X) * sqrt(k) / 0.7,
            "strong": lambda k=k: 1e-13 * k,  # the limit beta -> 0
            "smooth": lambda: p.smoothness * mean_square(X) / 0.7,
        }[regime]()
        points.append(oracles.prox_Psi(p, w0 - (k / beta) * g, k / beta))
        wanted = points[-1] if output == "last" else np.mean(points[:-1], axis=0)
        np.testing.assert_allclose(it.w, wanted, atol=1e-10)
        np.testing.assert_allclose(X.T @ it.b / p.n, g, atol=1e-10)
        assert it.passes == k


@pytest.mark.parametrize("loss", ["logistic", "squared", "huber"])
def test_fobos_on_smooth_losses_is_the_proximal_gradient_method(loss):
    p = oracles.problem(loss, ELASTIC)
    for ours, gd in together(steps("fobos", p), islice(steps({"name": "gd", "step": "bound"}, p), 1, None), most=20):
        np.testing.assert_allclose(ours.w, gd.w, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
def test_rda_and_unprojected_pegasos_are_one_method_on_l2(loss):
    p = oracles.problem(loss, L2)
    pegasos = {"name": "pegasos", "sampling": "all", "projection": "none"}
    for ours, other in together(steps("rda", p), steps(pegasos, p), most=50):
        np.testing.assert_allclose(ours.w, other.w, atol=1e-11)
        np.testing.assert_allclose(ours.w, p.primal_point(p.v(ours.b)), atol=1e-12)


non_smooth = pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
plain_and_strong = pytest.mark.parametrize("regularizer", ["l1", "elastic_net"])


@pytest.mark.core(2)
@non_smooth
@plain_and_strong
def test_the_regret_of_fobos(loss, regularizer):
    p = oracles.problem(loss, oracles.example("regularizer", regularizer))
    optimum, best = oracles.cvxpy_optimum(loss, regularizer)
    s, GR, w, regret, squares = p.strong_convexity, p.lipschitz * p.R, np.zeros(12), 0.0, 0.0
    scale = 1.0 if s > 0.0 else float(np.linalg.norm(best))
    for k, it in enumerate(islice(steps({"name": "fobos", "step_scale": scale}, p), 3000), start=1):
        eta = 1.0 / s / k if s > 0.0 else scale / (GR * sqrt(k))
        weight = 1.0 if s > 0.0 else eta  # the theorem is for these weights of the points
        regret += weight * (p.mean_loss(p.X.forward(w)) + p.Psi(it.w) - optimum)
        squares += weight * eta * GR**2 / 2
        assert regret <= (s if s > 0.0 else 1.0) * best @ best / 2 + squares
        w = it.w.copy()
    assert p.primal(w) - optimum <= 0.05 * (p.primal(np.zeros(12)) - optimum)
    assert p.dual_value(it.b) <= optimum + 1e-9


@pytest.mark.core(2)
@non_smooth
@plain_and_strong
def test_the_rate_of_rda(loss, regularizer):
    p = oracles.problem(loss, oracles.example("regularizer", regularizer))
    optimum, best = oracles.cvxpy_optimum(loss, regularizer)
    s, GR, length = p.strong_convexity, p.lipschitz * p.R, float(np.linalg.norm(best))
    solver = {"name": "rda", "step_scale": length}
    for k, it in enumerate(islice(steps(solver | {"output": "average"}, p), 3000), start=1):
        bound = GR**2 * (6.0 + np.log(k)) / (2.0 * s * k) if s > 0.0 else 1.5 * GR * length / sqrt(k)
        assert p.primal(it.w) - optimum <= bound
    last = at(solver, p, 3000)
    assert p.primal(last.w) - optimum <= 0.1 * (p.primal(np.zeros(12)) - optimum)
    assert p.dual_value(last.b) <= optimum + 1e-9
