"""Clarabel on losses of linear pieces or squares, with regularizers of pieces, norms and squares: all digits."""

from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from lab import make_lab  # noqa: F401
from oracles import L1
from test_solvers_highs import BOUNDED, MARGINS, of_tasks, solvers_of_references

import rrmbench
from rrmbench import registry
from rrmbench.bench import reference
from rrmbench.bench.ascents import ascend_by_cones, methods_for
from rrmbench.bench.store import Experiment
from rrmbench.errors import RrmbenchError
from rrmbench.extending.verdicts import Broken
from rrmbench.extending.whole_regularizers import dual_balls_are_where_the_conjugate_is_zero
from rrmbench.numerics.random import Rng
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_regularizer, traits
from rrmbench.solvers.peers.clarabel import UNITS, fits

LOSSES = [
    name
    for name in oracles.scalar_losses()
    if not traits(oracles.example("loss", name), L1).isdisjoint({"piecewise_linear", "Squared"})
]
GROUPS = {"name": "group_lasso", "strength": 0.02, "groups": 3}
NORM = {"name": "l2_norm", "strength": 0.05}
PSI = [*BOUNDED, {"name": "l2", "strength": 0.02}, {"name": "elastic_net", "l1": 0.02, "l2": 0.1}, NORM, GROUPS]


def calls(problem, **parameters):
    """The iterates after the start, one for each call; the first one is enough for most."""
    start, *others = registry.build_solver({"name": "clarabel", **parameters})(problem, None, Rng(0))
    assert np.isnan(start.passes)
    assert all(np.isnan(x.passes) and x.restarted for x in others)
    return others


@pytest.mark.core(5)
@pytest.mark.parametrize("bias", ["", "free_bias", "minimized_bias"])
@pytest.mark.parametrize("psi", PSI, ids=lambda psi: "-".join(map(str, psi.values())))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_closes(loss, psi, bias):
    X, y = oracles.data(60, 8, 0.6, 0, loss)
    if bias == "free_bias":
        X = np.hstack([X, np.ones((60, 1))])
    p = Problem(X, y, oracles.example("loss", loss), psi, **({bias: True} if bias else {}))
    found = calls(p)
    assert len(found) == len(UNITS)
    gaps = [p.gap(x.w, x.b) for x in found]
    assert min(gaps) >= -1e-12
    assert min(gaps) <= 1e-9 < p.primal(p.start()) - p.primal(found[0].w)


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("psi", ["l21", "l2_norm", "l1inf", "group_lasso", "l2"])
def test_models_that_are_matrices(psi, loss):
    groups = {"groups": 3} if psi == "group_lasso" else {}
    p = of_tasks(loss, name=psi, **groups)
    found = calls(p)
    assert all(x.w.shape == (5, 4) for x in found)
    assert -1e-12 <= min(p.gap(x.w, x.b) for x in found) <= 1e-9 < p.primal(p.start()) - p.primal(found[0].w)


@pytest.mark.core(8)
@pytest.mark.parametrize("psi", [L1, NORM, GROUPS, {"name": "l2", "strength": 0.02}], ids=lambda psi: psi["name"])
@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("of_y", [1e-50, 1e-6, 1e6, 1e50])
@pytest.mark.parametrize("of_X", [1e-50, 1e-6, 1e6, 1e50])
def test_no_unit_of_measurement_matters(of_X, of_y, loss, psi):
    X, y = oracles.data(60, 8, 0.6)
    of_P = of_y if loss == "absolute" else of_y * of_y
    of_w = of_y / of_X
    strength = psi["strength"] * (of_P / (of_w * of_w) if psi["name"] == "l2" else of_P / of_w)
    if not 1e-250 < strength < 1e250:
        pytest.skip("the strength is beyond the range of numbers")
    p = Problem(of_X * X, of_y * y, loss, psi | {"strength": strength})
    x, first = calls(p)[0], p.primal(p.start())
    assert 1e-3 < 1.0 - p.primal(x.w) / first
    assert abs(p.gap(x.w, x.b)) <= 1e-9 * first


@pytest.mark.parametrize("psi", ["l2", "l2_norm", "l21"])
@pytest.mark.parametrize("loss", MARGINS, ids=str)
def test_losses_that_know_their_parts(loss, psi):
    if psi == "l21" and loss != "max_of_hinge":
        pytest.skip("the model is no matrix")
    X, y = oracles.data(60, 8, 0.6, 0, loss if loss == "max_of_hinge" else "hinge")
    p = Problem(X, y, loss, {"name": psi, "strength": 0.02})
    found = calls(p)
    gaps = [p.gap(x.w, x.b) for x in found]
    assert min(gaps) >= -1e-12
    assert min(gaps) <= 1e-9 < p.primal(p.start()) - p.primal(found[0].w)


@pytest.mark.parametrize("strength", [2e-6, 1e-2])
@pytest.mark.parametrize("psi", [{"name": "squared_group", "groups": 3}, {"name": "norm_power", "norm": "l1"}], ids=str)
@pytest.mark.parametrize("loss", ["hinge", "squared", MARGINS[1]], ids=str)
def test_squares_of_norms(loss, psi, strength):
    """Columns of different scales, and the first of the calls, since what it leaves depends on the unit of t."""
    X, y = oracles.data(40, 10, 0.9, 0, "squared" if loss == "squared" else "hinge")
    p = Problem(X * np.logspace(-2.0, 2.0, 10), y, loss, psi | {"strength": strength})
    x, first = calls(p)[0], p.primal(p.start())
    assert -1e-12 <= p.gap(x.w, x.b) / first <= 1e-9 < 1.0 - p.primal(x.w) / first


