"""HiGHS on problems whose losses and regularizers are polyhedral: there a gap of 1e-9 is a proof of all of it."""

from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from lab import make_lab, rows  # noqa: F401
from oracles import L1

import rrmbench
from rrmbench import registry
from rrmbench.bench import ascents, reference
from rrmbench.bench.ascents import ascend_by_program, methods_for
from rrmbench.bench.store import Experiment
from rrmbench.errors import RrmbenchError
from rrmbench.extending.scalar_losses import linear_between_kinks
from rrmbench.extending.verdicts import Broken
from rrmbench.numerics.random import Rng
from rrmbench.problem.operators import Flattened
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import traits

LOSSES = [name for name in oracles.scalar_losses() if "piecewise_linear" in traits(oracles.example("loss", name), L1)]
BOUNDED = [
    {"name": "l1", "strength": 0.02},
    {"name": "l1", "strength": 0.02, "domain": {"box": [-0.1, 0.2]}},
    {"name": "l1", "strength": 0.02, "domain": {"box": [0.1, 0.6]}},
    {"name": "none", "domain": {"box": [-0.6, -0.1]}},
    {"name": "box", "lower": -0.3, "upper": 0.3},
    {"name": "linf_norm", "strength": 0.05},
]
METHODS = ["ipm", "simplex"]


def last(problem, **parameters):
    """The last iterate, and how many there were."""
    iterates = list(registry.build_solver({"name": "highs", **parameters})(problem, None, Rng(0)))
    return iterates[-1], len(iterates)


@pytest.mark.parametrize("loss", LOSSES)
def test_between_its_kinks_a_loss_is_linear(loss):
    phi = oracles.loss_of(loss)
    y = oracles.labels(loss, 5.0 * np.random.default_rng(0).standard_normal(40))
    assert phi.kinks(y).shape[0] == len(y)
    for label in y:
        linear_between_kinks(phi, label)


@pytest.mark.parametrize(
    ("wrong", "says"), [([0.5], "not linear"), ([1.0, 3.0], "does not bend"), ([3, 1], "ascending")]
)
def test_wrong_kinks_are_found(wrong, says):
    hinge = oracles.loss_of("hinge")
    phi = SimpleNamespace(value=hinge.value, kinks=lambda y: np.array([wrong]))
    with pytest.raises(Broken, match=says):
        linear_between_kinks(phi, 1.0)


