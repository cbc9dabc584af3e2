"""Reductions: what the solver is given in each epoch, where the iterates go, and what it costs."""

from dataclasses import replace
from itertools import islice, pairwise
from math import inf

import numpy as np
import oracles
import pytest
from lab import make_lab  # noqa: F401

from rrmbench import registry
from rrmbench.components import Solver
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.reductions import adaptive
from rrmbench.stages import starting_values

CASES = {
    "adapt_reg": ("squared", "l1", {"sigma": 0.3}),
    "adapt_smooth": ("hinge", "l2", {"mu": 0.8}),
    "joint_adapt": ("absolute", "l1", {"sigma": 0.3, "mu": 0.8}),
}
each_reduction = pytest.mark.parametrize("reduction", CASES)


def problem_of(reduction):
    loss, regularizer, _ = CASES[reduction]
    return oracles.problem(loss, oracles.example("regularizer", regularizer))


def optimum_of(reduction):
    return oracles.cvxpy_optimum(*CASES[reduction][:2])


class Recorder:
    """A solver that keeps what it was given and each of its iterates, per epoch."""

    def __init__(self, name):
        self.solve = registry.build_solver(name)
        self.solver = replace(self.solve, run=self.run)
        self.problems, self.starts, self.epochs = [], [], []

    def run(self, problem, start, rng):
        self.problems.append(problem)
        self.starts.append(start)
        self.epochs.append([])
        for x in self.solve(problem, start, rng):
            self.epochs[-1].append(x._replace(w=x.w.copy(), b=None if x.b is None else x.b.copy()))
            yield x


def recorded(solver, reduction, passes, start=None, **changes):
    """(Recorder, iterates) of a reduced solver on its problem."""
    recorder = Recorder(solver)
    values = CASES[reduction][2] | changes
    reduced = registry.reduce_solver(recorder.solver, {"name": reduction, **values})
    found = []
    for x in reduced(problem_of(reduction), start, Rng(0)):
        found.append(x._replace(w=x.w.copy(), b=None if x.b is None else x.b.copy()))
        if x.passes + x.checks >= passes:
            break
    return recorder, found


def gap(p, x):
    return p.primal(x.w) - p.dual_value(x.b)


def norm(p, x):
    return np.linalg.norm(p.prox_gradient(x.w, p.X.forward(x.w)))


@each_reduction
@pytest.mark.parametrize("start", [None, Iterate(np.linspace(-0.5, 0.5, 12))], ids=["zero", "started"])
def test_schedule(reduction, start):
    recorder, _ = recorded("prox_sdca", reduction, 60, start)
    assert len(recorder.problems) >= 4
    values, p = CASES[reduction][2], problem_of(reduction)
    for t, stage in enumerate(recorder.problems):
        assert stage.mu == values.get("mu", 0.0) * 0.5**t
        assert stage.kappa == values.get("sigma", 0.0) * 0.5**t
        assert (stage.l2, stage.loss, stage.regularizer) == (p.l2, p.loss, p.regularizer)
        if "sigma" in values:
            np.testing.assert_array_equal(stage.center, np.zeros(12) if start is None else start.w)
    assert recorder.starts[0] is start
    for epoch, following in zip(recorder.epochs, recorder.starts[1:], strict=False):  # warm start, nothing rescaled
        np.testing.assert_array_equal(following.w, epoch[-1].w)
        np.testing.assert_array_equal(following.b, epoch[-1].b)


@pytest.mark.core(6)
@each_reduction
@pytest.mark.parametrize(
    ("solver", "measure", "goal"),
    [("prox_sdca", gap, 0.25), ("apcg", gap, 0.25), ("svrg", norm, 1 / 3), ("saga", norm, 1 / 3), ("gd", norm, 1 / 3)],
)
def test_an_epoch_ends_with_its_progress(reduction, solver, measure, goal):
    """It closes at the first iterate whose distance is below the goal times that which closed the epoch before."""
    recorder, _ = recorded(solver, reduction, 150)
    if solver in ("prox_sdca", "apcg") and reduction == "adapt_reg":
        assert len(recorder.epochs) >= 6
    closed, ended = None, 0
    for stage, epoch in zip(recorder.problems[:-1], recorder.epochs, strict=False):
        seen = [x for x in epoch if solver != "svrg" or x.gradient_norm is not None]
        distances = [measure(stage, x) for x in seen]
        if closed is None:
            closed = distances[0]
        assert seen[-1] is epoch[-1]
        assert distances[-1] <= goal * closed * (1 + 1e-9)
        assert all(d > goal * closed * (1 - 1e-9) for x, d in zip(seen[:-1], distances, strict=False) if x.passes > 0)
        closed, ended = distances[-1], ended + 1
    assert ended >= 2


