"""Dual ascent and splitting: bounds that are below optima of an independent solver, and that come near to them."""

from functools import cache
from itertools import pairwise

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdprox_runs import multiclass, tasks, whole
from runs import dense

from rrmbench import solve
from rrmbench.bench import dual_ascent, dual_splitting
from rrmbench.bench.dual_ascent import ascend
from rrmbench.problem.problem import Problem

GROUPS = {"name": "group_lasso", "strength": 0.02, "groups": 2}


def biased(loss, kind, regularizer=GROUPS):
    """Unbalanced classes, or targets far from zero, and a bias."""
    X, y = oracles.data(30, 6, seed=5, loss=loss)
    y = np.where(np.arange(30) < 6, 1.0, -1.0) if set(np.unique(y)) == {-1.0, 1.0} else y + 3.0
    X = np.hstack([X, np.ones((30, 1))]) if kind == "free_bias" else X
    return Problem(X, y, loss, regularizer, **{kind: True})


def multiclass_biased():
    p = multiclass()
    X = np.hstack([dense(p), np.ones((p.n, 1))])
    return Problem(X, np.where(np.arange(p.n) < 15, 0.0, p.y), "max_of_hinge", p.regularizer, free_bias=True)


def targets():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((25, 5)), rng.standard_normal((25, 3))
    return Problem(X, y, "l2_multi", {"name": "l1inf", "strength": 0.05})


PROBLEMS = {
    "hinge, groups": lambda: oracles.problem("hinge", GROUPS),
    "logistic, l1": lambda: oracles.problem("logistic", {"name": "l1", "strength": 0.02}),
    "squared, l1 in a box": lambda: oracles.problem(
        "squared", {"name": "l1", "strength": 0.03, "domain": {"box": [-0.2, 0.2]}}
    ),
    "absolute, free bias": lambda: biased("absolute", "free_bias"),
    "hinge, minimized bias": lambda: biased("hinge", "minimized_bias"),
    "squared, minimized bias": lambda: biased("squared", "minimized_bias"),
    "max_of_hinge, rows": multiclass,
    "logistic, free bias": lambda: biased("logistic", "free_bias"),
    "max_of_hinge, free bias": multiclass_biased,
    "l2_multi, l1inf": targets,
    "absolute, trace norm of tasks": tasks,
    "budget hinge, l1": whole,
}
LOSSES = {"max_of_hinge": "max_of_hinge", "l2_multi": "l2_multi", "budget hinge": {"name": "hinge", "budget": 7.5}}
each_problem = pytest.mark.parametrize("name", PROBLEMS)


@cache
def problem(name):
    return PROBLEMS[name]()


REGULARIZERS = {
    "squared, l1 in a box": {"name": "l1", "strength": 0.03, "domain": {"box": [-0.2, 0.2]}},
    "logistic, l1": {"name": "l1", "strength": 0.02},
    "max_of_hinge, rows": {"name": "l21", "strength": 0.05},
    "max_of_hinge, free bias": {"name": "l21", "strength": 0.05},
    "l2_multi, l1inf": {"name": "l1inf", "strength": 0.05},
    "absolute, trace norm of tasks": {"name": "trace_norm", "strength": 0.1},
    "budget hinge, l1": {"name": "l1", "strength": 0.02},
}


@cache
def optimum(name):
    p = problem(name)
    w, beta = cp.Variable(p.shape), cp.Variable() if p.minimized_bias else 0.0
    if len(p.output_shape) < len(p.shape):  # tasks
        basis = np.eye(int(np.prod(p.shape))).reshape(-1, *p.shape)
        z = np.stack([p.X.forward(e) for e in basis], axis=1) @ cp.vec(w, order="C")
    else:
        z = dense(p) @ w
    loss = name.split(",")[0]
    psi, constraints = oracles.cvxpy_regularizer(REGULARIZERS.get(name, GROUPS), w[:-1] if p.free_bias else w)
    losses = oracles.cvxpy_loss(LOSSES.get(loss, loss), z + beta, p.y)
    return cp.Problem(cp.Minimize(losses / p.n + psi), constraints).solve(solver=cp.CLARABEL)


def bounds(p, w, b, passes):
    """[D(b)] of the given b and of all that the ascent yields, and these."""
    found = [bound for bound, *_ in ascend(p, w, b, passes)]
    return [p.dual_value(b), *map(p.dual_value, found)], found


@each_problem
@pytest.mark.core(1)
def test_bounds_grow_and_come_near_to_the_optimum_of_cvxpy(name):
    p, least = problem(name), optimum(name)
    values, _ = bounds(p, np.zeros(p.shape), np.zeros(p.output_shape), 400.0)
    assert all(value <= more + 1e-12 for value, more in pairwise(values))
    assert least - 1e-3 <= values[-1] <= least + 1e-7 and len(values) > 3


NOT_SPLIT = ["squared, minimized bias", "budget hinge, l1"]
SPLIT = [name for name in PROBLEMS if name not in NOT_SPLIT]