def test_squares_of_norms_of_matrices_and_powers_that_are_none():
    X, y = oracles.data(60, 8, 0.6, 0, "max_of_hinge")
    for psi in {"name": "squared_group"}, {"name": "norm_power", "norm": "l21"}:
        p = Problem(X, y, "max_of_hinge", psi | {"strength": 1e-3})
        x = calls(p)[0]
        assert -1e-12 <= p.gap(x.w, x.b) <= 1e-9 < p.primal(p.start()) - p.primal(x.w)
    other = {"name": "norm_power", "norm": "l1", "strength": 0.1, "power": 1.5}
    assert "conic" in traits("hinge", other | {"power": 2.0})
    assert "conic" not in traits("hinge", other)


def test_a_square_around_a_centre_that_a_reduction_adds_is_known_smoothing_is_not():
    p = oracles.problem("hinge", NORM)
    for stage in (p.regularized(0.1), p.regularized(0.1, np.linspace(-2.0, 3.0, p.shape[0]))):
        x = calls(stage)[0]
        assert -1e-12 <= stage.gap(x.w, x.b) <= 1e-9 < stage.primal(stage.start()) - stage.primal(x.w)
    with pytest.raises(RrmbenchError, match="not piecewise_linear or Squared"):
        calls(p.smoothed(0.1))


def test_a_call_that_rounding_spoils_does_not_take_the_model_of_a_better_one():
    """Columns whose scales differ by 1e5: the first call ends far from the optimum, the last not nearest."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((26, 10)) * np.logspace(-2.5, 3.0, 10)
    y = X @ rng.standard_normal(10) + rng.standard_normal(26)
    X = np.hstack([X, np.ones((26, 1))])
    for strength in (1e-6, 1e-5, 1e-4):
        p = Problem(X, y, "absolute", {"name": "l1", "strength": strength}, free_bias=True)
        values = [p.primal(x.w) for x in calls(p)]
        assert values == sorted(values, reverse=True)


def test_out_of_time_it_ends_at_its_start():
    assert calls(oracles.problem("absolute", GROUPS, n=300, d=60), time_limit=1e-9) == []


def test_balls_of_regularizers_are_those_of_their_conjugates():
    found = set()
    for name in oracles.names("regularizer"):
        psi = over_coordinates(build_regularizer(oracles.example("regularizer", name))[0])
        if hasattr(psi.psi, "dual_balls"):
            found.add(name)
            for seed in range(20):
                v = np.random.default_rng(seed).standard_normal((4, 3)) * 10.0 ** (seed / 5.0 - 2.0)
                dual_balls_are_where_the_conjugate_is_zero(psi, v)
    assert found == {"group_lasso", "l2_norm", "l21"}
    wrong = SimpleNamespace(dual_balls=lambda shape: (np.arange(12) % 3, np.full(3, 0.3)))
    rows = over_coordinates(build_regularizer({"name": "l21", "strength": 0.3})[0])
    with pytest.raises(Broken, match="dual_balls ask for"):
        dual_balls_are_where_the_conjugate_is_zero(SimpleNamespace(psi=wrong, dual_scaling=rows.dual_scaling), v)


def test_large_problems_and_those_it_does_not_know_are_left_to_others():
    known = frozenset({"conic", "Squared"})
    assert fits(known, 10**5, 100, 10**7)
    assert not fits(known, 10**5, 100, 10**8)
    assert not fits(known, 10**4, 10**4, 10**4)
    assert not fits(frozenset({"conic"}), 10, 10, 10)


def test_references_of_norms(lab):
    """Clarabel pins the optimum; where it is out of time, Pdprox has its turn."""
    keys = {"loss": "hinge", "regularizer": {"name": "l2_norm", "strength": 1e-2}, "solver": "pdprox_dual"}
    assert lab.run(lab.config(**keys, reference={"seconds": 20})).code == 0
    assert solvers_of_references(lab) == [("clarabel", "done")]
    (problem,) = (lab.out / "toy" / "references").iterdir()
    found = Experiment(lab.out / "toy").reference(problem.stem)
    assert found["primal"] - found["dual"] <= 1e-10
    lab.out = lab.folder / "hurried"
    assert lab.run(lab.config(**keys, reference={"seconds": 1e-9})).code == 0
    assert solvers_of_references(lab) == [("clarabel", "done"), ("pdprox_restarted", "done")]


def test_references_of_large_problems_with_norms_are_left_to_a_first_order_method():
    parts = {"dataset": {"name": "a9a"}, "loss": {"name": "hinge"}, "regularizer": NORM}
    for shape, entries, names in (
        ((32561, 123), 451592, ["clarabel", "pdprox_restarted"]),
        ((20000, 40000), 10**6, ["pdprox_restarted"]),
        (None, 451592, ["pdprox_restarted"]),
    ):
        found = [spec["solver"]["name"] for spec in reference.specs(parts, 1.0, shape, entries)]
        assert found == names


def test_it_bounds_runs_of_other_methods_where_data_are_small():
    p = oracles.problem("absolute", NORM, n=60)
    assert methods_for(p, 15.0)[0] is ascend_by_cones
    for other, passes in ((p, 14.0), (oracles.problem("absolute", {"name": "l2", "strength": 0.1}, n=60), 500.0)):
        assert ascend_by_cones not in methods_for(other, passes)
    b, model, counted = next(ascend_by_cones(p, p.start(), np.zeros(p.output_shape), 15.0))
    assert counted == 0.0
    assert -1e-12 <= p.gap(model, b) <= 1e-9
    long = rrmbench.solve(p, {"name": "subgradient", "step_scale": 0.1}, passes=100)
    assert long.gap == pytest.approx(p.primal(long.w) - p.primal(model), abs=1e-8)
    assert long.gap > 1e-6