@pytest.mark.core(3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bias", ["", "free_bias", "minimized_bias"])
@pytest.mark.parametrize("psi", BOUNDED, ids=lambda psi: "-".join(map(str, psi.values())))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_closes(loss, psi, bias, method):
    X, y = oracles.data(60, 8, 0.6, 0, loss)
    if bias == "free_bias":
        X = np.hstack([X, np.ones((60, 1))])
    p = Problem(X, y, oracles.example("loss", loss), psi, **({bias: True} if bias else {}))
    x, count = last(p, method=method)
    assert count == 2 and np.isnan(x.passes) and x.restarted
    assert -1e-12 <= p.gap(x.w, x.b) <= 1e-9 < p.primal(p.start()) - p.primal(x.w)


MARGINS = "max_of_hinge", {"name": "hinge", "budget": 45.5}, {"name": "hinge", "budget": 100}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("psi", [*BOUNDED, {"name": "l1inf", "strength": 0.02}], ids=lambda psi: psi["name"])
@pytest.mark.parametrize("loss", MARGINS, ids=str)
def test_losses_that_know_their_parts(loss, psi, bias):
    """Classes share the multipliers of a sample, and all samples share a budget; 100 for 60 samples is no limit."""
    if psi["name"] == "l1inf" and loss != "max_of_hinge":
        pytest.skip("the model is no matrix")
    X, y = oracles.data(60, 8, 0.6, 0, loss if loss == "max_of_hinge" else "hinge")
    p = Problem(np.hstack([X, np.ones((60, 1))]), y, loss, psi, free_bias=bias)
    x, _ = last(p)
    assert -1e-12 <= p.gap(x.w, x.b) <= 1e-9 < p.primal(p.start()) - p.primal(x.w)
    assert len(methods_for(p, 15.0)) > 1
    assert methods_for(p, 15.0)[0] is ascend_by_program


def of_tasks(loss, **psi):
    """A problem of 5 features and 4 tasks: sample i has the features of task t in the columns j k + t."""
    rng, n, d, k = np.random.default_rng(0), 90, 5, 4
    X, task = rng.standard_normal((n, d)), rng.integers(0, k, n)
    columns = (np.arange(d) * k + task[:, None]).astype(np.uint32)
    wide = Flattened(X.reshape(-1), columns.reshape(-1), np.arange(0, n * d + 1, d, dtype=np.int32), (n, d * k), (d, k))
    return Problem(wide, X[:, 0] + rng.standard_normal(n), loss, {"strength": 0.03, **psi})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("psi", ["l1", "l1inf", "linf_norm"])
def test_models_that_are_matrices(psi, method):
    p = of_tasks("absolute", name=psi)
    x, _ = last(p, method=method)
    assert x.w.shape == (5, 4)
    assert -1e-12 <= p.gap(x.w, x.b) <= 1e-9 < p.primal(p.start()) - p.primal(x.w)


@pytest.mark.core(4)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("of_y", [1e-50, 1e-6, 1e6, 1e50])
@pytest.mark.parametrize("of_X", [1e-50, 1e-6, 1e6, 1e50])
def test_no_unit_of_measurement_matters(of_X, of_y, bias):
    X, y = oracles.data(60, 8, 0.6)
    p = Problem(of_X * X, of_y * y, "absolute", {"name": "l1", "strength": 1e-3 * of_X}, minimized_bias=bias)
    x, _ = last(p)
    assert 1e-6 < 1.0 - p.primal(x.w) / p.primal(p.start()) and p.gap(x.w, x.b) <= 1e-9 * p.primal(x.w)


def test_without_any_regularizer_it_finds_the_least_absolute_deviations():
    """Nothing is certified, as v has to vanish to the last digit; w interpolates d samples."""
    X, y = oracles.data(50, 6)
    x, _ = last(Problem(X, y, "absolute", "none"))
    assert np.sum(np.abs(X @ x.w - y) < 1e-9) == 6
    p = Problem(X, y, "absolute", {"name": "l1", "strength": 1e-6})
    assert p.primal(x.w) - p.dual_value(last(p)[0].b) < 1e-9  # a vertex stays optimal under small changes


@pytest.mark.parametrize("psi", [{"name": "l2", "strength": 0.1}, {"name": "l1", "strength": 0.1}])
def test_problems_that_a_reduction_made_smooth_or_strongly_convex_are_refused(psi):
    p = oracles.problem("hinge", psi)
    with pytest.raises(RrmbenchError, match=r"not piecewise_linear|not polyhedral"):
        last(p.smoothed(0.1))
    with pytest.raises(RrmbenchError, match="not polyhedral"):
        last(p.regularized(0.1))


@pytest.mark.parametrize("bias", ["free_bias", "minimized_bias"])
def test_a_square_that_a_bias_leaves_alone_is_no_linear_program(bias):
    """With a free bias Psi is not strongly convex, in spite of its l2."""
    X, y = oracles.data(40, 5, loss="hinge")
    p = Problem(np.hstack([X, np.ones((40, 1))]), y, "hinge", {"name": "l2", "strength": 0.1}, **{bias: True})
    with pytest.raises(RrmbenchError, match="not polyhedral"):
        last(p)


def test_out_of_time_it_ends_at_its_start():
    p = oracles.problem("absolute", {"name": "l1", "strength": 0.01}, n=400, d=100)
    x, count = last(p, time_limit=1e-9)
    assert count == 1 and not x.w.any()


def test_large_programs_are_left_to_a_first_order_method():
    parts = {"dataset": {"name": "a9a"}, "loss": {"name": "hinge"}, "regularizer": L1}
    names = [[spec["solver"]["name"] for spec in reference.specs(parts, 1.0, entries=size)] for size in (10**7, 10**8)]
    assert names == [["highs", "pdprox_restarted"], ["pdprox_restarted"]]


def solvers_of_references(lab):
    """The solvers of the stored runs, but for the one that the configuration names."""
    experiment = Experiment(lab.out / "toy")
    return sorted(
        (result.spec["solver"]["name"], result.status)
        for result in map(experiment.read, experiment.run_ids())
        if result.spec["solver"]["name"] != "pdprox_dual"
    )


def test_references_of_linear_programs(lab):
    """HiGHS pins the optimum; where it is out of time, the others have their turn, and none a second one."""
    keys = {"loss": "hinge", "regularizer": {"name": "l1", "strength": 1e-3}, "solver": "pdprox_dual"}
    assert lab.run(lab.config(**keys, reference={"seconds": 20})).code == 0
    assert solvers_of_references(lab) == [("highs", "done")]
    (problem,) = (lab.out / "toy" / "references").iterdir()
    found = Experiment(lab.out / "toy").reference(problem.stem)
    assert found["primal"] - found["dual"] <= 1e-12
    lab.out = lab.folder / "hurried"
    for _ in range(2):
        assert lab.run(lab.config(**keys, reference={"seconds": 1e-9})).code == 0
        assert solvers_of_references(lab) == [(name, "done") for name in ("clarabel", "highs", "pdprox_restarted")]


def test_an_optimum_that_is_tiny_beside_the_start_needs_no_second_method(lab):
    """P* = 6e-8 P(0), and HiGHS leaves 1e-14 P(0), which is more than 1e-9 P*."""
    (lab.folder / "toy.txt").write_text(rows(d=40))
    keys = {"loss": "hinge", "regularizer": {"name": "l1", "strength": 1e-8}, "solver": "pdprox_dual"}
    assert lab.run(lab.config(**keys, reference={"seconds": 20})).code == 0
    assert solvers_of_references(lab) == [("highs", "done")]


@pytest.mark.exhaustive
def test_references_of_classes(lab):
    """The size of a program is that of all outputs together."""
    keys = {"loss": "max_of_hinge", "regularizer": {"name": "linf_norm", "strength": 1e-3}, "solver": "pdprox_dual"}
    assert lab.run(lab.config(**keys, reference={"seconds": 20})).code == 0
    assert solvers_of_references(lab) == [("highs", "done")]


def test_references_of_smooth_losses_and_norms(lab):
    """A proximal Newton method has its turn first; where it is out of time, Pdprox and accelerated gradients."""
    keys = {"loss": "logistic", "regularizer": {"name": "l2_norm", "strength": 1e-3}, "solver": "pdprox_dual"}
    assert lab.run(lab.config(**keys, reference={"seconds": 20})).code == 0
    assert solvers_of_references(lab) == [("prox_newton", "done")]
    lab.out = lab.folder / "hurried"
    assert lab.run(lab.config(**keys, reference={"seconds": 1e-9})).code == 0
    assert solvers_of_references(lab) == [("agm_ef", "done"), ("pdprox_restarted", "done"), ("prox_newton", "done")]


def test_small_programs_bound_runs_of_other_methods_larger_ones_long_runs(monkeypatch):
    p = oracles.problem("hinge", {"name": "l1", "strength": 0.01}, n=60)
    assert methods_for(p, 15.0)[0] is ascend_by_program
    other = oracles.problem("squared_hinge", {"name": "l1", "strength": 0.01}, n=60)
    for few in methods_for(p, 14.0), methods_for(other, 500.0), methods_for(p.regularized(0.1), 500.0):
        assert few and ascend_by_program not in few
    for entries, passes, taken in (1.5e5, 15.0, True), (1e6, 499.0, False), (1e6, 500.0, True), (1e6 + 1, 1e9, False):
        with monkeypatch.context() as patch:
            patch.setattr(ascents.highs, "entries", lambda problem, entries=entries: entries)
            assert (ascend_by_program in methods_for(p, passes)) == taken
    start = p.start(), np.zeros(p.output_shape)
    (b, model, counted), *others = ascend_by_program(p, *start, 500.0)
    x, _ = last(p)
    assert not others and counted == 0.0 and p.primal(model) == pytest.approx(p.primal(x.w), abs=1e-9)
    assert p.primal(x.w) - 1e-9 <= p.dual_value(b) <= p.primal(x.w) + 1e-12
    long = rrmbench.solve(p, {"name": "subgradient", "step_scale": 0.1}, passes=1000)
    assert long.gap == pytest.approx(p.primal(long.w) - p.primal(x.w), abs=1e-9) and long.gap > 1e-6


def test_an_optimum_is_pinned_to_a_billionth_and_looked_for_to_a_tenth_of_it():
    for primal, size in (-2.0, 0.0), (-2.0, 1.0), (1e-12, 2.0), (-1e-3, 2.0):
        assert reference.pinned({"primal": primal, "dual": primal - 1.9e-9}, size)
        assert not reference.pinned({"primal": primal, "dual": primal - 2.1e-9}, size)
    assert not reference.pinned({"primal": 2.0, "dual": -np.inf}, 2.0) and not reference.pinned(None, 2.0)
    parts = {"dataset": {"name": "a9a"}, "loss": {"name": "hinge"}, "regularizer": {"name": "l2", "strength": 0.1}}
    assert {spec["stop"]["relative_gap"] for spec in reference.specs(parts, 60.0)} == {1e-10}


@pytest.mark.parametrize("method", ["ipm", "simplex"])
@pytest.mark.parametrize("loss", ["absolute", {"name": "epsilon_insensitive", "epsilon": 0.1}])
def test_columns_of_any_scale(loss, method):
    """Without a regularizer P* does not depend on it; entries below 1e-9 of the greatest are not 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
    if loss != "absolute":
        loss = loss | {"epsilon": 1e6 * loss["epsilon"]}
    least = []
    for scales, unit in (np.ones(8), 1e6), (np.logspace(-6, 6, 8), 1e6):
        problem = Problem(X * scales, unit * y, loss, "none")
        least.append(rrmbench.solve(problem, {"name": "highs", "method": method}).trace["primal"].iloc[-1])
    assert least[1] == pytest.approx(least[0], rel=1e-10)
