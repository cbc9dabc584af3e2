"""Working sets of the rows of a matrix model: the multi-task lasso."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from oracles import by_columns
from runs import until
from scipy.sparse import kron, random_array

from rrmbench import Problem, solve
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.quadratic_descent import ByMatrix, OfOutputs, is_matrix
from rrmbench.problem.iterate import Iterate
from rrmbench.solvers.coordinate.working_sets import State
from rrmbench.subproblems.units import outcome

pytestmark = pytest.mark.usefixtures("own_bounds")

RNG = np.random.default_rng(7)
N, D, K = 60, 404, 3
X = {
    "sparse": random_array((N, D), density=0.1, rng=RNG, data_sampler=RNG.normal, format="csr"),
    "dense": RNG.normal(size=(N, D)),
}
TRUTH = RNG.normal(size=(D, K)) * (RNG.random((D, 1)) < 0.05)
ROWS = {"name": "l21", "strength": 0.05}
iterates = partial(until, "working_sets")


def targets(kind):
    return np.asarray(X[kind] @ TRUTH) + 0.1 * np.random.default_rng(0).normal(size=(N, K))


def problem(kind="sparse"):
    return Problem(X[kind], targets(kind), "squared_multi", ROWS)


@pytest.mark.core(1)
@pytest.mark.parametrize("kind", X)
def test_the_optimum_is_that_of_the_group_lasso_of_all_entries(kind):
    # x_i.W is (x_i kron I) vec(W), and the loss a sum over all K N outputs
    p = problem(kind)
    flat = Problem(
        kron(X[kind], np.eye(K), format="csr"),
        targets(kind).reshape(-1),
        "squared",
        {"name": "group_lasso", "groups": K, "strength": ROWS["strength"] / K / np.sqrt(K)},
    )
    *_, last = iterates(p, 300)
    *_, other = iterates(flat, 600)
    assert p.primal(last.w) == pytest.approx(K * flat.primal(other.w), rel=1e-9)
    np.testing.assert_allclose(last.w.reshape(-1), other.w, atol=1e-6)
    assert p.gap(last.w, last.b) <= 1e-9
    rows = np.count_nonzero(np.any(last.w != 0.0, axis=1))
    assert 0 < rows < D / 2


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("loss", "regularizer", "passes"),
    [
        ("squared_multi", ROWS, 600),
        ("squared_multi", {"name": "l21", "strength": 1e-3}, 3000),
        ("squared_multi", {"name": "group_lasso", "strength": 0.02, "groups": K}, None),  # blocks that are no rows
        ("multinomial_logistic", {"name": "l21", "strength": 0.02}, None),  # H is no number times the identity in rows
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", X)
def test_gaps_go_to_zero_and_the_objective_never_rises(loss, regularizer, passes, kind):
    y = targets(kind)
    p = Problem(X[kind], y if loss == "squared_multi" else y.argmax(axis=1), loss, regularizer)
    if passes is None:
        with pytest.raises(
            RrmbenchError, match="needs one output per sample or the loss squared_multi and norms of the rows"
        ):
            solve(p, "working_sets")
        return
    points = [(p.primal(it.w), it.passes) for it in iterates(p, 60)]
    assert all(after <= before + 1e-12 for (before, _), (after, _) in pairwise(points))
    assert all(after - before <= 1.0 + 1e-9 for (_, before), (_, after) in pairwise(points))
    run = solve(p, "working_sets", relative_gap=1e-9, passes=passes, progress=False)
    assert run.reason == "relative_gap"


def test_with_a_square_and_a_center():
    p = problem().regularized(0.1, np.linspace(-1.0, 1.0, D * K).reshape(D, K))
    *_, last = iterates(p, 300)
    assert p.gap(last.w, last.b) <= 1e-10
    warm = [p.primal(it.w) for it in iterates(p, 3, Iterate(last.w.copy()))]
    assert warm == pytest.approx([warm[0]] * len(warm), abs=1e-12)


def test_every_output_has_the_form_of_one():
    A = np.random.default_rng(1).normal(size=(20, 12))
    A[::3, ::2] = 0.0
    weights = np.linspace(0.5, 2.0, 20)
    H = A.T @ (weights[:, None] * A)
    known = {20: by_columns(A, weights), 12: [ByMatrix(H.copy())]}
    V = np.random.default_rng(2).normal(size=(12, K))
    for size, forms in known.items():
        for form in forms:
            several, state = OfOutputs(form, K), np.zeros(K * size)
            for j, step in enumerate(V.reshape(-1)):
                several.move_along(j, step, state)
            slopes = [several.slope_along(j, state) for j in range(12 * K)]
            np.testing.assert_allclose(np.reshape(slopes, (12, K)), H @ V, atol=1e-10)
            assert several.square_of(V.reshape(-1), state) == pytest.approx(np.sum(V * (H @ V)))
            assert sum(several.reads_along(j) for j in range(12 * K)) == sum(form.reads_along(j) for j in range(12))


@pytest.mark.parametrize("is_dear", [True, False])
@pytest.mark.parametrize("kind", X)
def test_the_outputs_of_a_model_are_products_with_it(kind, is_dear):
    A = X[kind][:, np.flatnonzero(TRUTH[:, 0])[:8]]
    p = Problem(A, targets(kind), "squared_multi", ROWS)
    state = State(p.counted(), p.start(None))
    list(state.grow())
    if is_dear:
        state.chosen.make_dear()
    model, _ = outcome(state.model())
    assert is_matrix(model.H) != is_dear
    model.sweep(model.units)
    V = model.w.reshape(8, K)
    assert np.any(V)
    np.testing.assert_allclose(state.chosen.outputs(model), A @ V, atol=1e-12)
