"""The entropy on the capped simplex and the elastic-net ball, beyond what all regularizers are tested for."""

import math

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_arrays import normal, seeds

from rrmbench import Problem, RrmbenchError
from rrmbench.problem.traits import build_regularizer

SIMPLEX = {"name": "entropy_simplex", "strength": 0.4}
BALL = {"name": "elastic_net_ball", "gamma": 0.3, "radius": 0.5}


def built(mapping, **parameters):
    return build_regularizer(mapping | parameters)[0]


def relative_entropy(w):
    positive = w[w > 0.0]
    return float(positive @ np.log(positive * w.size))


@pytest.mark.parametrize("cap", [1.0, 0.3, 0.2])
def test_conjugate_by_cvxpy(cap):
    psi, v = built(SIMPLEX, cap=cap), np.array([0.3, 1.7, -0.5, 0.31, 0.9])
    w = cp.Variable(5)
    value, constraints = oracles.cvxpy_regularizer(SIMPLEX | {"cap": cap}, w)
    task = cp.Problem(cp.Maximize(v @ w - value), constraints)
    task.solve(solver=cp.CLARABEL)
    assert psi.conjugate(v) == pytest.approx(task.value, abs=1e-7)
    np.testing.assert_allclose(psi.conjugate_point(v), w.value, atol=1e-5)


@given(seed=seeds, cap=st.sampled_from([1.0, 0.4, 0.15]))
def test_conjugate_is_smooth_and_conjugate_point_its_gradient(seed, cap):
    psi = built(SIMPLEX, cap=cap)
    v, h = normal(seed, 7), 1e-6
    direction = np.random.default_rng(seed).standard_normal(7)
    difference = (psi.conjugate(v + h * direction) - psi.conjugate(v - h * direction)) / (2.0 * h)
    assert psi.conjugate_point(v) @ direction == pytest.approx(difference, abs=1e-7)
    # strong convexity of psi in the norm 1: psi* is 1/strength-smooth in the greatest absolute value
    other = normal(seed + 1, 7)
    change = np.abs(psi.conjugate_point(v) - psi.conjugate_point(other)).sum()
    assert change <= np.abs(v - other).max() / psi.convexity * (1.0 + 1e-12)


@given(seed=seeds)
def test_strong_convexity_in_the_norm_1(seed):
    psi = built(SIMPLEX)
    a, b = (psi.conjugate_point(normal(s, 6)) for s in (seed, seed + 1))
    middle = psi.value((a + b) / 2.0)
    assert middle <= (psi.value(a) + psi.value(b)) / 2.0 - psi.convexity / 8.0 * np.abs(a - b).sum() ** 2 + 1e-13


def test_strong_convexity_is_attained_between_two_weights():
    """At the middle of two weights, along the line between them, d'' is 1 in the norm 1."""
    psi, h = built(SIMPLEX), 1e-3
    rise = psi.value(np.array([0.5 + h, 0.5 - h])) - psi.value(np.array([0.5, 0.5]))
    assert rise == pytest.approx(psi.convexity / 2.0 * (2.0 * h) ** 2, rel=1e-5)


def test_the_radius_is_the_lesser_of_two_bounds():
    """The norm at a vertex; and the root of 1/n + ||w - u||^2, where d(w) >= max(2, 1/cap) ||w - u||^2 / 2."""
    psi = built(SIMPLEX, cap=0.4)
    assert psi.radius(100.0, (9,)) == pytest.approx(math.sqrt(0.4**2 + 0.4**2 + 0.2**2))
    assert psi.radius(psi.strength * 0.01, (9,)) == pytest.approx(math.sqrt(1 / 9 + 0.8 * 0.01))


def test_the_radius_is_attained_near_the_uniform_point():
    psi, w = built(SIMPLEX), np.array([0.501, 0.499])
    assert np.linalg.norm(w) <= psi.radius(psi.value(w), (2,)) <= np.linalg.norm(w) * (1.0 + 1e-11)


