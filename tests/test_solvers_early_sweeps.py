"""Sweeps on P itself, with which working sets begin: steps, P that never rises, when they end, what they spare."""

from itertools import islice, pairwise

import numpy as np
import pytest
from runs import until
from scipy.sparse import csr_array, random_array

from rrmbench import Problem
from rrmbench.numerics import loss_descent
from rrmbench.numerics.loss_descent import Columns, Lines
from rrmbench.registry import build_solver
from rrmbench.solvers.coordinate.coordinate_descent import part_of
from rrmbench.solvers.coordinate.early_sweeps import EarlySweeps
from rrmbench.solvers.coordinate.working_sets import State

pytestmark = pytest.mark.usefixtures("own_bounds")

LOSSES = ["squared", "logistic", "squared_hinge", {"name": "huber", "mu": 0.1}]
N, D = 150, 12  # more samples than one block has


def small(loss, regularizer=None):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(N, D)), np.where(rng.random(N) < 0.5, 1.0, -1.0)
    return Problem(X, y, loss, regularizer or {"name": "elastic_net", "l1": 0.02, "l2": 0.1})


def forms(p):
    return Columns(*part_of(p.X.columns())), Lines(np.ascontiguousarray(p.X.array.T), np.arange(D, dtype=np.int32))


def swept(p, X, which, factor=1.0, most=np.inf):
    """(w, z, b, greatest, curvatures, what `sweep` returned) of a sweep from 0; curvatures begin at a part of it."""
    greatest = p.smoothness / p.n * (p.X.array**2).sum(axis=0)
    w, z, curvatures = np.zeros(D), np.zeros(N), factor * greatest
    b, square = p.loss_dual(z), (p.strong_convexity, p.center_term())
    of_loss = p.loss, p.mu, p.y
    of_sweep = p.regularizer, *square, greatest, curvatures, which, most
    return w, z, b, greatest, curvatures, loss_descent.sweep(X, *of_loss, *of_sweep, w, z, b)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_sweep_knows_the_outputs_the_derivatives_and_the_fall(loss):
    p = small(loss)
    for X in forms(p):
        w, z, b, *_, (fall, read, done) = swept(p, X, np.random.default_rng(0).permutation(D))
        assert np.allclose(z, p.X.forward(w), atol=1e-13) and np.allclose(b, p.loss_dual(z), atol=1e-13)
        assert fall == pytest.approx(p.primal(np.zeros(D)) - p.primal(w), rel=1e-12 if loss == "squared" else 0.1)
        assert read == N * (D + 2 * np.count_nonzero(w))  # nothing was made again: first steps have the greatest c
        assert done == D


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_sparse_and_dense_columns_are_alike(loss):
    p, which = small(loss), np.arange(D)
    a, b = (swept(p, X, which) for X in forms(p))
    assert all(np.allclose(x, y, atol=1e-14) for x, y in zip(a[:5], b[:5], strict=True)) and a[5][1] == b[5][1]


@pytest.mark.parametrize("most", [0.0, 1.0, 3.0 * N, 3.5 * N])
def test_a_sweep_ends_where_so_many_numbers_are_read(most):
    p, which = small({"name": "huber", "mu": 0.1}, "none"), np.arange(D)[::-1].copy()
    for X in forms(p):
        *ended, (_, read, done) = swept(p, X, which, most=most)
        *whole, (_, others, _) = swept(p, X, which[:done])
        assert done == (2 if most > 3.0 * N else 1) and read == others == 3 * N * done  # the first has its turn always
        assert all(np.array_equal(x, y) for x, y in zip(ended, whole, strict=True))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_fall_of_a_sweep_from_a_point_that_is_not_0(loss):
    p = small(loss)
    for X in forms(p):
        w, z, b, greatest, curvatures, _ = swept(p, X, np.arange(D))
        before, square = p.primal(w), (p.strong_convexity, p.center_term())
        arguments = p.loss, p.mu, p.y, p.regularizer, *square, greatest, curvatures, np.arange(D), np.inf, w, z, b
        fall = loss_descent.sweep(X, *arguments)[0]
        assert fall == pytest.approx(before - p.primal(w), rel=1e-9 if loss == "squared" else 0.2) and fall > 0.0


@pytest.mark.parametrize("center", [None, np.linspace(-1.0, 1.0, D)], ids=["no_center", "center"])
def test_a_step_minimizes_over_a_coordinate_of_the_squared_loss(center):
    p = small("squared")
    p = p if center is None else p.regularized(0.5, center)
    for j in range(D):
        w = swept(p, forms(p)[0], np.array([j]))[0]
        assert np.flatnonzero(w).tolist() in ([j], [])
        around = [p.primal(w + step * np.eye(D)[j]) for step in (-1e-4, 0.0, 1e-4)]
        assert around[1] == min(around)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_step_whose_curvature_is_too_small_is_made_again(loss):
    """The curvatures are a thousandth of what they have to be: steps would go a thousand times too far."""
    p = small(loss)
    for X in forms(p):
        w, z, _, greatest, curvatures, (_, read, _) = swept(p, X, np.arange(D), 1e-3)
        assert p.primal(w) < p.primal(np.zeros(D)) and np.allclose(z, p.X.forward(w), atol=1e-12)
        assert read > N * (D + 2 * np.count_nonzero(w)) and np.all(curvatures <= greatest)
        if loss == "squared":
            assert np.allclose(curvatures[w != 0.0], greatest[w != 0.0])
            assert np.allclose(w, swept(p, X, np.arange(D))[0], atol=1e-12)  # each step ends at the minimizer


