"""The baselines of Pdprox against their formulas on dense arrays, their theorems, and cvxpy."""

from dataclasses import replace
from functools import cache
from itertools import count, islice, pairwise
from math import sqrt

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrmbench import registry
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import Flattened
from rrmbench.problem.problem import Problem
from rrmbench.solvers.pdprox.excessive_gap import Pair

L1 = {"name": "l1", "strength": 0.05}
L2 = {"name": "l2", "strength": 0.1}
ELASTIC = {"name": "elastic_net", "l1": 0.03, "l2": 0.1}
CENTER = np.linspace(-1.0, 1.0, 12)
RATE = {"name": "agd_adaptive", "cap": "rate"}
DETERMINISTIC = ["fobos", "rda", "agd_adaptive", "excessive_gap", {"name": "pegasos", "sampling": "all"}]


def dense(p):
    return p.X.forward(np.eye(p.shape[0]))


def together(*iterables, most):
    """The first `most` of several endless iterables, side by side."""
    return islice(zip(*iterables, strict=False), most)


def steps(solver, p, start=None, seed=0):
    """The iterates after the first."""
    return islice(registry.build_solver(solver)(p, start, Rng(seed)), 1, None)


def subgradient(p, X, w):
    return X.T @ oracles.derivatives(p, X @ w) / p.n


def mean_square(X):
    return np.mean(np.sum(X**2, axis=1))


def greatest_norm(X):
    return sqrt(np.max(np.sum(X**2, axis=1)))


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
each_start = pytest.mark.parametrize("start", [None, Iterate(CENTER)], ids=["zero", "started"])


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
    assert p.dual(it.b) <= optimum + 1e-9


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
    assert p.dual(last.b) <= optimum + 1e-9


def at(solver, p, passes, start=None):
    return next(it for it in steps(solver, p, start) if it.passes >= passes)


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


def test_excessive_gap_knows_its_alias_and_its_radius():
    assert registry.lookup("solver", "pdexg").name == "excessive_gap"
    p = oracles.problem("absolute", L1)
    value = np.mean(np.abs(p.y))  # P(0)
    D1, D2 = Pair(p, None, "auto", 1.0).distances()
    assert (D1, D2) == (pytest.approx((value / 0.05) ** 2 / 2), p.n / 2)
    unbounded = oracles.problem("absolute", {"name": "none"})
    assert Pair(unbounded, None, "auto", 1.0).distances()[0] == 0.5
    assert Pair(p, None, 3.0, 1.0).distances()[0] == 4.5


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_excessive_gap_stays_at_an_optimal_start(loss):
    p = oracles.problem(loss, ELASTIC)
    solved = at("prox_sdca", p, 5000)
    assert p.gap(solved.w, solved.b) < 1e-9
    start = Iterate(solved.w.copy(), solved.b.copy())
    for it in islice(steps("excessive_gap", p, start), 100):
        np.testing.assert_allclose(it.w, start.w, atol=1e-4)
        assert p.gap(it.w, it.b) < 1e-7


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
    u, t, projected = np.ones(12) - center, 0, 0
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
            g = X.T @ b / n if sampling == "all" else b[i] * X[i]
            u = (1 - 1 / t) * u - g / (s * t)
            if projection == "ball" and np.linalg.norm(u) > radius:
                u, projected = u * (radius / np.linalg.norm(u)), projected + 1
        np.testing.assert_allclose(it.w, u + center, atol=1e-10)
        assert it.passes == k + (0.5 if kind == "centred" else 0.0)
    assert (projected > 0) == (projection == "ball") or kind != "plain"


def test_pegasos_rescales():
    # t^-(R/sqrt(s)) is below 1e-300 at t = 2 for s = 1e-6: the scalar must be folded into the vector again and again
    X, y = oracles.data(20, 5, loss="hinge")
    p = Problem(1e3 * X, y, "hinge", {"name": "l2", "strength": 1e-6})
    radius, u, t, rng = 1e3, np.zeros(5), 0, Rng(0)
    for it in islice(steps("pegasos", p), 30):
        for i in rng.integers(20, 20):
            t += 1
            b = p.loss.dual(1e3 * X[i] @ u, y[i], 0.0)
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
        assert -1e-9 <= optimum - p.dual(last.b) <= 1e-2 * (1.0 - optimum)


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
    p = replace(p, X=oracles.Counting(p.X))
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
    assert p.dual(last.b) <= optimum + 1e-6


@pytest.mark.parametrize("solver", ["fobos", "rda", "agd_adaptive", "excessive_gap"])
def test_a_flattened_matrix_is_a_vector_to_separable_regularizers(solver):
    operator, X, y = flattened((4, 3), 30)
    matrix, vector = (Problem(data, np.sign(y), "hinge", L1) for data in (operator, X))
    for a, b in together(steps(solver, matrix), steps(solver, vector), most=30):
        np.testing.assert_allclose(a.w.reshape(-1), b.w, atol=1e-10)


@pytest.mark.parametrize("solver", ["fobos", "rda", RATE, "excessive_gap"], ids=str)
def test_losses_on_several_outputs_and_on_all_samples(solver):
    X, z = oracles.data(30, 6, seed=4)
    classes = Problem(X, np.arange(30.0) % 3, "max_of_hinge", ELASTIC)
    targets = Problem(X, np.random.default_rng(0).normal(size=(30, 2)), "l2_multi", {"name": "l21", "strength": 0.05})
    budget = Problem(X, np.sign(z), {"name": "hinge", "budget": 20.0}, {"name": "l1", "strength": 0.01})
    free = Problem(X, np.sign(z), "hinge", {"name": "l1", "strength": 0.01}, free_bias=True)
    for p in classes, targets, budget, free:
        first = p.primal(np.zeros(p.shape))
        its = list(islice(steps(solver, p), 300))
        assert p.primal(its[-1].w) < 0.98 * first
        assert p.dual(its[-1].b) <= min(p.primal(it.w) for it in its)


@pytest.mark.parametrize("solver", DETERMINISTIC, ids=str)
def test_the_random_stream_changes_nothing(solver):
    p = oracles.problem("hinge", L2)
    for a, b in together(steps(solver, p, seed=0), steps(solver, p, seed=1), most=20):
        assert np.array_equal(a.w, b.w)
