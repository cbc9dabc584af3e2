"""Mixtures of dual variables: bounds that are below optima of an independent solver, and that come near to them."""

from functools import cache

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrmbench.bench.polishing import ascend_by_planes, methods_for
from rrmbench.problem.problem import Problem

KINDS = {
    "squares": {"name": "l2", "strength": 0.02},
    "squares and norms": {"name": "elastic_net", "l1": 0.02, "l2": 0.02},
}


X, Y = oracles.data(20, 5, seed=1, loss="f1")


@cache
def problem(kind):
    return Problem(X, Y, "f1", KINDS[kind])


@cache
def optimum(kind):
    p = problem(kind)
    w = cp.Variable(p.shape)
    psi, constraints = oracles.cvxpy_regularizer(KINDS[kind], w)
    return cp.Problem(cp.Minimize(oracles.cvxpy_loss("f1", X @ w, Y) / p.n + psi), constraints).solve(
        solver=cp.CLARABEL
    )


def bounds(p, w, b, passes):
    return [p.dual_value(b) for b, _ in ascend_by_planes(p, w, b, passes)]


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_near_to_the_optimum_of_cvxpy(kind):
    p, least = problem(kind), optimum(kind)
    w, b = np.zeros(p.shape), np.zeros(p.output_shape)
    assert methods_for(p, 50.0) == [ascend_by_planes]
    values = bounds(p, w, b, 200.0)
    assert least - 1e-6 <= values[-1] <= least + 1e-7


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(list(KINDS)))
@settings(max_examples=6)
def test_no_bound_is_above_the_optimum_and_nothing_is_changed(seed, kind):
    p, rng = problem(kind), np.random.default_rng(seed)
    w = rng.standard_normal(p.shape) * 10.0 ** rng.uniform(-3, 3)
    b = p.loss_dual(p.outputs(rng.standard_normal(p.shape)), rng.choice([0.0, 0.1]))
    kept = w.copy(), b.copy()
    first, again = (bounds(p, w, b, 20.0) for _ in range(2))
    assert first == again and max(first) <= optimum(kind) + 1e-7
    assert np.array_equal(w, kept[0]) and np.array_equal(b, kept[1])


def test_it_counts_its_passes():
    p = problem("squares").counted()
    found = [p.dual_value(b) for b, _ in ascend_by_planes(p, np.ones(p.shape), np.zeros(p.output_shape), 10.0)]
    assert len(found) >= 3 and 7.0 <= p.X.passes <= 10.0


@pytest.mark.parametrize("scale", [1e150, 1e300])
def test_extreme_models_give_bounds_below_the_optimum_or_none(scale):
    p = problem("squares")
    with np.errstate(all="ignore"):
        for b in np.zeros(p.output_shape), np.full(p.output_shape, scale):
            assert not any(value > optimum("squares") + 1e-7 for value in bounds(p, np.full(p.shape, scale), b, 10.0))


def test_they_are_for_strongly_convex_regularizers_and_losses_without_a_proximal_step():
    assert methods_for(problem("squares"), 50.0) == [ascend_by_planes]
    for other in oracles.problem("f1", {"name": "l1", "strength": 0.01}), oracles.problem("hinge", KINDS["squares"]):
        assert ascend_by_planes not in methods_for(other, 50.0)
