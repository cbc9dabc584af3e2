from itertools import islice
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from scipy.optimize import LinearConstraint, minimize, minimize_scalar

import rrmbench
from rrmbench import registry
from rrmbench.errors import RrmbenchError
from rrmbench.losses.multiclass import margin_threshold
from rrmbench.numerics.random import Rng
from rrmbench.problem import constants
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss
from rrmbench.solvers.sdca import output, prox_sdca_shrinking
from rrmbench.solvers.sdca.output import Ascent
from rrmbench.solvers.sdca.steps import Exact, option_of, steps

REGULARIZERS = {m["name"]: m for m in oracles.coordinate_regularizers()}
LOSSES = oracles.scalar_losses()
SMOOTH = ["squared", "logistic", "squared_hinge", "smoothed_hinge"]
MULTICLASS = ["max_of_hinge", "smoothed_max_of_hinge", "soft_max_of_hinge"]
OPTIONS = ["I", "II", "III", "IV", "V"]
each_option = pytest.mark.parametrize("option", OPTIONS)


def dense(p):
    return p.X.forward(np.eye(p.shape[0]))


def iterates(solver, p, count, start=None, seed=0):
    """Copies of the first iterates of a solver (a mapping or a name)."""
    return [
        it._replace(w=it.w.copy(), b=it.b.copy())
        for it in islice(registry.build_solver(solver)(p, start, Rng(seed)), count)
    ]


def after(solver, p, passes, seed=0):
    """The first iterate at or after `passes`."""
    return next(it for it in registry.build_solver(solver)(p, None, Rng(seed)) if it.passes >= passes)


def multiclass(loss, l2=0.05, n=30, d=6, classes=4, psi=None):
    X, z = oracles.data(n, d, density=0.7)
    y = np.floor(4.0 * np.argsort(np.argsort(z)) / n) % classes
    return Problem(X, y, loss, psi or "none", l2=l2)


def one_step(p, b, i, option="I"):
    """The b after the solver's step on sample i."""
    s, b = p.strong_convexity, b.copy()
    u = p.v(b) / s + p.shift()
    steps(p.X.rows, p.y, option_of(p, option), p.regularizer, s, np.array([i], np.int32), b, u)
    np.testing.assert_allclose(u, p.v(b) / s + p.shift(), atol=1e-13)
    return b


# option I against brute force


def centred_and_started(loss, regularizer):
    p = oracles.problem(loss, REGULARIZERS[regularizer]).regularized(0.1, np.linspace(-1.0, 1.0, 12))
    return p, after("prox_sdca", p, 0.3).b.copy()


def assert_minimizes(function, t):
    """No point near t, and none found by search, has a smaller value."""

    def finite(u):
        value = function(u)
        return value if np.isfinite(value) else 1e9 * (1.0 + abs(u))

    found = minimize_scalar(finite, bounds=(t - 2.0, t + 1.5), method="bounded", options={"xatol": 1e-11})
    probes = [t + sign * 10.0**e for sign in (-1, 1) for e in range(-7, 1)]
    assert function(t) <= min(found.fun, *map(finite, probes)) + 1e-14


@pytest.mark.parametrize("loss", LOSSES)
def test_option_1_maximizes_the_dual_for_l2(loss):
    p, b = centred_and_started(loss, "l2")
    for i in range(10):
        new = one_step(p, b, i)
        assert np.array_equal(np.delete(new, i), np.delete(b, i))
        assert_minimizes(lambda t, i=i: -p.dual(np.concatenate((b[:i], [t], b[i + 1 :]))), new[i])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularizer", ["elastic_net", "box"])
def test_option_1_maximizes_its_bound(loss, regularizer):
    # n D >= -phi*(t) - (mu/2) t^2 + (t - b_i) x_i.w - (t - b_i)^2 ||x_i||^2 / (2 s n) + a constant
    p, b = centred_and_started(loss, regularizer)
    X, increased = dense(p), 0
    w = oracles.dual_point(p, b, X)
    for i in range(10):
        new = one_step(p, b, i)

        def lost(t, i=i):
            h = t - b[i]
            bound = h * (X[i] @ w) - h * h * (X[i] @ X[i]) / (2 * p.strong_convexity * p.n)
            return (p.loss.conjugate(t, p.y[i]) + p.mu / 2 * t * t - bound) / p.n

        assert_minimizes(lost, new[i])
        assert p.dual(new) >= p.dual(b) - 1e-14
        increased += p.dual(new) > p.dual(b) + 1e-9
    assert increased > 0


