"""Problems on other layouts than a vector model of regularized rows: a free bias, tasks, ratings, kernels, domains."""

import tracemalloc

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
from rrmbench.problem import operators
from rrmbench.problem.operators import CSR, Flattened

N, D = 30, 5
REGULARIZERS = [
    {"name": "l1", "strength": 0.03},
    {"name": "l2", "strength": 0.1},
    {"name": "group_lasso", "strength": 0.02, "groups": 2},
    {"name": "l1", "strength": 0.03, "domain": {"box": [-0.2, 0.2]}},
    {"name": "l2_norm", "strength": 0.01, "domain": {"ball": 0.3}},
]
LOSSES = ["hinge", "absolute", "squared", "logistic", {"name": "hinge", "budget": 9.5}]


def with_bias(loss, regularizer, **numbers):
    """A problem whose last column is a bias that nothing regularizes; labels far from balanced."""
    X, y = oracles.data(N, D, seed=5, loss=loss)
    y = np.where(np.arange(N) < 6, 1.0, -1.0) if set(np.unique(y)) == {-1.0, 1.0} else y + 3.0
    return Problem(np.hstack([X, np.ones((N, 1))]), y, loss, regularizer, free_bias=True, **numbers)


@pytest.mark.core(10)
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=str)
@pytest.mark.parametrize(
    "loss", ["hinge", "absolute", "squared", "logistic", {"name": "hinge", "budget": 9.5}], ids=str
)
def test_a_free_bias_reaches_the_optimum_of_cvxpy_with_a_certificate(loss, regularizer):
    name = loss if isinstance(loss, str) else loss["name"]
    p = with_bias(name, regularizer)
    p = Problem(p.X, p.y, loss, regularizer, free_bias=True)
    found = solve(p, "pdprox_restarted", gap=1e-7, passes=30_000, every=20, growth=1.1)
    w = cp.Variable(D + 1)
    psi, constraints = oracles.cvxpy_regularizer(regularizer, w[:-1])
    z = p.X.forward(np.eye(D + 1)) @ w
    optimum = cp.Problem(cp.Minimize(oracles.cvxpy_loss(loss, z, p.y) / N + psi), constraints).solve(solver=cp.CLARABEL)
    assert found.gap <= 1e-7
    assert p.primal(found.w) == pytest.approx(optimum, abs=1e-6)
    assert abs(np.sum(found.b)) <= 1e-12 * N
    assert found.w[-1] != 0.0


@given(st.integers(0, 2**31), st.sampled_from(REGULARIZERS), st.sampled_from(["hinge", "squared", "quantile"]))
def test_no_certificate_with_a_free_bias_is_above_any_objective(seed, regularizer, loss):
    rng = np.random.default_rng(seed)
    p = with_bias(loss, regularizer)
    b = p.loss_dual(rng.normal(size=N) * 3.0)
    for q in (p, p.regularized(0.2, rng.normal(size=D + 1)), p.smoothed(0.3)):
        value, feasible = q.certificate(b)
        assert value <= q.primal(q.prox(rng.normal(size=D + 1), 0.0)) + 1e-12
        assert np.isfinite(value) and np.isfinite(q.mean_conjugate(feasible))


def test_the_prox_and_the_objective_leave_a_free_bias_alone():
    p = with_bias("hinge", {"name": "elastic_net", "l1": 0.1, "l2": 0.5})
    x = np.linspace(-2.0, 2.0, D + 1)
    bare = Problem(np.ones((N, D)), p.y, "hinge", {"name": "elastic_net", "l1": 0.1, "l2": 0.5})
    np.testing.assert_array_equal(p.prox(x, 0.7), np.append(bare.prox(x[:-1], 0.7), 2.0))
    assert p.Psi(x) == bare.Psi(x[:-1])
    center = np.ones(D + 1)
    moved = p.regularized(0.4, center).prox(x, 0.7)
    assert moved[-1] == pytest.approx((2.0 + 0.7 * 0.4) / (1.0 + 0.7 * 0.4))
    np.testing.assert_allclose(moved[:-1], bare.regularized(0.4, center[:-1]).prox(x[:-1], 0.7), rtol=1e-14)
    assert (p.strong_convexity, p.regularized(0.4).strong_convexity) == (0.0, 0.4)
    assert not {"rows", "coordinate", "strongly_convex"} & p.traits