@given(seed=seeds, A=st.floats(0.0, 10.0), c=st.floats(1e-6, 1e3), cap=st.sampled_from([1.0, 0.3]))
def test_entropy_step_minimizes(seed, A, c, cap):
    psi, g = built(SIMPLEX, cap=cap), normal(seed, 6)
    logs = psi.entropy_step(g, A, c)
    x = np.exp(logs)

    def objective(x):
        return A * psi.value(x) + c * relative_entropy(x) - g @ x

    assert math.isfinite(psi.value(x))
    for other in range(seed + 1, seed + 9):
        y = psi.prox(normal(other, 6), 0.0)
        for t in (1.0, 1e-3):
            assert objective(x) <= objective((1.0 - t) * x + t * y) + 1e-12 * (1.0 + np.abs(g).max() + c)


def test_entropy_step_keeps_the_logarithms_of_what_underflows():
    logs = built(SIMPLEX).entropy_step(np.array([0.0, -4000.0]), 0.0, 1.0)
    np.testing.assert_allclose(logs, [0.0, -4000.0], atol=1e-15)


@given(seed=seeds)
def test_value_near_the_edge_of_the_capped_simplex(seed):
    psi = built(SIMPLEX, cap=0.4)
    w = psi.prox(5.0 * normal(seed, 9), 0.0)
    assert psi.value(w) >= 0.0
    for _ in range(100):  # averages of points of the domain are in the domain
        w = w + 0.3 * (psi.prox(normal(seed + 1, 9), 0.1) - w)
    assert math.isfinite(psi.value(w))
    assert psi.value(w * (1.0 + 1e-9)) == psi.value(w - 0.5) == math.inf


@pytest.mark.parametrize(("cap", "n"), [(0.0999, 10), (0.5, 1)])
def test_a_cap_that_leaves_no_weights_is_refused(cap, n):
    X, y = oracles.data(8, n)
    with pytest.raises(RrmbenchError, match=rf"found cap = {cap:g} for {n} weights.* at least 1/{n} = "):
        Problem(X, y, "squared", SIMPLEX | {"cap": cap})


@pytest.mark.parametrize("n", [1, 3, 7, 10, 49])
def test_cap_of_one_over_n_leaves_the_uniform_point(n):
    psi, w = built(SIMPLEX, cap=1.0 / n), normal(3, n)
    psi.check((n,))
    for point in psi.prox(w, 0.0), psi.prox(w, 2.0), psi.conjugate_point(w), np.exp(psi.entropy_step(w, 1.0, 1.0)):
        np.testing.assert_allclose(point, 1.0 / n, rtol=1e-14)
        assert psi.value(point) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("cap", [0.0, -0.1, 1.5, "high"])
def test_bad_caps(cap):
    with pytest.raises(RrmbenchError, match=r"regularizer\.cap"):
        built(SIMPLEX, cap=cap)


# the ball


@given(seed=seeds, gamma=st.sampled_from([0.0, 0.3, 100.0]), radius=st.floats(-3.0, 3.0).map(lambda e: 10.0**e))
def test_projection_on_the_ball(seed, gamma, radius):
    ball, w = built(BALL, gamma=gamma, radius=radius), normal(seed, 8)
    p = ball.prox(w, 1.0)
    assert ball.value(p) == 0.0
    if ball.value(w) == 0.0:
        np.testing.assert_array_equal(p, w)
    else:
        assert ball.penalty(p) == pytest.approx(radius, rel=1e-10)
    for other in range(seed + 1, seed + 9):
        u = ball.prox(normal(other, 8), 1.0)
        assert (w - p) @ (u - p) <= 1e-11 * (1.0 + w @ w)