@pytest.mark.parametrize("loss", MULTICLASS)
def test_option_1_maximizes_the_dual_over_all_rows(loss):
    p = multiclass(loss)
    b = after("prox_sdca", p, 0.6).b.copy()
    for i in range(6):
        new = one_step(p, b, i)
        others = [j for j in range(4) if j != p.y[i]]

        def lost(row, i=i, others=others):
            trial = b.copy()
            trial[i, others], trial[i, int(p.y[i])] = row, -row.sum()
            return -p.dual(trial)

        found = minimize(
            lost,
            np.full(3, 0.2),
            method="SLSQP",
            bounds=[(1e-14, 1.0)] * 3,
            constraints=LinearConstraint(np.ones(3), 0.0, 1.0 - 1e-13),
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert -p.dual(new) <= found.fun + 1e-12
        assert p.dual(new) >= p.dual(b) - 1e-14


# options II to V against the paper's formulas in the paper's sign, alpha = -b


def loss_value(name, z, y):
    """phi itself: the smoothed hinge by equation (9)."""
    if name != "smoothed_hinge":
        return build_loss(name)[0].value(z, y)
    a = y * z
    return 0.0 if a >= 1.0 else 0.5 - a if a <= 0.0 else 0.5 * (1.0 - a) ** 2


def paper_step(name, option, p, b, i):
    """alpha_i after Figure 1's step on sample i; scalar losses."""
    X, lam_n, gamma = dense(p), p.strong_convexity * p.n, p.loss.convexity + p.mu
    x, y, alpha, w = X[i], p.y[i], -b[i], oracles.dual_point(p, b, X)
    square, R2 = x @ x, (X**2).sum(axis=1).max()
    u = -p.loss.dual(x @ w, y, p.mu)
    q = u - alpha
    if q == 0.0:
        return alpha

    def conjugate(t):
        return p.loss.conjugate(t, y) + p.mu / 2 * t * t

    if option == "II":
        found = minimize_scalar(
            lambda s: conjugate(-(alpha + s * q)) + s * (w @ x) * q + s * s / (2 * lam_n) * square * q * q,
            bounds=(0, 1),
            options={"xatol": 1e-12},
        )
        return alpha + found.x * q
    if option == "V":
        return alpha + lam_n * gamma / (R2 + lam_n * gamma) * q
    norm = square if option == "III" else R2
    above = loss_value(name, x @ w, y) + conjugate(-alpha) + (w @ x) * alpha + gamma / 2 * q * q
    return alpha + min(1.0, above / (q * q * (gamma + norm / lam_n))) * q


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("option", ["II", "III", "IV", "V"])
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
def test_options_are_figure_1(loss, option, regularizer):
    p, b = centred_and_started(loss, regularizer)
    for i in range(12):
        expected = -paper_step(loss, option, p, b, i)
        assert one_step(p, b, i, option)[i] == pytest.approx(expected, abs=1e-7 if option == "II" else 1e-12)


@pytest.mark.parametrize("loss", ["hinge", "absolute", "quantile"])
def test_line_search_without_smoothness(loss):
    p, b = centred_and_started(loss, "l2")
    for i in range(12):
        assert one_step(p, b, i, "II")[i] == pytest.approx(-paper_step(loss, "II", p, b, i), abs=1e-7)


@pytest.mark.parametrize("loss", ["smoothed_max_of_hinge", "soft_max_of_hinge"])
@pytest.mark.parametrize("option", ["II", "III", "IV", "V"])
def test_options_are_figure_1_for_rows(loss, option):
    p = multiclass(loss)
    b, X = after("prox_sdca", p, 0.6).b.copy(), dense(p)
    w, sn = p.primal_point(p.v(b)), p.strong_convexity * p.n
    for i in range(8):
        z, y, gamma = X[i] @ w, p.y[i], 1.0 / p.smoothness
        one = type(p.losses)(p.loss, SimpleNamespace(shape=(1, 1, 4)), np.array([y]))
        u = one.dual(p.mu, z[None])[0]
        h = u - b[i]

        def conjugate(row, one=one):
            return one.mean_conjugate(p.mu, row[None])

        value = one.mean_loss(p.mu, z[None])
        if option == "II":
            found = minimize_scalar(
                lambda s, i=i, h=h, z=z: (
                    conjugate(b[i] + s * h) - s * (h @ z) + s * s / (2 * sn) * (X[i] @ X[i]) * (h @ h)
                ),
                bounds=(0, 1),
                options={"xatol": 1e-12},
            )
            share = found.x
        elif option == "V":
            share = gamma / (gamma + p.R**2 / sn)
        else:
            norm = X[i] @ X[i] if option == "III" else p.R**2
            above = value + conjugate(b[i]) - z @ b[i] + gamma / 2 * (h @ h)
            share = min(1.0, above / ((h @ h) * (gamma + norm / sn)))
        new = one_step(p, b, i, option)[i]
        np.testing.assert_allclose(new, b[i] + share * h, atol=1e-6 if option == "II" else 1e-12)


@each_option
@pytest.mark.parametrize("loss", [*SMOOTH, "smoothed_max_of_hinge", "soft_max_of_hinge"])
def test_no_step_lowers_the_dual(option, loss):
    net = REGULARIZERS["elastic_net"]
    p = multiclass(loss, psi=net) if "max" in loss else oracles.problem(loss, net, n=20)
    b, values = np.zeros(p.output_shape), []
    for i in Rng(1).integers(p.n, 5 * p.n):
        b = one_step(p, b, int(i), option)
        values.append(p.dual(b))
    assert np.diff(values).min() >= -1e-14
    assert values[-1] > values[0] + 1e-3


@pytest.mark.parametrize("option", ["III", "IV", "V"])
def test_options_of_smooth_losses_refuse_others(option):
    p = oracles.problem("hinge", REGULARIZERS["l2"])
    with pytest.raises(RrmbenchError, match=rf"prox_sdca: option {option} needs a smooth loss, found Hinge"):
        iterates({"name": "prox_sdca", "option": option}, p, 1)
    assert len(iterates({"name": "prox_sdca", "option": option}, p.smoothed(0.1), 3)) == 3


# what is reported


def trajectory(p, count, order):
    """b before the first of `count` steps, and after each."""
    b = [np.zeros(p.output_shape)]
    for i in order[:count]:
        b.append(one_step(p, b[-1], int(i)))
    return np.array(b)


def tail(t, window, unit):
    """T0 at step t: the start of the block before that of t; blocks are the least multiple of `unit` >= window."""
    block = -(-window // unit) * unit
    return max(t // block - 1, 0) * block


@pytest.mark.parametrize("loss", ["logistic", "smoothed_max_of_hinge"])
def test_average_is_over_every_step_of_the_tail(loss):
    n = 10
    p = oracles.problem(loss, REGULARIZERS["l2"], n=n) if loss == "logistic" else multiclass(loss, n=n, l2=3.0)
    window = n + int(np.ceil(p.R**2 * p.smoothness / p.strong_convexity))
    assert window < 100
    b = trajectory(p, 250, np.concatenate(draws(n, 25)))
    its = iterates({"name": "prox_sdca", "output": "average", "sampling": "uniform"}, p, 26)
    for k, it in enumerate(its[1:], start=1):
        mean = b[tail(n * k, window, n) : n * k].mean(axis=0)
        np.testing.assert_allclose(it.b, mean, atol=1e-11)
        np.testing.assert_allclose(it.w, p.primal_point(p.v(mean)), atol=1e-10)
        assert (it.passes, it.checks) == (k, 0.5 * k)
        assert np.isfinite(p.dual(it.b))
    assert not its[0].b.any()


@pytest.mark.parametrize("T0", [0.0, 2.5, 4.0])
def test_average_is_over_every_step_after_T0_where_it_is_given(T0):
    n = 10
    p = oracles.problem("logistic", REGULARIZERS["l2"], n=n)
    b = trajectory(p, 300, np.concatenate(draws(n, 30)))
    its = iterates({"name": "prox_sdca", "output": "average", "sampling": "uniform", "T0": T0}, p, 31)
    for k, it in enumerate(its):
        begun = n * k > n * T0
        expected = b[int(n * T0) : n * k].mean(axis=0) if begun else b[n * k]
        np.testing.assert_allclose(it.b, expected, atol=1e-11)
        assert it.checks == 0.5 * max(k - int(T0), 0)


def test_random_output_is_of_a_step_after_T0():
    n, T0 = 6, 3
    p = oracles.problem("logistic", {"name": "l2", "strength": 1.0}, n=n)
    spec = {"name": "prox_sdca", "output": "random", "T0": float(T0)}
    for seed in range(20):
        solve, last = registry.build_solver(spec), registry.build_solver("prox_sdca")
        both = zip(copies(solve(p, None, Rng(seed))), copies(last(p, None, Rng(seed))), strict=True)
        pairs = list(islice(both, 3 * T0 + 1))
        for shown, own in pairs:
            np.testing.assert_array_equal(shown.b, own.b)
        later = list(islice(copies(solve(p, None, Rng(seed))), 3 * T0 + 1, 60))
        assert all(np.any(x.b != pairs[-2][1].b) for x in later)


def copies(its):
    for it in its:
        yield it._replace(w=it.w.copy(), b=it.b.copy())


def test_T0_is_for_a_tail_only():
    solve = registry.build_solver({"name": "prox_sdca", "T0": 2.0})
    with pytest.raises(RrmbenchError, match="T0 = 2 is for output: average or random"):
        next(solve(oracles.problem("logistic", {"name": "l2", "strength": 1.0}), None, Rng(0)))


def draws(n, passes, seed=0):
    rng = Rng(seed)
    return [rng.integers(n, n) for _ in range(passes)]


def test_average_of_w_is_that_of_the_paper_without_psi():
    p = oracles.problem("smoothed_hinge", REGULARIZERS["l2"], n=10)
    b = trajectory(p, 30, np.concatenate(draws(10, 3)))
    last = iterates({"name": "prox_sdca", "output": "average", "sampling": "uniform"}, p, 4)[-1]
    np.testing.assert_allclose(last.w, np.mean([p.primal_point(p.v(x)) for x in b[:30]], axis=0), atol=1e-10)


@pytest.mark.parametrize("strength", [0.01, 1.0, 10.0])
def test_average_stays_in_the_domain(strength):
    # most b_i lie at a bound that is no dyadic number, in whole blocks
    X, y = oracles.data(40, 12, density=0.5)
    p = Problem(X, y, {"name": "quantile", "a": 0.3}, {"name": "l2", "strength": strength}).smoothed(0.05)
    its = iterates({"name": "prox_sdca", "output": "average"}, p, 100)
    assert np.isfinite([p.dual(it.b) for it in its]).all()
    assert p.gap(its[-1].w, its[-1].b) < 0.5 * p.gap(its[0].w, its[0].b)


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_average_is_over_all_steps_without_smoothness(loss):
    p = oracles.problem(loss, REGULARIZERS["l2"], n=10)
    b = trajectory(p, 600, np.concatenate(draws(10, 60)))
    last = iterates({"name": "prox_sdca", "output": "average", "sampling": "uniform"}, p, 61)[-1]
    np.testing.assert_allclose(last.b, b[:600].mean(axis=0), atol=1e-11)


def test_random_output_is_uniform_over_the_steps_of_the_tail(monkeypatch):
    n = 6
    p = oracles.problem("logistic", {"name": "l2", "strength": 1.0}, n=n)
    monkeypatch.setattr(output.Ascent, "window", lambda self: 12)
    counts = np.zeros(24)
    for seed in range(600):
        seen = [np.zeros(n)]

        class Recorded(output.Ascent):
            def run(self, order):
                for k in range(order.size):
                    super().run(order[k : k + 1])
                    seen.append(self.b.copy())  # noqa: B023

        rng = Rng(seed)
        report = output.Random(Recorded(p, option_of(p, "I"), None), rng, "auto")
        for _ in range(11):  # 22 steps: blocks end at 12 and 24, so the tail is 1 .. 22
            report.run(rng.integers(n, 2))
        w, b = report.point()
        found = [k for k, x in enumerate(seen) if k > 0 and np.array_equal(x, b)]
        np.testing.assert_allclose(w, p.primal_point(p.v(b)), atol=1e-12)
        counts[found[0]] += 1
    assert counts[0] == 0 == counts[23]
    expected = 600 / 22
    assert ((counts[1:23] - expected) ** 2 / expected).sum() < 60.0  # chi-square, 21 degrees of freedom


@pytest.mark.parametrize("output", ["last", "average", "random"])
def test_the_reported_pair_is_what_stops_a_run(output):
    p = oracles.problem("smoothed_hinge", REGULARIZERS["elastic_net"])
    found = rrmbench.solve(p, {"name": "prox_sdca", "output": output}, gap=1e-5, passes=2000)
    assert found.reason == "gap"
    assert p.primal(found.w) - p.dual(found.b) <= 1e-5


# theory


@pytest.mark.parametrize("loss", SMOOTH)
@each_option
def test_theorem_1_bounds_the_mean_gap(loss, option):
    p = oracles.problem(loss, REGULARIZERS["elastic_net"])
    bound = registry.lookup("solver", "prox_sdca").bound
    solver = {"name": "prox_sdca", "option": option, "sampling": "uniform"}
    runs = [iterates(solver, p, 60, seed=seed) for seed in range(10)]
    gaps = np.mean([[p.gap(it.w, it.b) for it in run] for run in runs], axis=0)
    passes = np.array([it.passes for it in runs[0]])
    bounds = bound(constants.constants(p), passes, sampling="uniform", output="last")
    assert (gaps <= bounds * 1.05 + 1e-13).all()
    assert bounds[-1] < bounds[0]


def test_theorem_1_by_hand():
    c = constants.Constants(n=10, R=2.0, L=1.0, mean_sqnorm=3.0, s=0.1, gamma=0.5, G=1.0, initial_gap=2.0)
    # n + R^2/(s gamma) = 90; T = 90 log(90 * 2/eps) steps for eps = 0.01
    passes = 90.0 * np.log(90.0 * 2.0 / 0.01) / 10.0
    bound, given = registry.lookup("solver", "prox_sdca").bound, {"sampling": "uniform", "output": "last"}
    assert bound(c, passes, **given) == pytest.approx(0.01, rel=1e-12)
    for other, setting in (c._replace(gamma=0.0), given), (c, given | {"output": "average"}):
        with pytest.raises(constants.NoTheorem, match=r"prox_sdca.* Theorem 1"):
            bound(other, passes, **setting)


def test_constants():
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"])
    X, (_, best) = dense(p), oracles.cvxpy_optimum("logistic", "elastic_net")
    c = constants.constants(p, best)
    rows = (X**2).sum(axis=1)
    assert (c.n, c.s, c.gamma, c.G) == (40, 0.1, 4.0, 1.0)
    assert c._replace(n=0)[1:4] == pytest.approx((np.sqrt(rows.max()), rows.mean() / 4.0, rows.mean()))
    assert c.initial_gap == pytest.approx(np.log(2.0))
    assert c.distance == pytest.approx(best @ best)
    assert 0.0 < c.initial_suboptimality <= c.initial_gap
    assert np.isnan(constants.constants(p).distance)


# shrinking


@pytest.mark.parametrize("loss", ["hinge", "smoothed_hinge", "absolute", "quantile", "max_of_hinge"])
def test_shrinking_needs_fewer_passes_to_the_same_optimum(loss):
    if loss == "max_of_hinge":
        p = multiclass(loss, n=60, l2=0.02)
    else:
        p = oracles.problem(loss, {"name": "l2", "strength": 0.005}, n=300)
    plain, shrunk = (
        rrmbench.solve(p, name, gap=1e-6, passes=5000, every=0.3) for name in ("prox_sdca", "prox_sdca_shrinking")
    )
    assert plain.reason == shrunk.reason == "gap"
    assert p.primal(shrunk.w) == pytest.approx(p.primal(plain.w), abs=1e-6)
    assert shrunk.trace["passes"].iloc[-1] < 0.8 * plain.trace["passes"].iloc[-1]


def test_shrinking_comes_back_to_all_rows():
    p = oracles.problem("hinge", {"name": "l2", "strength": 0.1}, n=200)
    ascent, longest_rest = Ascent(p, Exact(p.loss, p.mu), None), prox_sdca_shrinking.LONGEST_REST
    calendar, state, last = prox_sdca_shrinking.Calendar.of(ascent.b), Rng(0).state, np.zeros(200, dtype=int)
    now = visits = longest = 0
    while now < 4 * longest_rest:
        seen, after = prox_sdca_shrinking.rounds(*ascent.fixed, ascent.b, ascent.u, calendar, state, now, 1)
        order = calendar.order[:seen]  # of the last round, the only one with rows
        assert len(set(order.tolist())) == seen
        now, visits = after, visits + seen
        longest = max(longest, np.max(now - last[order]))
        last[order] = now
    assert longest_rest / 4 < longest <= longest_rest
    assert (now - last).max() <= longest_rest
    assert visits < 0.3 * 200 * now
    np.testing.assert_allclose(ascent.u, p.v(ascent.b) / p.strong_convexity, atol=1e-12)


def test_shrinking_counts_the_rows_that_it_visits(monkeypatch):
    seen = []

    def recorded(*arguments):
        found = rounds(*arguments)
        seen.append(found[0])
        return found

    rounds = prox_sdca_shrinking.rounds
    monkeypatch.setattr(prox_sdca_shrinking, "rounds", recorded)
    its = iterates("prox_sdca_shrinking", oracles.problem("hinge", {"name": "l2", "strength": 0.1}, n=200), 60)
    assert its[-1].passes == sum(seen) / 200
    assert min(seen) >= 200 / 3


def test_shrinking_leaves_no_row_out_while_all_move():
    p = oracles.problem("squared", REGULARIZERS["l2"], density=1.0)
    its = iterates("prox_sdca_shrinking", p, 6)
    assert [it.passes for it in its] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert np.diff([p.gap(it.w, it.b) for it in its]).max() < 0.0


# warm starts


def test_a_warm_start_counts_its_product():
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"])
    start = iterates("prox_sdca", p, 4)[-1]
    its = iterates("prox_sdca", p, 3, start)
    assert [it.checks for it in its] == [0.5, 0.5, 0.5]
    np.testing.assert_allclose(its[0].w, start.w, atol=1e-12)
    assert {it.checks for it in iterates("prox_sdca", p, 3)} == {0.0}


# multiclass


@pytest.mark.parametrize("C", [0.0, 0.05, 0.5, 0.95])
def test_optimize_dual_is_the_projection(C):
    rng = np.random.default_rng(3)
    for _ in range(40):
        m = 0.7 * rng.standard_normal(5)
        a = np.maximum(m - margin_threshold(m, C), 0.0)
        a /= max(a.sum(), 1.0)
        found = minimize(
            lambda t, m=m: np.sum((t - m) ** 2) + C * t.sum() ** 2,
            np.full(5, 0.1),
            jac=lambda t, m=m: 2 * (t - m) + 2 * C * t.sum(),
            method="SLSQP",
            bounds=[(0.0, 1.0)] * 5,
            constraints=LinearConstraint(np.ones(5), 0.0, 1.0),
            options={"ftol": 1e-16, "maxiter": 500},
        )
        np.testing.assert_allclose(a, found.x, atol=1e-6)


@pytest.mark.parametrize("name", MULTICLASS)
@pytest.mark.parametrize(("mu", "q"), [(0.0, 0.3), (0.4, 0.0), (0.4, 1.1)])
def test_dual_row_maximizes(name, mu, q):
    loss, _ = build_loss(name)
    rng, y = np.random.default_rng(0), 2.0
    others = [0, 1, 3, 4]
    for _ in range(15):
        z, b = 1.5 * rng.standard_normal(5), np.empty(5)
        loss.dual_row(z, y, mu, q, b)

        def lost(t, z=z):
            row = np.zeros(5)
            row[others], row[2] = t, -np.sum(t)
            value = loss.conjugate_row(row, y) + mu / 2 * loss.penalty_row(row, y) + q / 2 * row @ row - row @ z
            return value if np.isfinite(value) else 1e6

        starts = [np.full(4, 0.1), np.clip(b[others], 1e-9, 1.0) * 0.9]
        best = min(
            minimize(
                lost,
                first,
                method="SLSQP",
                bounds=[(1e-13, 1.0)] * 4,
                constraints=LinearConstraint(np.ones(4), 0.0, 1.0 - 1e-13),
                options={"ftol": 1e-15, "maxiter": 500},
            ).fun
            for first in starts
        )
        assert b[2] == pytest.approx(-b[others].sum(), abs=1e-14)
        assert lost(b[others]) <= best + 1e-9


@pytest.mark.parametrize("name", MULTICLASS)
def test_conjugate_row_is_the_supremum(name):
    loss, _ = build_loss(name)
    rng, y = np.random.default_rng(1), 0.0
    margins_of_0 = np.array([0.0, -1.0, -1.0, -1.0])  # where all slopes of max_of_hinge meet
    for _ in range(10):
        b = rng.dirichlet(np.ones(4))[:3] * 0.9
        row = np.concatenate(([-b.sum()], b))
        found = minimize(lambda z, row=row: loss.value_row(z, y) - row @ z, margins_of_0, options={"gtol": 1e-9})
        largest = max(-found.fun, row @ margins_of_0 - loss.value_row(margins_of_0, y))
        assert loss.conjugate_row(row, y) == pytest.approx(largest, abs=1e-7)
        for z in rng.standard_normal((50, 4)) * rng.uniform(0.1, 5.0):
            assert loss.value_row(z, y) + loss.conjugate_row(row, y) >= row @ z - 1e-12
    assert loss.conjugate_row(np.array([-1.2, 0.6, 0.6, 0.0]), y) == np.inf
    assert loss.conjugate_row(np.array([0.1, -0.1, 0.0, 0.0]), y) == np.inf


@pytest.mark.parametrize("data", ["iris", "digits"])
def test_multiclass_hinge_agrees_with_liblinear(data):
    from sklearn import datasets
    from sklearn.svm import LinearSVC

    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    X, y = X[::3] / np.linalg.norm(X, axis=1).max(), y[::3]
    n, l2 = len(y), 0.01
    p = Problem(X, y.astype(float), "max_of_hinge", {"name": "l2", "strength": l2})
    # scikit-learn: 1/2 ||W||^2 + C sum of losses
    theirs = LinearSVC(multi_class="crammer_singer", C=1.0 / (n * l2), fit_intercept=False, tol=1e-9, max_iter=200_000)
    expected = p.primal(theirs.fit(X, y).coef_.T.copy())
    ours = rrmbench.solve(p, "prox_sdca_shrinking", relative_gap=1e-7, passes=20_000, growth=1.05)
    assert ours.reason == "relative_gap"
    assert p.primal(ours.w) == pytest.approx(expected, rel=1e-6)


# the lasso, section 5.5


def test_lasso_by_regularization_has_at_most_the_stated_bias():
    sigma, p = 0.05, oracles.problem("squared", {"name": "l1", "strength": 0.05})
    optimum, _ = oracles.cvxpy_optimum("squared", "l1")
    mean = float(p.y @ p.y) / (2 * p.n)
    for epsilon in 1.0, 0.1:
        added = epsilon * (sigma / mean) ** 2
        reduction = {"name": "regularize", "sigma": added}
        solve = registry.build_solver("apcg", reduction)
        it = next(it for it in solve(p, None, Rng(0)) if it.passes >= 3000)
        stage = p.regularized(added)
        reached = stage.gap(it.w, it.b)
        assert reached <= epsilon / 2
        assert -1e-9 <= p.primal(it.w) - optimum <= epsilon / 2 + reached <= epsilon
