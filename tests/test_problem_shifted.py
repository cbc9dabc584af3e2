"""A bias that is minimized exactly: value, conjugate pairs, constants, against cvxpy, brute force and enumeration."""

import itertools

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench.errors import RrmbenchError
from rrmbench.numerics import whole_arrays
from rrmbench.problem.operators import CSR
from rrmbench.problem.problem import Problem
from rrmbench.problem.shifted import Shifted, sums_to_zero
from rrmbench.problem.traits import build_loss
from rrmbench.report.plain_bias import minimizers

LOSSES = [name for name in oracles.scalar_losses() if name not in ("smoothed_hinge", "huber")]  # those are a mu
USUAL = ("hinge", "absolute", "logistic")
each_loss = pytest.mark.parametrize("name", oracles.core([(name,) for name in LOSSES], lambda name: name in USUAL))
numbers = st.floats(-8.0, 8.0)
samples = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12)
smoothings = st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 1.0, 1e6])


def shifted(name, y, X=None):
    X = CSR.of(np.ones((len(y), 1)) if X is None else X)
    return Shifted(oracles.loss_of(name), X, np.asarray(y, dtype=float))


def drawn(name, pairs):
    """z, and labels of few values, so that there are ties."""
    z, y = np.array(pairs).T
    return np.round(z, 1), oracles.labels(name, np.round(y))


def mean_at(losses, mu, z, beta):
    return whole_arrays.mean_loss(losses.loss, mu, z + beta, losses.y)


def scale(losses, z):
    return 1e-12 * (1.0 + np.abs(z).max() ** 2 + np.abs(losses.y).max() ** 2)


@pytest.mark.core(1)
@each_loss
@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(2))
def test_the_value_is_that_of_cvxpy_with_the_bias_as_a_variable(name, mu, seed):
    rng = np.random.default_rng(seed)
    z, y = rng.normal(size=15) * 2.0, oracles.labels(name, rng.normal(size=15) * 3.0 + 1.0)
    beta, u = cp.Variable(), cp.Variable(15)
    away = cp.sum_squares(u - z - beta) / (2.0 * mu) if mu > 0.0 else 0.0
    constraints = [] if mu > 0.0 else [u == z + beta]
    task = cp.Problem(cp.Minimize((oracles.cvxpy_loss(name, u, y) + away) / 15), constraints)
    task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    losses = shifted(name, y)
    assert losses.mean_loss(mu, z) == pytest.approx(task.value, abs=1e-8)
    assert mean_at(losses, mu, z, losses.beta(mu, z)) == pytest.approx(task.value, abs=1e-8)


@pytest.mark.core(2)
@each_loss
@pytest.mark.parametrize("mu", [0.0, 0.2])
def test_the_proximal_step_on_the_conjugate_is_that_of_cvxpy(name, mu):
    """argmin_b  sum (phi^mu)*(b_i) + (q/2) ||b - z/q||^2 over sum b = 0: z/q - u/q, u the prox of Phi (Moreau)."""
    rng = np.random.default_rng(4)
    z, y, q = rng.normal(size=12) * 2.0, oracles.labels(name, rng.normal(size=12) * 3.0 + 1.0), 0.4
    u, t, beta = cp.Variable(12), cp.Variable(12), cp.Variable()
    away = cp.sum_squares(t - u - beta) / (2.0 * mu) if mu > 0.0 else 0.0
    constraints = [] if mu > 0.0 else [t == u + beta]
    smooth = oracles.cvxpy_loss(name, t, y) + away + cp.sum_squares(u - z) / (2.0 * q)
    cp.Problem(cp.Minimize(smooth), constraints).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    np.testing.assert_allclose(shifted(name, y).dual_point(mu, z, q), (z - u.value) / q, atol=2e-5)


@pytest.mark.core(1)
@each_loss
@given(pairs=samples, mu=smoothings, others=st.lists(numbers, min_size=1, max_size=5))
def test_fenchel_and_young_hold_with_equality_at_the_dual_point(name, pairs, mu, others):
    z, y = drawn(name, pairs)
    losses, n = shifted(name, y), len(z)
    b = losses.dual_point(mu, z)
    slack = scale(losses, z) * max(1.0, np.abs(b).max())
    conjugate = losses.mean_conjugate(mu, b)
    assert np.isfinite(conjugate) and sums_to_zero(b)
    assert losses.mean_loss(mu, z) + conjugate == pytest.approx(float(b @ z) / n, abs=slack)
    for shift, other in enumerate(others):
        moved = np.roll(z, shift) * other / 8.0
        assert losses.mean_loss(mu, moved) + conjugate >= float(b @ moved) / n - slack


