"""The inner solvers of AGM, section 5.5, and the steps on the capped simplex."""

import math

import cvxpy as cp
import numpy as np
import pytest
from benchmarks.inner import sorted_ball_point, sorted_projection, sorted_softmax
from hypothesis import given
from hypothesis import strategies as st
from random_arrays import normal, seeds
from scipy.special import wrightomega

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.box_hyperplane import weighted_projection
from rrmbench.numerics.elastic_net_ball import ball_point
from rrmbench.numerics.entropy import capped_softmax, entropic_projection, wright_omega

INF = math.inf


def solved(objective, constraints):
    """The value of a convex problem by cvxpy; its variables then have values."""
    task = cp.Problem(objective, constraints)
    return task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)


# box and hyperplane


def box_problem(seed, n=None):
    """m, weights, lower, upper, sigma, z with duplicates, infinite bounds, equal bounds, both signs, z at its ends."""
    rng = np.random.default_rng(seed)
    n = n or rng.integers(1, 9)
    m, weights = np.round(3.0 * rng.standard_normal(n), 1), rng.choice([0.5, 1.0, 2.0], n)
    lower, sigma = np.round(rng.standard_normal(n)), rng.choice([-2.0, -1.0, 1.0, 3.0], n)
    upper = lower + rng.choice([0.0, 1.0, 2.0], n)
    inside = sigma @ (lower + rng.random(n) * (upper - lower))
    ends = np.minimum(sigma * lower, sigma * upper).sum(), np.maximum(sigma * lower, sigma * upper).sum()
    z = rng.choice([inside, inside, *ends])
    if rng.random() < 0.3:
        lower[rng.random(n) < 0.5], upper[rng.random(n) < 0.5] = -INF, INF
    return m, weights, lower, upper, sigma, float(z)


@pytest.mark.core(20)
@pytest.mark.parametrize("seed", range(60))
def test_box_and_hyperplane_by_cvxpy(seed):
    m, weights, lower, upper, sigma, z = box_problem(seed)
    a = cp.Variable(m.size)
    bounds = [a[i] >= lower[i] for i in np.flatnonzero(lower > -INF)]
    bounds += [a[i] <= upper[i] for i in np.flatnonzero(upper < INF)]
    solved(cp.Minimize(cp.sum(cp.multiply(weights, cp.square(a - m))) / 2), [*bounds, sigma @ a == z])
    np.testing.assert_allclose(weighted_projection(m, weights, lower, upper, sigma, z), a.value, atol=1e-5)


@given(seed=seeds)
def test_box_and_hyperplane_by_sorting(seed):
    m, weights, lower, upper, sigma, z = box_problem(seed, 50)
    a = weighted_projection(m, weights, lower, upper, sigma, z)
    assert np.all((lower <= a) & (a <= upper))
    assert abs(sigma @ a - z) <= 1e-14 * np.sum(np.abs(sigma * a))
    if np.isfinite(lower - m).any() or np.isfinite(upper - m).any():
        np.testing.assert_allclose(a, sorted_projection(m, weights, lower, upper, sigma, z), atol=1e-12)


