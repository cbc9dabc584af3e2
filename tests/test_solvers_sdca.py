"""Prox-SDCA: shrinking, warm starts, the multiclass hinge, the lasso."""

from dataclasses import replace
from itertools import product

import numpy as np
import oracles
import pytest
from runs import iterates
from scipy.optimize import LinearConstraint, minimize
from sdca_runs import MULTICLASS, REGULARIZERS, multiclass

import rrmbench
from rrmbench import registry
from rrmbench.extending.touched import Touched, kernels_in_memory
from rrmbench.losses.crammer_singer import penalized_shares
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.solvers.sdca import prox_sdca_shrinking
from rrmbench.solvers.sdca.output import DualState
from rrmbench.solvers.sdca.resting import Calendar, postpone, take
from rrmbench.solvers.sdca.steps import Exact

pytestmark = pytest.mark.usefixtures("own_bounds")

# shrinking


@pytest.mark.core(2)
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
    dual, longest_rest = DualState(p, Exact(p.loss, p.mu), None), prox_sdca_shrinking.LONGEST_REST
    calendar, before = Calendar.of(200, longest_rest), np.empty((200, 1))
    state, last = Rng(0).state, np.zeros(200, dtype=int)
    now = visits = longest = 0
    while now < 4 * longest_rest:
        given = (calendar, before, prox_sdca_shrinking.entries_of(p), state, (1.0, 1.0))
        seen, _ = prox_sdca_shrinking.rounds(*dual.fixed, dual.b, dual.u, *given)
        order = calendar.order[:seen]  # of the last round, the only one with rows
        assert len(set(order.tolist())) == seen
        now, visits = now + 1, visits + seen
        longest = max(longest, np.max(now - last[order]))
        last[order] = now
    assert longest_rest / 4 < longest <= longest_rest
    assert (now - last).max() <= longest_rest
    assert visits < 0.3 * 200 * now
    np.testing.assert_allclose(dual.u, p.v(dual.b) / p.strong_convexity, atol=1e-12)


def test_the_calendar_gives_each_row_back_when_its_rest_is_over():
    rng, n, longest = np.random.default_rng(0), 50, 20
    calendar, due, rest = Calendar.of(n, longest), np.zeros(n, dtype=int), np.ones(n, dtype=int)
    for now in range(300):
        order = calendar.order[: take(calendar)].copy()
        assert sorted(order) == np.flatnonzero(due == now).tolist()
        for i in order:
            moved = rng.random() < 0.3
            postpone(calendar, i, moved)
            rest[i] = 1 if moved else min(longest, 4 * rest[i])
            due[i] = now + rest[i]


@pytest.mark.core(1)
@pytest.mark.parametrize("solver", ["prox_sdca_shrinking", "apcg_shrinking"])
def test_shrinking_counts_the_entries_of_the_rows_that_it_visits(solver):
    """Rows of very different lengths, some of them empty; the entries are those that kernels look up."""
    rng = np.random.default_rng(1)
    lengths = np.minimum(rng.lognormal(1.0, 1.2, size=200).astype(int), 30)
    X = np.zeros((200, 30))
    for i, m in enumerate(lengths):
        X[i, rng.permutation(30)[:m]] = rng.normal(size=m)
    p = Problem(X, np.sign(rng.normal(size=200)), "hinge", {"name": "l2", "strength": 1e-2})
    touched = Touched(p.X)
    with kernels_in_memory():
        its = iterates(solver, replace(p, X=touched), 60)
    assert its[-1].passes > 5.0
    assert np.diff([it.passes for it in its]).max() <= 1.0 + 1e-9
    assert touched.passes <= its[-1].passes + 1e-9 <= 2.0 * touched.passes


def test_without_entries_shrinking_counts_visits():
    p = Problem(np.zeros((30, 2)), np.ones(30) - 2.0 * (np.arange(30) % 2), "hinge", {"name": "l2", "strength": 0.1})
    for solver in "prox_sdca_shrinking", "apcg_shrinking":
        assert iterates(solver, p, 20)[-1].passes > 1.0


