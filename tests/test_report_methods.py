"""Runs grouped into methods: medians and quartiles over seeds, levels, winners."""

import numpy as np
import pytest
import stored
from hypothesis import given
from hypothesis import strategies as st

from rrmbench.report import naming
from rrmbench.report.check import check, update
from rrmbench.report.compare import Side, compare
from rrmbench.report.compare.profiles import profile
from rrmbench.report.levels import Levels
from rrmbench.report.spreads import spread


def rates(solver, values, **shape):
    return [stored.result(stored.spec(solver=solver, seed=s), stored.trace(rate=r, **shape)) for s, r in values.items()]


def failed(asked, status="failed"):
    return stored.result(asked, {}, status, "ValueError: no")


def test_seeds_are_one_method_with_medians_and_quartiles(tmp_path):
    experiment = stored.experiment(tmp_path / "e", rates("apcg", {0: 0.5, 1: 1.0, 2: 2.0}) + rates("svrg", {0: 0.25}))
    (problem,) = stored.standings(experiment, Levels((1e-2,))).problems
    apcg, svrg = problem.methods
    assert (apcg.name, apcg.seeds, svrg.seeds) == ("apcg", [0, 1, 2], [0])
    (reached,) = apcg.reached
    # gap = 2 exp(-rate k) <= 0.01 first at k = ceil(5.298 / rate): 11, 6, 3
    assert (reached.passes.median, reached.passes.low, reached.passes.high) == (6.0, 4.5, 8.5)
    assert reached.work.median == 7.5 and np.isclose(reached.seconds.median, 0.06)
    assert problem.winners(lambda method: method.reached[0].passes.median) == {apcg}
    assert apcg.statuses == {"done": 3} and apcg.reasons == ["passes"]


def test_passes_that_differ_by_the_rounding_of_their_sum_have_two_winners(tmp_path):
    """0.1 + ... + 0.1 is below 1, and no method is quicker by that."""
    shares = stored.trace(rate=0.5)
    shares["passes"] = shares["passes"] * (1.0 - 2e-16)
    runs = [*rates("apcg", {0: 0.5}), stored.result(stored.spec(solver="svrg"), shares), *rates("fista", {0: 0.4})]
    (problem,) = stored.standings(stored.experiment(tmp_path / "e", runs), Levels((1e-2,))).problems
    passes = [method.reached[0].passes.median for method in problem.methods]
    assert passes[1] < passes[0]
    assert {method.name for method in problem.level_winners[0, "passes"]} == {"apcg", "svrg"}


def test_the_least_final_gap_wins_and_all_below_the_rounding_of_the_objective_are_one(tmp_path):
    runs = [*rates("apcg", {0: 0.5}), *rates("fista", {0: 0.6}), *rates("svrg", {0: 0.2})]
    (problem,) = stored.standings(stored.experiment(tmp_path / "a", runs)).problems
    assert {method.name for method in problem.gap_winners} == {"fista"}
    exact = stored.trace(rate=10.0)
    exact["gap"][-1] = 1e-17
    runs += [stored.result(stored.spec(solver="newton"), exact), *rates("prox_sdca", {0: 10.0})]  # with a gap of 0
    (problem,) = stored.standings(stored.experiment(tmp_path / "b", runs)).problems
    assert {method.name for method in problem.gap_winners} == {"newton", "prox_sdca"}


def test_runs_that_never_come_there_count_as_never(tmp_path):
    runs = [*rates("apcg", {0: 1.0, 1: 1.0, 2: 0.01}), failed(stored.spec(seed=3))]
    runs += rates("svrg", {0: 0.01, 1: 0.01, 2: 1.0})
    (problem,) = stored.standings(stored.experiment(tmp_path / "e", runs), Levels((1e-2,))).problems
    apcg, svrg = problem.methods
    assert (apcg.reached[0].count, apcg.reached[0].runs) == (2, 4)
    assert apcg.reached[0].passes.median == np.inf and apcg.reached[0].passes.low == 6.0
    assert svrg.reached[0].passes.median == np.inf
    assert not problem.winners(lambda method: method.reached[0].passes.median)
    assert apcg.statuses == {"done": 3, "failed": 1}


