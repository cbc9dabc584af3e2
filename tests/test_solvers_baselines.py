"""Pegasos, and all baselines of Pdprox on problems of other shapes."""

from dataclasses import replace
from functools import cache
from itertools import islice
from math import sqrt

import cvxpy as cp
import numpy as np
import oracles
import pytest
from dense_steps import CENTER, ELASTIC, L1, L2, RATE, at, steps, together
from runs import dense

from rrmbench import registry
from rrmbench.extending.touched import Touched
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import Flattened
from rrmbench.problem.problem import Problem

DETERMINISTIC = ["fobos", "rda", "agd_adaptive", "excessive_gap", {"name": "pegasos", "sampling": "all"}]


# pegasos


@pytest.mark.parametrize("sampling", ["all", "uniform", "permutation"])
@pytest.mark.parametrize("projection", ["ball", "none"])
@pytest.mark.parametrize("kind", ["plain", "centred", "smoothed"])
def test_pegasos_equals_dense_steps(sampling, projection, kind):
    p = oracles.problem("hinge", L2, n=30, d=12)
    p = {"plain": p, "centred": p.regularized(0.2, CENTER), "smoothed": p.smoothed(0.5)}[kind]
    X, rng, s, n = dense(p), Rng(5), p.strong_convexity, p.n
    center = 0.2 * CENTER / s if kind == "centred" else np.zeros(12)
    radius = sqrt(p.mean_loss(X @ center) / s)
    assert radius == pytest.approx(1 / sqrt(s)) or kind != "plain"
    u, t, projected, seen = np.ones(12) - center, 0, 0, []
    solver = {"name": "pegasos", "sampling": sampling, "projection": projection}
    for k, it in enumerate(islice(steps(solver, p, Iterate(np.ones(12)), seed=5), 8), start=1):
        order = {
            "all": lambda: [slice(None)],
            "uniform": lambda: rng.integers(n, n),
            "permutation": lambda: rng.epoch(n),
        }
        for i in order[sampling]():
            t += 1
            b = oracles.derivatives(p, X @ (u + center))
            seen.append(b)
            g = X.T @ b / n if sampling == "all" else b[i] * X[i]
            u = (1 - 1 / t) * u - g / (s * t)
            if projection == "ball" and np.linalg.norm(u) > radius:
                u, projected = u * (radius / np.linalg.norm(u)), projected + 1
        np.testing.assert_allclose(it.w, u + center, atol=1e-10)
        assert it.passes == k + (0.5 if kind == "centred" else 0.0)
        if sampling == "all":
            np.testing.assert_allclose(it.b, np.mean(seen, axis=0), atol=1e-12)
    assert (projected > 0) == (projection == "ball") or kind != "plain"


def test_pegasos_rescales():
    # t^-(R/sqrt(s)) is below 1e-300 at t = 2 for s = 1e-6: the scalar must be folded into the vector again and again
    X, y = oracles.data(20, 5, loss="hinge")
    p = Problem(1e3 * X, y, "hinge", {"name": "l2", "strength": 1e-6})
    radius, u, t, rng = 1e3, np.zeros(5), 0, Rng(0)
    for it in islice(steps("pegasos", p), 30):
        for i in rng.integers(20, 20):
            t += 1
            b = p.loss.dual_point(1e3 * X[i] @ u, y[i], 0.0)
            u = (1 - 1 / t) * u - b * 1e3 * X[i] / (1e-6 * t)
            u *= min(1.0, radius / np.linalg.norm(u)) if u.any() else 1.0
        np.testing.assert_allclose(it.w, u, atol=1e-8 * radius)


@pytest.mark.parametrize("sampling", ["all", "uniform", "permutation"])
def test_pegasos_reaches_the_optimum_and_its_ball_holds_it(sampling):
    p = oracles.problem("hinge", oracles.example("regularizer", "l2"))
    optimum, w = oracles.cvxpy_optimum("hinge", "l2")
    assert np.linalg.norm(w) <= 1 / sqrt(p.l2)
    last = at({"name": "pegasos", "sampling": sampling}, p, 3000)
    assert p.primal(last.w) - optimum <= 1e-3 * (1.0 - optimum)
    if sampling == "all":
        assert -1e-9 <= optimum - p.dual_value(last.b) <= 1e-2 * (1.0 - optimum)


def test_pegasos_is_for_the_support_vector_machine():
    needs = registry.lookup("solver", "pegasos").needs
    assert needs <= oracles.problem("hinge", L2).traits
    for loss, regularizer in [("logistic", L2), ("hinge", L1), ("hinge", ELASTIC)]:
        assert not needs <= oracles.problem(loss, regularizer).traits


# all: products, models of other shapes, regularizers that do not separate


