"""Losses over rows of k outputs: those of the registry by the definitions, l2_multi in whole problems."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import wrightomega

from rrmbench import registry
from rrmbench.numerics import whole_arrays
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss

K = 4
LOSSES = oracles.vector_losses()
each_loss = pytest.mark.parametrize("name", LOSSES)
seeds = st.integers(0, 10**6)
STRENGTHS = [(0.0, 0.0), (0.3, 0.0), (0.0, 0.7), (0.2, 1.5), (1e3, 0.0), (0.0, 1e3)]  # of mu and q


def loss_and_label(name, rng):
    classes = "classes" in registry.lookup("loss", name).needs
    return oracles.loss_of(name), float(rng.integers(K)) if classes else rng.standard_normal(K)


def maximizer(loss, z, y, mu=0.0, q=0.0):
    b = np.full(K, np.nan)
    loss.dual_point_row(z, y, mu, q, b)
    return b


def domain(loss, y, rng):
    """A random point of the conjugate's domain, often on its boundary."""
    return maximizer(loss, 10.0 ** rng.uniform(-1, 2) * rng.standard_normal(K), y)


def penalty_gradient(loss, b, y):
    """Half the gradient of the quadratic form ||b||_mu^2."""
    steps = [(loss.penalty_row(b + e, y) - loss.penalty_row(b - e, y)) / 4 for e in np.eye(K)]
    return np.array(steps)


@each_loss
@given(seed=seeds)
def test_fenchel_young_at_the_maximizer(name, seed):
    # b maximizes b.z - phi*(b) - (mu/2) penalty - (q/2) ||b||^2 iff it is a subgradient at z - mu A'A b - q b
    rng = np.random.default_rng(seed)
    loss, y = loss_and_label(name, rng)
    z = 10.0 ** rng.uniform(-1, 1.5) * rng.standard_normal(K)
    for mu, q in STRENGTHS:
        b = maximizer(loss, z, y, mu, q)
        x = z - mu * penalty_gradient(loss, b, y) - q * b
        assert loss.value_row(x, y) + loss.conjugate_row(b, y) == pytest.approx(b @ x, abs=1e-9 * (1 + np.abs(z).max()))


@each_loss
@given(seed=seeds)
def test_no_dual_row_is_longer_than_the_dual_radius(name, seed):
    rng = np.random.default_rng(seed)
    loss, y = loss_and_label(name, rng)
    p = Problem(
        np.ones((4, 2)), np.arange(4.0) if np.ndim(y) == 0 else np.tile(y, (4, 1)), oracles.example("loss", name)
    )
    assert np.linalg.norm(domain(loss, y, rng)) <= p.dual_radius * (1 + 1e-12)


@pytest.mark.parametrize("name", ["max_of_hinge", "soft_max_of_hinge"])
def test_the_dual_radius_of_margins_is_reached_whatever_the_number_of_classes(name):
    p = Problem(np.eye(10), np.arange(10.0), oracles.example("loss", name))
    b = p.loss_dual(1e6 * np.roll(np.eye(10), 1, axis=1))
    np.testing.assert_allclose(np.linalg.norm(b, axis=1), p.dual_radius, rtol=1e-5)
    assert p.dual_squares == pytest.approx(10 * 2.0)


def test_the_dual_radius_of_a_distance_is_reached():
    p = Problem(np.eye(3), np.zeros((3, K)), "l2_multi")
    np.testing.assert_allclose(np.linalg.norm(p.loss_dual(np.eye(3, K)), axis=1), p.dual_radius, rtol=1e-12)


@each_loss
@pytest.mark.parametrize("k", [2, 5])
def test_the_spread_is_that_of_the_map_to_where_mu_penalizes(name, k):
    """mu penalizes ||c||^2, b = A^T c: c are the entries of b, or in margins those but for that of the label."""
    loss, _ = loss_and_label(name, np.random.default_rng(0))
    c, A = np.full(k - 1, 1.0 / k), np.delete(np.eye(k), 1, axis=0)
    A[:, 1] = -1.0
    if loss.penalty_row(c @ A, 1.0) == pytest.approx(np.sum((c @ A) ** 2)):
        A = np.eye(k)
    else:
        assert loss.penalty_row(c @ A, 1.0) == pytest.approx(c @ c)
    assert loss.spread(k) == pytest.approx(np.linalg.norm(A, 2) ** 2)


