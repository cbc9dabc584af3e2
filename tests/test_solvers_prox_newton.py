"""Proximal Newton's method."""

import subprocess
import sys
from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from rrmbench import solve
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.registry import build_solver
from rrmbench.solvers.second_order import chosen_curvature, prox_newton
from rrmbench.solvers.second_order.curvature import greatest_diagonal
from rrmbench.subproblems.units import outcome

pytestmark = pytest.mark.usefixtures("own_bounds")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 6)) * 10.0 ** RNG.uniform(-1, 1, 6)
Y = np.argmax(X @ RNG.normal(size=(6, 4)) + 4.0 * RNG.normal(size=(150, 4)), axis=1).astype(float)
SPARSE = csr_array(X * (RNG.random(X.shape) < 0.4))
PSIS = [
    {"name": "l1", "strength": 0.02},
    {"name": "l21", "strength": 0.05},
    {"name": "elastic_net", "l1": 0.01, "l2": 0.01},
    {"name": "group_lasso", "strength": 0.02, "groups": 5},
    {"name": "l2", "strength": 1e-3},
    {"name": "l1", "strength": 0.01, "domain": {"box": [-0.05, 0.3]}},
]


SIGNS = np.where(Y > 1.0, 1.0, -1.0)
SEVERAL = ["multinomial_logistic", {"name": "soft_max_of_hinge", "gamma": 0.5}]
ONE = ["logistic", "squared_hinge", {"name": "smoothed_hinge", "gamma": 0.1}, {"name": "huber", "mu": 0.3}]