@each_loss
@given(pairs=samples, mu=smoothings, q=st.sampled_from([1e-6, 0.5, 1e4]))
def test_a_proximal_step_is_the_dual_point_of_more_smoothing(name, pairs, mu, q):
    z, y = drawn(name, pairs)
    losses, n = shifted(name, y), len(z)
    b = losses.dual_point(mu, z, q)
    reached = float(b @ z) / n - losses.mean_conjugate(mu, b) - 0.5 * q * float(b @ b) / n
    assert reached == pytest.approx(losses.mean_loss(mu + q, z), abs=scale(losses, z) * max(1.0, np.abs(b).max()))


@each_loss
@given(pairs=samples, mu=smoothings)
def test_no_other_bias_is_better(name, pairs, mu):
    z, y = drawn(name, pairs)
    losses = shifted(name, y)
    value, beta = losses.mean_loss(mu, z), losses.beta(mu, z)
    slack = scale(losses, z)
    assert mean_at(losses, mu, z, beta) == pytest.approx(value, abs=slack)
    for other in [*(y - z), *(-y - z), *(1.0 - z), *np.linspace(-20.0, 20.0, 9), beta - 1e-3, beta + 1e-3]:
        assert value <= mean_at(losses, mu, z, other) + slack


@each_loss
@pytest.mark.parametrize("mu", [0.0, 1e-300, 1e-9, 1e-2, 1e6])
@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e150])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_outputs_of_any_size(name, mu, size, offset):
    rng = np.random.default_rng(1)
    z = size * (rng.normal(size=50) + offset)
    z[:5] = z[0]
    losses = shifted(name, oracles.labels(name, rng.normal(size=50)))
    if losses.loss.conjugate_convexity == 0.0 or size < 1e100:  # else squares of b overflow
        b = losses.dual_point(mu, z)
        assert np.isfinite(losses.mean_conjugate(mu, b))
        value = losses.mean_loss(mu, z)
        terms = np.abs(z).max() * np.abs(b).mean() + abs(value) + abs(losses.mean_conjugate(mu, b))
        assert value + losses.mean_conjugate(mu, b) == pytest.approx(float(b @ z) / 50, abs=1e-13 * terms)


@each_loss
@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_samples_of_one_class_only(name, mu, label):
    y = np.full(6, label)
    z = np.linspace(-3.0, 2.0, 6)
    losses = shifted(name, y)
    b = losses.dual_point(mu, z)
    assert sums_to_zero(b) and np.isfinite(losses.beta(mu, z))
    value = losses.mean_loss(mu, z)
    assert value + losses.mean_conjugate(mu, b) == pytest.approx(float(b @ z) / 6, abs=1e-12)
    if oracles.labels(name, np.array([0.3]))[0] == 1.0:  # a loss of margins vanishes
        assert value == 0.0 and not b.any()


@pytest.mark.exhaustive
def test_outputs_that_are_no_numbers_end_the_search():
    losses = shifted("squared", [1.0, -1.0, 1.0])
    assert np.isnan(losses.mean_loss(0.0, np.array([0.0, np.nan, 1.0])))
    assert not np.isfinite(losses.mean_loss(0.0, np.array([np.inf, -np.inf, 1.0])))
    assert not np.isfinite(losses.mean_loss(0.0, np.array([np.inf, 0.0, 1.0])))


def test_ties_share_the_jump():
    """Three of class +1 and two of -1 at the same output: b sums to zero, and equal samples need not differ."""
    losses = shifted("hinge", [1.0, 1.0, 1.0, -1.0, -1.0])
    b = losses.dual_point(0.0, np.zeros(5))
    np.testing.assert_allclose(b, [-2 / 3, -2 / 3, -2 / 3, 1.0, 1.0], rtol=1e-15)
    assert losses.mean_loss(0.0, np.zeros(5)) == 0.8


@pytest.mark.exhaustive
def test_of_an_interval_of_minimizers_the_bias_is_the_middle():
    assert shifted("hinge", [1.0, -1.0]).beta(0.0, np.array([0.0, 0.5])) == pytest.approx(-0.25)
    assert shifted("hinge", [1.0, 1.0]).beta(0.0, np.array([0.0, 0.5])) == pytest.approx(1.0)  # a ray: its end
    assert shifted("absolute", [0.0, 0.0, 3.0, 10.0]).beta(0.0, np.zeros(4)) == pytest.approx(1.5)
    assert shifted("quantile", [1.0, 2.0]).beta(0.0, np.zeros(2)) == pytest.approx(1.5)
    assert shifted("squared", [0.0, 0.0, 3.0]).beta(0.0, np.zeros(3)) == pytest.approx(1.0)


@given(st.integers(0, 2**31))
def test_a_long_list_with_ties_against_a_sort(seed):
    """The median: absolute loss, 2,000 samples of which many are equal."""
    rng = np.random.default_rng(seed)
    z, y = np.round(rng.normal(size=2001), 2), np.round(rng.normal(size=2001) * 5.0)
    losses = shifted("absolute", y)
    assert losses.beta(0.0, z) == pytest.approx(np.median(y - z), abs=1e-13)
    b = losses.dual_point(0.0, z)
    assert np.abs(b).max() <= 1.0 and sums_to_zero(b)


