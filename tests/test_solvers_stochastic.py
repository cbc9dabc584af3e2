"""APCG, SVRG, SGD, SAGA, SAG and AdaGrad against plain steps."""

from itertools import islice
from math import sqrt

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import REGULARIZERS, after, dense, iterates

from rrmbench import registry
from rrmbench.numerics import lazy
from rrmbench.numerics.random import Rng
from rrmbench.problem.constants import NoTheorem
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.solvers.stochastic import sgd
from rrmbench.solvers.stochastic.svrg import svrg_quartering

# apcg


@pytest.mark.core(8)
@pytest.mark.parametrize("loss", ["squared", "smoothed_hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
@pytest.mark.parametrize("center", [None, np.linspace(-1.0, 1.0, 7)], ids=["plain", "centred"])
def test_apcg_is_algorithm_2(loss, regularizer, center):
    p = oracles.problem(loss, REGULARIZERS[regularizer], n=15, d=7)
    if center is not None:
        p = p.regularized(0.05, center)
    compare_apcg(p, None, passes=12, tolerance=1e-10)


def test_apcg_continues_from_b():
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"], n=15, d=7).regularized(0.1, np.linspace(-1.0, 1.0, 7))
    compare_apcg(p, Iterate(np.zeros(7), p.loss_dual(np.linspace(-2.0, 2.0, 15))), passes=5, tolerance=1e-10)


def test_apcg_by_permutations():
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"], n=15, d=7)
    compare_apcg(p, None, passes=12, tolerance=1e-10, sampling="permutation")


def test_apcg_rescales():
    # on 4 samples r falls by 40 % per step: below 1e-100 after 120 passes, below 1e-308 after 360
    p = oracles.problem("logistic", {"name": "l2", "strength": 2.0}, n=4, d=3, density=1.0)
    compare_apcg(p, None, passes=600, tolerance=1e-12)


def compare_apcg(p, start, passes, tolerance, sampling="uniform"):
    X = dense(p)
    rng, orders = Rng(3), []
    for _ in range(passes):
        order = rng.integers(p.n, p.n) if sampling == "uniform" else rng.permutation(p.n)
        orders.extend(np.split(order, [p.n // 3, 2 * p.n // 3]))
    b = np.zeros(p.n) if start is None else start.b
    ours = registry.build_solver({"name": "apcg", "sampling": sampling})(p, start, Rng(3))
    next(ours)
    for it, x in zip(islice(ours, len(orders)), oracles.apcg(p, X, b, orders), strict=True):
        np.testing.assert_allclose(it.b, x, atol=tolerance)
        np.testing.assert_allclose(it.w, oracles.dual_point(p, x, X), atol=tolerance)


@pytest.mark.parametrize("loss", ["smoothed_hinge", "squared_hinge", "logistic", "huber"])
def test_apcg_stays_in_the_domain(loss):
    p = oracles.problem(loss, {"name": "l2", "strength": 1e-3})
    for it in iterates("apcg", p, 300):
        assert np.isfinite(p.mean_conjugate(it.b))


# svrg and sgd


def sparse_problem(loss, regularizer, centred):
    p = oracles.problem(loss, REGULARIZERS[regularizer], n=30, d=25, density=0.1)
    return p.regularized(0.02, np.linspace(-1.0, 1.0, 25)) if centred else p


def on_stochastic_cases(test):
    """Parameters for tests of stochastic solvers against dense steps; "dense" hides the closed form of box."""
    regularizers = ["none", "l2", "l1", "elastic_net", "box", "dense"]
    for names, values in (("loss", ["squared", "logistic"]), ("psi", regularizers), ("centred", [False, True])):
        test = pytest.mark.parametrize(names, values)(test)
    return test


def stochastic_problem(loss, psi, centred, monkeypatch):
    p = sparse_problem(loss, "box" if psi == "dense" else psi, centred)
    if psi == "dense":
        monkeypatch.setattr(type(p.regularizer), "soft_threshold", False)
    assert lazy.StochasticSteps(p, 0.1).lazy == (psi != "dense")
    return p


@pytest.mark.core(4)
@on_stochastic_cases
def test_svrg_equals_dense_steps(loss, psi, centred, monkeypatch):
    p = stochastic_problem(loss, psi, centred, monkeypatch)
    X, rng, w = dense(p), Rng(7), np.zeros(25)
    ours = registry.build_solver({"name": "svrg", "step_scale": 0.4})(p, None, Rng(7))
    next(ours)
    eta = 0.4 / (p.smoothness * p.R**2)
    for _ in range(8):
        theta = oracles.derivatives(p, X @ w)
        g = X.T @ theta / p.n
        snapshot = next(ours)
        np.testing.assert_allclose(snapshot.b, theta, atol=1e-10)
        mapped = w - oracles.prox_Psi(p, w - g / p.L, 1 / p.L)
        expected = (p.L + p.strong_convexity) * np.linalg.norm(mapped)
        assert snapshot.gradient_norm == pytest.approx(expected, abs=1e-9)
        for _ in range(2):
            w = oracles.stochastic_steps(p, X, w, rng.integers(p.n, p.n), eta, g, theta)
            np.testing.assert_allclose(next(ours).w, w, atol=1e-10)


@pytest.mark.core(5)
@pytest.mark.parametrize("loss", ["squared", "absolute", "hinge"])
@pytest.mark.parametrize("regularizer", ["none", "l2", "l1", "elastic_net", "box"])
@pytest.mark.parametrize("sampling", ["uniform", "permutation"])
def test_sgd_equals_dense_steps(loss, regularizer, sampling):
    p = sparse_problem(loss, regularizer, centred=False)
    X, rng, w = dense(p), Rng(7), np.zeros(25)
    n, s, smoothness = 30, p.strong_convexity, p.smoothness
    zeros = np.zeros(25), np.zeros(n)
    for k, it in enumerate(
        iterates({"name": "sgd", "step_scale": 0.5, "sampling": sampling}, p, 6, seed=7)[1:], start=1
    ):
        steepest = smoothness * p.R**2 if np.isfinite(smoothness) else 0.0
        if s > 0.0:
            eta = 0.5 / (s * k * n + steepest)
        elif steepest > 0.0:
            eta = 0.5 / (steepest * sqrt(k))
        else:
            eta = 0.5 / (p.lipschitz * p.R * sqrt(k * n))
        order = rng.integers(n, n) if sampling == "uniform" else rng.permutation(n)
        w = oracles.stochastic_steps(p, X, w, order, eta, *zeros)
        np.testing.assert_allclose(it.w, w, atol=1e-10)


@pytest.mark.parametrize(
    ("loss", "strength", "length"),
    [("squared", 0.5, 1 / (0.5 * 9 * 4 + 4)), ("hinge", 0.5, 1 / (0.5 * 9 * 4)), ("squared", 0.0, 1 / (4 * 3)),
     ("hinge", 0.0, 1 / (2 * 6))],
)  # fmt: skip
def test_step_lengths_of_sgd_by_hand(loss, strength, length):
    """Four rows of length 2, in the ninth pass."""
    p = Problem(2.0 * np.eye(4), np.array([1.0, -1.0] * 2), loss, {"name": "l2", "strength": strength})
    assert sgd.step(p, 9) == pytest.approx(length)


@pytest.mark.core(2)
@pytest.mark.parametrize("solver", ["svrg", "saga", "sag", "sgd", "adagrad"])
def test_a_start_outside_of_the_box_is_projected(solver):
    X, y = oracles.data(30, 25, density=0.1)
    p = Problem(X, y, "squared", {"name": "box", "lower": 0.2, "upper": 0.7}).regularized(0.1, np.ones(25))
    inside = Iterate(np.full(25, 0.2))
    one, two = (iterates(solver, p, 8, start) for start in (None, inside))
    assert all(np.isfinite(p.primal(it.w)) for it in one[2:])
    if solver in ("sgd", "adagrad"):  # the others take their first gradient at the start as it is
        assert all(np.array_equal(a.w, b.w) for a, b in zip(one[1:], two[1:], strict=True))
    else:
        assert p.primal(after(solver, p, 300).w) == pytest.approx(p.primal(after(solver, p, 300, inside).w), rel=1e-3)


def test_no_stage_of_svrg_quarters_the_distance_from_steps_of_an_eighth_on():
    p = Problem(np.eye(10), np.ones(10), "squared", {"name": "l2", "strength": 0.01})
    assert svrg_quartering(p, step_scale=0.1249) > svrg_quartering(p, step_scale=0.1)
    with pytest.raises(NoTheorem, match="step_scale < 1/8"):
        svrg_quartering(p, step_scale=0.125)


def test_svrg_stops_at_a_random_step():
    p = sparse_problem("logistic", "elastic_net", True)
    X, rng, w = dense(p), Rng(7), np.zeros(25)
    ours = registry.build_solver({"name": "svrg", "snapshot": "random"})(p, None, Rng(7))
    next(ours)
    eta, passes, lengths = 0.1 / (p.smoothness * p.R**2), 0.0, []
    for _ in range(12):
        theta = oracles.derivatives(p, X @ w)
        g = X.T @ theta / p.n
        passes += 1.0
        assert next(ours).passes == pytest.approx(passes)
        lengths.append(1 + int(rng.integers(2 * p.n, 1)[0]))
        for steps in (min(lengths[-1], p.n), lengths[-1] - p.n):
            if steps > 0:
                w = oracles.stochastic_steps(p, X, w, rng.integers(p.n, steps), eta, g, theta)
                passes += steps / p.n
                it = next(ours)
                np.testing.assert_allclose(it.w, w, atol=1e-10)
                assert it.passes == pytest.approx(passes)
    assert min(lengths) < p.n < max(lengths) <= 2 * p.n


@pytest.mark.core(4)
@on_stochastic_cases
@pytest.mark.parametrize("solver", ["saga", "sag"])
def test_table_methods_equal_dense_steps(solver, loss, psi, centred, monkeypatch):
    p = stochastic_problem(loss, psi, centred, monkeypatch)
    X, rng, w = dense(p), Rng(7), np.linspace(-0.3, 0.5, 25)
    ours = registry.build_solver({"name": solver, "step_scale": 0.4})(p, Iterate(w), Rng(7))
    next(ours)
    theta = oracles.derivatives(p, X @ w)
    np.testing.assert_allclose(next(ours).b, theta, atol=1e-12)
    for passes in range(2, 9):
        order = rng.integers(p.n, p.n)
        w = oracles.table_steps(p, X, w, order, 0.4 / (p.smoothness * p.R**2), theta, biased=solver == "sag")
        it = next(ours)
        np.testing.assert_allclose(it.w, w, atol=1e-10)
        assert it.passes == passes


@pytest.mark.core(4)
@on_stochastic_cases
@pytest.mark.parametrize("sampling", ["uniform", "permutation"])
def test_adagrad_equals_dense_steps(loss, psi, centred, sampling, monkeypatch):
    p = stochastic_problem(loss, psi, centred, monkeypatch)
    X, rng, w, squares = dense(p), Rng(7), np.zeros(25), np.zeros(25)
    solver = {"name": "adagrad", "step_scale": 0.3, "delta": 0.01, "sampling": sampling}
    for it in iterates(solver, p, 7, seed=7)[1:]:
        order = rng.integers(30, 30) if sampling == "uniform" else rng.permutation(30)
        w = oracles.adagrad_steps(p, X, w, order, 0.3, 0.01, squares)
        np.testing.assert_allclose(it.w, w, atol=1e-10)


@given(
    w=st.floats(-10.0, 10.0),
    B=st.floats(-1.0, 1.0),
    threshold=st.sampled_from([0.0, 1e-3, 0.1, 0.6]),
    growth=st.sampled_from([0.0, 1e-13, 1e-6, 0.01, 1.0]),
    k=st.integers(0, 400),
)
def test_closed_form_of_repeated_steps(w, B, threshold, growth, k):
    expected = w
    for _ in range(k):
        x = expected / (1.0 + growth) - B
        expected = x - min(max(x, -threshold), threshold)
    for powers in lazy.powers(growth, 400), growth:
        found = lazy.closed_form_steps(w, B, threshold, k, powers)
        assert found == pytest.approx(expected, abs=1e-12 * (1.0 + abs(w) + k * abs(B)))


def test_powers_are_accurate():
    from fractions import Fraction

    for growth in 1e-14, 1e-3, 2.0:
        a, power, total = 1 / (1 + Fraction(growth)), Fraction(1), Fraction(0)
        for k, row in enumerate(lazy.powers(growth, 40)):
            assert row == pytest.approx([float(power), float(total)], rel=1e-15 * (k + 4))
            total += power
            power *= a