@pytest.mark.core(40)
@pytest.mark.parametrize("data", [X, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("psi", PSIS, ids=lambda psi: psi["name"] + "_box" * ("domain" in psi))
@pytest.mark.parametrize("loss", SEVERAL + ONE, ids=lambda loss: loss["name"] if isinstance(loss, dict) else loss)
def test_the_optimum_is_certified_to_rounding(data, psi, loss):
    if loss in ONE and psi["name"] == "l21":
        psi = {"name": "l1", "strength": 0.2}  # most coordinates are 0
    problem = Problem(data, Y if loss in SEVERAL else SIGNS, loss, psi)
    result = solve(problem, "prox_newton", gap=1e-12, passes=3000)
    assert result.gap <= 1e-12


def test_with_a_loss_smoothed_more_and_a_moved_centre():
    """As reductions make of mu, kappa and the centre."""
    problem = Problem(X, Y, "multinomial_logistic", PSIS[0], mu=0.4)
    assert solve(problem, "prox_newton", passes=1000, gap=1e-12).gap <= 1e-12
    problem = Problem(X, Y, "multinomial_logistic", PSIS[0])
    assert solve(problem, "prox_newton", reduction="proximal_point", passes=2000, gap=1e-9).gap <= 1e-9


@pytest.mark.parametrize("data", [X, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize(("loss", "y"), [("multinomial_logistic", Y), ("logistic", SIGNS)], ids=["several", "one"])
@pytest.mark.parametrize("mu", [0.0, 0.4])
@pytest.mark.parametrize("samples", [None, np.arange(0, 150, 4)], ids=["all", "some"])
def test_the_second_derivative_is_that_of_differences(data, loss, y, mu, samples, monkeypatch):
    monkeypatch.setattr(chosen_curvature, "NUMBERS", 200)  # several blocks of rows
    monkeypatch.setattr(chosen_curvature, "LACKS", 0.0)
    problem = Problem(data, y, loss, PSIS[0], mu=mu).counted()
    w, h = 0.1 * RNG.normal(size=problem.shape), 1e-5
    z, diagonal = problem.outputs(w), greatest_diagonal(problem).reshape(-1)
    m = 15 if w.ndim > 1 else 4
    coordinates = np.sort(RNG.permutation(w.size)[:m])
    H, greatest = np.zeros((m, m)), diagonal[coordinates // (w.size // diagonal.size)]
    before = problem.X.passes + 1.0  # and the copy of the samples with the norms of its columns
    making = (problem.X, problem, samples, z, problem.loss_dual(z), coordinates, greatest, H)
    for _ in chosen_curvature.add_second_derivative(*making):
        assert problem.X.passes - before <= 1.0 + 1e-12
        before = problem.X.passes

    part = problem if samples is None else problem.on(samples)

    def gradient(w):
        return part.X.adjoint(part.loss_dual(part.outputs(w))).reshape(-1)[coordinates] / part.n

    for column, j in enumerate(coordinates):
        away = np.zeros(w.size)
        away[j] = h
        away = away.reshape(w.shape)
        np.testing.assert_allclose(H[:, column], (gradient(w + away) - gradient(w - away)) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("is_dense", [False, True])
def test_passes_are_products_over_those_of_a_pass(is_dense):
    """Column norms and gradient, then H, of the 2 nnz k products of a pass: pairs of the m k chosen entries of each
    row, m k (m k + 3)/2, and m (m + 1)/2 of each output once more.
    """
    data, k = np.zeros((4, 5)), 3
    data[[0, 0, 1, 3, 3, 3], [0, 1, 1, 0, 1, 2]] = 1.0, 2.0, 1.0, 3.0, 1.0, 2.0
    problem = Problem(data + is_dense, [0, 1, 2, 1], "multinomial_logistic", {"name": "l2", "strength": 0.1})
    sizes = np.array([5, 5, 5, 5] if is_dense else [2, 1, 0, 3])  # at w = 0 all columns that have entries move
    entries = sum(m * k * (m * k + 3) / 2 + k * m * (m + 1) / 2 for m in sizes)
    passes = [it.passes for it in islice(build_solver("prox_newton")(problem, None, Rng(0)), 20)]
    assert passes[:3] == [0.0, 0.5, 1.0]
    after = 1.0 + entries / (2 * sizes.sum() * k)
    assert any(p == pytest.approx(after) for p in passes)
    assert any(p == pytest.approx(after + 1.0) for p in passes)  # X (u - w), and the next gradient


@pytest.mark.parametrize("is_dense", [False, True])
def test_passes_of_a_single_output(is_dense):
    """Column norms and gradient; then the copy of the chosen columns, and m (m + 3)/2 of the m chosen ones of a row."""
    data = np.zeros((4, 5))
    data[[0, 0, 1, 3, 3, 3], [0, 1, 1, 0, 1, 2]] = 1.0, 2.0, 1.0, 3.0, 1.0, 2.0
    problem = Problem(data + is_dense, [1, -1, 1, 1], "logistic", {"name": "l1", "strength": 0.3})
    gradient = problem.X.adjoint(problem.loss_dual(np.zeros(4))) / 4.0
    chosen = np.abs(gradient) > 0.3
    assert 0 < np.count_nonzero(chosen) < (5 if is_dense else 3)
    sizes = np.count_nonzero((data + is_dense)[:, chosen], axis=1)
    after = 1.0 + 0.5 + (sizes * (sizes + 3) / 2).sum() / (2 * problem.X.nnz)
    passes = [it.passes for it in islice(build_solver("prox_newton")(problem, None, Rng(0)), 20)]
    assert passes[:3] == [0.0, 0.5, 1.0]
    assert any(p == pytest.approx(after) for p in passes)
    assert any(p == pytest.approx(after + 1.0) for p in passes)


@pytest.mark.parametrize("psi", PSIS[:2], ids=lambda psi: psi["name"])
def test_the_second_derivative_of_few_samples_takes_fewer_passes(psi, monkeypatch):
    rng = np.random.default_rng(4)  # over draws of other seeds the ratio is between 0.47 and 0.70
    data = rng.normal(size=(5000, 10))
    y = np.argmax(data @ rng.normal(size=(10, 5)) + rng.gumbel(size=(5000, 5)), axis=1)
    problem = Problem(data, y, "multinomial_logistic", psi | {"strength": 1e-3})
    few = solve(problem, "prox_newton", passes=1000, gap=1e-7)
    monkeypatch.setattr(prox_newton, "FEW", np.inf)
    every = solve(problem, "prox_newton", passes=1000, gap=1e-7)
    assert few.gap <= 1e-7 and every.gap <= 1e-7
    assert few.trace["passes"].max() < 0.6 * every.trace["passes"].max()


def test_what_samples_lack_of_a_column_is_on_the_diagonal_at_their_mean_curvature():
    H = np.diag([1.0, 2.0, 6.0])
    chosen_curvature._add_lacking(np.array([1.0, 3.0, 0.0]), np.array([1.2, 2.0, 5.0]), H)
    np.testing.assert_allclose(H, np.diag([1.0, 2.0, 6.0 + 9.0 / 4.0 * 5.0]))


@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize(("loss", "y"), [("multinomial_logistic", Y), ("logistic", SIGNS)], ids=["several", "one"])
def test_what_few_samples_lack_is_told_by_the_norms_of_their_columns(loss, y, is_dense, monkeypatch):
    """Their rows are copied, the norms of the chosen columns are read, and of one output products are counted here."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(150, 4)) + 3.0
    data[30:, 3] *= 20.0  # of which these samples hold little
    data = data if is_dense else csr_array(data * (rng.random((150, 4)) < 0.4))
    problem, samples = Problem(data, y, loss, PSIS[0]).counted(), np.arange(0, 30, 2)
    z = problem.outputs(rng.normal(size=problem.shape) / 10.0)
    k = 1 if z.ndim == 1 else z.shape[1]
    coordinates = np.arange(k, 4 * k)  # all but those of the first column
    diagonals = [greatest_diagonal(p.counted()).reshape(-1)[coordinates // k] for p in (problem, problem.on(samples))]
    found = []
    for lacks in 0.0, 0.8:
        monkeypatch.setattr(chosen_curvature, "LACKS", lacks)
        found.append(np.zeros((3 * k, 3 * k)))
        making = samples, z, problem.loss_dual(z), coordinates, diagonals[0], found[-1]
        before = problem.X.passes
        outcome(chosen_curvature.add_second_derivative(problem.X, problem, *making))
    lacking = np.where(diagonals[1] < 0.8 * diagonals[0], diagonals[0] - diagonals[1], 0.0)
    assert np.all(lacking[-k:] > 0.0)
    added = np.trace(found[0]) / diagonals[1].sum() * lacking
    np.testing.assert_allclose(found[1], found[0] + np.diag(added), rtol=1e-12, atol=1e-12)
    if k == 1:
        rows = problem.on(samples).X.rows
        m = np.array([np.count_nonzero(rows.indices[a:b] > 0) for a, b in pairwise(rows.indptr)])
        read = rows.indptr[-1] + m.sum() + (m * (m + 3) // 2).sum()
        assert problem.X.passes - before == pytest.approx(read / (2.0 * problem.X.nnz))


@pytest.mark.parametrize("is_dense", [False, True])
def test_passes_of_the_second_derivative_of_few_samples(is_dense):
    data = RNG.normal(size=(500, 2)) * (is_dense | (RNG.random((500, 2)) < 0.4))
    y = np.arange(500.0) % 2
    problem = Problem(data if is_dense else csr_array(data), y, "multinomial_logistic", {"name": "l2", "strength": 0.1})
    start = Iterate(np.array([[0.1, -0.1], [0.2, -0.2]]))  # all stages have all samples
    passes = [it.passes for it in islice(build_solver("prox_newton")(problem, start, Rng(0)), 4)]
    assert passes.pop(1) == pytest.approx(0.5)  # norms of columns
    rng = Rng(0)
    rng.integers(64, 500)
    samples = np.unique(rng.integers(500, int(16 * 2 * np.sqrt(2.0))))
    m = np.full(500, 2) if is_dense else np.count_nonzero(data, axis=1)
    pairs = (2 * m[samples] * (2 * m[samples] + 3) / 2 + 2 * m[samples] * (m[samples] + 1) / 2).sum()
    share = m[samples].sum() / m.sum()
    assert passes[1] == pytest.approx(1.5)  # outputs, gradient
    assert passes[2] == pytest.approx(1.5 + share + pairs / (2 * 2 * m.sum()))


def test_the_warm_up_calls_every_kernel():
    """In a process of its own, since other tests call them, too."""
    ran = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["0", "0"]


COLD = """
import numpy as np
from scipy.sparse import csr_array
from rrmbench.bench.warming import warm_up
from rrmbench.numerics.jit_cache import counted
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.registry import build_solver

rng = np.random.default_rng(0)
data = rng.normal(size=(3000, 20)) * (rng.random((3000, 20)) < 0.3)
y = np.where(data @ rng.normal(size=20) + rng.normal(size=3000) > 0.0, 1.0, -1.0)
for X in csr_array(data), data + 1.0:
    problem, run = Problem(X, y, "logistic", {"name": "l1", "strength": 1e-3}), build_solver("prox_newton")
    warm_up(problem, run)
    before = counted["signatures"]
    for it in run(problem.apart(), None, Rng(0)):
        if it.passes > 30.0:
            break
    print(counted["signatures"] - before)
"""


def test_steps_are_damped_where_losses_are_flat():
    """At w = 0 no sample has a curvature, and later those of a rare category have none: H is 0 in its coordinate."""
    rng, n = np.random.default_rng(0), 400
    category = np.minimum(rng.geometric(0.15, n), 30) - 1
    data = np.column_stack([np.eye(30)[category], rng.random((n, 4)) * 10.0 ** rng.uniform(-2, 0, 4)])
    y = np.where(rng.random(n) < 0.25 + 0.5 * data[:, 0], 1.0, -1.0)
    problem = Problem(data, y, {"name": "smoothed_hinge", "gamma": 0.1}, {"name": "l1", "strength": 1e-4})
    assert solve(problem, "prox_newton", gap=1e-10, passes=300).gap <= 1e-10


def test_large_models_are_skipped_with_the_reason():
    assert prox_newton.too_many_entries(100, 300, 10) is None
    assert prox_newton.too_many_entries(100, 301, 10) == "found a model of 301 x 10 entries, allowed are at most 3000"
