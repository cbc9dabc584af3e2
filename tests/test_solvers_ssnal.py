"""The method of multipliers by semismooth Newton steps: its stages, its rest, its passes, its optimum."""

from itertools import islice

import numpy as np
import oracles
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rrmbench import Problem, registry, solve
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.traits import traits
from rrmbench.solvers.second_order import gram, ssnal
from rrmbench.subproblems.units import outcome

pytestmark = pytest.mark.usefixtures("own_bounds")

L2 = {"name": "l2", "strength": 1e-3}
NEEDS = registry.lookup("solver", "ssnal").needs
LOSSES = [name for name in oracles.scalar_losses() if traits(oracles.example("loss", name), L2) >= NEEDS]


def iterates(p, count=4000, start=None, seed=0, **parameters):
    return islice(registry.build_solver({"name": "ssnal", **parameters})(p, start, Rng(seed)), count)


def reaches(gap, p, passes=300, **how):
    return oracles.reaches(gap, p, iterates(p, **how), passes)


def test_losses_of_linear_pieces_on_single_outputs_are_its_own():
    assert {"hinge", "absolute", "quantile", "epsilon_insensitive", "ordinal_hinge"} <= set(LOSSES)


@pytest.mark.core(2)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("strength", [1e-1, 1e-4, 1e-7])
def test_the_optimum_to_rounding_whatever_the_condition(loss, strength):
    """From 0, by stages, and from far away."""
    p = oracles.problem(loss, {"name": "l2", "strength": strength}, n=700, d=9)
    assert reaches(1e-12, p)
    assert reaches(1e-12, p, start=Iterate(np.full(9, 50.0)))


