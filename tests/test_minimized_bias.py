"""Problems whose bias is minimized exactly: optima and certificates against cvxpy, runs, metrics, verify."""

import copy

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401, a fixture
from lab import rows as libsvm_rows

from rrmbench import Problem, solve
from rrmbench.errors import RrmbenchError
from rrmbench.problem.operators import Flattened
from rrmbench.report import recompute

N, D = 30, 5
L1_SVM = {"name": "l1", "strength": 0.03}
L2_SVM = {"name": "l2", "strength": 0.1}
LOSSES = [("hinge",), ("absolute",), ("squared",), ("logistic",), ("quantile",)]
REGULARIZERS = [L1_SVM, L2_SVM, {"name": "l1", "strength": 0.03, "domain": {"box": [-0.2, 0.2]}}]


def data(loss):
    """Labels far from balanced, outputs far from zero."""
    X, y = oracles.data(N, D, seed=5, loss=loss)
    return X + 0.5, np.where(np.arange(N) < 6, 1.0, -1.0) if set(np.unique(y)) == {-1.0, 1.0} else y + 3.0


def minimized(loss, regularizer, **numbers):
    return Problem(*data(loss), loss, regularizer, minimized_bias=True, **numbers)


def optimum(loss, regularizer):
    """(P*, w*, beta*) by cvxpy."""
    X, y = data(loss)
    w, beta = cp.Variable(D), cp.Variable()
    psi, constraints = oracles.cvxpy_regularizer(regularizer, w)
    task = cp.Problem(cp.Minimize(oracles.cvxpy_loss(loss, X @ w + beta, y) / N + psi), constraints)
    task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return task.value, w.value, beta.value


@pytest.mark.core(2)
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=str)
@pytest.mark.parametrize("loss", oracles.core(LOSSES, lambda loss: loss in ("hinge", "logistic")))
def test_pdprox_reaches_the_optimum_of_cvxpy_with_a_certificate(loss, regularizer):
    p, (value, w, _) = minimized(loss, regularizer), optimum(loss, regularizer)
    found = solve(p, "pdprox_restarted", gap=1e-7, passes=30_000, every=20, growth=1.1)
    assert found.gap <= 1e-7
    assert p.primal(found.w) == pytest.approx(value, abs=1e-6)
    assert p.primal(p.prox(w, 0.0)) == pytest.approx(value, abs=1e-8)  # the prox for the rounding of a domain
    assert p.dual_value(found.b) <= value + 1e-9
    assert abs(found.b.sum()) <= 1e-12 * np.abs(found.b).sum()


@pytest.mark.core(2)
@pytest.mark.parametrize(
    ("solver", "loss", "regularizer", "accuracy"),
    [
        ("fista", "logistic", L1_SVM, 1e-7),
        ("gd", "squared", L2_SVM, 1e-7),
        ("agd", "squared_hinge", L2_SVM, 1e-7),
        ("agd_adaptive", "logistic", L2_SVM, 1e-7),
        ("pdprox_dual", "hinge", L1_SVM, 1e-3),
        ("pdprox_primal", "hinge", L2_SVM, 1e-3),
        ("excessive_gap", "hinge", L2_SVM, 1e-3),
        ("subgradient", "hinge", L1_SVM, 3e-2),
        ("fobos", "hinge", L2_SVM, 3e-2),
        ("rda", "hinge", L1_SVM, 3e-2),
    ],
)
def test_solvers_of_full_gradients_reach_it_too(solver, loss, regularizer, accuracy):
    p, (value, _, _) = minimized(loss, regularizer), optimum(loss, regularizer)
    found = solve(p, solver, passes=2000, every=20)
    assert -1e-9 <= p.primal(found.w) - value <= accuracy
    best = found.trace["dual"].max()
    assert best <= value + 1e-9
    assert value - best <= 10 * accuracy


@pytest.mark.parametrize("solver", ["agm_ef", "agm_ef_1"])
@pytest.mark.parametrize("regularizer", [L1_SVM, L2_SVM], ids=str)
def test_accelerated_gradients_on_the_smoothed_problem_err_by_mu_D(solver, regularizer):
    p, (value, _, _) = minimized("hinge", regularizer), optimum("hinge", regularizer)
    mu = 1e-3
    assert p.diameter == pytest.approx(6 / N)  # the smaller class
    found = solve(p, solver, reduction={"name": "smooth", "mu": mu}, passes=1500, every=50)
    assert -1e-9 <= p.primal(found.w) - value <= mu * p.diameter + 1e-6
    w = found.w
    assert 0.0 <= p.primal(w) - p.smoothed(mu).primal(w) <= mu * p.diameter + 1e-15


def test_accelerated_gradients_on_the_dual_stay_where_b_sums_to_zero():
    p = minimized("hinge", L2_SVM)
    found = solve(p, "agm_ef", reduction="solve_dual", passes=1000, gap=1e-5, every=20)
    assert found.reason == "gap"
    assert abs(found.b.sum()) <= 1e-12 * np.abs(found.b).sum()