FAST, SLOW = ["prox_sdca", "apcg", "agd", "fista"], ["svrg", "saga", "sag", "sgd", "adagrad"]
# Suboptimality relative to the start's after 600 passes and checks over 40 samples.
ACCURACY = {"adapt_reg": (1e-3, 0.1), "adapt_smooth": (5e-3, 0.1), "joint_adapt": (0.03, 0.4)}


@pytest.mark.core(14)
@each_reduction
@pytest.mark.parametrize("solver", FAST + SLOW)
def test_converges_to_the_optimum_of_the_problem_itself(reduction, solver):
    p, (optimum, _) = problem_of(reduction), optimum_of(reduction)
    first = p.primal(np.zeros(12)) - optimum
    _, found = recorded(solver, reduction, 600)
    assert -1e-8 <= p.primal(found[-1].w) - optimum <= ACCURACY[reduction][solver in SLOW] * first


@pytest.mark.parametrize(
    ("classical", "reduction"),
    [({"name": "regularize", "sigma": 0.3}, "adapt_reg"), ({"name": "smooth", "mu": 0.8}, "adapt_smooth")],
)
def test_the_classical_ones_stay_at_their_biased_optimum(classical, reduction):
    p, (optimum, _) = problem_of(reduction), optimum_of(reduction)
    changed = p.regularized(0.3, None) if "sigma" in classical else p.smoothed(0.8)
    found = next(x for x in registry.build_solver("apcg", classical)(p, None, Rng(0)) if x.passes >= 300)
    assert gap(changed, found) < 1e-10
    assert p.primal(found.w) - optimum > 1e-3 * (p.primal(np.zeros(12)) - optimum)


def test_the_classical_center_is_the_start():
    p, start = problem_of("adapt_reg"), Iterate(np.linspace(-1.0, 1.0, 12))
    solve = registry.build_solver("apcg", {"name": "regularize", "sigma": 0.3})
    found = next(x for x in solve(p, start, Rng(0)) if x.passes >= 300)
    assert gap(p.regularized(0.3, start.w), found) < 1e-10


@each_reduction
@pytest.mark.parametrize("epochs", [1, 4])
def test_ends_after_its_epochs(reduction, epochs):
    recorder, found = recorded("prox_sdca", reduction, 1e9, epochs=epochs)
    assert len(recorder.problems) == epochs
    np.testing.assert_array_equal(found[-1].w, recorder.epochs[-1][-1].w)


@pytest.mark.core(2)
@pytest.mark.parametrize("solver", ["gd", "agd", "svrg", "prox_sdca", "apcg"])
def test_inner_theory_gives_each_epoch_its_time(solver):
    recorder, found = recorded(solver, "joint_adapt", 1e9, epochs=3, inner="theory")
    for stage, epoch in zip(recorder.problems, recorder.epochs, strict=True):
        assert epoch[-1].passes >= recorder.solver.passes_to_quarter(stage) - 1e-9 > epoch[-2].passes
    assert found[-1].checks == sum(epoch[-1].checks for epoch in recorder.epochs)  # the solver's own
    assert found[-1].passes == pytest.approx(sum(epoch[-1].passes for epoch in recorder.epochs))


@pytest.mark.parametrize("solver", ["saga", "sgd", "fista", "adagrad", "sag"])
def test_inner_theory_is_refused_without_a_theorem(solver):
    with pytest.raises(RrmbenchError, match=f"inner: theory .*{solver} has none"):
        registry.build_solver(solver, {"name": "adapt_reg", "inner": "theory"})


def test_adapt_reg_by_theory_is_for_smooth_losses():
    """No theorem says when the distance on a problem with kinks is a quarter: the first epoch would never end."""
    reduced = registry.build_solver("prox_sdca", {"name": "adapt_reg", "inner": "theory"})
    assert "smooth" in reduced.needs
    assert "smooth" not in registry.build_solver("prox_sdca", "adapt_reg").needs
    assert "smooth" not in registry.build_solver("prox_sdca", {"name": "joint_adapt", "inner": "theory"}).needs