def test_the_next_step_has_the_curvature_on_the_way_of_the_last():
    for loss, least in ("logistic", 0.0), ({"name": "huber", "mu": 0.1}, 0.1):
        p = small(loss)
        w, _, b, greatest, curvatures, _ = swept(p, forms(p)[1], np.array([0]))
        on_way = p.X.adjoint(b - p.loss_dual(np.zeros(N)))[0] / N / w[0]
        assert curvatures[0] == pytest.approx(max(on_way, least * greatest[0])) and on_way < greatest[0]
        assert np.array_equal(curvatures[1:], greatest[1:])
    assert on_way == 0.0  # all samples are on flat parts of phi', and stay there


def images(n=200, d=900):
    """Columns that are like their neighbours, as pixels are."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(n, d))
    X = sum(np.roll(base, k, axis=1) for k in range(8)) * (rng.random((n, d)) < 0.4)
    y = np.where(X @ (rng.normal(size=d) * (rng.random(d) < 0.02)) > 0.0, 1.0, -1.0)
    return csr_array(X), y


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_first_passes_go_further_than_models(loss, monkeypatch):
    p = Problem(*images(), loss, {"name": "l1", "strength": 2e-3})
    best = min(p.primal(it.w) for it in until("working_sets", p, 300))
    level = best + 1e-2 * (p.primal(np.zeros(p.shape)) - best)

    def passes():
        return next(it.passes for it in build_solver("working_sets")(p, None, None) if p.primal(it.w) <= level)

    with_sweeps = passes()
    monkeypatch.setattr(EarlySweeps, "__init__", lambda self, *_: setattr(self, "is_over", True))
    assert with_sweeps < 0.7 * passes()


@pytest.mark.parametrize(
    "regularizer", [{"name": "l1", "strength": 0.01}, {"name": "box", "lower": -0.3, "upper": 0.2}]
)
@pytest.mark.parametrize("loss", ["logistic", {"name": "smoothed_hinge", "gamma": 0.01}], ids=str)
def test_the_objective_never_rises_and_a_sweep_is_told_in_parts(loss, regularizer):
    p = Problem(*images(60, 400), loss, regularizer)
    found = list(until("working_sets", p, 40))
    assert all(p.primal(b.w) <= p.primal(a.w) + 1e-14 for a, b in pairwise(found))
    assert all(b.passes - a.passes <= 1.0 for a, b in pairwise(found) if b.passes <= 5.0)


def test_no_more_than_a_pass_lies_between_iterates_where_a_column_is_long():
    rng = np.random.default_rng(0)
    X = random_array((200, 600), density=0.03, rng=rng, data_sampler=rng.normal, format="csr").toarray()
    X[:, 0] = 1.0  # as of a bias that is regularized
    loss, y = {"name": "smoothed_hinge", "gamma": 1e-3}, np.where(rng.random(200) < 0.5, 1.0, -1.0)
    p = Problem(csr_array(X), y, loss, {"name": "l1", "strength": 1e-4})
    assert max(np.diff([it.passes for it in until("working_sets", p, 6)])) <= 1.0 + 1e-9


def test_sweeps_that_raise_the_objective_are_undone_and_the_last(monkeypatch):
    p = Problem(*images(60, 400), "logistic", {"name": "l1", "strength": 0.01})
    state = State(p.counted(), p.start(None))
    list(state.grow())

    def worse(self, columns, which, most, w, z, b):
        w[which] += 1.0
        z[:] = p.X.forward(w)
        return 1.0, 2 * p.X.nnz, which.size

    monkeypatch.setattr(EarlySweeps, "sweep", worse)
    before, b = state.P, state.b.copy()
    list(state.lower())
    assert not state.w.any() and state.P == before and np.array_equal(state.b, b) and state._early.is_over


def test_models_come_first_where_a_matrix_of_all_coordinates_is_cheap():
    X = random_array((500, 20), density=0.5, rng=np.random.default_rng(1), format="csr")
    p = Problem(X, np.where(np.arange(500) % 3, 1.0, -1.0), "logistic", {"name": "l1", "strength": 1e-3})
    state = State(p.counted(), p.start(None))
    list(state.grow())
    assert list(state.lower()) == [] and state._early.is_over and state.chosen.is_worth_matrix


def test_data_without_entries_have_nothing_to_sweep():
    p = Problem(csr_array((5, 400)), np.ones(5), "logistic", {"name": "l1", "strength": 0.1})
    found = list(islice(build_solver("working_sets")(p, None, None), 20))
    assert not found[-1].w.any()
