"""The inexact proximal point reduction: its epochs, its inequality, its certificate."""

from contextlib import suppress
from functools import partial
from itertools import islice, pairwise

import numpy as np
import oracles
import pytest
from lab import make_lab  # noqa: F401

from rrmbench import registry
from rrmbench.bench.store import Experiment
from rrmbench.components import Solver
from rrmbench.numerics.random import Rng
from rrmbench.problem.constants import NoTheorem, constants
from rrmbench.problem.iterate import Iterate
from rrmbench.report.results import runs_of
from rrmbench.report.theory import bound_curve, constants_of

pytestmark = pytest.mark.usefixtures("own_bounds")

L1 = {"name": "l1", "strength": 0.05}


def lasso():
    return oracles.problem("squared", oracles.example("regularizer", "l1"))


class Stages:
    """A solver that keeps the problems that it was given."""

    def __init__(self, name):
        self.problems = []
        solve = registry.build_solver(name)

        def run(problem, start, rng):
            self.problems.append(problem)
            return solve(problem, start, rng)

        self.solver = Solver(run, solve.name, solve.needs, solve.gives)


@pytest.mark.parametrize("name", ["prox_sdca", "apcg", "svrg", "fista", "agm_ef"])
@pytest.mark.parametrize(("decay", "accuracy"), [(1.0, 0.3), (0.5, 1.0)])
def test_every_epoch_keeps_to_the_inequality_of_the_theorem(name, decay, accuracy):
    """P(c') + (1 - a) (sigma/2) ||c' - c||^2 <= P(x) + (sigma/2) ||x - c||^2 for x = c, x = w* and points between."""
    p, stages = lasso(), Stages(name)
    spec = {"name": "proximal_point", "sigma": 0.05, "decay": decay, "accuracy": accuracy}
    for x in registry.reduce_solver(stages.solver, spec)(p, None, Rng(0)):
        if len(stages.problems) > 12 or x.passes > 3000:
            break
    optimum, best = oracles.cvxpy_optimum("squared", "l1")
    centers = [np.zeros(p.shape) if q.center is None else q.center for q in stages.problems]
    assert len(centers) > 4
    for number, (c, after) in enumerate(pairwise(centers)):
        sigma = stages.problems[number].kappa
        assert sigma == pytest.approx(0.05 * decay**number)
        left = p.primal(after) + (1.0 - accuracy) * 0.5 * sigma * np.sum((after - c) ** 2)
        for s in (0.0, 0.3, 1.0):
            x = (1.0 - s) * c + s * best
            assert left <= p.primal(x) + 0.5 * sigma * np.sum((x - c) ** 2) + 1e-9
    values = [p.primal(c) for c in centers]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(values))
    assert values[-1] - optimum < values[0] - optimum


def test_its_certificate_is_tighter_than_that_of_a_fixed_centre():
    """The excess of the dual variable over the domain of psi* vanishes with the distance to the centre."""
    p, gaps = lasso(), {}
    for name in "proximal_point", "adapt_reg":
        solve = registry.build_solver("prox_sdca", {"name": name, "sigma": 0.05})
        x = next(x for x in solve(p, None, Rng(0)) if x.passes + x.checks >= 300)
        gaps[name] = p.gap(x.w, x.b)
    assert gaps["proximal_point"] < 1e-6
    assert gaps["proximal_point"] < 0.1 * gaps["adapt_reg"]


def test_without_smoothness_it_takes_a_solver_that_needs_none():
    p = oracles.problem("absolute", {"name": "l1", "strength": 0.05})
    solve = registry.build_solver("prox_sdca", "proximal_point")
    _first, *_, last = islice(solve(p, None, Rng(0)), 400)
    assert p.primal(last.w) < p.primal(np.zeros(p.shape))


@pytest.mark.parametrize("reduction", ["proximal_point", "adapt_reg", "smooth", "adapt_smooth"])
def test_objectives_are_of_the_problem_that_is_seen_or_not_there(reduction):
    """Those of a changed problem would end the epochs of a reduction outside too early."""
    values = {"mu": 0.5} if "smooth" in reduction else {"sigma": 0.1}
    solve = registry.build_solver("agm_ef", {"name": reduction, **values})
    assert "gap" not in solve.gives
    p = oracles.problem("smoothed_hinge", {"name": "l2", "strength": 0.1})
    assert all(x.objectives is None for x in islice(solve(p, None, Rng(0)), 50))