# costs


@each_reduction
def test_checks_and_passes_are_counted(reduction):
    for solver, price in ("prox_sdca", 0.5), ("svrg", 0.0), ("saga", 1.0):
        recorder, found = recorded(solver, reduction, 40)
        looked = [recorder.epochs[0][0], *(x for epoch in recorder.epochs for x in epoch if x.passes > 0.0)]
        paid = sum(price - (0.5 if price > 0.0 and not x.w.any() else 0.0) for x in looked)  # X 0 costs nothing
        own = sum(epoch[-1].checks for epoch in recorder.epochs)
        assert found[-1].checks == paid + own
        spent = sum(epoch[-1].passes for epoch in recorder.epochs)
        assert found[-1].passes == pytest.approx(spent)
        work = [x.passes + x.checks for x in found]
        assert all(a <= b for a, b in pairwise(work))
        assert found[0][2:4] == (0.0, 0.0)


def test_auto_value_for_solvers_of_single_samples():
    p, recorder = problem_of("adapt_reg"), Recorder("prox_sdca")
    second = list(islice(registry.reduce_solver(recorder.solver, "adapt_reg")(p, None, Rng(0)), 2))[1]
    assert second.passes == 0.0
    assert recorder.problems[0].kappa == pytest.approx(p.R**2 / p.n)


@pytest.mark.parametrize("steps", [1, 3, 12])
@pytest.mark.parametrize("start", [None, Iterate(np.linspace(-1.0, 1.0, 12))], ids=["zero", "started"])
def test_auto_value_for_solvers_of_full_gradients(steps, start, monkeypatch):
    """Conjugate gradients minimize over the Krylov space, and all of it after d steps."""
    monkeypatch.setattr(starting_values, "CG_STEPS", steps)
    p, recorder = problem_of("adapt_reg"), Recorder("agd")
    found = list(islice(registry.reduce_solver(recorder.solver, "adapt_reg")(p, start, Rng(0)), steps + 3))
    w = np.zeros(12) if start is None else start.w
    X = p.X.forward(np.eye(12))
    g = X.T @ (X @ w - p.y) / p.n
    downhill = p.L * (oracles.prox_Psi(p, w - g / p.L, 1 / p.L) - w)
    hessian = X.T @ X / p.n
    space = np.linalg.qr(np.stack([np.linalg.matrix_power(hessian, k) @ downhill for k in range(steps)], 1))[0]
    way = space @ np.linalg.solve(space.T @ hessian @ space, space.T @ downhill)
    delta = p.primal(w) - p.dual_value(np.zeros(p.n))
    assert recorder.problems[0].kappa == pytest.approx(delta / (way @ way), rel=1e-3)
    first = 0.5 if start is None else 1.0
    expected = [0.0, *(first + k + 0.5 for k in range(steps)), first + steps - 0.5]  # the last is the first epoch's
    assert [x.passes for x in found[: steps + 2]] == expected


def test_auto_values_of_smoothing():
    p, recorder = problem_of("joint_adapt"), Recorder("svrg")
    next(islice(registry.reduce_solver(recorder.solver, "joint_adapt")(p, None, Rng(0)), 1, None))
    stage = recorder.problems[0]
    assert stage.mu == pytest.approx(np.mean(np.abs(p.y)))  # Delta/G^2
    assert stage.kappa == pytest.approx(p.R**2 / (stage.mu * p.n))


def test_ends_epochs_at_rounding_level_too():
    p, recorder = oracles.problem("squared", oracles.example("regularizer", "l2")), Recorder("apcg")
    reduced = registry.reduce_solver(recorder.solver, {"name": "adapt_reg", "sigma": 0.8})
    found = next(x for x in reduced(p, None, Rng(0)) if x.passes >= 1000)
    assert len(recorder.problems) > adaptive.HALVINGS
    assert recorder.problems[-1].kappa == 0.8 * 0.5**adaptive.HALVINGS
    assert gap(p, found) <= 1e-14


# choice and nesting


