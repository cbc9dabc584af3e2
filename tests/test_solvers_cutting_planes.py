"""Cutting planes: they end at the optimum of losses with finitely many pieces, whatever Psi and the start are."""

from itertools import islice

import numpy as np
import oracles
import pytest

import rrmbench
from rrmbench import registry
from rrmbench.bench import reference
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.solvers.batch import cutting_planes

pytestmark = pytest.mark.usefixtures("own_bounds")

L2 = {"name": "l2", "strength": 0.05}
SIMPLEX = {"name": "entropy_simplex", "strength": 0.01, "cap": 0.2}


def chains():
    rng = np.random.default_rng(0)
    numbers = np.repeat(np.arange(6), 3)
    return rng.normal(size=(18, 3)), np.column_stack([rng.integers(0, 3, 18), numbers])


def problem(name):
    if name == "m3n":
        return Problem(*chains(), "m3n", L2)
    X, y = oracles.data(30, 4, loss="f1")
    return Problem(X, y, name, SIMPLEX if name == "max_row" else L2)


@pytest.mark.parametrize("name", ["f1", pytest.param("m3n", marks=pytest.mark.exhaustive), "max_row"])
def test_the_gap_closes_and_the_dual_variable_is_one(name):
    p = problem(name)
    found = rrmbench.solve(p, "cutting_planes", relative_gap=1e-11, passes=150)
    assert found.reason == "relative_gap"
    assert -1e-13 <= p.gap(found.w, found.b)
    necessary = getattr(p.loss, "necessary", None)
    assert necessary is None or necessary(found.b, p.y) is None


@pytest.mark.parametrize("name", ["f1", "m3n", "max_row"])
def test_its_objectives_are_those_of_its_model_and_its_dual_variable(name):
    p = problem(name)
    found = list(islice(registry.build_solver("cutting_planes")(p, None, Rng(0)), 20))
    assert found[0].objectives is None
    for it in islice(registry.build_solver("cutting_planes")(p, None, Rng(0)), 1, 20):
        np.testing.assert_allclose(it.objectives(), (p.primal(it.w), p.dual_value(it.b)), rtol=1e-12, atol=1e-13)


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("loss", "regularizer", "free_bias", "left"),
    [
        ("f1", {"name": "l1", "strength": 0.02}, False, 1e-9),
        ("f1", {"name": "linf_norm", "strength": 0.02}, False, 1e-9),
        ("f1", L2, True, 1e-9),
        ("max_of_hinge", {"name": "l21", "strength": 0.02}, False, 0.1),
    ],
)
def test_without_strong_convexity_the_losses_stay_as_they_are(loss, regularizer, free_bias, left):
    """It needs no smooth losses, and smoothed ones have no pieces that could be met."""
    X, y = oracles.data(60, 6, loss=loss)
    p = Problem(np.hstack([X, np.ones((60, 1))]) if free_bias else X, y, loss, regularizer, free_bias=free_bias)
    end = next(it for it in registry.build_solver("cutting_planes", "auto")(p, None, Rng(0)) if it.passes >= 400)
    assert p.gap(end.w, end.b) <= left * p.primal(end.w)


def test_an_added_square_with_a_centre_and_the_dual_variable_of_a_start():
    p = problem("f1")
    center = np.random.default_rng(1).normal(size=p.shape)
    stage = p.regularized(0.3, center)
    for changed in stage, Problem(p.X, p.y, p.loss, {"name": "l1", "strength": 0.02}, kappa=0.3, center=center):
        its = islice(registry.build_solver("cutting_planes")(changed, None, Rng(0)), 100)
        end = max(its, key=lambda it: it.passes)
        assert -1e-12 <= changed.gap(end.w, end.b) <= 1e-9
        again = list(islice(registry.build_solver("cutting_planes")(changed, end, Rng(0)), 3))
        assert changed.gap(again[-1].w, again[-1].b) <= 1e-9


@pytest.mark.parametrize("seed", [0, 9])
def test_at_the_sphere_of_a_ball_errors_of_the_curvature_end_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), rng.normal(size=(8, 2))
    p = Problem(X, y, "l2_multi", {"name": "l2", "strength": 0.01, "domain": {"ball": 0.02}})
    ends = [list(islice(registry.build_solver("cutting_planes")(p, None, Rng(0)), 40))[-1]]
    ends += [list(islice(registry.build_solver("pdprox_restarted")(p, None, Rng(0)), 400))[-1]]
    assert p.gap(ends[0].w, ends[0].b) <= 1e-12
    assert p.primal(ends[0].w) == pytest.approx(p.primal(ends[1].w), rel=1e-9)