def test_no_run_is_known_to_be_nearer_than_p_is_rounded(tmp_path):
    columns = stored.trace(rate=1.0, passes=30)
    for name in ("primal", "dual"):
        columns[name] = columns[name] + 1e9  # rounded to 1.2e-7
    columns["gap"] = columns["primal"] - columns["dual"]
    assert columns["gap"][-1] == 0.0
    result = stored.result(stored.spec(solver="apcg"), columns)
    (problem,) = stored.standings(stored.experiment(tmp_path / "e", [result]), Levels((1e-5, 1e-7))).problems
    assert [reached.count for reached in problem.methods[0].reached] == [1, 0]


def test_levels_may_be_of_the_suboptimality_and_relative_to_the_start(tmp_path):
    experiment = stored.experiment(tmp_path / "e", rates("apcg", {0: 1.0}), width=1e-6)

    def passes(*asked):
        return [reached.passes.median for reached in stored.standings(experiment, Levels(*asked)).methods[0].reached]

    assert passes((1e-2, 1e-4), "suboptimality") == [5.0, 10.0]  # exp(-k), P(0) = 1.25
    assert passes((1e-2, 1e-4), "suboptimality", True) == [5.0, 9.0 + (np.exp(-9) > 1.25e-4)]
    assert passes((1e-7,), "suboptimality") == [np.inf]  # below the width of the reference nothing is known
    below = {name: column - 10.0 for name, column in stored.trace(1.0).items() if name in ("primal", "dual")}
    experiment = stored.experiment(tmp_path / "below", [stored.result(stored.spec(), stored.trace(1.0) | below)])
    assert passes((1e-2,), "gap", True) == [4.0]  # 2 exp(-k), P(0) = -8.75
    experiment = stored.experiment(tmp_path / "e", rates("apcg", {0: 1.0}), width=1e-6)
    assert stored.standings(experiment).problems[0].width == pytest.approx(1e-6)
    assert stored.standings(experiment).methods[0].final("suboptimality").median == pytest.approx(1e-6)


def test_a_method_without_certificate_or_passes_is_known_as_such(tmp_path):
    columns = stored.trace(rate=1.0, certified=False)
    runs = [stored.result(stored.spec(solver="liblinear"), columns | {"passes": np.full(21, np.nan)})]
    experiment = stored.experiment(tmp_path / "e", runs + rates("apcg", {0: 1.0}))
    black, apcg = stored.standings(experiment, Levels((1e-2,))).methods
    assert not black.certified and not black.counts_passes and black.quantity == "suboptimality"
    assert np.isnan(black.reached[0].passes.median) and np.isclose(black.reached[0].seconds.median, 0.05)
    assert black.final("gap").median == np.inf
    assert apcg.certified and apcg.counts_passes and apcg.quantity == "gap"


def test_a_method_without_certificate_does_not_compete_for_a_gap(tmp_path):
    quick = stored.result(stored.spec(solver="fobos"), stored.trace(rate=9.0, certified=False))
    runs = [quick, *rates("apcg", {0: 0.5}), *rates("svrg", {0: 0.4})]
    (problem,) = stored.standings(stored.experiment(tmp_path / "e", runs), Levels((1e-2,))).problems
    assert [method.reached[0].passes.median for method in problem.methods] == [1.0, 11.0, 14.0]
    assert {method.name for method in problem.level_winners[0, "passes"]} == {"apcg"}
    (problem,) = stored.standings(stored.experiment(tmp_path / "two", runs[:2]), Levels((1e-2,))).problems
    assert not problem.gap_winners and not problem.level_winners[0, "passes"]  # none was there to be beaten


