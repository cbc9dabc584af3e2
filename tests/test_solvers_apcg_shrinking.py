"""APCG on the rows that move: fewer passes to the last digits, D never falls, b stays in the domain."""

from itertools import product

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import iterates
from scipy.sparse import csr_array

import rrmbench
from rrmbench.losses.hinge import Hinge
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.solvers.sdca import apcg_shrinking
from rrmbench.solvers.sdca.apcg import apcg_steps, combine
from rrmbench.solvers.sdca.apcg_shrinking import ascent, dual_of, put_inside
from rrmbench.solvers.sdca.output import INSIDE, DualState
from rrmbench.solvers.sdca.steps import Exact

pytestmark = pytest.mark.usefixtures("own_bounds")

L2 = {"name": "l2", "strength": 1e-4}
NET = {"name": "elastic_net", "l1": 0.01, "l2": 1e-3}


def problem(loss, n, d, regularizer, density=1.0, seed=0):
    """A small random problem, with two targets where the loss is on a row of them."""
    X, y = oracles.data(n, d, density, seed, loss)
    targets = loss in oracles.vector_losses() and y.dtype.kind == "f"
    y = np.column_stack((y, y[::-1])) if targets else y
    return Problem(X, y, oracles.example("loss", loss), regularizer)


REST = [
    pytest.param(loss, marks=pytest.mark.exhaustive)
    for loss in ("absolute", "smoothed_hinge", "l2_multi", "smoothed_max_of_hinge")
]


@pytest.mark.parametrize("loss", ["hinge", "max_of_hinge", *REST])
def test_the_last_digits_take_fewer_passes(loss):
    p = problem(loss, 200, 60, L2, density=0.3, seed=2)
    shrinking, ours = (
        rrmbench.solve(p, name, relative_gap=1e-7, passes=20_000, growth=1.03)
        for name in ("prox_sdca_shrinking", "apcg_shrinking")
    )
    assert ours.reason == shrinking.reason == "relative_gap"
    assert p.primal(ours.w) == pytest.approx(p.primal(shrinking.w), rel=1e-6)
    assert ours.trace["passes"].iloc[-1] < 0.6 * shrinking.trace["passes"].iloc[-1]


@pytest.mark.exhaustive
@given(
    st.integers(0, 1000),
    st.sampled_from(
        [("hinge", NET), ("absolute", L2), ("logistic", L2)]
        + [(loss, regularizer) for loss in oracles.vector_losses() for regularizer in (NET, L2)]
    ),
)
def test_the_dual_value_never_falls_and_u_is_kept(seed, components):
    loss, regularizer = components
    p = problem(loss, 40, 8, regularizer, seed=seed)
    its = iterates("apcg_shrinking", p, 60, seed=seed)
    values = np.array([p.dual_value(it.b) for it in its])
    assert np.isfinite(values).all()
    assert np.diff(values).min() >= -1e-12 * max(1.0, abs(values).max())
    assert its[-1].passes > 15.0
    np.testing.assert_allclose(its[-1].w, p.primal_point(p.v(its[-1].b)), atol=1e-9 * max(1.0, abs(its[-1].w).max()))


@pytest.mark.parametrize(
    ("loss", "regularizer"),
    oracles.core(product(oracles.vector_losses(), (L2, NET)), lambda loss, psi: (loss, psi) == ("max_of_hinge", NET)),
    ids=lambda value: value["name"] if isinstance(value, dict) else value,
)
def test_losses_on_several_outputs_reach_the_optimum(loss, regularizer):
    p = problem(loss, 60, 12, regularizer, density=0.5, seed=4)
    ours = rrmbench.solve(p, "apcg_shrinking", gap=1e-10, passes=20_000, growth=1.1)
    assert ours.reason == "gap"
    assert p.primal(ours.w) - p.dual_value(ours.b) <= 1e-10


def test_a_sample_without_entries_and_a_kink_are_no_division_by_0():
    """R and the convexity of the conjugates are 0 then: w stays where it is, and b goes to its best."""
    p = Problem(csr_array((1, 3)), np.array([1.0]), "hinge", NET)
    *_, last = iterates("apcg_shrinking", p, 10)
    assert not last.w.any() and p.gap(last.w, last.b) == pytest.approx(0.0, abs=1e-12)


