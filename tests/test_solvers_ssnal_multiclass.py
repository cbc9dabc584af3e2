"""The method of multipliers for losses on classes: its stages, its rest, its passes, its optimum."""

from itertools import islice

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rrmbench import Problem, registry, solve
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.solvers.second_order import ssnal_multiclass
from rrmbench.subproblems.units import outcome

pytestmark = pytest.mark.usefixtures("own_bounds")

LOSSES = ["max_of_hinge", {"name": "smoothed_max_of_hinge", "gamma": 0.3}]
KINDS = {"dense": 1.0, "with_zeros": 0.7, "sparse": 0.3}


def problem(loss="max_of_hinge", strength=1e-3, n=400, d=7, k=4, density=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    y = np.argmax(X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(k)  # every class
    return Problem(X if density > 0.5 else csr_array(X), y.astype(float), loss, {"name": "l2", "strength": strength})


def iterates(p, count=4000, start=None, seed=0):
    return islice(registry.build_solver("ssnal_multiclass")(p, start, Rng(seed)), count)


def reaches(gap, p, passes=400, **how):
    return oracles.reaches(gap, p, iterates(p, **how), passes)


@pytest.mark.parametrize("density", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("loss", LOSSES, ids=["kinked", "smoothed"])
@pytest.mark.parametrize("strength", [1.0, 1e-2, 1e-4, 1e-7])
def test_the_optimum_to_rounding_whatever_the_condition(loss, strength, density):
    """From 0, by stages, and from far away."""
    p = problem(loss, strength, n=1500, density=density)
    assert reaches(1e-12, p)
    assert reaches(1e-12, p, start=Iterate(np.full(p.shape, 50.0)))


@given(
    n=st.integers(4, 60), d=st.integers(1, 8), k=st.integers(2, 4), seed=st.integers(0, 10**6),
    strength=st.floats(-6.0, 1.0), kappa=st.sampled_from([0.0, 0.3]), loss=st.sampled_from(LOSSES),
    density=st.sampled_from([0.2, 1.0]),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_any_small_problem(n, d, k, seed, strength, kappa, loss, density):
    """Also with fewer samples than features, rows of zeros, and the square of a reduction around a centre."""
    p = problem(loss, 10.0**strength, n, d, k, density, seed)
    p = p.regularized(kappa, np.linspace(-1.0, 1.0, d * k).reshape(d, k))
    assert reaches(1e-10, p, count=20000, passes=3000)


@pytest.mark.parametrize("units", [1e-6, 1e6])
def test_the_units_of_the_data_do_not_matter(units):
    p = problem()
    scaled = Problem(p.X.array * units, p.y, "max_of_hinge", {"name": "l2", "strength": 1e-3 * units**2})
    assert reaches(1e-12, scaled)


@pytest.mark.parametrize("k", [2, 12])
def test_squares_below_the_rounding_of_the_data(k):
    """Cholesky's factors of H do not know them in the directions that all classes have in common."""
    rng = np.random.default_rng(k)
    X = rng.standard_normal((400, 12)) * 10.0 ** rng.uniform(-4, 4, 12) * 10.0 ** rng.uniform(-2, 2, (400, 1))
    p = Problem(X, np.arange(400) % k * 1.0, "max_of_hinge", {"name": "l2", "strength": 1e-8})
    assert reaches(1e-9, p, count=20000, passes=3000)


@pytest.mark.parametrize("loss", LOSSES, ids=["kinked", "smoothed"])
def test_a_stage_is_a_proximal_step_of_the_dual(loss, monkeypatch):
    """b is the proximal point at X w + q c, X^T b/n minus the gradient of Psi; two stages, the second around b."""
    monkeypatch.setattr(ssnal_multiclass, "INEXACT", 1e-14)
    p = problem(loss).counted()
    w, c = np.zeros(p.shape), np.zeros((p.n, 4))
    for q in 0.7, 0.02:
        w, b, _ = outcome(ssnal_multiclass._stage(p, w, c, q))
        at, expected = p.X.forward(w) + q * c, np.empty(b.shape)
        for i in range(p.n):
            p.loss.dual_point_row(at[i], p.y[i], p.mu, q, expected[i])
        np.testing.assert_allclose(b, expected, atol=1e-9)
        np.testing.assert_allclose(p.X.adjoint(b) / p.n, -1e-3 * w, atol=1e-7)
        c = b


@given(seed=st.integers(0, 10**6), reach=st.floats(-3.0, 1.0), q=st.floats(-3.0, 1.0), loss=st.sampled_from(LOSSES))
@settings(max_examples=40, deadline=None)
def test_the_b_of_samples_at_rest_are_constant_in_the_reach(seed, reach, q, loss):
    rng, reach, q = np.random.default_rng(seed), 10.0**reach, 10.0**q
    p, w = problem(loss).counted(), rng.standard_normal((7, 4))
    c = 0.25 * rng.random((p.n, 4))
    awake = ssnal_multiclass.Awake(p, p.n, q, c, p.X.forward(w))
    resting = np.setdiff1d(np.arange(p.n), awake.update(reach))
    before = awake.b.copy()
    for _ in range(10):
        move = rng.standard_normal(w.shape)
        awake.z = p.X.forward(w + reach * move / np.linalg.norm(move, axis=0))
        awake.update(np.inf)
        np.testing.assert_array_equal(awake.b[resting], before[resting])


@pytest.mark.parametrize("far", [1.2, 2.0, 1e3])
def test_whoever_rests_the_optimum_is_the_same(far, monkeypatch):
    monkeypatch.setattr(ssnal_multiclass, "FAR", far)
    assert reaches(1e-12, problem(strength=1e-2), count=20000, passes=3000)


@pytest.mark.parametrize("density", KINDS.values(), ids=KINDS)
def test_the_second_derivatives_are_those_of_the_slopes(density):
    p, (d, k) = problem(density=density).counted(), (7, 4)
    rng, X = np.random.default_rng(1), problem(density=density).X.forward(np.eye(d))
    s = rng.random((p.n, k)) * (rng.random((p.n, k)) < 0.6)
    s[:, 0] += 0.1
    awake = ssnal_multiclass.Awake(p, p.n, 1.0, np.zeros((p.n, k)), np.zeros((p.n, k)))
    awake.s, awake.shares = s, (s > 0.0).sum(axis=1)
    H, before = np.zeros((k, d, k, d)), 0.0
    for _ in awake._add_second_derivatives(H):
        assert p.X.passes - before <= 1.0 + 1e-12
        before = p.X.passes
    D = np.einsum("ij,jl->ijl", s, np.eye(k)) - np.einsum("ij,il->ijl", s, s) / s.sum(axis=1)[:, None, None]
    expected = np.einsum("ijl,iu,iv->julv", D, X, X).reshape(d * k, d * k)
    np.testing.assert_allclose(np.triu(H.reshape(d * k, d * k)), np.triu(expected), atol=1e-10)
    stored, shares = (X != 0.0).sum(axis=1), np.where(awake.shares > 1, awake.shares, 0)
    size = shares * np.where(2 * stored >= d, d, stored)
    counted = (np.where(shares > 0, stored, 0) + size * (size + 1) / (2.0 * k)).sum() / (2.0 * p.X.nnz)
    assert p.X.passes == pytest.approx(counted, rel=1e-12)


def test_rows_far_from_their_kinks_are_not_read():
    """The last stages of a support vector machine read copies of the rows at the margin, and once all outputs."""
    p = problem(strength=1e-2, n=4000)
    passes = [it.passes for it in iterates(p, 600)]
    late = np.diff(passes[300:])
    assert late.min() >= 0.0 and np.median(late) < 0.1 and late.max() <= 1.0 + 1e-9


def test_it_is_near_before_it_has_read_all_samples_four_times():
    p = problem(n=20000)
    optimum = min(p.primal(it.w) for it in iterates(p, 600))
    near = next(it.passes for it in iterates(p, 600) if p.primal(it.w) - optimum <= 1e-2 * p.primal(np.zeros(p.shape)))
    assert near <= 4.0


@pytest.mark.parametrize("reduction", ["proximal_point", "adapt_reg"])
def test_without_a_regularizer_inside_of_a_reduction(reduction):
    p = problem(n=300)
    p = Problem(p.X.array, p.y, "max_of_hinge", "none")
    optimum = solve(p, "highs", seconds=20).trace["primal"].iloc[-1]
    found = solve(p, "ssnal_multiclass", reduction=reduction, passes=900).trace["primal"].iloc[-1]
    assert found - optimum <= 1e-8 * p.primal(np.zeros(p.shape))


def test_a_start_has_its_b_for_a_center():
    """At the optimum the first stages find that nothing moves."""
    p = problem()
    end = [(it.w.copy(), it.b.copy()) for it in iterates(p, 3000) if it.b is not None][-1]
    gaps = [p.primal(it.w) - p.certificate(it.b)[0] for it in iterates(p, 12, Iterate(*end)) if it.b is not None]
    assert max(gaps) <= 1e-11


def test_where_all_is_zero():
    p = Problem(csr_array((4, 3)), np.array([0.0, 1.0, 2.0, 1.0]), "max_of_hinge", {"name": "l2", "strength": 1e-3})
    assert reaches(1e-15, p, count=300)


def test_large_models_are_refused(monkeypatch):
    monkeypatch.setattr("rrmbench.solvers.second_order.growing.LARGEST", 27)
    with pytest.raises(RrmbenchError, match="ssnal_multiclass: found a model of 7 x 4 entries, allowed are at most 27"):
        list(iterates(problem(), 1))