def test_a_method_of_which_no_run_got_anywhere_is_behind_all(tmp_path):
    runs = [failed(stored.spec(solver="fobos")), *rates("apcg", {0: 0.5})]
    nowhere, _ = stored.standings(stored.experiment(tmp_path / "e", runs)).methods
    assert {nowhere.final(name).median for name in ("gap", "objective", "seconds")} == {np.inf}


def test_a_method_is_the_same_on_other_problems(tmp_path):
    runs = [stored.result(stored.spec(strength=c, solver=s, seed=1)) for c in (1e-4, 1e-5) for s in ("apcg", "svrg")]
    first, second = stored.standings(stored.experiment(tmp_path / "e", runs)).problems
    assert (first.heading, second.heading) == ("strength=1e-4", "strength=1e-5")
    assert [m.identity for m in first.methods] == [m.identity for m in second.methods]
    assert len({m.identity for m in first.methods}) == 2


@given(st.lists(st.floats(0, 1e9) | st.just(np.inf), min_size=1, max_size=9))
def test_quartiles_are_those_of_numpy_where_they_are_finite_and_never_nan(values):
    found = spread(values)
    assert found.low <= found.median <= found.high
    assert spread([np.nan, *values]) == spread([np.inf, *values])  # what is not known is not reached
    cut = spread([min(value, 1e12) for value in values])
    for name, share in (("low", 0.25), ("median", 0.5), ("high", 0.75)):
        assert np.isclose(getattr(cut, name), np.quantile(np.minimum(values, 1e12), share))
        assert np.isinf(getattr(found, name)) == (getattr(cut, name) > 2e9)


def stopped_at(passes, solver="apcg", asked=None, reason="passes", **info):
    """A Result whose gap falls to a hundredth on its last point, as where evaluation spends its passes there."""
    columns = stored.trace(rate=0.25, passes=passes)
    columns["dual"][-1] = columns["primal"][-1] - 0.01 * columns["gap"][-1]
    columns["gap"] = columns["primal"] - columns["dual"]
    spec = stored.spec(solver=solver) | {"stop": asked or {"passes": passes}}
    return stored.result(spec, columns, reason=reason, **{"evaluation_passes": 5.0} | info)


@pytest.mark.parametrize("passes", [20, 40])
def test_what_is_known_at_the_end_only_is_a_bound_and_wins_nothing(tmp_path, passes):
    runs = [stopped_at(passes), *rates("svrg", {0: 0.125}, passes=100)]
    # gap = 2 exp(-passes/4) before the last point, a hundredth of it there
    levels = Levels((2.0 * np.exp(-0.25 * (passes - 2)), 0.03 * np.exp(-0.25 * passes)))
    (problem,) = stored.standings(stored.experiment(tmp_path / "e", runs), levels).problems
    apcg, svrg = problem.methods
    assert [(at.count, at.at_end, at.is_bound) for at in apcg.reached] == [(1, 0, False), (1, 1, True)]
    assert apcg.reached[1].passes.median == passes
    assert not any(at.is_bound for at in svrg.reached)
    assert apcg in problem.level_winners[0, "passes"] and apcg not in problem.level_winners[1, "passes"]


@pytest.mark.parametrize("info", [{}, {"helped": [[16, None]]}], ids=["older", "helped"])
def test_a_gap_that_ended_the_run_was_looked_for_all_along(tmp_path, info):
    level = 2.0 * np.exp(-4.0)
    for reason, asked in ("gap", {"gap": level}), ("relative_gap", {"relative_gap": level / 1.25}):
        levels = Levels((level * (1.0 + 1e-12), 1e-2 * level))
        run = stopped_at(16, asked=asked, reason=reason, **info)
        (method,) = stored.standings(stored.experiment(tmp_path / reason, [run]), levels).methods
        assert [at.at_end for at in method.reached] == [0, 1]
        assert ["≤" * at.is_bound for at in method.reached] == ["", "≤"]