@given(seed=seeds, size=st.floats(-3.0, 20.0).map(lambda e: 10.0**e))
def test_sum_is_exact_for_huge_and_tied_points(seed, size):
    """As for the bias of a hinge smoothed by 1/size: floats near t may be so far apart that F jumps over z."""
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 200)
    y = np.where(rng.random(n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
    m = size * np.round(1.0 - y * rng.standard_normal(n), rng.integers(0, 17))
    a = weighted_projection(m, 1.0, 0.0, 1.0, y, 0.0)
    assert np.all((a >= 0.0) & (a <= 1.0))
    assert abs(y @ a) <= 1e-14 * np.sum(a)
    # KKT: a_i = clip(m_i + t y_i, 0, 1) for one t
    t = y * (a - m)
    rounding = 4e-16 * n * max(1.0, np.abs(m).max())
    above = t[((y > 0) & (a < 1)) | ((y < 0) & (a > 0))].min(initial=INF)  # t may not be greater than these
    below = t[((y > 0) & (a > 0)) | ((y < 0) & (a < 1))].max(initial=-INF)
    assert below <= above + rounding


def test_entries_that_are_not_in_the_hyperplane_are_clipped():
    m, sigma = np.array([2.0, 5.0, -5.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(weighted_projection(m, 1.0, 0.0, 4.0, sigma, 1.0), [1.0, 4.0, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("z", [-1.001, 3.001, math.nan, INF])
def test_sums_that_the_box_does_not_allow_are_refused(z):
    with pytest.raises(RrmbenchError, match=r"found sum sigma_i a_i = .*, allowed is a number between -1.* and 3"):
        weighted_projection(np.zeros(2), 1.0, 0.0, 1.0, np.array([-1.0, 3.0]), z)


# the capped simplex


def simplex_problem(seed):
    """theta with ties and of very different sizes, and a cap that is often 1/n, 1 or where entries just fit."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 13)
    theta = np.round(rng.standard_normal(n) * 10.0 ** rng.uniform(-2.0, 5.0), rng.integers(-3, 3))
    return theta, rng.choice([1.0 / n, 1.0, min(1.0, rng.uniform(1.0, 3.0) / n), 1.0 / max(1, n - 1)])


@given(seed=seeds)
def test_capped_softmax_by_sorting_and_kkt(seed):
    theta, cap = simplex_problem(seed)
    w = capped_softmax(theta, cap)
    assert np.all((w >= 0.0) & (w <= cap * (1.0 + 1e-15)))
    assert w.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(w, sorted_softmax(theta, cap), atol=1e-13)
    # KKT: theta - log w is constant below cap, and no less at cap
    free, positive = w < cap * (1.0 - 1e-12), w > 1e-300
    rest = theta[positive] - np.log(w[positive])
    if (free & positive).any() and theta.size * cap > 1.0 + 1e-12:
        tau = rest[free[positive]]
        rounding = 1e-12 * (1.0 + np.abs(theta).max())
        assert np.ptp(tau) <= rounding
        assert rest.min() >= tau.min() - rounding


def test_capped_softmax_by_cvxpy():
    theta = np.array([1.0, 3.0, 0.5, 2.9, -1.0])
    w = cp.Variable(5)
    solved(cp.Maximize(theta @ w + cp.sum(cp.entr(w))), [w >= 0, w <= 0.3, cp.sum(w) == 1])
    np.testing.assert_allclose(capped_softmax(theta, 0.3), w.value, atol=1e-6)


def test_capped_softmax_far_apart():
    np.testing.assert_array_equal(capped_softmax(np.array([1e5, -1e5, 0.0]), 0.5), [0.5, 0.0, 0.5])
    np.testing.assert_allclose(capped_softmax(np.array([1e5, -1e5, -1e5]), 0.5), [0.5, 0.25, 0.25], rtol=1e-15)
    theta = np.array([[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_allclose(capped_softmax(theta + 1e5, 1.0), capped_softmax(theta, 1.0), rtol=1e-10)
    assert np.isnan(capped_softmax(np.array([0.0, INF]), 0.7)).all()


@given(seed=seeds, gamma=st.one_of(st.just(0.0), st.floats(-12.0, 3.0).map(lambda e: 10.0**e)))
def test_entropic_projection_by_kkt(seed, gamma):
    x, cap = simplex_problem(seed)
    w = entropic_projection(x, gamma, cap)
    assert np.all((w >= 0.0) & (w <= cap * (1.0 + 1e-15)))
    assert w.sum() == pytest.approx(1.0, abs=1e-13)
    if x.size * cap <= 1.0 + 1e-12:
        return
    # KKT: x - w - gamma log w is eta below cap, no less at cap, and no greater at 0
    positive, free = w > 1e-300, w < cap * (1.0 - 1e-12)
    eta = x[positive] - w[positive] - (gamma * np.log(w[positive]) if gamma > 0.0 else 0.0)
    rounding = 1e-12 * (1.0 + np.abs(x).max() + 700.0 * gamma)
    least = eta.min()
    assert np.all(eta[free[positive]] <= least + rounding)
    assert np.all(x[~positive] + 690.0 * gamma <= least + rounding)


@pytest.mark.parametrize("gamma", [0.0, 1e-9, 1e-3, 1.0])
def test_long_points_have_the_sum_1(gamma):
    x = np.random.default_rng(0).standard_normal(50_000)
    for point in (
        entropic_projection(x, gamma, 1e-3),
        entropic_projection(1e-6 * x, gamma, 1.0),
        capped_softmax(x, 1e-4),
    ):
        assert abs(np.sum(point) - 1.0) <= 1e-13


@pytest.mark.parametrize("gamma", [0.0, 0.01, 1.0, 30.0])
def test_entropic_projection_by_cvxpy(gamma):
    x = np.array([0.3, 1.4, -0.2, 0.31, 0.3])
    w = cp.Variable(5)
    value = cp.sum_squares(w - x) / 2 - gamma * cp.sum(cp.entr(w))
    solved(cp.Minimize(value), [w >= 0, w <= 0.4, cp.sum(w) == 1])
    np.testing.assert_allclose(entropic_projection(x, gamma, 0.4), w.value, atol=1e-5)


@given(x=st.floats(-60.0, 60.0))
def test_wright_omega(x):
    assert wright_omega(x) == pytest.approx(float(wrightomega(x)), rel=1e-14)


# the elastic-net ball

GAMMAS = st.sampled_from([0.0, 0.3, 2.0, 1e3])
radii = st.floats(-3.0, 4.0).map(lambda e: 10.0**e)


@given(seed=seeds, gamma=GAMMAS, r=radii)
def test_ball_point_by_sorting_and_its_equation(seed, gamma, r):
    u = np.round(np.abs(normal(seed, 11)), np.random.default_rng(seed).integers(0, 5))
    m, w = ball_point(u, gamma, r)
    m_sorted, w_sorted = sorted_ball_point(u, gamma, r)
    assert m == pytest.approx(m_sorted, rel=1e-13)
    np.testing.assert_allclose(w, w_sorted, rtol=1e-12, atol=1e-12 * gamma)
    active = u > m * gamma
    assert m**2 * (2.0 * r + active.sum() * gamma**2) == pytest.approx(np.sum(u[active] ** 2), rel=1e-12)


@given(seed=seeds, gamma=GAMMAS, r=radii, size=st.sampled_from([1e-200, 1e200]))
def test_ball_point_is_homogeneous(seed, gamma, r, size):
    u = np.abs(normal(seed, 7)) + 0.01
    m, w = ball_point(u, gamma, r)
    large, same = ball_point(size * u, gamma, r)
    assert large == pytest.approx(size * m, rel=1e-12)
    np.testing.assert_allclose(same, w, rtol=1e-9, atol=1e-12 * gamma)


@pytest.mark.parametrize("seed", range(8))
def test_the_multiplier_is_a_zero_of_the_corrected_derivative(seed):
    """H(l) = min_w ||w - g||^2/2 + l (gamma ||w||_1 + ||w||^2/2 - r) has the derivative that the paper misprints."""
    rng = np.random.default_rng(seed)
    g, gamma, r = 3.0 * np.abs(rng.standard_normal(6)), 0.7, 0.5

    def H(l):
        w = np.maximum(g - l * gamma, 0.0) / (1.0 + l)
        return np.sum((w - g) ** 2) / 2 + l * (gamma * w.sum() + w @ w / 2 - r)

    l = ball_point(g + gamma, gamma, r)[0] - 1.0
    assert (H(l + 1e-5) - H(l - 1e-5)) / 2e-5 == pytest.approx(0.0, abs=1e-8)