def test_a_yield_comes_after_a_third_of_the_rows_or_of_their_entries(monkeypatch):
    seen, p = [], oracles.problem("hinge", {"name": "l2", "strength": 0.1}, n=200)

    def recorded(*arguments):
        found = rounds(*arguments)
        seen.append((found[0] / 200, found[1] / p.X.nnz))
        return found

    rounds = prox_sdca_shrinking.rounds
    monkeypatch.setattr(prox_sdca_shrinking, "rounds", recorded)
    iterates("prox_sdca_shrinking", p, 60)
    assert np.max(seen, axis=1).min() >= 1 / 3


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
        m, a = 0.7 * rng.standard_normal(5), np.empty(6)
        penalized_shares(np.append(3.0 * m - 1.0, 0.0), 5, 3.0 * (1.0 - C), 3.0 * C, a)
        a = a[:5]
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
    loss = oracles.loss_of(name)
    rng, y = np.random.default_rng(0), 2.0
    others = [0, 1, 3, 4]
    for _ in range(15):
        z, b = 1.5 * rng.standard_normal(5), np.empty(5)
        loss.dual_point_row(z, y, mu, q, b)

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
    loss = oracles.loss_of(name)
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


# norms of the rows of a model of several outputs

SEVERAL = {
    "multinomial_logistic": np.arange(60) % 3,
    "max_of_hinge": np.arange(60) % 3,
    "squared_multi": np.random.default_rng(5).standard_normal((60, 3)),
}


def of_rows(loss, strength=0.1):
    """Two of nine features tell of the outputs; a square around a point that is not 0."""
    X, y = np.random.default_rng(4).standard_normal((60, 9)), SEVERAL[loss].astype(float)
    X[:, :2] += 2.0 * (y if y.ndim > 1 else np.eye(3)[SEVERAL[loss]])[:, :2]
    return Problem(X, y, loss, {"name": "l21", "strength": strength}, kappa=0.1, center=np.full((9, 3), 0.1))


ON_ROWS = [
    "prox_sdca",
    "prox_sdca_shrinking",
    "apcg_shrinking",
    {"name": "prox_sdca", "option": "II"},
    {"name": "prox_sdca", "output": "average"},
]


# kernels compile for each pair
CORE_ON_ROWS = [("prox_sdca", "multinomial_logistic"), ("apcg_shrinking", "max_of_hinge")]


@pytest.mark.parametrize(
    ("solver", "loss"), oracles.core(product(ON_ROWS, SEVERAL), lambda *pair: pair in CORE_ON_ROWS), ids=str
)
def test_the_gap_closes_where_psi_is_the_sum_of_the_norms_of_rows(solver, loss):
    p = of_rows(loss)
    gap = 1e-9 if isinstance(solver, str) else 1e-5 if "option" in solver else 1e-3  # of averages it is 1/passes
    found = rrmbench.solve(p, solver, gap=gap, passes=20000, every=5)
    assert found.reason == "gap"
    assert p.gap(found.w, found.b) >= -1e-14
    assert 0 < np.count_nonzero(found.w.any(axis=1)) < 9


@pytest.mark.parametrize("loss", oracles.core(((loss,) for loss in SEVERAL), lambda loss: loss == "max_of_hinge"))
def test_the_w_of_a_step_on_rows_is_that_of_its_dual_point(loss):
    p = of_rows(loss)
    for solver in "prox_sdca", "apcg_shrinking", "accelerated_prox_sdca":
        *_, x = iterates(solver, p, 30)
        if "dual" in registry.lookup("solver", solver).gives:
            np.testing.assert_allclose(x.w, p.primal_point(p.v(x.b)), atol=1e-12)
        assert p.primal(x.w) < p.primal(np.zeros((9, 3)))


def test_rows_whose_norm_is_strong_enough_stay_0():
    p = replace(of_rows("multinomial_logistic", strength=10.0), center=np.zeros((9, 3)))
    assert not rrmbench.solve(p, "prox_sdca", passes=3).w.any()