def test_a_level_that_evaluation_met_in_the_middle_of_a_run_is_a_bound(tmp_path):
    """gap = 2 exp(-passes/4) by the solver's own bounds; a hundredth from point 8 on, where evaluation found one."""
    columns = stored.trace(rate=0.25, passes=20)
    own = columns["gap"].copy()
    columns["dual"][8:] = np.maximum(columns["dual"], columns["primal"] - 0.01 * own)[8:]
    columns["gap"] = columns["primal"] - columns["dual"]
    spec = stored.spec() | {"stop": {"gap": 0.5 * columns["gap"][-1]}}
    run = stored.result(spec, columns, evaluation_passes=2.0, helped=[[0, None], [8, own[8]]])
    gaps = own[0], own[7], own[8], 0.98 * own[8], columns["gap"][8], columns["gap"][9]
    (method,) = stored.standings(stored.experiment(tmp_path / "e", [run]), Levels(tuple(1.01 * np.array(gaps)))).methods
    assert [at.is_bound for at in method.reached] == [False, False, False, True, True, False]
    assert [at.at_end for at in method.reached] == [0, 0, 0, 1, 1, 0]  # no run was there before its start
    assert [at.passes.median for at in method.reached] == [0.0, 7.0, 8.0, 8.0, 8.0, 9.0]


def test_no_bound_without_passes_of_evaluation_and_none_of_a_suboptimality(tmp_path):
    experiment = stored.experiment(tmp_path / "a", [stopped_at(20, evaluation_passes=0.0)])
    assert not any(at.at_end for at in stored.standings(experiment).methods[0].reached)
    experiment = stored.experiment(tmp_path / "b", [stopped_at(20)], width=1e-9)
    levels = Levels((np.exp(-5.0) * (1 + 1e-9),), "suboptimality")
    (reached,) = stored.standings(experiment, levels).methods[0].reached
    assert (reached.count, reached.at_end) == (1, 0)


def test_a_comparison_makes_no_ratio_of_bounds(tmp_path):
    folders = [stored.experiment(tmp_path / name, [stopped_at(20)]).directory for name in "ab"]
    between = 0.02 * np.exp(-5.0) * 2.0  # met at the last point only
    found = compare(Side(folders[0]), Side(folders[1]), Levels((2.0 * np.exp(-4.0), between)))
    assert [(one.both, one.at_end) for one in found.outcomes] == [(1, 0), (1, 1)]
    assert found.outcomes[1].ratios["passes"] is None and found.outcomes[0].ratios["passes"].estimate == 1.0
    bounds = compare(Side(folders[0]), Side(folders[1]), Levels((between,)))
    assert "1 of them without a ratio" in " ".join(bounds.sentences)


@pytest.mark.parametrize("stop", [{"passes": 20}, {"else": 1.0}, {"gap": 1e-9, "else": 1.0}])
def test_rules_that_are_missing_or_unknown_end_no_reader(tmp_path, stop):
    run = stopped_at(20, asked=stop, reason="gap")
    (method,) = stored.standings(stored.experiment(tmp_path / "e", [run])).methods
    assert len(method.reached) == len(Levels().values)


def test_calls_of_a_black_box_are_taken_by_their_seconds(tmp_path):
    """The first call may be a slow one; each is from scratch, so that a tighter level is never reached sooner."""
    columns = stored.trace(rate=1.0, passes=4)
    columns |= {name: np.full(5, np.nan) for name in ("passes", "checks")}
    columns |= {name: np.array([0.0, 0.9, 0.2, 0.3, 0.4]) for name in ("seconds", "cpu_seconds")}
    experiment = stored.experiment(tmp_path / "e", [stored.result(stored.spec(solver="liblinear"), columns)])
    (box,) = stored.standings(experiment, Levels((0.5, 0.06), "suboptimality")).methods
    assert [reached.seconds.median for reached in box.reached] == [0.2, 0.3]