@pytest.mark.parametrize("loss", ["hinge", "logistic", "absolute"])
def test_it_is_the_problem_of_a_free_bias(loss):
    X, y = data(loss)
    free = Problem(np.hstack([X, np.ones((N, 1))]), y, loss, L2_SVM, free_bias=True)
    p = minimized(loss, L2_SVM)
    w = solve(p, "pdprox_restarted", gap=1e-8, passes=30_000, every=20, growth=1.1).w
    beta = p.beta(p.X.forward(w))
    assert free.primal(np.append(w, beta)) == pytest.approx(p.primal(w), rel=1e-13)
    known = solve(free, "pdprox_restarted", gap=1e-7, passes=30_000, every=20, growth=1.1)
    assert p.primal(w) == pytest.approx(free.primal(known.w), abs=1e-6)
    np.testing.assert_allclose(w, known.w[:-1], atol=2e-3)


@given(st.integers(0, 2**31), st.sampled_from(REGULARIZERS), st.sampled_from(["hinge", "squared", "quantile"]))
def test_no_certificate_is_above_any_objective(seed, regularizer, loss):
    """Of any b at all: one that does not sum to zero is balanced."""
    rng = np.random.default_rng(seed)
    p = minimized(loss, regularizer)
    inside = np.array([p.loss.dual_point(z, t, 0.0) for z, t in zip(rng.normal(size=N) * 3.0, p.y, strict=True)])
    for q in (p, p.regularized(0.2, rng.normal(size=D)), p.smoothed(0.3)):
        for b in (inside, q.loss_dual(rng.normal(size=N))):
            value, feasible = q.certificate(b)
            assert value <= q.primal(q.prox(rng.normal(size=D), 0.0)) + 1e-12
            assert np.isfinite(value) and abs(feasible.sum()) <= 1e-12 * np.abs(feasible).sum()


@pytest.mark.parametrize("seed", range(3))
def test_steps_of_one_over_L_decrease_and_L_is_not_that_of_the_rows(seed):
    p = minimized("hinge", L2_SVM, mu=0.1)
    q = Problem(*data("hinge"), "hinge", L2_SVM, mu=0.1)
    assert p.L < 0.9 * q.L
    rng = np.random.default_rng(seed)
    w, u = rng.normal(size=D), rng.normal(size=D)

    def gradient(w):
        return p.X.adjoint(p.loss_dual(p.X.forward(w))) / N

    slope = gradient(w) @ (u - w)
    away = p.mean_loss(p.X.forward(u)) - p.mean_loss(p.X.forward(w)) - slope
    assert -1e-12 <= away <= 0.5 * p.L * np.sum((u - w) ** 2)


def test_a_free_bias_of_each_task_is_refused():
    """b would have to sum to 0 over the rows of every task."""
    columns = np.array([0, 2, 1, 3], dtype=np.uint32)
    wide = Flattened(np.ones(4), columns, np.array([0, 2, 4], dtype=np.int32), (2, 4), (2, 2))
    with pytest.raises(RrmbenchError, match="a free bias of a model of tasks"):
        Problem(wide, np.ones(2), "absolute", {"name": "l1inf", "strength": 0.1}, free_bias=True)


def test_traits_and_refusals():
    p = minimized("hinge", L2_SVM)
    assert not {"rows", "separable", "free_bias"} & p.traits
    assert {"minimized_bias", "scalar", "coordinate", "strongly_convex"} <= p.traits
    with pytest.raises(RrmbenchError, match="rows"):
        solve(p, "saga")
    with pytest.raises(RrmbenchError, match="allowed is one of them"):
        Problem(*data("hinge"), "hinge", L2_SVM, minimized_bias=True, free_bias=True)
    with pytest.raises(RrmbenchError, match="one output per sample"):
        Problem(np.ones((4, 2)), np.array([0, 1, 2, 1]), "max_of_hinge", L2_SVM, minimized_bias=True)


# from the command line


