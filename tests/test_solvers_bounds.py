"""`plot --theory`: the papers' bounds beside measured curves."""

from functools import partial

import numpy as np
import pytest
from lab import make_lab  # noqa: F401

from rrmbench.bench.store import Experiment
from rrmbench.problem.constants import NoTheorem
from rrmbench.report import plots
from rrmbench.report.results import runs_of
from rrmbench.report.theory import bound_curve, constants_of

SMOOTH = {
    "loss": {"name": "smoothed_hinge", "gamma": 1.0},
    "regularizer": {"name": "l2", "strength": 0.05},
    "solver": [{"name": "prox_sdca", "sampling": "uniform"}, "gd", "agd", "fista", "saga"],
    "seed": [0, 1, 2],
    "stop": {"passes": 60},
    "reference": {"seconds": 5},
}


def test_the_bound_of_each_solver_lies_above_its_curve(lab):
    assert lab.run(lab.config(**SMOOTH)).code == 0
    experiment = Experiment(lab.out / "toy")
    checked = set()
    for run in runs_of(experiment):
        found = bound_curve(run, partial(constants_of, experiment))
        if found is None:
            continue
        passes, bound, _ = found
        measured = np.interp(passes, run.column("passes"), np.nan_to_num(run.column("suboptimality"), nan=0.0))
        assert np.all(measured <= bound * (1 + 1e-9) + 1e-12), run.keys["solver"]
        checked.add(run.keys["solver"])
    assert checked == {"prox_sdca", "gd", "agd", "fista"}  # no theorem stands next to saga


def test_adaptive_reductions_are_bounded_at_the_ends_of_epochs_of_their_theory(lab):
    adaptive = {"name": "adapt_reg", "sigma": 1.0, "inner": "theory", "output": "epoch"}
    keys = {"loss": "squared", "regularizer": {"name": "l1", "strength": 0.01}, "solver": "agd"}
    assert lab.run(lab.config(**SMOOTH | keys | {"reduction": [adaptive, "adapt_reg"], "seed": 0})).code == 0
    experiment = Experiment(lab.out / "toy")
    given, auto = runs_of(experiment)
    with pytest.raises(NoTheorem, match=r"adapt_reg.inner=practice.: the theorem is about inner: theory"):
        bound_curve(auto, partial(constants_of, experiment))
    passes, bound, _ = bound_curve(given, partial(constants_of, experiment))
    assert len(passes) > 2 and np.all(np.diff(bound) < 0)
    measured = np.interp(passes, given.column("passes"), np.nan_to_num(given.column("suboptimality"), nan=0.0))
    assert np.all(measured <= bound)


@pytest.mark.parametrize("solver", ["prox_sdca", "apcg"])
def test_a_solver_that_quarters_the_distance_of_its_dual_has_no_bound_in_a_reduction(lab, solver):
    adaptive = {"name": "adapt_reg", "sigma": 1.0, "inner": "theory", "output": "epoch"}
    keys = {"loss": "squared", "regularizer": {"name": "l1", "strength": 0.01}, "solver": solver, "seed": 0}
    assert lab.run(lab.config(**SMOOTH | keys | {"reduction": adaptive})).code == 0
    experiment = Experiment(lab.out / "toy")
    (run,) = runs_of(experiment)
    with pytest.raises(NoTheorem, match=rf"quarters P\(w\) - P\(w\*\) \(HOOD\), {solver} quarters D"):
        bound_curve(run, partial(constants_of, experiment))


def test_smoothing_by_theory_is_skipped_where_the_problem_stays_without_strong_convexity(lab):
    adaptive = {"name": "adapt_smooth", "mu": 0.3, "inner": "theory"}
    keys = {"loss": "hinge", "regularizer": [{"name": "l1", "strength": 0.01}, SMOOTH["regularizer"]], "solver": "gd"}
    ran = lab.run(lab.config(**SMOOTH | keys | {"reduction": adaptive, "seed": 0}))
    assert ran.code == 0, ran.err
    assert [result.spec["regularizer"]["name"] for result in Experiment(lab.out / "toy").results()] == ["l2"]
    assert "1 combination skipped" in ran.out


@pytest.mark.parametrize("solver", ["gd", "agd"])
def test_as_many_epochs_are_over_as_their_bound_counts(lab, solver):
    adaptive = {"name": "adapt_reg", "sigma": 1.0, "inner": "theory", "output": "epoch"}
    keys = {"loss": "squared", "regularizer": {"name": "l1", "strength": 0.01}, "solver": solver, "seed": 0}
    ran = lab.run(lab.config(**SMOOTH | keys | {"reduction": adaptive, "trace": {"every": 0.25}}))
    assert ran.code == 0, ran.err
    experiment = Experiment(lab.out / "toy")
    (run,) = runs_of(experiment)
    passes, _, _ = bound_curve(run, partial(constants_of, experiment))
    ended = np.cumsum(np.diff(run.column("objective"), prepend=run.column("objective")[0]) != 0.0)
    assert len(passes) > 1
    for epoch, at in enumerate(passes, start=1):
        assert ended[run.column("passes") <= at + 1e-9][-1] >= epoch