@each_loss
@given(seed=seeds)
def test_fenchel_young_inequality(name, seed):
    rng = np.random.default_rng(seed)
    loss, y = loss_and_label(name, rng)
    b, z = domain(loss, y, rng), 5.0 * rng.standard_normal(K)
    assert loss.value_row(z, y) + loss.conjugate_row(b, y) >= b @ z - 1e-12 * (1.0 + np.abs(z).max())
    # outside the domain the supremum is infinite
    for outside in (1.01 * b, b + 0.01):
        if np.isinf(loss.conjugate_row(outside, y)):
            directions = [outside, -outside, np.ones(K), *np.eye(K), *-np.eye(K), *(1.0 - np.eye(K))]
            far = [outside @ d - loss.value_row(d, y) for d in 1e9 * np.array(directions)]
            assert max(far) > 1e3
        else:
            assert loss.value_row(z, y) + loss.conjugate_row(outside, y) >= outside @ z - 1e-12 * (1 + np.abs(z).max())


@each_loss
@given(seed=seeds)
def test_derivative(name, seed):
    rng = np.random.default_rng(seed)
    loss, y = loss_and_label(name, rng)
    z, direction, h = 3.0 * rng.standard_normal(K), rng.standard_normal(K), 1e-6
    left = (loss.value_row(z, y) - loss.value_row(z - h * direction, y)) / h
    right = (loss.value_row(z + h * direction, y) - loss.value_row(z, y)) / h
    assert min(left, right) - 1e-6 <= maximizer(loss, z, y) @ direction <= max(left, right) + 1e-6


def test_the_slopes_of_dual_points_are_those_of_differences():
    with_slopes = [name for name in LOSSES if hasattr(oracles.loss_of(name), "slopes_row")]
    assert with_slopes
    rng = np.random.default_rng(0)
    for name in with_slopes * 20:
        loss, y = loss_and_label(name, rng)
        z, o, s, h = 3.0 * rng.standard_normal(K), rng.standard_normal(K), np.empty(K), 1e-5
        for mu in 0.0, 0.3, 40.0:
            loss.slopes_row(maximizer(loss, z, y, mu), y, mu, s)
            slope = s * o - s * (s @ o) / s.sum()
            differences = (maximizer(loss, z + h * o, y, mu) - maximizer(loss, z - h * o, y, mu)) / (2 * h)
            np.testing.assert_allclose(slope, differences, atol=1e-8)


def test_the_slopes_of_proximal_steps_are_those_of_differences():
    with_slopes = [name for name in LOSSES if hasattr(oracles.loss_of(name), "prox_slopes_row")]
    assert with_slopes
    rng, outcomes = np.random.default_rng(0), set()
    for name in with_slopes * 60:
        loss, y = loss_and_label(name, rng)
        z, o, s, h = rng.standard_normal(K), rng.standard_normal(K), np.empty(K), 1e-7
        mu, q = rng.choice([0.0, 0.3, 40.0]), rng.choice([0.2, 1.0, 30.0])
        b, below, above = np.empty((3, K))
        for at, out in (z, b), (z - h * o, below), (z + h * o, above):
            loss.dual_point_row(at, y, mu, q, out)
        loss.prox_slopes_row(b, y, mu, q, s)
        slope = s * o - s * (s @ o) / s.sum()
        np.testing.assert_allclose(slope, (above - below) / (2 * h), atol=1e-6)
        outcomes.add((int((s > 0).sum()), bool(s[int(y)] > 0)))
    assert {(1, False), (2, False), (2, True), (3, True)} <= outcomes


@pytest.mark.core(2)
@each_loss
def test_several_rows_at_once_are_each_row_alone(name):
    rng = np.random.default_rng(0)
    loss, _ = loss_and_label(name, rng)
    z = np.array([10.0 ** rng.uniform(-2, 3) * rng.standard_normal(K) for _ in range(2 * whole_arrays.BLOCK + 3)])
    y = np.array([loss_and_label(name, rng)[1] for _ in z])
    b = np.empty(z.shape)
    whole_arrays.loss_dual_rows(loss, 0.0, 0.0, z, y, b)
    np.testing.assert_allclose(b, [maximizer(loss, *one) for one in zip(z, y, strict=True)], rtol=1e-13, atol=1e-15)
    alone = np.mean([loss.value_row(*one) for one in zip(z, y, strict=True)])
    assert whole_arrays.mean_loss_rows(loss, 0.0, z, y) == pytest.approx(alone, rel=1e-13)


