"""The adaptive accelerated method and the excessive gap technique as printed."""

from itertools import count, islice, pairwise
from math import sqrt

import numpy as np
import oracles
import pytest
from dense_steps import CENTER, ELASTIC, L1, L2, RATE, at, each_start, greatest_norm, mean_square, steps, subgradient
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import dense

from rrmbench import registry
from rrmbench.problem.constants import constants
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.report.theory import proven
from rrmbench.solvers.pdprox.excessive_gap import Pair

# the adaptive accelerated method


@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic"])
@pytest.mark.parametrize("scale", [1.0, 8.0])
@each_start
def test_agd_adaptive_is_chens_with_a_cap(loss, scale, start):
    p = oracles.problem(loss, ELASTIC)
    X, w = dense(p), np.zeros(12) if start is None else CENTER
    ours, passes = steps({**RATE, "step_scale": scale}, p, start), 0.5 if start is None else 1.0
    assert next(ours).passes == passes
    g = subgradient(p, X, w)
    smooth = loss == "logistic"
    caps = (p.L if smooth else p.lipschitz * greatest_norm(X) / scale * power_above(k**1.5) for k in count(1))
    bends = p.smoothness if smooth else 1.0
    cap = next(caps)
    floor = (p.L if smooth else p.lipschitz * greatest_norm(X)) / p.n
    L = min(max(bends * np.sum((X @ g) ** 2) / (p.n * g @ g), floor) / scale, cap)
    y, passes, capped = w, passes + 0.5, 0

    def f(u):
        return p.mean_loss(X @ u)

    for k in range(1, 300):
        g = subgradient(p, X, y)
        while True:
            new = oracles.prox_Psi(p, y - g / L, 1 / L)
            it, passes, move = next(ours), passes + 0.5, new - y
            assert it.passes == passes
            if L >= cap or f(new) <= f(y) * (1 + 1e-14) + g @ move + L / 2 * move @ move:
                break
            np.testing.assert_allclose(it.w, w, atol=1e-8)
            L = min(1.5 * L, cap)
        np.testing.assert_allclose(it.w, new, atol=1e-8)
        capped += L >= cap
        y, w, passes, cap = new + (k - 1) / (k + 2) * (new - w), new, passes + 0.5, next(caps)
        y, w = it.w + (y - new), it.w  # so that rounding does not add up
    assert (capped > 0) == (not smooth)


def power_above(x):
    """The least power of 1.5 that is x or more."""
    power = 1.0
    while power < x * (1 - 1e-12):
        power *= 1.5
    return power


@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive", "quantile"])
def test_agd_adaptive_tries_seldom_and_goes_on_at_kinks(loss):
    p = oracles.problem(loss, L1)
    optimum, _ = oracles.cvxpy_optimum(loss, "l1")
    its, solver = {}, {"name": "agd_adaptive", "step_scale": 8.0}
    for cap in "rate", "none":
        its[cap] = [it._replace(w=it.w.copy()) for it in islice(steps(solver | {"cap": cap}, p), 3000)]
        rejected = [b.passes - a.passes == 0.5 for a, b in pairwise(its[cap][1:])]
        assert sum(rejected) < 120
        away = p.primal(its[cap][-1].w) - optimum
        moved = np.linalg.norm(its[cap][-1].w - its[cap][-500].w)
        if cap == "rate":
            assert away <= 0.015 * (p.primal(np.zeros(12)) - optimum)
        else:
            assert moved < 1e-4  # the L of the paper has all but stopped it, away from the optimum
            assert away > 0.02 * (p.primal(np.zeros(12)) - optimum)


def test_agd_adaptive_leaves_points_at_kinks():
    # three medians, where no L passes the test
    X, y, best = np.eye(3)[[0, 0, 0, 1, 1, 2]], [1.0, 1.0, 2.0, 3.0, 3.5, 4.0], np.array([1.0, 3.0, 4.0])
    p = Problem(X, y, "absolute", {"name": "l1", "strength": 0.01})
    last = at(RATE, p, 1500, Iterate(best))
    assert p.primal(last.w) <= p.primal(best) + 0.02


# the excessive gap technique


def smoothed_sides(p, pair):
    """f(w; mu2) and g(b; mu1)."""
    b = pair.best_b(p.X.forward(pair.w))
    smoothed = float(np.vdot(b, p.X.forward(pair.w))) / p.n - p.mean_conjugate(b)
    f = p.Psi(pair.w) + smoothed - 0.5 * pair.mu2 * float(np.sum((b - pair.b0) ** 2))
    v = p.v(pair.b)
    w = pair.best_w(v)
    least = p.Psi(w) - float(np.vdot(v, w)) + 0.5 * pair.mu1 * float(np.sum((w - pair.w0) ** 2))
    return f, least - p.mean_conjugate(pair.b)


def pairs(p, start=None, radius="auto", step_scale=1.0):
    """The Pair after each step of the solver, in its order of steps."""
    pair = Pair(p, start, radius, step_scale)
    pair.begin()
    yield pair
    for k in count():
        if pair.gamma > 0.0 or (pair.s == 0.0 and k % 2 == 1):
            pair.find_v()
            pair.lower_mu1()
        else:
            pair.find_z()
            pair.lower_mu2()
        yield pair