def split_bounds(p, w, b, passes):
    return [p.dual_value(b) for b, *_ in dual_splitting.ascend(p, w, b, passes)]


@pytest.mark.parametrize("name", SPLIT)
@pytest.mark.core(2)
def test_splitting_comes_near_to_the_optimum_of_cvxpy(name):
    p, least = problem(name), optimum(name)
    values = split_bounds(p, np.zeros(p.shape), np.zeros(p.output_shape), 600.0)
    assert least - 1e-3 <= max(values) <= least + 1e-7


@pytest.mark.parametrize("regularizer", ["nonneg", {"name": "box", "lower": -0.2, "upper": np.inf}], ids=str)
def test_bounds_on_one_side_and_a_minimized_bias_have_a_certificate(regularizer):
    """psi* is infinite at once beyond 0 there, and v of the ascent's b is a little beyond."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30))
    y = np.where(X @ rng.normal(size=30) + 2.0 * rng.normal(size=200) > 0.0, 1.0, -1.0)
    p = Problem(X, y, "squared_hinge", regularizer, minimized_bias=True)
    found = solve(p, "fista", passes=30)
    assert 0.0 < p.primal(found.w) - found.gap and found.gap <= 1e-5 * p.primal(found.w)


def test_splitting_is_for_rows_with_a_loss_each():
    assert [name for name in PROBLEMS if not dual_splitting.fits(problem(name))] == NOT_SPLIT
    X, y = oracles.data(30, 6, seed=5, loss="hinge")
    assert not dual_splitting.fits(Problem(X, y, "hinge", {"name": "l2", "strength": 0.02}, minimized_bias=True))
    assert not dual_splitting.fits(problem("hinge, groups").smoothed(0.1, np.ones(40)))


@pytest.mark.exhaustive
@given(seed=st.integers(0, 10**6), name=st.sampled_from(["hinge, minimized bias", "max_of_hinge, free bias"]))
@settings(max_examples=15)
def test_no_bound_of_splitting_is_above_the_optimum(seed, name):
    p, rng = problem(name), np.random.default_rng(seed)
    w = rng.standard_normal(p.shape) * 10.0 ** rng.uniform(-3, 3)
    b = p.loss_dual(rng.standard_normal(p.output_shape) * 10.0 ** rng.uniform(-2, 2), rng.choice([0.1, 1.0]))
    before = w.copy(), b.copy()
    first, again = (split_bounds(p, w, b, 20.0) for _ in range(2))
    assert first == again and max(first) <= optimum(name) + 1e-7
    assert np.array_equal(w, before[0]) and np.array_equal(b, before[1])


@pytest.mark.parametrize(("name", "copy"), [("hinge, groups", 0.0), ("hinge, minimized bias", 1.0)])
@pytest.mark.parametrize("passes", [3.2, 20.0])
def test_splitting_counts_what_it_takes(name, copy, passes):
    p = problem(name).counted()
    found = list(dual_splitting.ascend(p, np.ones(p.shape), np.zeros(p.output_shape), passes))
    steps = sum(taken for *_, taken in found)
    assert steps == dual_splitting.BETWEEN * len(found) + copy  # of X, with a column for the bias
    assert passes <= steps + p.X.passes + 0.5 * len(found) <= passes + 0.5 + dual_splitting.BETWEEN


@given(seed=st.integers(0, 10**6), name=st.sampled_from(["hinge, groups", "absolute, free bias", *list(PROBLEMS)[6:]]))
@settings(max_examples=15)
def test_no_bound_is_above_the_optimum_wherever_it_begins(seed, name):
    p, rng = problem(name), np.random.default_rng(seed)
    w = rng.standard_normal(p.shape) * 10.0 ** rng.uniform(-3, 3)
    b = p.loss_dual(rng.standard_normal(p.output_shape) * 10.0 ** rng.uniform(-2, 2), rng.choice([0.1, 1.0]))
    values, _ = bounds(p, w, b, 30.0)
    assert max(values) <= optimum(name) + 1e-7
    assert all(value <= more + 1e-12 * abs(more) for value, more in pairwise(values))


@pytest.mark.exhaustive
def test_a_strongly_convex_psi_needs_no_square_however_far_the_first_b_is(monkeypatch):
    X, y = oracles.data(60, 8, seed=7, loss="logistic")
    p = Problem(X, y, "logistic", {"name": "l2", "strength": 1e-4}, minimized_bias=True)
    start = 10.0 * np.ones(p.shape), np.zeros(p.output_shape)
    least = max(bounds(p, *start, 400.0)[0])
    assert least - 1e-6 <= max(bounds(p, *start, 40.0)[0])
    monkeypatch.setattr(dual_ascent, "CURVED", np.inf)
    assert max(bounds(p, *start, 40.0)[0]) < least - 1e-6


def test_it_counts_its_passes_changes_nothing_and_repeats_to_the_bit():
    p = problem("hinge, groups").counted()
    w, b = np.ones(p.shape), p.loss_dual(np.zeros(p.output_shape))
    first = [(found.copy(), model.copy()) for found, model, _ in ascend(p, w, b, 20.0)]
    assert 20.0 <= p.X.passes <= 22.0
    assert np.array_equal(w, np.ones(p.shape)) and np.array_equal(b, p.loss_dual(np.zeros(p.output_shape)))
    again = ascend(p, w, b, 20.0)
    assert len(first) > 3 and all(all(map(np.array_equal, x, y)) for x, y in zip(first, again, strict=True))
    assert not list(ascend(p, w, b, 0.0))


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e150, 1e308, np.inf, np.nan])
@pytest.mark.parametrize("name", ["hinge, groups", "logistic, l1", "absolute, trace norm of tasks"])
def test_extreme_models_give_finite_bounds_or_none(name, scale):
    p = problem(name)
    with np.errstate(all="ignore"):
        found = list(ascend(p, np.full(p.shape, scale), np.full(p.output_shape, scale), 10.0))
        assert all(np.isfinite(p.dual_value(b)) for b, *_ in found)
        for value in split_bounds(p, np.full(p.shape, scale), np.zeros(p.output_shape), 10.0) if name in SPLIT else ():
            assert not value > optimum(name) + 1e-7


def test_of_a_b_that_bounds_nothing_the_slopes_of_the_losses_take_the_place():
    p = problem("hinge, groups")
    outside = np.full(p.output_shape, 5.0)
    assert p.dual_value(outside) == -np.inf
    found = [p.dual_value(b) for b, *_ in ascend(p, np.zeros(p.shape), outside, 20.0)]
    assert found and found[-1] > p.dual_value(p.loss_dual(np.zeros(p.output_shape)))


def test_there_is_nothing_where_no_b_bounds_p_or_the_conjugate_has_no_proximal_step():
    free = oracles.problem("hinge", {"name": "none"})
    f1 = oracles.problem("f1", {"name": "l1", "strength": 0.01})
    for p in (free, f1):
        assert not list(ascend(p, np.ones(p.shape), p.loss_dual(np.zeros(p.output_shape)), 20.0))


@pytest.mark.exhaustive
def test_where_splitting_stands_still_the_gap_is_the_distance_all_the_same():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 2))
    linear = A @ rng.normal(size=2)
    targets = np.column_stack([linear + 0.3 * rng.normal(size=60), rng.normal(size=(60, 2))])
    p = Problem(A, targets, "l2_multi", {"name": "l2_norm", "strength": 3e-4})
    assert dual_splitting.fits(p)
    optimum = solve(p, "pdprox_restarted", relative_gap=1e-12, passes=20_000, progress=False).trace.dual.max()
    for solver, passes in ("fista", 40), ("fobos", 200), ("pdprox_restarted", 40):
        found = solve(p, solver, passes=passes, progress=False)
        assert found.gap <= 2.0 * (found.trace.primal.iloc[-1] - optimum) + 1e-10


def test_a_square_of_norms_at_a_model_near_0_does_not_hold_the_ascent():
    """Psi(w)/||w|| vanishes with w, and is no measure of v there."""
    rng = np.random.default_rng(5)
    X = rng.standard_t(1.5, size=(150, 12))
    y = np.where(X @ rng.standard_normal(12) + rng.standard_normal(150) > 0.0, 1.0, -1.0)
    psi = {"name": "squared_group", "strength": 0.09, "groups": 4}
    p = Problem(X, y, {"name": "hinge", "budget": 15.0}, psi)
    best = solve(p, "pdprox_restarted", passes=1000, every=20, growth=1.1)
    values, _ = bounds(p, 1e-6 * best.w, np.zeros(150), 150.0)
    least = p.primal(best.w) - best.gap
    assert least - 0.01 * p.primal(best.w) <= values[-1] <= p.primal(best.w) + 1e-9


def test_the_squares_of_a_stage_lower_the_greatest_D_by_what_is_wanted():
    """(q/2n) ||b||^2 for the longest b, (sigma/2) ||u||^2 for a u of the size told; smooth losses have q = 0."""
    X, y = oracles.data(30, 6, loss="hinge")
    p, squares = Problem(X, y, "hinge", {"name": "l1", "strength": 0.05}), 0.7
    stage = dual_ascent.stage_around(p, np.zeros(30), -1.0, 0.02, squares)
    assert stage.q / (2 * 30) * 30 == pytest.approx(0.02) == stage.sigma / 2 * squares
    assert dual_ascent.stage_around(p.smoothed(0.1), np.zeros(30), -1.0, 0.02, squares).q == 0.0
    bounded = dual_ascent.stage_around(p.regularized(0.5), np.zeros(30), -1.0, 0.02, squares)
    assert bounded.sigma == dual_ascent.CURVED / 0.5 < stage.sigma and bounded.q == stage.q