@given(
    k=st.integers(2, 40),
    m=st.floats(-6.0, 8.0).map(lambda x: 10.0**x),
    scale=st.sampled_from([0.0, 0.3, 10.0, 1e3]),
    share=st.sampled_from([0.05, 0.3, 5.0]),
    seed=seeds,
)
@example(k=26, m=100.0, scale=0.3, share=0.05, seed=0)
def test_steps_of_losses_with_entropies_solve_their_equations(k, m, scale, share, seed):
    """log p_j + m_j p_j = h_j - eta with sum 1: eta by bisection, each p_j by Wright's function."""
    rng = np.random.default_rng(seed)
    c, gamma = int(rng.integers(k)), 10.0 ** rng.uniform(-4, 0)
    z = scale * rng.standard_normal(k) + m * rng.dirichlet(np.full(k, share))
    own = np.arange(k) == c
    for loss, h, ms in (
        (oracles.loss_of("multinomial_logistic"), z + m * own, np.full(k, m)),
        (
            build_loss({"name": "soft_max_of_hinge", "gamma": gamma})[0],
            np.where(own, m + gamma * np.log(2.0), 1.0 + z - z[c]) / gamma,
            np.full(k, m / gamma),
        ),
    ):
        b = np.empty(k)
        loss.dual_point_row(z, float(c), 0.0, m, b)
        p = b + own
        assert p.min() >= 0.0 and abs(b.sum()) <= 1e-15
        low, high = (h - ms).max() - 1.0, h.max() + np.log(k) + 1.0
        for _ in range(200):
            eta = 0.5 * (low + high)
            low, high = (eta, high) if roots(h - eta, ms).sum() > 1.0 else (low, eta)
        rounding = 1e-15 * np.abs(h).max() / (1.0 + ms.min())
        np.testing.assert_allclose(p, roots(h - eta, ms), atol=1e-13 + rounding)


def roots(x, m):
    """The p (k,) with log p_j + m_j p_j = x_j, to rounding: omega(x + log m)/m for Wright's function omega."""
    return wrightomega(x + np.log(m)).real / m


@each_loss
@given(seed=seeds)
def test_smoothness_by_the_spread(name, seed):
    rng = np.random.default_rng(seed)
    loss, y = loss_and_label(name, rng)
    z, other = 3.0 * rng.standard_normal((2, K))
    for mu in [0.1, 1.0, 10.0]:
        change = maximizer(loss, z, y, mu) - maximizer(loss, other, y, mu)
        smoothness = 1.0 / (loss.conjugate_convexity + mu / loss.spread(K))
        assert np.linalg.norm(change) <= smoothness * np.linalg.norm(z - other) * (1 + 1e-9) + 1e-12


@each_loss
@given(seed=seeds)
def test_dual_for_huge_q_is_the_projection(name, seed):
    rng = np.random.default_rng(seed)
    loss, y = loss_and_label(name, rng)
    u = 2.0 * rng.standard_normal(K)
    b = maximizer(loss, u * 2.0**50, y, 0.0, 2.0**50)
    for _ in range(20):
        assert (u - b) @ (domain(loss, y, rng) - b) <= 1e-12


def test_least_norm_subgradient_at_the_kinks():
    assert not maximizer(build_loss("l2_multi")[0], np.arange(4.0), np.arange(4.0)).any()
    b = maximizer(build_loss("max_of_hinge")[0], np.array([2.0, 2.0, 1.0, 0.0]), 3.0)
    np.testing.assert_array_equal(b, [0.5, 0.5, 0.0, -1.0])


# l2_multi in a problem


def targets(n=30, d=5):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    noise = rng.standard_normal((n, K)) * rng.exponential(1.0, (n, 1))
    return X, X @ rng.standard_normal((d, K)) + noise


def solve(solver, p, passes):
    return next(it for it in registry.build_solver(solver)(p, None, Rng(0)) if it.passes >= passes)


def test_value_and_conjugate_over_samples():
    X, Y = targets()
    p = Problem(X, Y, "l2_multi", {"name": "l2", "strength": 0.1})
    W = np.random.default_rng(0).standard_normal(p.shape)
    norms = np.linalg.norm(X @ W - Y, axis=1)
    assert p.primal(W) == pytest.approx(norms.mean() + 0.05 * np.sum(W**2), rel=1e-14)
    b = 0.9 * (X @ W - Y) / norms[:, None]
    v = -X.T @ b / p.n
    assert p.dual_value(b) == pytest.approx(-np.sum(b * Y) / p.n - np.sum(v**2) / 0.2, rel=1e-12)
    assert p.dual_value(1.2 * b) == -np.inf
    # by Huber's formula
    mu = 1.3
    huber = np.where(norms <= mu, norms**2 / (2 * mu), norms - mu / 2)
    assert p.smoothed(mu).mean_loss(X @ W) == pytest.approx(huber.mean(), rel=1e-14)
    assert p.smoothed(mu).smoothness == pytest.approx(1.0 / mu)