@settings(max_examples=40, deadline=None)
@given(
    loss=st.sampled_from(["hinge", "absolute", "epsilon_insensitive", "logistic", "squared"]),
    regularizer=st.sampled_from([L1, L2, ELASTIC, {"name": "box", "lower": 0.2, "upper": 0.7}, {"name": "none"}]),
    seed=st.integers(0, 1000),
    centred=st.booleans(),
    started=st.booleans(),
    mu=st.sampled_from([0.0, 0.5]),
)
def test_the_excessive_gap_holds(loss, regularizer, seed, centred, started, mu):
    p = oracles.problem(loss, regularizer, seed=seed).smoothed(mu)
    p = p.regularized(0.05, CENTER) if centred else p
    start = Iterate(CENTER, p.loss_dual(p.X.forward(CENTER))) if started else None
    for pair in islice(pairs(p, start), 60):
        f, g = smoothed_sides(p, pair)
        assert f <= g + 1e-12 * (abs(f) + abs(g))


@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
@pytest.mark.parametrize("regularizer", ["l1", "l2", "elastic_net", "box"])
def test_the_excessive_gap_bounds_the_distance_to_the_optimum(loss, regularizer):
    p = oracles.problem(loss, oracles.example("regularizer", regularizer))
    optimum, w = oracles.cvxpy_optimum(loss, regularizer)
    plain = p.strong_convexity == 0.0
    D1, D2 = Pair(p, None, "auto", 1.0).distances() if plain else (0.0, 0.5 * p.n)
    assert np.linalg.norm(w) <= sqrt(2 * D1) or not plain
    norm2 = mean_square(dense(p)) / p.n
    for k, pair in zip(range(400), pairs(p), strict=False):
        bound = pair.mu1 * D1 + pair.mu2 * D2
        assert -1e-9 <= p.primal(pair.w) - optimum <= bound * (1 + 1e-12)
        if plain:
            assert bound <= 4.2 * sqrt(norm2 * D1 * D2) / (k + 2)
            assert p.primal(pair.w) - on_the_ball(p, pair.b, sqrt(2 * D1)) <= bound * (1 + 1e-12)
        else:
            assert pair.mu1 == 0.0
            assert bound <= 4.0 * norm2 * D2 / (p.strong_convexity * (k + 2) ** 2) * (1 + 1e-12)
            assert p.gap(pair.w, pair.b) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("radius", ["auto", 2.0])
@pytest.mark.parametrize(("loss", "l2", "starts"), [("squared", 0.0, 1), ("absolute", 0.1, 0), ("absolute", 0.0, 2)])
def test_the_theorem_counts_the_steps_that_passes_hold(loss, l2, starts, radius):
    """Within bounds above 0, where no product is one with 0; `starts`: the half passes for X w0 and for its radius."""
    p = oracles.problem(loss, {"name": "box", "lower": 0.2, "upper": 0.7}).regularized(l2)
    c = constants(p)._replace(distance=3.0)
    component, D2 = registry.lookup("solver", "excessive_gap"), 0.0 if loss == "squared" else 0.5 * p.n
    bounds = [pair.mu1 * 1.5 + pair.mu2 * D2 for pair in islice(pairs(p, radius=radius), 41)]
    last, k = None, -1
    for it in islice(steps({"name": "excessive_gap", "radius": radius}, p), 40):
        k += last is None or not (np.array_equal(it.w, last.w) and np.array_equal(it.b, last.b))
        last = it.copied()
        (bound,) = proven(component, c, [it.passes], {"radius": radius})
        assert bound == pytest.approx(bounds[k], rel=1e-12)
    first = 0.5 + 0.5 * (starts == 1 or (starts == 2 and radius == "auto"))
    assert proven(component, c, [first - 0.01, first], {"radius": radius}) == pytest.approx([np.inf, bounds[0]])


def on_the_ball(p, b, r):
    """min over ||w|| <= r of Psi(w) - v.w, minus the mean conjugate: D(b) of the problem on a ball; l1 or a box."""
    v = p.v(b)
    if p.traits & {"L1"}:
        least = -r * np.linalg.norm(np.maximum(np.abs(v) - p.regularizer.strength, 0.0))
    else:  # the ball holds the box
        least = -np.sum(np.maximum(v * p.regularizer.lower, v * p.regularizer.upper))
    return least - p.mean_conjugate(b)