@given(st.integers(0, 2**31))
def test_flattened_is_a_matrix_on_vec_w(seed):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(7, 12)) * (rng.random((7, 12)) < 0.4)
    rows = CSR.of(dense).rows
    X = Flattened(rows.data, rows.indices, rows.indptr, (7, 12), (3, 4))
    W, b = rng.normal(size=(3, 4)), rng.normal(size=7)
    np.testing.assert_allclose(X.forward(W), dense @ W.ravel(), atol=1e-14)
    np.testing.assert_allclose(X.adjoint(b), (dense.T @ b).reshape(3, 4), atol=1e-14)
    np.testing.assert_allclose(X.sqnorms, np.sum(dense**2, axis=1), atol=1e-14)
    head = X.head(3)
    assert head.shape == (3, 3, 4)
    np.testing.assert_array_equal(head.forward(W), X.forward(W)[:3])


# from the command line


def write_ratings(lab):
    rng = np.random.default_rng(0)
    lines = [f"{i} {j} {rng.integers(1, 6)}" for i in range(8) for j in range(9) if rng.random() < 0.6]
    (lab.folder / "ratings.txt").write_text("\n".join(lines))


def write_tasks(lab):
    lines = libsvm_rows(n=40, d=4).splitlines()
    text = "\n".join(f"{line.split()[0]}.5 qid:{i % 3} {line.split(' ', 1)[1]}" for i, line in enumerate(lines))
    (lab.folder / "tasks.txt").write_text(text)


LAYOUTS = {
    "free bias": ({"path": "toy.txt", "bias": "free"}, "hinge", {"name": "l1", "strength": 0.01}),
    "tasks": ({"path": "tasks.txt", "tasks": "qid", "split": 0.7}, "absolute", {"name": "l1inf", "strength": 0.01}),
    "ratings": (
        {"path": "ratings.txt", "format": "ratings", "split": 0.8},
        "ordinal_hinge",
        {"name": "trace_norm", "strength": 0.01},
    ),
    "kernel": ({"path": "toy.txt", "kernel": {"name": "rbf", "gamma": 0.1}}, "hinge", {"name": "l2", "strength": 0.01}),
    "targets": ({"path": "toy.txt"}, "l2_multi", {"name": "l21", "strength": 0.01}),
    "budget": ({"path": "toy.txt"}, {"name": "hinge", "budget": 4}, {"name": "l2", "strength": 0.01}),
    "domain": ({"path": "toy.txt"}, "hinge", {"name": "l1", "strength": 0.01, "domain": {"ball": 0.2}}),
}


@pytest.mark.core(2)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_runs_is_verified_and_plotted(lab, layout):
    write_ratings(lab), write_tasks(lab)
    dataset, loss, regularizer = LAYOUTS[layout]
    config = lab.config(
        dataset=dataset,
        loss=loss,
        regularizer=regularizer,
        solver=["pdprox_restarted", "subgradient"],
        stop={"passes": 400},
        trace={"every": 20},
        reference={"seconds": 2},
    )
    assert lab.run(config).code == 0
    results = {result.spec["solver"]["name"]: result for result in lab.results()}
    trace = results["pdprox_restarted"].trace
    assert trace["gap"][-1] <= 1e-2 * trace["gap"][0]
    assert trace["primal"][-1] <= results["subgradient"].trace["primal"][-1] + 1e-9
    if "split" in dataset:
        assert np.isfinite(trace["test_rmse"][-1])
    verified = lab.cli("verify", lab.out)
    assert verified.code == 0, verified.out
    assert lab.cli("plot", lab.out / "toy").code == 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"regularizer": {"name": "l1inf", "strength": 0.1}}, "regularizer l1inf needs a model that is a matrix"),
        (
            {"dataset": {"path": "toy.txt", "kernel": "rbf"}, "regularizer": {"name": "l1", "strength": 0.1}},
            "a kernel needs a regularizer that is a function of ||w||_2; l1 is not one",
        ),
        (
            {"dataset": {"path": "toy.txt", "bias": "free"}, "solver": "prox_sdca"},
            "prox_sdca needs",
        ),
        (
            {"dataset": {"path": "tasks.txt", "tasks": "qid"}, "loss": "l2_multi"},
            "l2_multi is for several outputs per sample, tasks.txt has one label",
        ),
    ],
)
def test_parts_that_do_not_go_together_say_why(lab, change, why):
    write_tasks(lab)
    ran = lab.cli("validate", lab.config(**change))
    assert ran.code == 2
    assert why in " ".join(ran.err.split())