PLUGIN = """
import numpy as np

import rrmbench


def bound(constants, T, *, sigma):
    return constants.initial_gap / (sigma * T)


def epochs_over(solve, problem, trace, *, length):
    T = trace["passes"] // length
    return trace["passes"][T > 0], T[T > 0]


@rrmbench.reduction(gives={"square"}, bound=bound, epochs_over=epochs_over)
def stages_of_my_own(solve, *, sigma: float = 0.5, length: float = 20.0):
    return solve
"""


def test_the_file_of_a_reduction_says_all_that_its_curve_needs(lab):
    plugin = lab.folder / "stages_of_my_own.py"
    plugin.write_text(PLUGIN)
    mine = {"path": str(plugin), "name": "stages_of_my_own", "sigma": 0.25}
    ran = lab.run(lab.config(**SMOOTH | {"solver": "gd", "reduction": mine, "seed": 0}))
    assert ran.code == 0, ran.err
    experiment = Experiment(lab.out / "toy")
    (run,) = runs_of(experiment)
    passes, bound, _ = bound_curve(run, partial(constants_of, experiment))
    gap = run.column("gap")[0]
    assert 20.0 <= passes[0] < 21.0 and len(passes) > 10
    assert bound == pytest.approx(gap / (0.25 * (passes // 20.0)))


def test_plot_theory_draws_them_and_refuses_other_axes(lab):
    lab.run(lab.config(**SMOOTH))
    ((_, _, sheet),) = plots.sheets(lab.out / "toy", theory=True)
    (panel,) = sheet.panels.values()
    assert len(panel.proven) == 4 and any("bound proven" in note for note in sheet.notes)
    assert lab.cli("plot", lab.out, "--theory", "--format", "png").code == 0
    refused = lab.cli("plot", lab.out, "--theory", "--x", "seconds")
    assert refused.code == 2 and "--theory: the theorems bound the suboptimality over passes" in refused.err


def test_without_a_reference_there_is_no_bound(lab):
    lab.run(lab.config(**SMOOTH | {"solver": "gd", "seed": 0, "reference": False}))
    experiment = Experiment(lab.out / "toy")
    (run,) = runs_of(experiment)
    for path in (experiment.directory / "references").iterdir():
        path.unlink()
    assert bound_curve(run, partial(constants_of, experiment)) is not None  # what is in memory
    (run,) = runs_of(experiment)
    assert bound_curve(run, partial(constants_of, experiment)) is None


OUTSIDE = {
    "gd(step_scale=2): Theorem 3.1 needs step_scale <= 1": {"name": "gd", "step_scale": 2.0},
    "agd(step=backtracking): Theorem 2.2.3 is for a constant L, step: bound": {"name": "agd", "step": "backtracking"},
    "fista(restart=gradient): Theorem 4.4 is for the momentum without restarts": {
        "name": "fista",
        "restart": "gradient",
    },
    "svrg(snapshot=last): Theorem 1 is about snapshot: random": "svrg",
    "prox_sdca(sampling=permutation): Theorem 1 is about independent draws, sampling: uniform": "prox_sdca",
}


def test_what_no_theorem_is_about_has_no_curve_and_the_small_print_says_why(lab):
    inside = {"name": "agd", "step_scale": 0.01}
    assert lab.run(lab.config(**SMOOTH | {"solver": [inside, *OUTSIDE.values()], "seed": 0})).code == 0
    experiment = Experiment(lab.out / "toy")
    ((_, _, sheet),) = plots.sheets(experiment.directory, theory=True)
    (panel,) = sheet.panels.values()
    assert {f"no bound for {reason}" for reason in OUTSIDE} <= set(sheet.notes)
    ((_, proven),) = panel.proven  # that of short steps, which take a hundred times as long
    (short,) = [run for run in runs_of(experiment) if run.keys.get("solver.step_scale") == 0.01]
    measured = np.interp(proven.x, short.column("passes"), short.column("suboptimality"))
    assert np.all(measured <= proven.y)


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("solver", "reduction", "reason"),
    [
        (
            {"name": "svrg", "step_scale": 0.5},
            {"name": "adapt_smooth", "mu": 0.3, "inner": "practice"},
            "inner=practice",
        ),
        (
            "svrg",
            {"name": "adapt_smooth", "mu": 0.3, "inner": "theory", "output": "epoch"},
            "svrg(snapshot=last): Theorem 1 is about",
        ),
        ("agd", {"name": "adapt_smooth", "mu": 0.3, "inner": "theory"}, "the theorem is about output: epoch"),
        (
            "gd",
            {"name": "adapt_smooth", "mu": 0.3, "inside": {"name": "regularize", "sigma": 0.1}},
            "nested reductions",
        ),
    ],
    ids=["practice", "snapshot", "running", "nested"],
)
def test_a_reduction_around_a_solver_without_its_theorem_is_drawn_all_the_same(lab, solver, reduction, reason):
    keys = {"loss": "hinge", "solver": solver, "reduction": reduction, "seed": 0, "stop": {"passes": 30}}
    assert lab.run(lab.config(**SMOOTH | keys)).code == 0
    assert lab.cli("plot", lab.out, "--theory", "--format", "png").code == 0
    ((_, _, sheet),) = plots.sheets(lab.out / "toy", theory=True)
    assert any(note.startswith("no bound for") and reason in note for note in sheet.notes)