@each_loss
@pytest.mark.parametrize("mu", [0.0, 0.05])
@pytest.mark.parametrize("order", ["random", "sorted", "periodic"])
def test_a_long_list_against_the_search_in_plain_python(name, mu, order):
    """The first guess is from some of the samples, good or bad."""
    rng = np.random.default_rng(3)
    z = np.round(rng.normal(size=5000) * 2.0, 2)
    y = oracles.labels(name, rng.normal(size=5000) * 3.0 + 1.0)
    if order == "sorted":
        z, y = np.sort(z), np.sort(y)
    elif order == "periodic":
        z[::64], y[::64] = z[::64] + 50.0, y[0]
    losses = shifted(name, y)
    b, value = losses.dual_point(mu, z), losses.mean_loss(mu, z)
    assert sums_to_zero(b)
    plain = min(mean_at(losses, mu, z, beta) for beta in minimizers(losses.loss, mu, z, y))
    assert value == pytest.approx(plain, rel=1e-13)
    assert value + losses.mean_conjugate(mu, b) == pytest.approx(float(b @ z) / 5000, abs=1e-12 * (1.0 + abs(value)))


@each_loss
@given(pairs=samples, mu=smoothings)
def test_the_search_in_plain_python_finds_the_same_value(name, pairs, mu):
    z, y = drawn(name, pairs)
    losses = shifted(name, y)
    plain = min(mean_at(losses, mu, z, beta) for beta in minimizers(losses.loss, mu, z, y))
    assert losses.mean_loss(mu, z) == pytest.approx(plain, rel=1e-12, abs=1e-15)


@pytest.mark.exhaustive
def test_the_smoothness_is_that_of_centred_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.6) + [0.0, 0.0, 50.0, 0.0]
    losses = shifted("squared", rng.normal(size=20), X)
    away = X - X.mean(axis=0)
    assert losses.S == pytest.approx(np.sum(away**2) / 20, rel=1e-13)
    # b = b(X w) is S/(gamma + mu)-Lipschitz as a gradient in w, attained for rank one
    line = rng.normal(size=(20, 1)) @ np.array([[0.6, 0.8]]) + [3.0, -1.0]
    losses = shifted("squared", rng.normal(size=20), line)
    w, u = rng.normal(size=2), np.array([0.6, 0.8])
    step = line.T @ (losses.dual_point(0.3, line @ (w + u)) - losses.dual_point(0.3, line @ w)) / 20
    assert np.linalg.norm(step) == pytest.approx(losses.S / 1.3, rel=1e-12)
    assert shifted("squared", np.ones(3), np.full((3, 2), 0.1)).S == pytest.approx(2e-14)  # of rounding errors


@pytest.mark.parametrize("name", [n for n in LOSSES if np.isfinite(oracles.loss_of(n).lipschitz)])
@pytest.mark.parametrize("y", [[3, -2, -1, -4], [1, 2, 3, -4, 5], [1, 1, 2], [-1, 4]], ids=str)
def test_the_diameter_bounds_the_vertices_of_the_domain(name, y):
    """Of a box cut by sum b = 0: all entries but one are at an end."""
    y = oracles.labels(name, np.array(y, dtype=float))
    losses, n, best = shifted(name, y), len(y), 0.0
    ends = [[losses.loss.dual_point(side * 1e9, float(t), 0.0) for side in (-1, 1)] for t in y]
    for free in range(n):
        others = [ends[i] for i in range(n) if i != free]
        for chosen in itertools.product(*others):
            last = -sum(chosen)
            if ends[free][0] - 1e-12 <= last <= ends[free][1] + 1e-12:
                best = max(best, sum(x * x for x in (*chosen, last)) / (2 * n))
    assert losses.diameter >= best * (1 - 1e-12)
    if name == "hinge":
        assert losses.diameter == pytest.approx(best) == min(np.sum(y > 0), np.sum(y < 0)) / n
        p = Problem(np.ones((n, 1)), y, name, minimized_bias=True)
        assert p.dual_squares == pytest.approx(2 * n * best)  # the greatest ||b||^2


def test_the_diameter_knows_that_a_slope_to_one_side_is_small():
    """-0.9 <= b_i <= 0.1 with the sum 0: one entry is -0.9 where nine are 0.1, and no other point is farther from 0."""
    y = np.arange(20.0)
    losses = Shifted(build_loss({"name": "quantile", "a": 0.9})[0], CSR.of(np.ones((20, 1))), y)
    farthest = (2 * 0.9**2 + 18 * 0.1**2) / 40
    assert farthest <= losses.diameter <= 1.12 * farthest


def test_losses_of_several_outputs_are_refused():
    with pytest.raises(RrmbenchError, match="one output per sample"):
        Shifted(oracles.loss_of("max_of_hinge"), CSR.of(np.ones((2, 1)), 3), np.array([0.0, 2.0]))