@pytest.mark.parametrize(
    "loss", ["hinge", "ordinal_hinge", "epsilon_insensitive", {"name": "quantile", "a": 0.3}], ids=str
)
def test_rounding_carries_no_mixture_of_planes_out_of_the_domain(loss):
    """Weights of planes sum to 1 up to rounding; D is -inf at 1 + 1e-16 times a vertex, so that no gap was known."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(37, 6)), rng.integers(1, 3, size=37).astype(float)
    p = Problem(X, 2.0 * y - 3.0 if loss == "hinge" else y, loss, {"name": "l2", "strength": 0.01})
    its = islice(registry.build_solver("cutting_planes")(p, None, Rng(0)), 1, 300)
    assert all(np.isfinite(p.mean_conjugate(it.b)) for it in its)


def test_a_plane_is_kept_once(monkeypatch):
    """One sample of f1 has two planes: it met them again and again, and took seconds to weigh them."""
    kept = []
    add = cutting_planes.Planes.add

    def recorded(planes, b):
        add(planes, b)
        kept.append(planes._c.size)

    monkeypatch.setattr(cutting_planes.Planes, "add", recorded)
    X = np.random.default_rng(0).normal(size=(1, 6))
    p = Problem(X, np.ones(1), "f1", {"name": "elastic_net", "l1": 1e-5, "l2": 1e-7, "domain": {"ball": 3.0}})
    its = list(islice(registry.build_solver("cutting_planes")(p, None, Rng(0)), 200))
    assert max(kept) <= 3
    assert p.gap(its[-1].w, its[-1].b) <= 1e-3 * p.primal(its[-1].w)


def test_the_curvature_of_an_entropy_is_that_of_differences():
    p, rng = problem("max_row"), np.random.default_rng(2)
    psi, v = p.regularizer, 0.02 * rng.normal(size=p.shape)
    way, h = rng.normal(size=p.shape), 1e-7
    w = psi.conjugate_point(v)
    x = psi.conjugate_curvature(w)
    assert 0.0 < np.mean(x == 0.0) < 1.0  # some are at the cap
    difference = (psi.conjugate_point(v + h * way) - psi.conjugate_point(v - h * way)) / (2.0 * h)
    np.testing.assert_allclose(x * way - x * (x @ way) / x.sum(), difference, atol=1e-6 * np.abs(difference).max())


@pytest.mark.parametrize(
    ("loss", "regularizer", "solver"),
    [
        ("f1", L2, "cutting_planes"),
        ("f1", {"name": "l1", "strength": 0.1}, "cutting_planes"),
        ("m3n", {"name": "elastic_net", "l1": 0.1, "l2": 0.1}, "agm_ef"),
        ("max_row", SIMPLEX, "cutting_planes"),
        ("crf", {"name": "l1", "strength": 0.1}, "agm_ef"),
        ("hinge", L2, "apcg_shrinking"),
        ("max_of_hinge", L2, "apcg_shrinking"),
        ("multinomial_logistic", L2, "newton_cg"),
        ("squared_multi", {"name": "l21", "strength": 0.1}, "working_sets"),
        ("logistic", {"name": "elastic_net", "l1": 0.1, "l2": 0.1}, "apcg"),
        ("hinge", {"name": "l1", "strength": 0.1}, "highs"),
        ("hinge", {"name": "l2_norm", "strength": 0.1}, "pdprox_restarted"),
    ],
)
def test_the_solver_of_a_reference(loss, regularizer, solver):
    parts = {"dataset": {"name": "synthetic_sparse"}, "loss": {"name": loss}, "regularizer": regularizer}
    spec = reference.specs(parts, 1.0)[0]
    assert spec["solver"]["name"] == solver
    assert registry.build_solver(spec["solver"], spec["reduction"]) is not None


def test_references_with_weak_norms_lower_the_square_after_every_stage():
    """A stage takes the planes that it takes, whatever its square is; the default lowers it after short ones alone."""
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((120, 15)), rng.standard_normal(15)
    y, regularizer = np.sign(X @ w + 2.0 * rng.standard_normal(120)), {"name": "l1", "strength": 1e-4}
    p, widths = Problem(X, y, "f1", regularizer), []
    parts = {"dataset": {"name": "synthetic_sparse"}, "loss": {"name": "f1"}, "regularizer": regularizer}
    (spec,) = reference.specs(parts, 1.0)
    for reduction in spec["reduction"], "auto":
        iterates = registry.build_solver(spec["solver"], reduction)(p, None, Rng(0))
        end = next(it for it in iterates if it.passes >= 300)
        widths.append((p.primal(end.w) - p.certificate(end.b)[0]) / p.primal(p.start()))
    assert widths[0] <= 1e-8 < 1e-5 < widths[1]
