"""Working sets of blocks: the optimum for sums of norms, and the kernels of the quadratic model on blocks."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401
from oracles import by_columns, chosen_of
from runs import until
from scipy.sparse import random_array

from rrmbench import Problem, solve
from rrmbench.extending.touched import Entries, kernels_in_memory
from rrmbench.numerics import block_descent
from rrmbench.numerics.block_descent import Bend, Blocks, Curvatures
from rrmbench.numerics.quadratic_descent import ByMatrix
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import CSR
from rrmbench.solvers.coordinate.working_sets import State
from rrmbench.subproblems import units
from rrmbench.subproblems.quadratic import BlockQuadratic
from rrmbench.subproblems.units import outcome

pytestmark = pytest.mark.usefixtures("own_bounds")

RNG = np.random.default_rng(5)
N, D = 60, 403
X = {
    "sparse": random_array((N, D), density=0.1, rng=RNG, data_sampler=RNG.normal, format="csr"),
    "dense": RNG.normal(size=(N, D)),
}
TRUTH = RNG.normal(size=D) * np.repeat(RNG.random(-(-D // 7)) < 0.1, 7)[:D]
GROUPS = {"name": "group_lasso", "strength": 0.01, "groups": 7}  # the last one is shorter


def problem(kind="sparse", loss="squared", regularizer=GROUPS, **keys):
    values = np.asarray(X[kind] @ TRUTH) + 0.1 * np.random.default_rng(0).normal(size=N)
    y = np.where(values > 0.0, 1.0, -1.0) if loss in ("logistic", "squared_hinge") else values
    return Problem(X[kind], y, loss, regularizer, **keys)


iterates = partial(until, "working_sets")


@pytest.mark.core(2)
@pytest.mark.parametrize("kind", X)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_optimum_of_cvxpy(loss, kind):
    import cvxpy as cp

    p, w = problem(kind, loss), cp.Variable(D)
    z = X[kind] @ w
    fit = cp.sum_squares(z - p.y) / 2 if loss == "squared" else cp.sum(cp.logistic(-cp.multiply(p.y, z)))
    norms = sum(np.sqrt(len(g)) * cp.norm2(w[g]) for g in np.split(np.arange(D), np.arange(7, D, 7)))
    optimum = cp.Problem(cp.Minimize(fit / N + 0.01 * norms)).solve(solver=cp.CLARABEL)
    *_, last = iterates(p, 400)
    assert p.primal(last.w) == pytest.approx(optimum, rel=1e-6)
    assert p.gap(last.w, last.b) <= 1e-10
    norms = np.add.reduceat(last.w**2, np.arange(0, D, 7))
    assert 0 < np.count_nonzero(norms) < norms.size / 2


def test_blocks_without_entries_are_none():
    """Numbers that no entry has, in between and at the end: the same steps as without them."""
    w, g = np.array([0.5, 0.0, -1.0, 0.0]), np.array([1.0, -2.0, 0.1, 0.3])
    rest = 0.1, np.zeros(4), np.ones(4)
    plain = units.BlockUnits((np.array([1, 0, 1, 2]), np.array([0.3, 0.1, 0.2])), *rest)
    gaps = units.BlockUnits((np.array([3, 1, 3, 4]), np.array([9.0, 0.3, 9.0, 0.1, 0.2, 9.0])), *rest)
    np.testing.assert_array_equal(gaps.sizes, plain.sizes)
    np.testing.assert_array_equal(gaps.potentials(w, g), plain.potentials(w, g))
    np.testing.assert_array_equal(gaps.are_nonzero(w), [False, True, False])
    np.testing.assert_array_equal(gaps.columns(np.array([0, 1])), [0, 1, 2])


@pytest.mark.parametrize(
    ("loss", "regularizer"),
    [
        ("squared_hinge", GROUPS),
        ({"name": "huber", "mu": 0.5}, GROUPS),
        ("squared", {"name": "l2_norm", "strength": 0.3}),  # one block, too large for its part of H
        ("logistic", {"name": "l2_norm", "strength": 0.02}),
        ("squared", {"name": "group_lasso", "strength": 0.01, "groups": 1}),
        ("squared", {"name": "group_lasso", "strength": 0.0, "groups": 7}),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["sparse", pytest.param("dense", marks=pytest.mark.exhaustive)])
def test_gaps_go_to_zero_and_the_objective_never_rises(loss, regularizer, kind):
    p = problem(kind, loss, regularizer)
    points = [(p.primal(it.w), it.passes) for it in iterates(p, 1500)]
    assert all(after <= before + 1e-13 for (before, _), (after, _) in pairwise(points))
    assert all(after - before <= 1.0 + 1e-9 for (_, before), (_, after) in pairwise(points))
    run = solve(p, "working_sets", gap=1e-9, passes=1500, progress=False)
    assert run.reason == "gap" or regularizer["strength"] == 0.0  # where no b is feasible but one


def test_groups_of_one_are_coordinates():
    ones, l1 = ({"name": name, "strength": 0.02} for name in ("group_lasso", "l1"))
    *_, blocks = iterates(problem(regularizer=ones | {"groups": 1}), 200)
    *_, coordinates = iterates(problem(regularizer=l1), 200)
    np.testing.assert_allclose(blocks.w, coordinates.w, atol=1e-9)


def test_with_a_square_and_a_center():
    p = problem().regularized(0.1, np.linspace(-1.0, 1.0, D))
    *_, last = iterates(p, 300)
    assert p.gap(last.w, last.b) <= 1e-10
    warm = [p.primal(it.w) for it in iterates(p, 3, Iterate(last.w.copy()))]
    assert warm == pytest.approx([warm[0]] * len(warm), abs=1e-12)


def forms():
    """H = A^T diag(weights) A of A (20, 12), in its three forms."""
    A = np.random.default_rng(1).normal(size=(20, 12))
    A[:, 7] = 0.0
    A[::3, ::2] = 0.0
    weights = np.linspace(0.5, 2.0, 20)
    H = A.T @ (weights[:, None] * A)
    columns, lines = by_columns(A, weights)
    return H, {"columns": columns, "lines": lines, "matrix": ByMatrix(H.copy())}


def blocks_of(sizes=(3, 1, 5, 3), members=None):
    members = np.random.default_rng(2).permutation(12) if members is None else members
    return Blocks(members, np.append(0, np.cumsum(sizes)), np.linspace(0.1, 0.4, len(sizes)))


def curvatures(H, blocks, size):
    sizes = np.diff(blocks.starts)
    made = Curvatures(np.empty(sizes.size), np.empty(np.sum(sizes**2)), np.append(0, np.cumsum(sizes**2)))
    block_descent.curvatures_of(H, blocks, np.arange(sizes.size), 5, size, made)
    return made


@pytest.mark.parametrize("form", ["columns", "lines", "matrix"])
def test_the_part_of_a_block_and_what_is_read_of_it(form):
    H, known = forms()
    blocks, size = blocks_of(), 12 if form == "matrix" else 20
    made = curvatures(known[form], blocks, size)
    for b in range(4):
        at = np.ix_(*[blocks.members[blocks.starts[b] : blocks.starts[b + 1]]] * 2)
        part = made.parts[made.places[b] : made.places[b + 1]].reshape(H[at].shape)
        np.testing.assert_allclose(part, H[at], atol=1e-12)
        assert np.linalg.norm(H[at], 2) <= made.bounds[b] <= 1.5 * np.linalg.norm(H[at], 2)
    if form == "columns":
        reads, said = np.zeros(1, dtype=np.int64), np.empty(4, dtype=np.int64)
        block_descent.reads_of_parts(known[form], blocks, np.arange(4), 5, said)
        with kernels_in_memory():
            seen = known[form]._replace(data=Entries(known[form].data, reads))
            block_descent.curvatures_of(seen, blocks, np.arange(4), 5, size, made)
        assert said.sum() == reads[0]


@given(
    seed=st.integers(0, 2**32 - 1),
    q=st.integers(1, 90),
    rank=st.integers(0, 90),
    scale=st.sampled_from([1e-150, 1.0, 1e150]),
)
def test_the_bound_of_an_eigenvalue(seed, q, rank, scale):
    B = np.random.default_rng(seed).normal(size=(q, rank))
    A = B @ B.T * scale
    greatest = np.linalg.eigvalsh(A)[-1] if rank else 0.0
    bound = block_descent.eigenvalue_bound(A, np.empty((q, q)), q)
    assert greatest * (1.0 - 1e-9) <= bound <= q ** (1 / 8) * greatest * (1.0 + 1e-9)


def models():
    """The same `BlockQuadratic` by each form."""
    g, w0, linear = np.random.default_rng(4).normal(size=(3, 12))
    w0[[0, 4]] = 0.0
    H, known = forms()
    for form, size in ("columns", 20), ("lines", 20), ("matrix", 12):
        blocks = blocks_of()
        bends = curvatures(known[form], blocks, size)
        bends.bounds[:] += 1e-3  # one of them is of a column of zeros
        yield BlockQuadratic(known[form], np.diag(H).copy(), np.zeros(size), blocks, bends, 0.2, linear, g, w0)


def objective(model, w):
    v, H = w - model.w0, forms()[0]
    norms = sum(
        r * np.linalg.norm(w[model.regularizer.members[first:last]])
        for r, (first, last) in zip(model.regularizer.radii, pairwise(model.regularizer.starts), strict=True)
    )
    return model.g @ v + v @ H @ v / 2 + 0.1 * w @ w - model.linear @ w + norms


def test_all_forms_make_the_same_steps_each_lowers_the_model_by_half_of_its_potential_and_they_end_at_its_minimizer():
    found = []
    for model in models():
        for b in range(4):
            before = objective(model, model.w)
            potential = model.sweep(np.array([b]))
            assert objective(model, model.w) <= before - 0.5 * potential + 1e-12
            assert model.value(model.w, model.state) == pytest.approx(objective(model, model.w), abs=1e-10)
        for _ in model.descend(1e-24):
            pass
        found.append(model.w)
    by_columns, by_lines, by_matrix = found
    np.testing.assert_allclose(by_lines, by_columns, atol=1e-10)
    np.testing.assert_allclose(by_matrix, by_columns, atol=1e-10)
    rng = np.random.default_rng(0)
    least = objective(model, by_matrix)
    assert all(objective(model, by_matrix + scale * rng.normal(size=12)) > least for scale in np.logspace(-6, 0, 60))


def test_conjugate_gradients_follow_the_derivatives_of_the_norms():
    *_, model = models()
    model.sweep(model.units)
    active, bend, diagonal, residuals = model.tangent(model.units)
    w, e = model.w.copy(), 1e-6
    assert set(active) == set(np.flatnonzero(w))
    second = np.empty((active.size, active.size))
    for k, j in enumerate(active):
        step = np.zeros(12)
        step[j] = e
        slope = (objective(model, w + step) - objective(model, w - step)) / (2 * e)
        assert residuals[k] == pytest.approx(-slope, abs=1e-6)
        Hp = forms()[0][np.ix_(active, active)] @ np.eye(active.size)[k]
        Bend.add_bend(bend, np.eye(active.size)[k], Hp)
        second[k] = Hp
        assert diagonal[k] == pytest.approx(Hp[k], abs=1e-12)
    model.w[:] = w
    away = 1e-4 * np.random.default_rng(0).normal(size=active.size)
    moved = w.copy()
    moved[active] += away
    change = objective(model, moved) - objective(model, w) + residuals @ away
    assert change == pytest.approx(away @ second @ away / 2, rel=1e-3)


def test_bends_of_the_last_working_set_are_kept_where_weights_stay():
    data = CSR.of(X["sparse"])
    grown = units.BlockUnits((np.arange(D) // 7, np.full(58, 0.1)), 0.1, np.zeros(D), np.ones(D))
    chosen, w, g = chosen_of(data), np.zeros(D), np.ones(D)
    dense = data._matrix.toarray()
    for blocks in np.array([3, 9]), np.array([3, 5, 9, 57]), np.array([0, 3, 5, 9, 57]):
        for is_constant in (True, True, False, True) if blocks.size == 5 else (True,):
            h = np.ones(N) if is_constant else np.linspace(0.1, 1.0, N)
            columns = grown.columns(blocks)
            chosen.grow(columns)
            form = outcome(chosen.form(h, is_constant))
            model = outcome(grown.model(form, blocks, columns, w, g, is_constant, 100.0))
            for k, b in enumerate(blocks):
                part = dense[:, 7 * b : 7 * b + 7]
                expected = part.T @ (chosen._weights[:, None] * part)
                made = model.bends.parts[model.bends.places[k] : model.bends.places[k + 1]]
                np.testing.assert_allclose(made, expected.reshape(-1), atol=1e-12)


def test_on_the_command_line(lab):
    keys = {"loss": ["squared", "logistic"], "regularizer": {"name": "group_lasso", "strength": 1e-2, "groups": 3}}
    ran = lab.run(lab.config(**keys, solver="working_sets", stop={"relative_gap": 1e-7, "passes": 300}))
    assert ran.code == 0, ran.out + ran.err
    assert {(result.status, result.reason) for result in lab.results()} == {("done", "relative_gap")}


@pytest.mark.parametrize("kind", X)
def test_what_a_model_reads_of_its_blocks_counts(kind):
    """Column c of a block is moved along, and back, and its slope is taken for each of the first c + 1 columns."""
    p = problem(kind)
    state = State(p.counted(), p.start(None))
    list(state.grow())
    state.chosen.make_dear()
    outcome(state.chosen.form(np.ones(N), True))  # which copies the columns
    before = state.passes
    iterates_on_the_way = []
    making = state.model()
    try:
        while True:
            iterates_on_the_way.append(next(making).passes)
    except StopIteration as end:
        assert end.value[1]
    chosen = state.chosen.numbers
    lengths = (X[kind] != 0.0).sum(axis=0)[chosen]
    expected = lengths @ (chosen % 7 + 3) / (2.0 * p.X.nnz)
    assert state.passes - before == pytest.approx(expected) and iterates_on_the_way[-1] == state.passes
    again = state.passes
    outcome(state.model())  # of the same blocks and weights all is known
    assert state.passes == again