@pytest.mark.parametrize(
    ("loss", "regularizer", "chosen"),
    [
        ("squared", "l2", (0.0, 0.0)),
        ("squared", "l1", (inf, 0.0)),
        ("hinge", "l2", (0.0, inf)),
        ("hinge", "l1", (inf, inf)),
    ],
)
def test_auto_gives_what_the_solver_lacks(loss, regularizer, chosen):
    p, recorder = oracles.problem(loss, oracles.example("regularizer", regularizer)), Recorder("apcg")
    list(islice(registry.reduce_solver(recorder.solver, "auto")(p, None, Rng(0)), 3))
    stage = recorder.problems[0]
    assert (stage.kappa > 0.0, stage.mu > 0.0) == (chosen[0] > 0.0, chosen[1] > 0.0)
    assert (stage is p) == (chosen == (0.0, 0.0))


@pytest.mark.parametrize("solver", ["pdprox_accelerated", "accelerated_prox_sdca"])
def test_auto_gives_what_shows_the_progress_of_a_solver_without_a_dual_iterate(solver):
    for loss in "hinge", "squared":
        p = oracles.problem(loss, oracles.example("regularizer", "l1"))
        recorder = Recorder(solver)
        found = list(islice(registry.reduce_solver(recorder.solver, "auto")(p, None, Rng(0)), 400))
        stage = recorder.problems[0]
        assert stage.kappa > 0.0 and "smooth" in stage.traits
        assert p.primal(found[-1].w) < 0.9 * p.primal(found[0].w)


@pytest.mark.core(3)
@pytest.mark.parametrize(
    ("solver", "outer", "inner"),
    [
        ("prox_sdca", {"name": "adapt_reg", "sigma": 0.3}, {"name": "smooth", "mu": 0.1}),
        ("apcg", {"name": "adapt_reg", "sigma": 0.3}, {"name": "smooth", "mu": 0.1}),
        ({"name": "svrg", "step_scale": 0.4}, {"name": "adapt_reg", "sigma": 0.3}, {"name": "smooth", "mu": 0.1}),
        ("prox_sdca", {"name": "adapt_smooth", "mu": 0.8}, {"name": "regularize", "sigma": 0.01}),
        ("agd", {"name": "adapt_smooth", "mu": 0.8}, {"name": "regularize", "sigma": 0.01}),
        ("agd", {"name": "smooth", "mu": 0.1}, {"name": "adapt_reg", "sigma": 0.3}),
        ("prox_sdca", {"name": "adapt_reg", "sigma": 0.3}, {"name": "adapt_smooth", "mu": 0.8, "output": "epoch"}),
    ],
)
def test_nested(solver, outer, inner):
    """A reduction around another converges to the optimum up to the bias of the classical one."""
    p, (optimum, w) = problem_of("joint_adapt"), optimum_of("joint_adapt")
    solve = registry.build_solver(solver, outer | {"inside": inner})
    assert not solve.needs & {"smooth", "strongly_convex"}
    found = next(x for x in solve(p, None, Rng(0)) if x.passes >= 600)
    first = p.primal(np.zeros(12)) - optimum
    bias = 0.01 / 2 * (w @ w) if inner["name"] == "regularize" else 0.1 / 2  # of 0.1 and G = 1
    assert -1e-8 <= p.primal(found.w) - optimum <= bias + 0.05 * first


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_estimate_of_the_squared_distance_ends_at_the_minimizer_of_its_model(loss):
    """c ||X u||^2 / (2 n) - p.u with c the smoothness and p the gradient downhill, after as many steps as features."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.array([1.0, -1.0] * 15)
    p, w0 = Problem(X, y, loss, "none"), np.array([0.3, -0.1, 0.2, 0.5])
    *_, found = starting_values.squared_distances(p, w0, X @ w0, 1e9)
    downhill = -X.T @ p.loss_dual(X @ w0) / 30
    u = np.linalg.solve(p.smoothness * X.T @ X / 30, downhill)
    assert found == pytest.approx(u @ u)


def test_a_distance_is_no_rounding_where_there_are_fewer_samples_than_steps():
    """The gradient of a norm's problem is no combination of few samples, so the quadratic model has no minimum."""
    rng = np.random.default_rng(1)
    p = Problem(
        rng.normal(size=(5, 15)), np.array([1.0, -1.0, 1.0, 1.0, -1.0]), "logistic", {"name": "l1", "strength": 0.02}
    )
    found = list(starting_values.squared_distances(p, np.zeros(15), np.zeros(5), np.log(2.0)))
    assert 1 <= len(found) < starting_values.CG_STEPS and max(found) < 1e9