class Scripted:
    """A solver of one iterate per pass, whose k-th call is at its optimum after lasts[k] passes and never before."""

    def __init__(self, lasts):
        self.stages, self.lasts = [], lasts

    def solve(self, problem, start, rng):
        number = len(self.stages)
        if number == len(self.lasts):
            raise EOFError
        self.stages.append(problem)
        for passes in range(1, 1000):
            gap = 0.0 if passes >= self.lasts[number] else 1e9 / passes
            w = np.full(problem.shape, number + 1.0)
            yield Iterate(w, np.zeros(problem.n), float(passes), objectives=partial(tuple, (gap, 0.0)))


@pytest.mark.parametrize(
    ("needs", "lasts", "strengths", "expected"),
    [
        ({"rows"}, [1, 2, 10, 1, 5], [1.0, 0.5, 0.5, 0.5, 0.25], [0, 1, 2, 3, 4]),
        ({"rows"}, [11, 11, 3, 1, 1], [1.0, 2.0, 4.0, 4.0, 2.0], [0, 0, 0, 3, 4]),
        ({"rows"}, [11, 1, 1], [1.0, 2.0, 2.0], [0, 0, 2]),
        (set(), [30, 31, 300, 301, 4, 1], [1.0, 0.5, 0.5, 0.5, 1.0, 1.0], [0, 1, 2, 3, 3, 5]),
    ],
)
def test_sigma_follows_the_length_of_the_epochs(needs, lasts, strengths, expected):
    """Halved after a quick epoch, doubled around the same centre in a slow one."""
    script = Scripted(lasts)
    solver = Solver(script.solve, "scripted", frozenset(needs), frozenset({"gap"}))
    p = lasso()
    reduced = registry.reduce_solver(solver, {"name": "proximal_point", "sigma": 1.0})
    with suppress(EOFError):
        for _ in reduced(p, None, Rng(0)):
            pass
    assert [stage.kappa for stage in script.stages] == strengths
    centers = [np.max(stage.center) if stage.center is not None else 0.0 for stage in script.stages]
    assert centers == expected


def test_sigma_is_doubled_up_to_the_smoothness_of_the_losses():
    """With more, no stage is easier: the losses' own curvature is less than that of the square."""
    script, p = Scripted([10**6] * 9), lasso()
    solver = Solver(script.solve, "scripted", frozenset({"rows"}), frozenset({"gap"}))
    with suppress(EOFError):
        for _ in registry.reduce_solver(solver, {"name": "proximal_point", "sigma": p.L / 5.0})(p, None, Rng(0)):
            pass
    assert [stage.kappa / p.L for stage in script.stages] == pytest.approx([0.2, 0.4, 0.8] + [1.6] * 6)


@pytest.mark.parametrize("name", ["prox_sdca", "apcg"])
def test_an_epoch_is_looked_at_once_per_pass(name):
    """A look is the product X w, half a check; the iterates of a third of a pass are none."""
    p, begun, seen = lasso(), [], []
    solve = registry.build_solver(name)

    def run(problem, start, rng):
        begun.append(0.0 if start is None or start.b is None or not start.b.any() else 0.5)  # X^T b of its start
        for x in solve(problem, start, rng):
            seen.append((len(begun), x.passes))
            yield x

    solver = Solver(run, solve.name, solve.needs, solve.gives)
    spec = {"name": "proximal_point", "sigma": 0.05, "decay": 0.5}
    x = next(x for x in registry.reduce_solver(solver, spec)(p, None, Rng(0)) if x.passes >= 80)
    looks = sum(passes >= 1.0 and passes == round(passes) for _, passes in seen)
    assert len(seen) > 2.5 * looks > 100
    assert x.checks == pytest.approx(0.5 * looks + sum(begun))


@pytest.mark.parametrize("reduction", ["proximal_point", "joint_proximal_point"])
@pytest.mark.parametrize("solver", ["prox_sdca", "apcg", "agd"])
def test_output_epoch_shows_the_centres(reduction, solver):
    p, stages = oracles.problem("absolute" if "joint" in reduction else "squared", L1), Stages(solver)
    shown = []
    for x in registry.reduce_solver(stages.solver, {"name": reduction, "output": "epoch"})(p, None, Rng(0)):
        if not shown or not np.array_equal(shown[-1], x.w):
            shown.append(x.w.copy())
        if x.passes > 100:
            break
    centers = [q.center for q in stages.problems if q.center is not None]
    known = {c.tobytes() for c in centers} | {np.zeros(p.shape).tobytes(), shown[-1].tobytes()}
    assert len(shown) > 2
    assert {w.tobytes() for w in shown} <= known