@pytest.mark.parametrize("mapping", [{"name": "l2", "strength": 0.1}, {"name": "elastic_net", "l1": 0.05, "l2": 0.1}])
def test_prox_sdca_finds_the_optimum(mapping):
    X, Y = targets()
    p = Problem(X, Y, "l2_multi", mapping)
    it = solve("prox_sdca", p, 400)
    W = cp.Variable(p.shape)
    psi = mapping.get("l1", 0.0) * cp.sum(cp.abs(W)) + 0.05 * cp.sum_squares(W)
    task = cp.Problem(cp.Minimize(cp.sum(cp.norm2(X @ W - Y, axis=1)) / p.n + psi))
    task.solve(solver=cp.CLARABEL)
    assert p.gap(it.w, it.b) < 1e-9
    assert p.primal(it.w) == pytest.approx(task.value, abs=1e-6)
    # a bound from the model alone
    assert p.dual_value(p.smoothed(1e-3).loss_dual(X @ it.w)) == pytest.approx(p.primal(it.w), abs=1e-3)


@pytest.mark.core(2)
@pytest.mark.parametrize("option", ["I", "II", "III", "IV", "V"])
def test_every_option_of_prox_sdca(option):
    X, Y = targets()
    p = Problem(X, Y, "l2_multi", {"name": "l2", "strength": 0.1}, mu=0.2)
    it = solve({"name": "prox_sdca", "option": option}, p, 400)
    assert p.gap(it.w, it.b) < 1e-8


def test_one_target_is_the_absolute_loss():
    X, y = oracles.data(30, 5)
    regularizer = {"name": "l2", "strength": 0.1}
    one, scalar = Problem(X, y[:, None], "l2_multi", regularizer), Problem(X, y, "absolute", regularizer)
    w = np.random.default_rng(1).standard_normal(5)
    assert one.primal(w[:, None]) == pytest.approx(scalar.primal(w), rel=1e-14)
    for mu, q in STRENGTHS:
        z = X @ w
        columns = one.losses.dual_point(mu, z[:, None], q)
        np.testing.assert_allclose(columns[:, 0], scalar.losses.dual_point(mu, z, q), atol=1e-15)


def shares_in_fractions(z, c, mu, q):
    """b of the loss of Crammer and Singer in exact numbers: argmax b.z - phi*(b) - (mu/2) ||b_j||^2 - (q/2) ||b||^2."""
    z, mu, q = [Fraction(x) for x in z], Fraction(mu), Fraction(q)
    margins = sorted((1 + x - z[c] for j, x in enumerate(z) if j != c), reverse=True)
    sums = [(r, sum(margins[:r])) for r in range(1, len(margins) + 1)]  # each r gives a lower bound of the threshold
    theta = max(Fraction(0), *(q * total / (mu + q * (r + 1)) for r, total in sums))
    if sum(max(a - theta, Fraction(0)) for a in margins) > mu + q:
        theta = max((total - mu - q) / r for r, total in sums)
    b = [max(1 + x - z[c] - theta, Fraction(0)) / (mu + q) for x in z]
    b[c] = -(sum(b) - b[c])
    return np.array([float(x) for x in b])


@given(
    z=st.lists(st.floats(-2.0, 2.0), min_size=K, max_size=K),
    spread=st.sampled_from([0.0, 1e-12, 1e-6, 1.0]),
    mu=st.sampled_from([0.0, 1e-15, 1e-11, 1e-6, 0.3, 40.0]),
    q=st.sampled_from([0.0, 1e-13, 1e-3, 2.0]),
    seed=seeds,
)
def test_shares_of_margins_keep_their_digits(z, spread, mu, q, seed):
    c = seed % K
    z = np.array(z) * spread
    expected = shares_in_fractions(z, c, mu, q) if mu + q > 0.0 else None
    if expected is not None:
        found = maximizer(oracles.loss_of("max_of_hinge"), z, float(c), mu, q)
        # 1 + z_j - z_y is rounded, where all of it counts; else only differences of the greatest z_j do
        slack = 4e-16 / (mu + q) if -expected[c] < 1.0 - 1e-9 else 0.0
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14 + slack)