def test_the_distance_of_one_output_is_the_absolute_loss():
    """Steps on rows of length 1 are those on numbers, through an underflow of r, too."""
    X, y = oracles.data(50, 9, density=0.5, loss="absolute")
    p = Problem(X, y, "absolute", NET)
    q = Problem(X, y[:, None], "l2_multi", NET)
    found = []
    for problem in p, q:
        b, u = problem.start_dual(None), problem.shift()
        uv, pq = (np.stack((np.zeros_like(a), a), axis=1) for a in (b, u))
        fixed = (problem.X.rows, problem.y, problem.loss, problem.mu, problem.regularizer, problem.strong_convexity)
        r = apcg_steps(*fixed, 0.3, 50, Rng(0).orders(np.arange(50, dtype=np.int32), 12), 1e-99, uv, pq)
        combine(r, uv, b)
        combine(r, pq, u)
        found.append((r, b.ravel(), u.ravel()))
    assert found[0][0] == found[1][0] > 1e-10
    assert np.abs(found[0][1]).max() > 0.5
    for scalar, vector in zip(*found, strict=True):
        np.testing.assert_allclose(vector, scalar, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("loss", ["hinge", "max_of_hinge"])
def test_an_ascent_moves_its_rows_alone_and_counts_them(loss):
    p = problem(loss, 90, 12, {"name": "l2", "strength": 1e-2})
    state = DualState(p, Exact(p.loss, p.mu), None)
    moving, first = np.arange(0, 90, 9, dtype=np.int32), dual_of(state)
    seen = list(ascent(state, Rng(0), moving, 12, 9))
    assert [epochs for epochs, _ in seen] == [9, 3]
    assert all(rose for _, rose in seen)
    assert set(state.b.nonzero()[0]) <= set(moving.tolist())
    assert dual_of(state) > first
    assert dual_of(state) == pytest.approx(p.dual_value(state.b), abs=1e-12)


class Recorded(Rng):
    """Random numbers that tell which rows they were drawn for."""

    drawn = ()

    def epoch(self, n):
        self.drawn = (*self.drawn, (rows := super().epoch(n)).copy())
        return rows

    def orders(self, values, epochs):
        self.drawn = (*self.drawn, rows := super().orders(values, epochs))
        return rows


@pytest.mark.parametrize("loss", ["hinge", "max_of_hinge"])
def test_passes_are_the_entries_of_all_rows_that_were_visited(loss):
    """After the first rounds, where each epoch over the rows that move counts, however many are made at once."""
    p, rng = problem(loss, 300, 5, {"name": "l2", "strength": 1e-2}, density=0.6), Recorded(0)
    entries, rounds = np.diff(p.X.rows.indptr), 0.0
    for x in rrmbench.registry.build_solver("apcg_shrinking")(p, None, rng):
        rounds = rounds if rng.drawn else x.passes  # which draw in a kernel
        later = sum(entries[rows].sum() for rows in rng.drawn)
        assert x.passes == pytest.approx(rounds + later / p.X.nnz)
        if x.passes > 30.0:
            break
    assert any(np.unique(rows).size < rows.size for rows in rng.drawn)  # several epochs at once


def test_an_ascent_whose_d_falls_leaves_the_state(monkeypatch):
    """By rounding alone it is none: close to the optimum D does not tell a right step from none."""
    X, y = oracles.data(30, 6, loss="hinge")
    p = Problem(X, y, "hinge", {"name": "l2", "strength": 0.1})
    state = DualState(p, Exact(p.loss, p.mu), None)
    rows = np.arange(30, dtype=np.int32)
    for fall, kept in ((1e-9, False), (1e-15, True)):
        values = iter([1.0, 1.0 - fall])
        monkeypatch.setattr(apcg_shrinking, "dual_of", lambda state, values=values: next(values))
        b, u = state.b.copy(), state.u.copy()
        assert list(ascent(state, Rng(0), rows, 1, 1)) == [(1, kept)]
        assert np.array_equal(state.b, b) != kept and np.array_equal(state.u, u) != kept


def test_rounding_outside_of_the_domain_is_taken_back():
    y, b = np.array([1.0, -1.0, 1.0]), np.array([-np.nextafter(1.0, 2.0), 1.0, -0.5])
    put_inside(Hinge(), y, np.arange(3, dtype=np.int32), b)
    assert b.tolist() == [-np.nextafter(1.0, 2.0) * INSIDE, 1.0, -0.5]
    assert np.isfinite([Hinge().conjugate(*pair) for pair in zip(b, y, strict=True)]).all()


@kernel
def conjugates(loss, y, b):
    return [loss.conjugate_row(b[i], y[i]) for i in range(b.shape[0])]


@pytest.mark.core(2)
@pytest.mark.parametrize("name", oracles.vector_losses())
@given(st.integers(0, 1000), st.floats(0.01, 100.0), st.sampled_from([1e-16, 1e-14]))
def test_rounding_outside_of_the_domain_is_taken_back_from_rows(name, seed, steepness, rounding):
    loss, rng = oracles.loss_of(name), np.random.default_rng(seed)
    z = steepness * rng.standard_normal((30, 5))
    of_classes = "classes" in rrmbench.registry.lookup("loss", name).needs
    y = oracles.labels(name, rng.standard_normal(30)) if of_classes else rng.standard_normal((30, 5))
    inside = np.empty_like(z)
    for i in range(30):
        loss.dual_point_row(z[i], y[i], 0.0, 0.5, inside[i])
    b = inside + rounding * rng.standard_normal(z.shape)
    left = np.isinf(conjugates(loss, y, b))
    moved = b.copy()
    put_inside(loss, y, np.arange(30, dtype=np.int32), moved)
    assert np.isfinite(conjugates(loss, y, moved)).all()
    np.testing.assert_array_equal(moved[~left], b[~left])
    np.testing.assert_allclose(moved, inside, rtol=0.0, atol=1e-13)


def test_the_last_digits_take_no_more_passes_than_the_first():
    """Close to the optimum D does not tell a round of accelerated epochs from none, and it is made all the same."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(100, 8))
    X /= np.sqrt((X**2).sum(1).mean())
    y = np.where(3.0 * X @ rng.normal(size=8) + 0.5 * rng.normal(size=100) > 0.0, 1.0, -1.0)
    p = Problem(X, y, "hinge", {"name": "l2", "strength": 1e-3})
    assert rrmbench.solve(p, "apcg_shrinking", passes=150, gap=1e-12).reason == "gap"