def test_the_joint_form_halves_its_smoothing_with_the_slope():
    p, stages = oracles.problem("absolute", L1), Stages("apcg")
    solve = registry.reduce_solver(
        stages.solver, {"name": "joint_proximal_point", "mu": 0.5, "decay": 1.0, "sigma": 0.1}
    )
    optimum, _ = oracles.cvxpy_optimum("absolute", "l1")
    x = next(x for x in solve(p, None, Rng(0)) if x.passes > 600)
    first = next(n for n, q in enumerate(stages.problems) if q.kappa > 0.0)
    epochs, steep = stages.problems[first:], np.inf
    centers = [np.zeros(p.shape) if q.center is None else q.center for q in epochs]
    for stage, after, center, closed in zip(epochs, epochs[1:], centers, centers[1:], strict=False):
        slope = stage.kappa * np.linalg.norm(closed - center)
        is_halved = slope <= 0.5 * steep
        assert after.mu == (0.5 * stage.mu if is_halved else stage.mu)
        steep = slope if is_halved else steep
    assert len({q.mu for q in epochs}) > 5 and len(epochs) > len({q.mu for q in epochs})
    assert {q.kappa for q in epochs} == {0.1}
    assert p.primal(x.w) - optimum < 1e-3 * (p.primal(np.zeros(p.shape)) - optimum)


# its theorem

LASSO = {"loss": "squared", "regularizer": {"name": "l1", "strength": 0.01}, "stop": {"passes": 40}, "seed": 0}


def test_the_bound_lies_above_the_models_that_close_epochs(lab):
    """And it is not vacuous: within a few hundred times at the first epoch."""
    given = [{"name": "proximal_point", "sigma": 0.05, "decay": d, "output": "epoch"} for d in (1.0, 0.7)]
    ran = lab.run(lab.config(**LASSO, solver=["prox_sdca", "apcg"], reduction=given, reference={"seconds": 5}))
    assert ran.code == 0
    experiment = Experiment(lab.out / "toy")
    for run in runs_of(experiment):
        passes, bound, _ = bound_curve(run, partial(constants_of, experiment))
        assert len(passes) > 10 and bound[-1] < bound[0]
        measured = np.interp(passes, run.column("passes"), np.nan_to_num(run.column("suboptimality"), nan=0.0))
        assert np.all(measured <= bound * (1 + 1e-9) + 1e-12)
        assert bound[0] < 1e4 * measured[0]


OUTSIDE = [
    ("prox_sdca", {"sigma": 0.1}, "output: epoch"),
    ("prox_sdca", {"sigma": 0.1, "output": "epoch"}, "given values, not auto"),
    ("prox_sdca", {"decay": 1.0, "output": "epoch"}, "given values, not auto"),
    ("svrg", {"sigma": 0.1, "decay": 1.0, "output": "epoch"}, "whose w belongs to its b"),
]


def test_outside_of_its_theorem_the_reason_is_given(lab):
    cases = [{"solver": solver, "reduction": {"name": "proximal_point", **values}} for solver, values, _ in OUTSIDE]
    assert lab.run(lab.config(**LASSO | {"stop": {"passes": 5}}, cases=cases)).code == 0
    experiment = Experiment(lab.out / "toy")
    runs = runs_of(experiment)
    assert len(runs) == len(OUTSIDE)
    for run in runs:
        given = {key: value for key, value in run.result.spec["reduction"].items() if key != "name"}
        (reason,) = (reason for _, values, reason in OUTSIDE if values == given)
        with pytest.raises(NoTheorem, match=reason):
            bound_curve(run, partial(constants_of, experiment))


def test_the_bound_by_hand():
    c = constants(lasso())._replace(distance=7.0)
    bound = registry.lookup("reduction", "proximal_point").bound
    assert bound(c, np.array([1, 3]), sigma=0.2, decay=1.0) == pytest.approx([0.7, 0.7 / 3])
    assert bound(c, np.array([1, 3]), sigma=0.2, decay=0.5) == pytest.approx([0.7, 0.1])


@pytest.mark.parametrize("values", [{"decay": 0.0}, {"decay": 1.5}, {"accuracy": 0.0}, {"accuracy": 1.5}])
def test_values_without_a_theorem_are_refused(lab, values):
    ran = lab.cli("validate", lab.config(reduction={"name": "proximal_point", **values}))
    assert ran.code == 2 and "allowed is" in ran.err