def biased(lab, n=40):
    """Rows whose outputs need a bias: the labels are unbalanced, and a test part."""
    lines = libsvm_rows(n=n, d=4, labels=(-1, -1, -1, 1)).splitlines()
    (lab.folder / "biased.txt").write_text("\n".join(lines))
    return {"path": "biased.txt", "bias": "minimized", "split": 0.7}


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("loss", "regularizer"), [("hinge", L2_SVM), ("squared", L1_SVM), ("logistic", L2_SVM), ("absolute", L1_SVM)]
)
def test_runs_are_verified_and_measured_with_the_training_bias(lab, loss, regularizer):
    config = lab.config(
        dataset=biased(lab),
        loss=loss,
        regularizer=regularizer,
        solver=["fista", "gd", "pdprox_dual", "subgradient", "pdprox_restarted"],
        reduction="auto",
        stop={"passes": 60},
        trace={"every": 5},
        reference={"seconds": 2},
    )
    assert lab.run(config).code == 0
    results = list(lab.results())
    assert len(results) >= 4 and {result.status for result in results} == {"done"}
    (X, y), (X_test, y_test) = split_of(results[0].spec["dataset"])
    for result in results:
        p = Problem(X, y, loss, regularizer, minimized_bias=True)
        z = X @ result.w
        beta = p.beta(z)
        wrong = np.where(X_test @ result.w + beta >= 0.0, 1.0, -1.0) != y_test
        assert result.trace["test_error"][-1] == pytest.approx(np.mean(wrong))
        assert result.trace["primal"][-1] == pytest.approx(p.primal(result.w), rel=1e-12)
        assert result.w.shape == (4,)
    verified = lab.cli("verify", lab.out)
    assert verified.code == 0, verified.out
    assert lab.cli("plot", lab.out / "toy", "--theory").code == 0


def split_of(block):
    from rrmbench.data import prepare

    prepared = prepare.load(block, "binary")
    parts = []
    for operator, y in ((prepared.operator(), prepared.y), (prepared.test_operator(), prepared.test_y)):
        parts.append((np.array([operator.forward(e) for e in np.eye(operator.shape[1])]).T, y))
    return parts


def test_verify_finds_a_dual_variable_that_does_not_sum_to_zero(lab):
    config = lab.config(dataset=biased(lab), loss="hinge", regularizer=L2_SVM, solver="pdprox_dual")
    assert lab.run(config).code == 0
    (result,) = lab.results()
    from rrmbench.data import prepare

    prepared = prepare.load(result.spec["dataset"], "binary")
    value, _ = recompute.dual(prepared, result.spec, result.b)
    assert value == pytest.approx(result.trace["dual"][-1], rel=1e-12)
    moved = result.b.copy()
    moved[np.argmax(np.abs(moved))] *= 0.9
    assert recompute.dual(prepared, result.spec, moved)[0] == -np.inf
    other = copy.deepcopy(result.spec)
    other["dataset"]["bias"] = "none"
    assert np.isfinite(recompute.dual(prepared, other, moved)[0])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"solver": "saga", "loss": "squared"},
            "saga needs data in rows, which a minimized bias",
        ),
        (
            {"solver": "prox_sdca"},
            "prox_sdca needs data in rows and a loss that is a sum over samples, which a minimized",
        ),
        ({"loss": {"name": "hinge", "budget": 4}}, "a bias is minimized for losses of one output per sample"),
        ({"loss": "l2_multi"}, "a bias is minimized for losses of one output per sample; l2_multi is not"),
    ],
)
def test_what_does_not_go_with_it_says_why(lab, change, why):
    config = lab.config(**{"dataset": {"path": "toy.txt", "bias": "minimized"}, "solver": "subgradient"} | change)
    ran = lab.cli("validate", config)
    assert ran.code == 2
    assert why in " ".join(ran.err.split())


def test_tasks_have_no_minimized_bias(lab):
    ran = lab.cli("validate", lab.config(dataset={"path": "toy.txt", "tasks": "qid", "bias": "minimized"}))
    assert ran.code == 2
    assert "found 'minimized', with 'tasks' allowed are 'none' and 'regularized'" in " ".join(ran.err.split())


def test_labels_so_far_from_zero_that_rounding_hides_the_rest_are_refused():
    X, y = oracles.data(30, 4, seed=1, loss="absolute")
    with pytest.raises(RrmbenchError, match=r"y: found labels of mean 1e\+07 and .*; subtract their mean"):
        Problem(X, y + 1e7, "absolute", L2_SVM, minimized_bias=True)
    assert Problem(X, np.full(30, 1e7), "absolute", L2_SVM, minimized_bias=True).primal(np.zeros(4)) == 0.0


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("offset", [1e3, 1e4])
def test_labels_far_from_zero_do_not_raise_a_bound(loss, offset):
    """The bias takes an offset of the labels, so that P* stays; sum b = 0 has to hold to rounding for D to stay too."""
    rng = np.random.default_rng(17)
    X = rng.normal(size=(20, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=20)
    near, far = (Problem(X, labels, loss, L2_SVM, minimized_bias=True) for labels in (y, y + offset))
    optimum = solve(near, "apcg_bias", gap=1e-12, passes=2000)
    found = solve(far, "apcg_bias", gap=1e-11, passes=300)
    rounding = 1e-14 * offset
    assert far.dual_value(found.b) <= near.primal(optimum.w) + rounding
    assert far.dual_value(found.b * (1.0 + 5e-13 * np.sign(found.b))) <= near.primal(optimum.w) + rounding
    assert found.gap >= far.primal(found.w) - near.primal(optimum.w) - rounding