def test_a_library_that_counts_passes_has_them_at_the_first_call_and_seconds_at_the_quickest(tmp_path):
    columns = stored.trace(rate=1.0, passes=4) | {"seconds": np.array([0.0, 0.9, 0.2, 0.3, 0.4])}
    runs = [stored.result(stored.spec(solver="sklearn_saga"), columns, restarts=True)]
    (method,) = stored.standings(stored.experiment(tmp_path / "e", runs), Levels((0.8, 0.12))).methods
    assert [reached.passes.median for reached in method.reached] == [1.0, 3.0]
    assert [reached.seconds.median for reached in method.reached] == [0.2, 0.3]


@pytest.mark.parametrize(
    ("far", "is_bound"), [([0, 1, 1, 2, 2], True), ([0, 0, 1, 2, 2], True), ([0, 0, 0, 1, 2], False)]
)
def test_a_median_that_depends_on_a_last_point_is_a_bound_also_where_some_never_come_there(tmp_path, far, is_bound):
    """far : 0 for a seed that was there before its end, 1 for one at its end only, 2 for one that never was."""
    runs = []
    level = 2.0 * np.exp(-5.0)
    for seed, kind in enumerate(far):
        spec = stored.spec(seed=seed) | {"stop": {"passes": 20}}
        columns = stored.trace(rate=(0.5, 0.2, 0.01)[kind], passes=20)
        if kind == 1:
            columns["dual"][-1] = columns["primal"][-1] - 0.5 * level
            columns["gap"] = columns["primal"] - columns["dual"]
        runs.append(stored.result(spec, columns, evaluation_passes=5.0))
    (method,) = stored.standings(stored.experiment(tmp_path / "e", runs), Levels((level,))).methods
    (reached,) = method.reached
    assert (reached.is_bound, reached.at_end, reached.count) == (is_bound, far.count(1), 5 - far.count(2))


def test_problems_whose_numbers_are_written_alike_are_two(tmp_path):
    runs = [
        stored.result(stored.spec(strength=strength, solver=solver))
        for strength in (1e-3, 1.0001e-3)
        for solver in ("apcg", "svrg")
    ]
    experiment = stored.experiment(tmp_path / "e", runs)
    problems = stored.standings(experiment).problems
    assert [len(problem.methods) for problem in problems] == [2, 2]
    assert [problem.heading for problem in problems] == ["strength=0.001", "strength=0.0010001"]
    made = profile(experiment.directory, Levels((1e-2,)))
    assert made.costs.shape == (2, 2) and len(set(made.problems)) == 2
    sides = [Side(experiment.directory, (f"solver={solver}",)) for solver in ("apcg", "svrg")]
    assert len(compare(*sides, Levels((1e-2,))).pairing.cases) == 2


def test_methods_whose_numbers_are_written_alike_are_two(tmp_path):
    scales = (0.12345671, 0.12345672)
    specs = [stored.spec(step_scale=scale, seed=seed) for scale in scales for seed in (0, 1)]
    experiment = stored.experiment(tmp_path / "e", [stored.result(spec) for spec in specs])
    names = [f"apcg(step_scale={scale})" for scale in scales]
    assert [method.name for method in stored.standings(experiment).methods] == names
    assert list(profile(experiment.directory, Levels((1e-2,))).labels) == names
    update(tmp_path, tmp_path / "baseline.json")
    assert [row.verdict for row in check(tmp_path, tmp_path / "baseline.json").rows] == ["ok"] * 4


def test_a_problem_whose_keys_stand_in_another_order_is_the_same(tmp_path):
    runs = [stored.result(stored.spec(solver=solver)) for solver in ("apcg", "svrg")]
    turned = runs[1].spec["regularizer"]
    runs[1].spec["regularizer"] = dict(reversed(turned.items()))
    (problem,) = stored.standings(stored.experiment(tmp_path / "e", runs)).problems
    assert len(problem.methods) == 2 and problem.gap_winners


def test_whole_numbers_are_written_whole():
    written = [naming.short(value) for value in (20240101, 100000, 3, 1e5, 1e-3)]
    assert written == ["20240101", "100000", "3", "1e5", "1e-3"]
