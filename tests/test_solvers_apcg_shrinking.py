"""APCG on the rows that move: fewer passes to the last digits, D never falls, b stays in the domain."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import iterates

import rrmbench
from rrmbench.losses.hinge import Hinge
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.solvers.sdca.apcg_shrinking import ascent, dual_of, put_inside
from rrmbench.solvers.sdca.output import INSIDE, DualState
from rrmbench.solvers.sdca.steps import Exact

L2 = {"name": "l2", "strength": 1e-4}
NET = {"name": "elastic_net", "l1": 0.01, "l2": 1e-3}


REST = [pytest.param(loss, marks=pytest.mark.exhaustive) for loss in ("absolute", "smoothed_hinge")]


@pytest.mark.parametrize("loss", ["hinge", *REST])
def test_the_last_digits_take_fewer_passes(loss):
    X, y = oracles.data(200, 60, density=0.3, seed=2, loss=loss)
    p = Problem(X, y, loss, L2)
    shrinking, ours = (
        rrmbench.solve(p, name, relative_gap=1e-7, passes=20_000, growth=1.03)
        for name in ("prox_sdca_shrinking", "apcg_shrinking")
    )
    assert ours.reason == shrinking.reason == "relative_gap"
    assert p.primal(ours.w) == pytest.approx(p.primal(shrinking.w), rel=1e-6)
    assert ours.trace["passes"].iloc[-1] < 0.6 * shrinking.trace["passes"].iloc[-1]


@pytest.mark.exhaustive
@given(st.integers(0, 1000), st.sampled_from([("hinge", NET), ("absolute", L2), ("logistic", L2)]))
def test_the_dual_value_never_falls_and_u_is_kept(seed, components):
    loss, regularizer = components
    X, y = oracles.data(40, 8, seed=seed, loss=loss)
    p = Problem(X, y, loss, regularizer)
    its = iterates("apcg_shrinking", p, 60, seed=seed)
    values = np.array([p.dual_value(it.b) for it in its])
    assert np.isfinite(values).all()
    assert np.diff(values).min() >= -1e-12 * max(1.0, abs(values).max())
    assert its[-1].passes > 15.0
    np.testing.assert_allclose(its[-1].w, p.primal_point(p.v(its[-1].b)), atol=1e-9 * max(1.0, abs(its[-1].w).max()))


def test_an_ascent_moves_its_rows_alone_and_counts_them():
    X, y = oracles.data(90, 12, loss="hinge")
    p = Problem(X, y, "hinge", {"name": "l2", "strength": 1e-2})
    state = DualState(p, Exact(p.loss, p.mu), None)
    moving, first = np.arange(0, 90, 9, dtype=np.int32), dual_of(state)
    seen = list(ascent(state, Rng(0), moving, 12, 9))
    assert [epochs for epochs, _ in seen] == [9, 3]
    assert all(rose for _, rose in seen)
    assert set(np.flatnonzero(state.b)) <= set(moving.tolist())
    assert dual_of(state) > first
    assert dual_of(state) == pytest.approx(p.dual_value(state.b), abs=1e-12)


def test_an_ascent_that_does_not_rise_leaves_the_state():
    X, y = oracles.data(30, 6, loss="hinge")
    p = Problem(X, y, "hinge", {"name": "l2", "strength": 0.1})
    best = rrmbench.solve(p, "prox_sdca", gap=1e-15, passes=3000, growth=1.1)
    state = DualState(p, Exact(p.loss, p.mu), rrmbench.Iterate(best.w, best.b))
    for _ in range(100):
        b, u = state.b.copy(), state.u.copy()
        seen = list(ascent(state, Rng(0), np.arange(30, dtype=np.int32), 5, 1))
        if seen == [(1, False)]:
            break
    assert seen == [(1, False)]
    np.testing.assert_array_equal(state.b, b)
    np.testing.assert_array_equal(state.u, u)


def test_rounding_outside_of_the_domain_is_taken_back():
    y, b = np.array([1.0, -1.0, 1.0]), np.array([-np.nextafter(1.0, 2.0), 1.0, -0.5])
    put_inside(Hinge(), y, np.arange(3, dtype=np.int32), b)
    assert b.tolist() == [-np.nextafter(1.0, 2.0) * INSIDE, 1.0, -0.5]
    assert np.isfinite([Hinge().conjugate(*pair) for pair in zip(b, y, strict=True)]).all()
