"""The hinge with a budget of the dual (Pdprox, eq. 19) and the projection of Lemma 13."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench import registry
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.projection import project
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss, traits

seeds = st.integers(0, 10**6)
L2 = {"name": "l2", "strength": 0.1}
each_budget = pytest.mark.parametrize("budget", [0.4, 1, 3, 7.5, 12, 100])

# Lemma 13


def exact_projection(a, s, v, rho):
    """The projection in rational numbers: (17) evaluated at every breakpoint."""
    a, v, s, rho = [Fraction(x) for x in a], [Fraction(x) for x in v], Fraction(s), Fraction(rho)

    def point(eta):
        return [min(max(x - eta * w, Fraction(0)), s) for x, w in zip(a, v, strict=True)]

    def left_side(eta):
        return sum(w * x for w, x in zip(v, point(eta), strict=True))

    if left_side(Fraction(0)) <= rho:
        return np.array(point(Fraction(0)), dtype=float)
    breakpoints = {e for x, w in zip(a, v, strict=True) if w > 0 for e in (x / w, (x - s) / w) if e > 0}
    places = sorted(breakpoints | {Fraction(0)})
    values = [left_side(e) for e in places]
    k = max(i for i, value in enumerate(values) if value > rho)
    share = (values[k] - rho) / (values[k] - values[k + 1])
    return np.array(point(places[k] + share * (places[k + 1] - places[k])), dtype=float)


@given(
    a=st.lists(st.floats(-3.0, 3.0) | st.integers(-3, 3).map(float), min_size=1, max_size=12),
    s=st.sampled_from([0.3, 1.0, 2.0]),
    rho=st.sampled_from([0.0, 0.1, 1.0, 2.5, 30.0]),
    weights=st.sampled_from(["ones", "random", "some are 0"]),
    seed=seeds,
)
def test_projection_in_exact_arithmetic(a, s, rho, weights, seed):
    rng = np.random.default_rng(seed)
    v = {"ones": np.ones(len(a)), "random": rng.uniform(0.1, 3.0, len(a))}.get(weights, rng.integers(0, 3, len(a)) / 2)
    np.testing.assert_allclose(project(np.array(a), s, v, rho), exact_projection(a, s, v, rho), atol=1e-13)


@pytest.mark.parametrize("kind", ["normal", "equal", "two values", "far", "heavy", "sorted"])
@pytest.mark.parametrize("rho", [3.0, 250.5, 2000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_projection_is_optimal(kind, rho, weighted):
    # alpha = clip(a - eta v, 0, s) with eta >= 0, and eta = 0 or v.alpha = rho
    rng = np.random.default_rng(1)
    n = 20000
    a = {
        "normal": rng.standard_normal(n),
        "equal": np.full(n, 0.7),
        "two values": np.where(rng.random(n) < 0.5, 0.3, 1.7),
        "far": 1e3 + rng.random(n),
        "heavy": rng.standard_cauchy(n),
        "sorted": np.sort(rng.random(n)),
    }[kind]
    v = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    alpha = project(a, 1.0, v, rho)
    assert v @ alpha == pytest.approx(rho, rel=1e-12)
    assert alpha.min() >= 0.0
    assert alpha.max() <= 1.0
    # every entry strictly inside tells eta; those at 0 and at 1 bound it
    eta, inside = (a - alpha) / v, (alpha > 0.0) & (alpha < 1.0)
    rounding = 1e-12 * np.abs(a[alpha > 0.0]).max()
    low = max(eta[inside | (alpha == 0.0)].max(initial=0.0), 0.0)
    high = eta[inside | (alpha == 1.0)].min(initial=np.inf)
    assert low - high <= rounding


def test_projection_without_an_upper_bound_is_on_the_simplex():
    a = np.array([0.5, 2.0, -1.0, 1.75])
    np.testing.assert_allclose(project(a, np.inf, np.ones(4), 1.0), [0.0, 0.625, 0.0, 0.375], atol=1e-15)


def test_projection_by_cvxpy():
    rng = np.random.default_rng(5)
    for _ in range(5):
        a, v, rho = 2.0 * rng.standard_normal(15), rng.random(15), rng.uniform(0.2, 2.0)
        alpha = cp.Variable(15)
        task = cp.Problem(cp.Minimize(cp.sum_squares(alpha - a)), [alpha >= 0, alpha <= 0.8, v @ alpha <= rho])
        task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        np.testing.assert_allclose(project(a, 0.8, v, rho), alpha.value, atol=1e-6)


# the loss


def sample(seed, n=12):
    rng = np.random.default_rng(seed)
    return 10.0 ** rng.uniform(-1, 1) * rng.standard_normal(n), np.where(rng.random(n) < 0.5, 1.0, -1.0)


def loss_of(budget):
    return build_loss({"name": "hinge", "budget": budget})[0]


@each_budget
@given(seed=seeds)
def test_value_is_the_sum_of_the_largest(budget, seed):
    z, y = sample(seed)
    largest = np.sort(np.maximum(1.0 - y * z, 0.0))[::-1]
    counted = np.clip(budget - np.arange(12), 0.0, 1.0)
    assert loss_of(budget).value(z, y) == pytest.approx(counted @ largest / 12, rel=1e-13)


@each_budget
@given(seed=seeds)
def test_fenchel_young(budget, seed):
    loss, (z, y), (other, _) = loss_of(budget), sample(seed), sample(seed + 1)
    for mu in [0.0, 1e-9, 0.3, 1.0, 50.0]:
        b = loss.dual_point(z, y, mu)
        # b maximizes iff it is a subgradient at z - mu b
        x = z - mu * b
        assert loss.value(x, y) + loss.conjugate(b, y) == pytest.approx(b @ x / 12, abs=1e-13 * (1 + np.abs(x).max()))
        assert loss.value(other, y) + loss.conjugate(b, y) >= b @ other / 12 - 1e-13 * (1 + np.abs(other).max())


@each_budget
@given(seed=seeds)
def test_conjugate_is_the_supremum_over_vertices(budget, seed):
    loss, (z, y) = loss_of(budget), sample(seed)
    b = loss.dual_point(z, y, 2.0)
    assert loss.conjugate(b, y) == pytest.approx(-np.abs(b).sum() / 12, abs=1e-15)
    # beyond the budget, beyond 1 and on the wrong side the supremum is infinite
    over = -y * min(1.0, (budget + 0.01) / 12)
    outside = [-b if b.any() else 0.1 * y, -1.01 * y * (np.arange(12) == 3), over if budget < 12 else -1.01 * y]
    for wrong in outside:
        assert loss.conjugate(wrong, y) == np.inf
        far = [wrong @ x / 12 - loss.value(x, y) for x in 1e9 * np.array([wrong, -y, y * (np.sign(wrong) == y)])]
        assert max(far) > 1e3


@given(seed=seeds)
def test_derivative(seed):
    loss, (z, y), (direction, _) = loss_of(3), sample(seed), sample(seed + 1)
    h = 1e-7
    left = (loss.value(z, y) - loss.value(z - h * direction, y)) / h
    right = (loss.value(z + h * direction, y) - loss.value(z, y)) / h
    slope = loss.dual_point(z, y, 0.0) @ direction / 12
    assert min(left, right) - 1e-6 <= slope <= max(left, right) + 1e-6


@each_budget
def test_the_greatest_squares_of_b_are_those_of_the_budget(budget):
    """At most m, so that (19) has the rate [D_1 + m]/(sqrt(2n) T); attained where 12 losses > 0 differ."""
    p = Problem(np.eye(12), sample(0)[1], {"name": "hinge", "budget": budget}, L2)
    b = p.loss_dual(-p.y * np.arange(12.0))
    assert b @ b == pytest.approx(p.dual_squares, rel=1e-14)
    assert p.dual_squares <= min(budget, 12)


@each_budget
def test_smoothing_lowers_it_by_at_most_mu_D(budget):
    """D = max ||b||^2 / (2 n), about m/(2 n); attained where that b is the best one of the smoothed loss, too."""
    p = Problem(np.eye(12), sample(0)[1], {"name": "hinge", "budget": budget}, L2)
    z, mu = -p.y * np.arange(12.0), 1e-3
    assert p.mean_loss(z) - p.smoothed(mu).mean_loss(z) == pytest.approx(mu * p.diameter, rel=1e-9)
    assert p.diameter <= min(budget, 12) / 24
    z = sample(1)[0]
    assert 0.0 <= p.mean_loss(z) - p.smoothed(mu).mean_loss(z) <= mu * p.diameter * (1.0 + 1e-12)


@pytest.mark.parametrize("budget", [0.5, 1, 2, 2.5, 3, 4.5, 6, 9])
def test_least_norm_subgradient(budget):
    # slacks 3, 2, 2, 2, 1, 1, 0, -1 by hand: what is left of the budget is shared by the ties at its end
    slack = np.array([2.0, 3.0, 0.0, 1.0, 2.0, -1.0, 1.0, 2.0])
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0])
    shares = {3.0: np.clip(budget, 0, 1), 2.0: np.clip(budget - 1, 0, 3) / 3, 1.0: np.clip(budget - 4, 0, 2) / 2}
    expected = np.array([shares.get(t, 0.0) for t in slack])
    alpha = -y * loss_of(budget).dual_point((1.0 - slack) / y, y, 0.0)
    np.testing.assert_allclose(alpha, expected, atol=1e-15)
    # the limit of mu to 0, also where slack/mu overflows
    for mu, atol in [(1e-6, 1e-9), (1e-310, 1e-15)]:
        np.testing.assert_allclose(-y * loss_of(budget).dual_point((1.0 - slack) / y, y, mu), expected, atol=atol)


@each_budget
def test_dual_for_huge_mu_is_the_projection(budget):
    u, y = sample(7)
    b = loss_of(budget).dual_point(u * 2.0**50, y, 2.0**50)
    np.testing.assert_allclose(-y * b, project(-y * u, 1.0, np.ones(12), float(budget)), atol=1e-14)


@pytest.mark.parametrize("budget", [40, 41.5, 1e6])
def test_a_budget_that_does_not_bind_is_the_hinge(budget):
    X, y = oracles.data(40, 6, loss="hinge")
    p, plain = Problem(X, y, {"name": "hinge", "budget": budget}, L2), Problem(X, y, "hinge", L2)
    w = np.random.default_rng(0).standard_normal(6)
    z = X @ w
    for mu in [0.0, 0.2]:
        assert p.smoothed(mu).primal(w) == pytest.approx(plain.smoothed(mu).primal(w), rel=1e-13)
        b = plain.smoothed(mu).loss_dual(z)
        np.testing.assert_allclose(p.smoothed(mu).loss_dual(z), b, atol=1e-14)
        assert p.smoothed(mu).dual_value(b) == pytest.approx(plain.smoothed(mu).dual_value(b), rel=1e-13)


@pytest.mark.core(2)
@pytest.mark.parametrize("budget", [4, 8.5])
@pytest.mark.parametrize("regularizer", [L2, {"name": "l1", "strength": 0.02}])
def test_smoothing_leads_to_the_optimum_of_cvxpy(budget, regularizer):
    X, y = oracles.data(40, 6, loss="hinge")
    p = Problem(X, y, {"name": "hinge", "budget": budget}, regularizer)
    w = cp.Variable(6)
    psi = 0.05 * cp.sum_squares(w) if regularizer is L2 else 0.02 * cp.norm1(w)
    task = cp.Problem(cp.Minimize(cp.sum_largest(cp.pos(1 - cp.multiply(y, X @ w)), budget) / 40 + psi))
    task.solve(solver=cp.CLARABEL)
    smooth = p.smoothed(1e-3)
    it = next(it for it in registry.build_solver("fista")(smooth, None, Rng(0)) if it.passes >= 6000)
    b = smooth.loss_dual(X @ it.w)
    assert p.primal(it.w) == pytest.approx(task.value, abs=1e-4)
    assert -1e-12 <= p.gap(it.w, b) < 1e-3
    # P falls by at most mu/(2n) max ||b||^2 <= mu m / (2 n)
    assert 0.0 <= p.primal(it.w) - smooth.primal(it.w) <= 1e-3 * budget / 80 + 1e-15


def test_the_lipschitz_constant_bounds_single_entries_of_b_and_is_reached():
    loss = build_loss({"name": "hinge", "budget": 2.0})[0]
    assert np.abs(loss.dual_point(-np.arange(5.0), np.ones(5), 0.0)).max() == loss.lipschitz


def test_what_it_can_do():
    has = traits({"name": "hinge", "budget": 100}, L2)
    assert "separable" not in has
    assert "Hinge" not in has
    assert "Hinge" in traits("hinge", L2)


@pytest.mark.parametrize("budget", [0, -1, float("inf"), "many"])
def test_the_budget_is_positive(budget):
    with pytest.raises(RrmbenchError, match=r"loss\.budget: found .*, allowed is"):
        build_loss({"name": "hinge", "budget": budget})
