"""What Prox-SDCA reports, and its theorem."""

from itertools import islice

import numpy as np
import oracles
import pytest
from runs import dense, iterates
from sdca_runs import REGULARIZERS, SMOOTH, each_option, multiclass, one_step

import rrmbench
from rrmbench import registry
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem import constants
from rrmbench.problem.problem import Problem
from rrmbench.solvers.sdca import output
from rrmbench.solvers.sdca.steps import option_of

pytestmark = pytest.mark.usefixtures("own_bounds")

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


@pytest.mark.parametrize("report", ["average", "random"])
def test_a_loss_with_kinks_has_no_window_without_data(report):
    p = Problem(np.zeros((4, 2)), np.array([1.0, -1.0, 1.0, -1.0]), "hinge", l2=0.1)
    found = iterates({"name": "prox_sdca", "output": report}, p, 5)[-1]
    np.testing.assert_array_equal(found.w, 0.0)
    assert p.gap(found.w, found.b) <= 1.0


@pytest.mark.exhaustive
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
        assert np.isfinite(p.dual_value(it.b))
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
    assert np.isfinite([p.dual_value(it.b) for it in its]).all()
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
    assert output.DualState(p, option_of(p, "I"), None).window() == n + np.ceil(p.R**2 / 4)
    monkeypatch.setattr(output.DualState, "window", lambda self: 12)
    counts = np.zeros(18)
    for seed in range(600):
        seen = [np.zeros(n)]

        class Recorded(output.DualState):
            def run(self, order):
                for k in range(order.size):
                    super().run(order[k : k + 1])
                    seen.append(self.b.copy())  # noqa: B023

        rng = Rng(seed)
        report = output.Random(Recorded(p, option_of(p, "I"), None), rng, "auto")
        for _ in range(8):  # 16 steps: blocks end at 12 and 24, so the tail is 1 .. 16
            report.run(rng.integers(n, 2))
        w, b = report.point()
        found = [k for k, x in enumerate(seen) if k > 0 and np.array_equal(x, b)]
        np.testing.assert_allclose(w, p.primal_point(p.v(b)), atol=1e-12)
        counts[found[0]] += 1
    assert counts[0] == 0 == counts[17]
    expected = 600 / 16
    assert ((counts[1:17] - expected) ** 2 / expected).sum() < 45.0  # chi-square, 15 degrees of freedom


@pytest.mark.parametrize("output", ["last", "average", "random"])
def test_the_reported_pair_is_what_stops_a_run(output):
    p = oracles.problem("smoothed_hinge", REGULARIZERS["elastic_net"])
    found = rrmbench.solve(p, {"name": "prox_sdca", "output": output}, gap=1e-5, passes=2000)
    assert found.reason == "gap"
    assert p.primal(found.w) - p.dual_value(found.b) <= 1e-5


# theory


@pytest.mark.core(5)
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