@each_start
def test_excessive_gap_alternates_as_nesterov_does(start):
    p = oracles.problem("hinge", L1)
    X, y, n, l1 = dense(p), p.y, p.n, 0.05
    w0, b0 = np.zeros(12) if start is None else CENTER, np.zeros(n)
    A, r = X / n, 2.0
    norm2 = mean_square(X) / n
    mu1, mu2 = sqrt(norm2 * n / r**2), sqrt(norm2 * r**2 / n)

    def shrink(u, t):
        return np.sign(u) * np.maximum(np.abs(u) - t, 0.0)

    def best_b(z, b, m):  # argmax of b.z/n - (1/n) sum phi*(b_i) - (m/2) ||b - given b||^2 for the hinge
        return -y * np.clip((1 - y * (z + n * m * b)) / (n * m), 0.0, 1.0)

    def best_w(b):
        return shrink(w0 - A.T @ b / mu1, l1 / mu1)

    w = best_w(b0)
    b = best_b(X @ w, b0, mu2)
    ours = steps({"name": "excessive_gap", "radius": r}, p, start)
    for k in range(40):
        it = next(ours) if k == 0 else [next(ours), next(ours)][1]
        np.testing.assert_allclose(it.w, w, atol=1e-10)
        np.testing.assert_allclose(it.b, b, atol=1e-10)
        c = mu1 * mu2 / norm2
        tau = (-c + sqrt(c**2 + 4 * c)) / 2  # tau^2/(1 - tau) = c
        if k % 2 == 0:
            new = (1 - tau) * b + tau * best_b(X @ w, b0, mu2)
            point = best_w(new)
            w, mu2 = (1 - tau) * w + tau * point, (1 - tau) * mu2
            b = best_b(X @ point, new, norm2 / mu1)
        else:
            new = (1 - tau) * w + tau * best_w(b)
            point = best_b(X @ new, b0, mu2)
            L = norm2 / mu2
            b, mu1 = (1 - tau) * b + tau * point, (1 - tau) * mu1
            w = shrink(new - A.T @ point / L, l1 / L)


def test_weights_of_a_smoothing_that_is_not_there_shorten_no_norm():
    p = oracles.problem("hinge", L1)
    omega = np.where(np.arange(p.n) % 2 == 0, 0.01, 1.99)
    weighted = Problem(p.X, p.y, p.loss, p.regularizer, weights=omega)
    assert weighted.losses.S == p.losses.S
    for pair in islice(pairs(weighted), 20):
        f, g = smoothed_sides(weighted, pair)
        assert f <= g + 1e-12 * (abs(f) + abs(g))


def test_excessive_gap_knows_its_alias_and_its_radius():
    assert registry.lookup("solver", "pdexg").name == "excessive_gap"
    p = oracles.problem("absolute", L1)
    value = np.mean(np.abs(p.y))  # P(0)
    D1, D2 = Pair(p, None, "auto", 1.0).distances()
    assert (D1, D2) == (pytest.approx((value / 0.05) ** 2 / 2), p.n / 2)
    unbounded = oracles.problem("absolute", {"name": "none"})
    assert Pair(unbounded, None, "auto", 1.0).distances()[0] == 0.5
    assert Pair(p, None, 3.0, 1.0).distances()[0] == 4.5
    far = Iterate(np.zeros(p.shape), np.full(p.n, -1.0))  # ||b - b0|| is at most twice the greatest ||b||
    assert Pair(p, far, 3.0, 1.0).distances()[1] == 4 * p.n / 2


@pytest.mark.parametrize("step_scale", [1.0, 3.0])
def test_mu1_and_mu2_begin_at_the_norm_of_the_data_over_the_step_scale(step_scale):
    """mu1 mu2 = ||A||^2 and mu1 D1 = mu2 D2; mu1 (gamma/n) = ||A||^2 for smooth losses, s mu2 = ||A||^2 for s > 0."""
    p = oracles.problem("absolute", L1)
    norm2 = np.sum(dense(p) ** 2) / p.n**2 / step_scale**2
    pair = Pair(p, None, 3.0, step_scale)
    pair.begin()
    assert (pair.mu1 * pair.mu2, pair.mu1 * 4.5) == pytest.approx((norm2, pair.mu2 * p.n / 2))
    for problem, first in (p.smoothed(0.5), (norm2 * p.n / 0.5, 0.0)), (p.regularized(0.2), (0.0, norm2 / 0.2)):
        pair = Pair(problem, None, 3.0, step_scale)
        pair.begin()
        assert (pair.mu1, pair.mu2) == pytest.approx(first)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_excessive_gap_stays_at_an_optimal_start(loss):
    p = oracles.problem(loss, ELASTIC)
    solved = at("prox_sdca", p, 5000)
    assert p.gap(solved.w, solved.b) < 1e-9
    start = Iterate(solved.w.copy(), solved.b.copy())
    for it in islice(steps("excessive_gap", p, start), 100):
        np.testing.assert_allclose(it.w, start.w, atol=1e-4)
        assert p.gap(it.w, it.b) < 1e-7


def test_mu1_vanishes_beside_a_strongly_convex_psi():
    """Where a step divides mu1 by 1e10, its inverse overflowed after 28 steps; the entropy has no square beside it."""
    X, y = oracles.data(20, 6, loss="absolute")
    p = Problem(X, y, "absolute", {"name": "entropy_simplex", "strength": 1e6}).smoothed(1e6)
    iterates = list(islice(registry.build_solver("excessive_gap")(p, None, None), 60))
    assert all(p.primal(it.w) == pytest.approx(p.primal(p.start()), rel=1e-5) for it in iterates)