@pytest.mark.parametrize(("gamma", "radius"), [(0.3, 0.5), (0.0, 2.0), (2.0, 0.1)])
def test_support_function_by_cvxpy(gamma, radius):
    v, w = np.array([0.3, -1.7, 0.0, 0.31, 0.9]), cp.Variable(5)
    mapping = BALL | {"gamma": gamma, "radius": radius}
    task = cp.Problem(cp.Maximize(v @ w), oracles.cvxpy_regularizer(mapping, w)[1])
    task.solve(solver=cp.CLARABEL)
    assert built(mapping).conjugate(v) == pytest.approx(task.value, abs=1e-7)
    assert built(mapping).conjugate(np.zeros(5)) == 0.0


@pytest.mark.parametrize("strength", [0.01, 0.1])
def test_constraint_and_penalty_have_one_minimizer(strength):
    """For every lambda there is an r such that both have the same minimizer [AGM, section 5, Example 6]."""
    X, y = oracles.data(40, 8)
    gamma, w = 0.5, cp.Variable(8)
    loss = cp.sum_squares(X @ w - y) / 80
    cp.Problem(cp.Minimize(loss + strength * (gamma * cp.norm1(w) + cp.sum_squares(w) / 2))).solve(solver=cp.CLARABEL)
    ball = Problem(X, y, "squared", BALL | {"gamma": gamma, "radius": built(BALL, gamma=gamma).penalty(w.value)})
    z = X @ w.value
    assert ball.primal(w.value, z) - ball.dual_value(ball.loss_dual(z)) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("gamma", [0.3, 1e3, 1e8, 1e12])
@pytest.mark.parametrize("r", [1e-8, 1.0, 1e8])
def test_a_ball_much_smaller_than_its_gamma_keeps_its_digits(gamma, r):
    """psi* is at least v.x for x on the sphere, and the projection u of v has (v - u).(x - u) <= 0."""
    rng, (ball, _) = (
        np.random.default_rng(0),
        build_regularizer({"name": "elastic_net_ball", "gamma": gamma, "radius": r}),
    )
    for _ in range(50):
        v = rng.standard_normal(3) * 10.0 ** rng.uniform(-12, 6)
        u = ball.prox(v, 1.0)
        assert ball.value(u) == 0.0
        assert ball.conjugate(v) > 0.0
        for x in *np.eye(3), *-np.eye(3), *rng.standard_normal((5, 3)):
            a, b = 0.5 * x @ x, gamma * np.sum(np.abs(x))
            x = x * (2.0 * r / (b + np.sqrt(b * b + 4.0 * a * r)))
            assert x @ v <= ball.conjugate(v) + 1e-12 * np.abs(x) @ np.abs(v)
            assert (v - u) @ (x - u) <= 1e-9 * np.linalg.norm(v - u) * (
                np.linalg.norm(x - u) + 1e-6 * np.linalg.norm(x)
            )


@pytest.mark.parametrize("cap", [1.0, 0.5])
def test_near_the_uniform_point_the_entropy_has_digits(cap):
    """A strength of 1e6 keeps w there; the terms w log(n w) are 1e10 times their sum, whose rounding was in P and D."""
    X = np.random.default_rng(1).standard_normal((60, 10))
    p = Problem(X, X[:, 0] - X[:, 1], "absolute", SIMPLEX | {"strength": 1e6, "cap": cap})
    psi, g = p.regularizer, p.v(p.loss_dual(p.X.forward(p.start())))
    w = psi.conjugate_point(g)
    u = w.astype(np.longdouble) * 10 - 1
    assert psi.value(w) == pytest.approx(float(np.sum((1 + u) * np.log1p(u) - u)) * 1e5, rel=1e-7)
    # for a small v/strength, psi* is the mean of v plus its variance/(2 strength)
    assert psi.conjugate(g) - g.mean() == pytest.approx(np.var(g) / 2e6, rel=1e-6)


def test_weights_that_are_next_to_nothing_have_an_entropy():
    assert built(SIMPLEX).value(np.array([1.0, 1e-300, 1e-20, 0.0])) == pytest.approx(0.4 * math.log(4.0))