@given(
    n=st.integers(1, 60), d=st.integers(1, 8), seed=st.integers(0, 10**6),
    strength=st.floats(-6.0, 1.0), kappa=st.sampled_from([0.0, 0.3]), loss=st.sampled_from(LOSSES),
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_any_small_problem(n, d, seed, strength, kappa, loss):
    """Also with fewer samples than features, rows of zeros, and the square of a reduction around a centre."""
    regularizer = {"name": "l2", "strength": 10.0**strength}
    try:
        p = oracles.problem(loss, regularizer, n=n, d=d, density=0.5, seed=seed)
    except RrmbenchError:  # labels of one class
        assume(False)
    p = p.regularized(kappa, np.linspace(-1.0, 1.0, d))
    assert reaches(1e-10, p, count=20000, passes=3000)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_stage_is_a_proximal_step_of_the_dual(loss, monkeypatch):
    """b is the proximal point at X w + mu c, X^T b/n minus the gradient of Psi; two stages, the second around b."""
    monkeypatch.setattr(ssnal, "INEXACT", 1e-14)
    p = oracles.problem(loss, L2, n=300, d=6).counted()
    outputs, w, radius, X = ssnal.Outputs(p), np.zeros(6), np.inf, p.X
    for mu in 0.7, 0.2:
        c = outputs.c.copy()
        w, radius, _ = outcome(ssnal._stage(p, outputs, w, np.arange(300), mu, radius))
        z = X.forward(w)
        expected = [p.loss.dual_point(*at, mu) for at in zip(z + mu * c, p.y, strict=True)]
        np.testing.assert_allclose(outputs.z, z, atol=1e-12)
        np.testing.assert_allclose(outputs.b, expected, atol=1e-10)
        np.testing.assert_allclose(outputs.v, X.adjoint(outputs.b), atol=1e-10)
        np.testing.assert_allclose(outputs.v / 300, -1e-3 * w, atol=1e-7)
        outputs.c[:] = outputs.b


@pytest.mark.parametrize("mu", [1e-300, 1e-4, 1e4, 1e300])
def test_the_optimum_from_any_mu(mu):
    assert reaches(1e-12, oracles.problem("hinge", L2, n=200, d=5), mu=mu)


@pytest.mark.parametrize("far", [1e-3, 2.0, np.inf])
def test_whoever_rests_the_optimum_is_the_same(far, monkeypatch):
    """Also where far too many rest at first: the distance doubles until their b stay as they are."""
    monkeypatch.setattr(ssnal, "FAR", far)
    for loss in LOSSES:
        assert reaches(1e-12, oracles.problem(loss, L2, n=700, d=9))


@pytest.mark.parametrize("loss", LOSSES)
def test_its_passes_are_the_entries_that_it_reads(loss, monkeypatch):
    p, read = oracles.problem(loss, L2, n=700, d=9), [0]
    lengths = np.diff(p.X.rows.indptr)

    def renew_outputs(rows, samples, w, z, wrapped=ssnal.renew_outputs):
        read[0] += lengths[samples].sum()
        return wrapped(rows, samples, w, z)

    def update_duals(*arguments, wrapped=ssnal.update_duals):
        b = arguments[9]
        before = b.copy()
        found = wrapped(*arguments)
        read[0] += lengths[b != before].sum()
        return found

    def add_gram(X, of_columns, G, samples, weights, wrapped=gram.add_gram):
        read[0] += gram.reads_of(lengths[samples]).sum()
        return wrapped(X, of_columns, G, samples, weights)

    def add_combination(rows, samples, b, v, wrapped=ssnal.add_combination):
        read[0] += lengths[samples].sum()
        wrapped(rows, samples, b, v)

    for function in renew_outputs, update_duals, add_gram, add_combination:
        monkeypatch.setattr(ssnal, function.__name__, function)
    counts = [(it.passes, read[0]) for it in iterates(p, 200)]
    steps = np.diff([passes for passes, _ in counts])
    assert steps.min() >= 0.0 and counts[-1][0] > 10.0
    assert counts[-1][0] == pytest.approx(counts[-1][1] / (2.0 * p.X.nnz), rel=1e-12)


def test_rows_far_from_their_kinks_are_not_read():
    """The last stages of a support vector machine read the rows at the margin, and once all outputs."""
    p = oracles.problem("hinge", {"name": "l2", "strength": 1e-2}, n=4000, d=5)
    passes = [it.passes for it in iterates(p, 400)]
    late = np.diff(passes[200:])
    assert np.median(late) < 0.02 and late.max() <= 0.55


def test_it_is_near_before_it_has_read_all_samples_twice():
    p = oracles.problem("absolute", L2, n=8000, d=5)
    optimum = min(p.primal(it.w) for it in iterates(p, 400))
    near = next(it.passes for it in iterates(p, 400) if p.primal(it.w) - optimum <= 1e-2 * p.primal(np.zeros(5)))
    assert near <= 2.0


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", ["absolute", "quantile"])
def test_without_a_regularizer_inside_of_a_reduction(loss):
    """It gives its gap, so proximal stages can end; the least absolute deviations are those of a linear program."""
    p = oracles.problem(loss, "none", n=300, d=6)
    optimum = solve(p, "highs", seconds=20).trace["primal"].iloc[-1]
    for reduction in "proximal_point", "adapt_reg":
        found = solve(p, "ssnal", reduction=reduction, passes=600).trace["primal"].iloc[-1]
        assert found - optimum <= 1e-9 * p.primal(np.zeros(6))


def test_a_start_has_its_b_for_a_center():
    """At the optimum one stage finds that nothing moves."""
    p = oracles.problem("hinge", L2, n=300, d=6)
    end = [(it.w.copy(), it.b.copy()) for it in iterates(p, 3000) if it.b is not None][-1]
    gaps = [p.primal(it.w) - p.certificate(it.b)[0] for it in iterates(p, 12, Iterate(*end)) if it.b is not None]
    assert max(gaps) <= 1e-12


def test_where_all_is_zero():
    p = Problem(csr_array((4, 3)), np.array([1.0, -1.0, 1.0, 1.0]), "hinge", L2)
    assert reaches(1e-15, p, count=300)


def test_many_features_are_refused(monkeypatch):
    monkeypatch.setattr("rrmbench.solvers.second_order.growing.LARGEST", 8)
    with pytest.raises(RrmbenchError, match="ssnal: found 9 features, allowed are at most 8"):
        list(iterates(oracles.problem("hinge", L2, n=20, d=9), 1))