def test_a_distance_is_no_longer_than_the_way_down_to_a_bound():
    """Nor is it with bounds on w: sigma_0 was 1e-18, and the solver of the first epoch stayed at w0."""
    rng = np.random.default_rng(0)
    X, y = 1e-2 * rng.normal(size=(12, 30)), rng.integers(1, 5, 12)
    p = Problem(X, y.astype(float), "ordinal_hinge", "nonneg")
    recorder = Recorder("cutting_planes")
    found = list(islice(registry.reduce_solver(recorder.solver, "adapt_reg")(p, None, Rng(0)), 300))
    assert recorder.problems[0].kappa > 1e-9
    assert p.primal(found[-1].w) <= 1e-9 * p.primal(found[0].w)


ACCELERATE = {"name": "accelerate", "kappa": 0.05}


@pytest.mark.parametrize("reduction", ["adapt_reg", "proximal_point", ACCELERATE])
def test_progress_that_cannot_show_is_told_before_the_run(reduction, lab):
    """Without a dual iterate it shows on smooth losses only."""
    needs = {name: registry.build_solver(name, reduction).needs for name in ("pdprox_dual", "prox_sdca")}
    assert "smooth" in needs["pdprox_dual"] and "smooth" not in needs["prox_sdca"]
    config = lab.config(loss="hinge", solver=["pdprox_dual", "prox_sdca"], reduction=reduction, regularizer="none")
    ran = lab.cli("run", config, "--dry-run")
    assert ran.code == 0
    name = reduction if isinstance(reduction, str) else reduction["name"]
    assert f"pdprox_dual in {name} needs a smooth loss; hinge is not smooth (try none" in ran.out


@pytest.mark.parametrize(("parameters", "needed"), [({"inner": 2}, False), ({"kappa": "auto", "inner": 2}, True)])
def test_acceleration_needs_smoothness_for_its_kappa_or_its_accuracy_alone(parameters, needed):
    solve = registry.build_solver("pdprox_dual", ACCELERATE | parameters)
    assert ("smooth" in solve.needs) == needed
    p = oracles.problem("hinge" if not needed else "squared", oracles.example("regularizer", "l1"))
    assert next(x for x in solve(p, None, Rng(0)) if x.passes >= 5).passes < 10.0


def test_progress_that_does_not_show_is_an_error():
    spec = {"name": "adapt_reg", "sigma": 0.3, "inside": {"name": "smooth", "mu": 0.1}}
    with pytest.raises(RrmbenchError, match="put the smoothing outside"):
        list(islice(registry.build_solver("agd", spec)(problem_of("joint_adapt"), None, Rng(0)), 5))


def test_what_a_reduced_solver_still_gives():
    gives = {
        (solver, reduction["name"]): registry.build_solver(solver, reduction).gives
        for solver in ("prox_sdca", "svrg")
        for reduction in (
            {"name": "none"},
            {"name": "smooth", "mu": 1.0},
            {"name": "regularize", "sigma": 1.0},
            {"name": "adapt_smooth"},
        )
    }
    assert {key: set(given) for key, given in gives.items() if key[0] == "prox_sdca"} == {
        ("prox_sdca", "none"): {"dual"},
        ("prox_sdca", "smooth"): {"dual"},
        ("prox_sdca", "adapt_smooth"): {"dual"},
        ("prox_sdca", "regularize"): set(),  # no pair on the problem without sigma
    }
    assert {reduction: set(given) for (solver, reduction), given in gives.items() if solver == "svrg"} == {
        "none": {"gradient_norm"},
        "smooth": {"gradient_norm"},
        "regularize": {"gradient_norm"},
        "adapt_smooth": set(),  # that of one problem after another
    }


# the lasso by regularization, and what is reported