@pytest.mark.parametrize("solver", DETERMINISTIC, ids=str)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("regularizer", [L1, L2, {"name": "box", "lower": 0.1, "upper": 2.0}], ids=str)
@pytest.mark.parametrize("start", ["w", "both"])
def test_every_product_is_counted(solver, loss, regularizer, start):
    p = oracles.problem(loss, regularizer)
    if "pegasos" in str(solver) and regularizer is not L2:
        p = replace(p, regularizer="none").regularized(0.1, CENTER)
    b = p.loss_dual(p.X.forward(CENTER)) if start == "both" else None
    p = replace(p, X=Touched(p.X))
    its = registry.build_solver(solver)(p, Iterate(CENTER + 1.0, b), Rng(0))
    for it in islice(its, 60):
        assert it.passes == (p.X.products - p.X.zeros) / 2
        assert it.checks == 0.0


def flattened(model, n, seed=3):
    """A random operator on matrices of shape `model` with numbers as outputs, and labels."""
    X, y = oracles.data(n, int(np.prod(model)), density=0.6, seed=seed, loss="absolute")
    flat = Problem(X, y, "absolute").X.rows
    return Flattened(flat.data, flat.indices, flat.indptr, X.shape, model), X, y


@cache
def matrix_optimum(regularizer):
    operator, X, y = flattened((4, 3), 30)
    W = cp.Variable((4, 3))
    loss = cp.norm1(X @ cp.vec(W, order="C") - y) / 30
    psi, constraints = oracles.cvxpy_regularizer({"name": regularizer, "strength": 0.1}, W)
    task = cp.Problem(cp.Minimize(loss + psi), constraints)
    task.solve(solver=cp.CLARABEL)
    return Problem(operator, y, "absolute", {"name": regularizer, "strength": 0.1}), task.value, X


@pytest.mark.core(5)
@pytest.mark.parametrize("solver", ["fobos", "rda", "agd_adaptive", "excessive_gap"])
@pytest.mark.parametrize("regularizer", ["l21", "l1inf", "trace_norm"])
def test_matrix_models_and_norms_of_them(solver, regularizer):
    p, optimum, _ = matrix_optimum(regularizer)
    tuned = {
        "fobos": {"step_scale": 2.0},
        "rda": {"step_scale": 8.0},
        "agd_adaptive": {"step_scale": 16.0, "cap": "rate"},
        "excessive_gap": {},
    }
    last = at({"name": solver, **tuned[solver]}, p, 2000)
    assert last.w.shape == (4, 3)
    assert -1e-6 <= p.primal(last.w) - optimum <= 0.1 * (p.primal(np.zeros((4, 3))) - optimum)
    assert p.dual_value(last.b) <= optimum + 1e-6


@pytest.mark.parametrize("solver", ["fobos", "rda", "agd_adaptive", "excessive_gap"])
def test_a_flattened_matrix_is_a_vector_to_separable_regularizers(solver):
    operator, X, y = flattened((4, 3), 30)
    matrix, vector = (Problem(data, np.sign(y), "hinge", L1) for data in (operator, X))
    for a, b in together(steps(solver, matrix), steps(solver, vector), most=30):
        np.testing.assert_allclose(a.w.reshape(-1), b.w, atol=1e-10)


@pytest.mark.exhaustive
@pytest.mark.parametrize("solver", ["fobos", "rda", RATE, "excessive_gap"], ids=str)
def test_losses_on_several_outputs_and_on_all_samples(solver):
    X, z = oracles.data(30, 6, seed=4)
    classes = Problem(X, np.arange(30.0) % 3, "max_of_hinge", ELASTIC)
    targets = Problem(X, np.random.default_rng(0).normal(size=(30, 2)), "l2_multi", {"name": "l21", "strength": 0.05})
    budget = Problem(X, np.sign(z), {"name": "hinge", "budget": 20.0}, {"name": "l1", "strength": 0.01})
    with_ones = np.column_stack([X, np.ones(30)])
    free = Problem(with_ones, np.sign(z), "hinge", {"name": "l1", "strength": 0.01}, free_bias=True)
    for p in classes, targets, budget, free:
        first = p.primal(np.zeros(p.shape))
        its = list(islice(steps(solver, p), 300))
        assert p.primal(its[-1].w) < 0.98 * first
        assert p.dual_value(its[-1].b) <= min(p.primal(it.w) for it in its)


@pytest.mark.parametrize("solver", DETERMINISTIC, ids=str)
def test_the_random_stream_changes_nothing(solver):
    p = oracles.problem("hinge", L2)
    for a, b in together(steps(solver, p, seed=0), steps(solver, p, seed=1), most=20):
        assert np.array_equal(a.w, b.w)