def test_the_content_of_a_groups_file_is_part_of_what_a_run_is(lab):
    groups = lab.folder / "sizes.txt"
    groups.write_text("2 2 2")
    regularizer = {"name": "group_lasso", "strength": 0.01, "groups": "sizes.txt"}
    config = lab.config(loss="squared", regularizer=regularizer, solver="fista")
    assert lab.run(config).code == 0
    before = lab.files()
    assert lab.run(config).code == 0
    assert lab.files() == before
    groups.write_text("1 2 3\n")
    assert lab.run(config).code == 0
    assert len(lab.files()) == 2


def test_groups_that_do_not_fit_the_data_are_said(lab):
    (lab.folder / "sizes.txt").write_text("2 2")
    regularizer = {"name": "group_lasso", "strength": 0.01, "groups": "sizes.txt"}
    lab.run(lab.config(loss="squared", regularizer=regularizer, solver="fista"))
    (result,) = lab.results()
    assert result.status == "failed"
    assert "sum to 4" in result.reason and "6 entries" in result.reason


WEIGHTED = """
from pathlib import Path
from rrmbench import regularizer
from rrmbench.parameters import InputFile
from rrmbench.regularizers.l1 import L1

@regularizer
def weighted(*, weights: InputFile | None = None):
    return L1(sum(map(float, Path(weights).read_text().split())))
"""


def test_a_file_of_any_parameter_is_found_beside_the_configuration(lab, monkeypatch):
    (lab.folder / "mine.py").write_text(WEIGHTED)
    weights = lab.folder / "weights.txt"
    weights.write_text("0.01 0.02")
    regularizer = {"path": "mine.py", "weights": ["weights.txt", "./weights.txt"]}
    config = lab.config(loss="squared", regularizer=regularizer, solver="fista")
    elsewhere = lab.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert lab.run(config).code == 0
    (result,) = lab.results()
    assert result.spec["regularizer"]["weights"] == str(weights)
    weights.write_text("0.01 0.03")  # its content is part of what a run is
    assert lab.run(config).code == 0
    assert len(lab.files()) == 2


def test_a_free_bias_needs_a_constant_last_column():
    X, y = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10.0)
    with pytest.raises(RrmbenchError, match="with a free bias it must be constant"):
        Problem(X, y, "squared", {"name": "l2", "strength": 1.0}, free_bias=True)


@pytest.mark.parametrize("outputs", [None, 1, 3])
def test_the_magnitudes_of_the_terms_of_a_product_need_no_copy_of_X(outputs, monkeypatch):
    monkeypatch.setattr(operators, "PIECE", 1000)
    rng = np.random.default_rng(0)
    entries = rng.normal(size=(400, 300)) * (rng.uniform(size=(400, 300)) < 0.3)
    X, b = CSR.of(entries, outputs), rng.normal(size=(400, outputs) if outputs else 400)
    found = X.magnitudes(b)
    np.testing.assert_allclose(found, np.abs(entries).T @ np.abs(b), rtol=1e-13)
    tracemalloc.start()
    try:
        X.magnitudes(b)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 0.2 * (X.rows.data.nbytes + X.rows.indices.nbytes)