def test_regularize_by_eps_is_the_lasso_of_the_paper():
    """lambda = eps (sigma/ybar)^2, ybar = (1/2n) sum y^2, section 5.5 of Accelerated Prox-SDCA."""
    p, recorder, eps = oracles.problem("squared", {"name": "l1", "strength": 0.3}), Recorder("prox_sdca"), 0.2
    optimum = next(it for it in registry.build_solver("coordinate_descent")(p, None, Rng(0)) if it.passes > 500).w
    reduced = registry.reduce_solver(recorder.solver, {"name": "regularize", "eps": eps})
    found = next(it for it in reduced(p, None, Rng(0)) if it.passes > 300)
    stage = recorder.problems[0]
    ybar = float(np.sum(p.y**2)) / (2 * p.n)
    assert stage.kappa == pytest.approx(eps * (0.3 / ybar) ** 2) and stage.center is None
    assert 0.0 <= stage.primal(optimum) - p.primal(optimum) <= eps / 2
    assert p.primal(found.w) - p.primal(optimum) <= eps / 2


@pytest.mark.core(4)
@pytest.mark.parametrize("regularizer", ["l1", "linf_norm", "group_lasso", "box", "l1 in a box", "norm_power"])
@pytest.mark.parametrize("start", [None, Iterate(np.linspace(0.1, 0.6, 12))], ids=["cold", "warm"])
def test_regularize_by_eps_changes_the_optimum_by_half_of_it(regularizer, start):
    box = {"name": "l1", "strength": 0.1, "domain": {"box": [0.1, 0.6]}}
    mapping = box if regularizer == "l1 in a box" else oracles.example("regularizer", regularizer)
    p, recorder, eps = oracles.problem("squared", mapping), Recorder("fista"), 0.1
    w0 = p.start(start)
    optimum = next(it for it in registry.build_solver("fista")(p, None, Rng(0)) if it.passes > 2000).w
    reduced = registry.reduce_solver(recorder.solver, {"name": "regularize", "eps": eps})
    first = next(reduced(p, start, Rng(0)))
    stage = recorder.problems[0]
    np.testing.assert_array_equal(np.zeros(12) if stage.center is None else stage.center, w0)
    assert 0.0 < stage.primal(optimum) - p.primal(optimum) <= eps / 2 * (1 + 1e-9)
    assert stage.kappa == pytest.approx(eps / (p.radius(w0, p.outputs(w0)) + np.linalg.norm(w0)) ** 2)
    assert first.checks == (0.5 if w0.any() else 0.0)


@pytest.mark.parametrize("values", [{}, {"sigma": 0.1, "eps": 0.1}])
def test_regularize_takes_exactly_one(lab, values):
    ran = lab.cli("validate", lab.config(reduction={"name": "regularize", **values}))
    assert ran.code == 2 and "needed is exactly one of them" in ran.out + ran.err


def test_regularize_by_eps_says_where_there_is_no_bound(lab):
    ran = lab.run(lab.config(regularizer={"name": "l2", "strength": 0.1}, reduction={"name": "regularize", "eps": 0.1}))
    assert ran.code in (1, 2) and "needs a regularizer that bounds ||w*||" in ran.out + ran.err


@each_reduction
@pytest.mark.parametrize("solver", ["prox_sdca", "svrg", "agd"])
def test_output_epoch_reports_what_closed_the_last_epoch(solver, reduction):
    recorder, running = recorded(solver, reduction, 150)
    _, shown = recorded(solver, reduction, 150, output="epoch")
    assert [x[2:4] for x in shown] == [x[2:4] for x in running]  # passes and checks go on
    w, epochs = running[0].w, iter(recorder.epochs)
    epoch, seen = next(epochs), 0
    for x in shown[1:]:
        seen += 1
        if seen == len(epoch) and len(recorder.epochs) > 1 and epoch is not recorder.epochs[-1]:
            w, epoch, seen = epoch[-1].w, next(epochs), 0
        np.testing.assert_array_equal(x.w, w)
    assert len(recorder.epochs) > 2


# what a plug-in returns


