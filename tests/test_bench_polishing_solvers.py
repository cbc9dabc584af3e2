"""Dual variables of solvers as bounds: below optima of an independent solver, and near to them."""

from functools import cache

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rrmbench
from rrmbench.bench import dual_ascent, polishing
from rrmbench.bench.ascents import ascend_by_apcg, ascend_by_cones, ascend_by_planes, methods_for
from rrmbench.problem.certificate import Certifier
from rrmbench.problem.problem import Problem

SQUARES = {"name": "l2", "strength": 0.02}
KINDS = {
    "f1, squares": ("f1", SQUARES),
    "f1, squares and norms": ("f1", {"name": "elastic_net", "l1": 0.02, "l2": 0.02}),
    "f1, absolute values": ("f1", {"name": "l1", "strength": 0.02}),
    "f1, a norm": ("f1", {"name": "linf_norm", "strength": 0.02}),
    "hinge with a bias": ("hinge", SQUARES),
    "absolute with a bias": ("absolute", SQUARES),
}
X, Y = oracles.data(20, 5, seed=1, loss="f1")


@cache
def problem(kind):
    loss, regularizer = KINDS[kind]
    return Problem(X, Y, loss, regularizer, minimized_bias=loss != "f1")


def method(kind):
    return ascend_by_planes if KINDS[kind][0] == "f1" else ascend_by_apcg


@cache
def optimum(kind):
    (loss, regularizer), p = KINDS[kind], problem(kind)
    w, bias = cp.Variable(p.shape), cp.Variable() if p.minimized_bias else 0.0
    psi, constraints = oracles.cvxpy_regularizer(regularizer, w)
    objective = cp.Minimize(oracles.cvxpy_loss(loss, X @ w + bias, Y) / p.n + psi)
    return cp.Problem(objective, constraints).solve(solver=cp.CLARABEL)


def bounds(kind, w, b, passes):
    p = problem(kind)
    return [p.dual_value(b) for b, *_ in method(kind)(p.counted(), w, b, passes)]


@pytest.mark.core(1)
@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_near_to_the_optimum_of_cvxpy(kind):
    p, least = problem(kind), optimum(kind)
    assert next(found for found in methods_for(p, 50.0) if found is not ascend_by_cones) == method(kind)
    values = bounds(kind, np.zeros(p.shape), np.zeros(p.output_shape), 200.0)
    best = values[-1] if method(kind) is ascend_by_planes else max(values)  # of apcg they may fall
    assert least - 1e-6 <= best <= least + 1e-7


@pytest.mark.exhaustive
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(list(KINDS)))
@settings(max_examples=15)
def test_no_bound_is_above_the_optimum_and_nothing_is_changed(seed, kind):
    p, rng = problem(kind), np.random.default_rng(seed)
    w = rng.standard_normal(p.shape) * 10.0 ** rng.uniform(-3, 3)
    b = p.loss_dual(p.outputs(rng.standard_normal(p.shape)), rng.choice([0.0, 0.1]))
    kept = w.copy(), b.copy()
    first, again = (bounds(kind, w, b, 20.0) for _ in range(2))
    assert first == again and max(first) <= optimum(kind) + 1e-7
    assert np.array_equal(w, kept[0]) and np.array_equal(b, kept[1])


@pytest.mark.parametrize("kind", KINDS)
def test_it_counts_its_passes(kind):
    p, steps, found = problem(kind).counted(), 0.0, []
    passes, least = (10.0, 7.0) if method(kind) is ascend_by_planes else (20.0, 12.0)
    for b, _, more in method(kind)(p, np.ones(p.shape), np.zeros(p.output_shape), passes):
        found.append(p.dual_value(b))
        steps += more
    assert len(found) >= 3 and least <= p.X.passes + steps <= passes


@pytest.mark.parametrize("kind", ["f1, squares", "f1, a norm"])
def test_planes_end_when_their_time_is_out(kind):
    p = problem(kind)
    given = p.counted(), np.ones(p.shape), np.zeros(p.output_shape), 200.0
    assert len(list(ascend_by_planes(*given))) > 5
    assert len(list(ascend_by_planes(*given, seconds=0.0))) <= 1


def test_all_turns_of_a_run_share_the_seconds_of_planes(monkeypatch):
    """Each of several turns had all of them."""
    p, given = problem("f1, squares"), []
    clock = iter(np.arange(0.0, 1e3, 15.0))
    monkeypatch.setattr(polishing.time, "perf_counter", lambda: next(clock))

    def slow(problem, w, b, passes, seconds):
        given.append(seconds)
        return iter(())

    monkeypatch.setattr(polishing, "TIMED", (slow,))
    polisher = polishing.Polisher(p, Certifier(p))
    for _ in range(3):
        polisher.follow(slow, np.ones(p.shape), polishing.Aim(np.inf, np.inf, np.inf, 0.0), 50.0)
    assert given == [20.0, 5.0]


@pytest.mark.parametrize("scale", [1e150, 1e300])
@pytest.mark.parametrize("kind", ["f1, squares", "hinge with a bias"])
def test_extreme_models_give_bounds_below_the_optimum_or_none(kind, scale):
    p = problem(kind)
    with np.errstate(all="ignore"):
        for b in np.zeros(p.output_shape), np.full(p.output_shape, scale):
            values = bounds(kind, np.full(p.shape, scale), b, 10.0)
            assert not any(value > optimum(kind) + 1e-7 for value in values)


def test_they_are_for_what_the_solvers_are_for():
    assert methods_for(problem("f1, squares"), 50.0) == [ascend_by_planes]
    assert methods_for(problem("hinge with a bias"), 50.0) == [ascend_by_cones, ascend_by_apcg, dual_ascent.ascend]
    smooth = Problem(X, Y, "logistic", SQUARES, minimized_bias=True)
    for other in (
        oracles.problem("max_of_hinge", {"name": "l21", "strength": 0.01}),
        oracles.problem("hinge", SQUARES),
        smooth,
    ):
        assert not {ascend_by_planes, ascend_by_apcg} & set(methods_for(other, 50.0))


@pytest.mark.core(2)
@pytest.mark.parametrize("solver", ["agm_ef", "subgradient"])
@pytest.mark.parametrize(("regularizer", "free_bias"), [({"name": "l1", "strength": 0.02}, False), (SQUARES, True)])
def test_the_gap_of_a_maximum_over_all_samples_is_the_suboptimality(solver, regularizer, free_bias):
    """Also without strong convexity, where one square around the model leaves what it adds to v."""
    data, labels = oracles.data(60, 6, loss="f1")
    data = np.hstack([data, np.ones((60, 1))]) if free_bias else data
    p = Problem(data, labels, "f1", regularizer, free_bias=free_bias)
    best = rrmbench.solve(p, "cutting_planes", relative_gap=1e-9, passes=400)
    found = rrmbench.solve(p, solver, passes=60)
    assert best.reason == "relative_gap"
    assert found.gap <= 1.01 * (p.primal(found.w) - p.dual_value(best.b))