@pytest.mark.parametrize("returned", ["function", "Solver", "the Solver itself"])
def test_what_a_reduction_returns_becomes_a_solver(returned):
    """Its needs are those of the inner one without what the reduction gives, and theorems are its own or none.

    The Solver itself is as it was: nothing was given to it.
    """
    quarter = registry.build_solver("prox_sdca").passes_to_quarter

    @registry.reduction(gives={"strongly_convex"})
    def stronger(solve, *, kappa: float):
        def reduced(problem, start, rng):
            return solve(problem.regularized(kappa), start, rng)

        made = Solver(reduced, "my own", solve.needs, solve.gives, passes_to_quarter=quarter)
        return {"function": reduced, "Solver": made, "the Solver itself": solve}[returned]

    plain = registry.build_solver("prox_sdca")
    solve = registry.build_solver("prox_sdca", {"name": "stronger", "kappa": 0.5})
    changed = returned != "the Solver itself"
    assert solve.needs == plain.needs - ({"strongly_convex"} if changed else set())
    assert solve.gives == plain.gives - ({"dual"} if changed else set())
    names = {"function": "stronger(prox_sdca)", "Solver": "my own", "the Solver itself": "prox_sdca"}
    assert solve.name == names[returned]
    assert (solve.passes_to_quarter is None) == (returned == "function")
    assert solve.counts_passes
    p = problem_of("adapt_reg").regularized(0.1)
    found = next(x for x in solve(p, None, Rng(0)) if x.passes >= 300)
    assert gap(p if returned == "the Solver itself" else p.regularized(0.5), found) < 1e-10


def test_a_reduced_solver_counts_no_passes_if_the_inner_one_does_not():
    assert not registry.build_solver("celer", {"name": "regularize", "sigma": 0.5}).counts_passes


@each_reduction
def test_an_epoch_whose_solver_ends_by_itself_is_closed_by_its_last_iterate(reduction):
    @registry.solver(needs={"strongly_convex", "smooth"})
    def brief(problem, start, rng):
        yield from islice(registry.build_solver("agd")(problem, start, rng), 30)

    solve, p = registry.build_solver("brief", {"name": reduction, "output": "epoch"}), problem_of(reduction)
    found = [p.primal(x.w) for x in islice(solve(p, None, Rng(0)), 400)]
    optimum, _ = optimum_of(reduction)
    assert found[-1] - optimum < 0.1 * (found[0] - optimum)


def test_quartering_is_the_former_name_of_passes_to_quarter():
    with pytest.warns(DeprecationWarning, match="now called passes_to_quarter"):

        @registry.solver(quartering=lambda problem, *, factor: factor * problem.n)
        def slow(problem, start, rng, *, factor: float = 1.0):
            yield Iterate(problem.start(start))

    solve = registry.build_solver({"name": "slow", "factor": 3.0})
    assert solve.passes_to_quarter(problem_of("adapt_reg")) == 120.0


@pytest.mark.core(4)
@pytest.mark.parametrize(("n", "d"), [(10, 50), (40, 15)])
@pytest.mark.parametrize("solver", ["direct", "newton_cg", "lbfgs", "cutting_planes", "svrg"])
def test_a_stage_that_is_solved_to_rounding_ends_its_epoch(solver, n, d):
    """What closes an epoch may be far below what any solver reaches in the next one."""
    p = small_problem("squared", n, d)
    best = first_that(p, "direct", "none", 0.0, 30)
    assert best - 1e-9 <= first_that(p, solver, "adapt_reg", best + 1e-9, 1000) <= best + 1e-9


@pytest.mark.core(4)
@pytest.mark.parametrize("reduction", ["adapt_smooth", "joint_proximal_point", "joint_adapt"])
@pytest.mark.parametrize("solver", ["newton", "newton_cg", "lbfgs"])
def test_smoothing_goes_on_where_a_solver_is_quick(solver, reduction):
    p = small_problem("absolute", 10, 50)
    best = first_that(p, "prox_sdca", "none", 0.0, 2000)
    assert first_that(p, solver, reduction, best + 1e-6, 3000) <= best + 1e-6


def small_problem(loss, n, d):
    rng = np.random.default_rng(2)
    return Problem(rng.normal(size=(n, d)) / d**0.5, rng.normal(size=n), loss, {"name": "l2", "strength": 0.16})


def first_that(p, solver, reduction, enough, passes):
    """P(w) of the first iterate with P(w) <= enough, or of the last after so many passes."""
    for x in registry.build_solver(solver, reduction)(p, None, Rng(0)):
        if p.primal(x.w) <= enough or x.passes + x.checks > passes:
            return p.primal(x.w)
    raise AssertionError("it ended")
