"""`tune:` from the grid in the file to the choice that readers show."""

import json
from dataclasses import replace

import numpy as np
import pytest
import stored
from rich.console import Console

from rrmbench import config
from rrmbench.errors import RrmbenchError
from rrmbench.report import plots, show_json, show_latex
from rrmbench.report.compare import Side, compare
from rrmbench.report.html.tables import tables
from rrmbench.report.levels import CERTIFIED_GAPS
from rrmbench.report.results import runs_of
from rrmbench.report.show import summary
from rrmbench.report.standings import standings_at
from rrmbench.report.tuning import among, choices

FILE = """\
dataset: tiny.txt
loss: squared
regularizer: {name: l1, strength: 0.1}
solver: apcg
reduction:
  - {name: regularize, sigma: 1e-3}
  - adapt_reg
  - {name: joint_adapt, inside: none}
tune: {grid: {reduction.sigma: "{1,3}*10^[-2..-1]", reduction.mu: [0.5, 1]}}
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "tiny.txt").write_text("1 1:1\n-1 2:1\n")
    (tmp_path / "c.yaml").write_text(FILE)
    return config.resolve(config.read(tmp_path / "c.yaml"))


def test_only_parameters_that_exist_and_are_not_set_are_tuned(plan):
    sigmas = {name: [] for name in ("regularize", "adapt_reg", "joint_adapt")}
    for spec in plan.runs:
        sigmas[spec["reduction"]["name"]].append((spec["reduction"]["sigma"], plan.tuned_keys(spec)))
    grid = [0.01, 0.03, 0.1, 0.3]
    assert sigmas["regularize"] == [(1e-3, [])]
    assert sigmas["adapt_reg"] == [(sigma, ["reduction.sigma"]) for sigma in grid]
    both = ["reduction.sigma", "reduction.mu"]
    assert sigmas["joint_adapt"] == [(sigma, both) for sigma in grid for _ in range(2)]


SET_AND_TUNED = "{name: adapt_reg, sigma: %s}", "adapt_reg"


@pytest.mark.parametrize("entries", [SET_AND_TUNED, SET_AND_TUNED[::-1]])
def test_a_value_of_a_grid_is_no_method_by_itself(tmp_path, entries):
    (tmp_path / "tiny.txt").write_text("1 1:1\n-1 2:1\n")

    def resolved(value):
        head, tune = FILE.partition("reduction:")[0], "tune: {grid: {reduction.sigma: [0.1, 0.3]}}\n"
        (tmp_path / "c.yaml").write_text(f"{head}reduction: [{', '.join(entries) % value}]\n{tune}")
        return config.resolve(config.read(tmp_path / "c.yaml"))

    assert len(resolved("1e-3").runs) == 3
    with pytest.raises(RrmbenchError, match=r"c\.yaml:6: .*sigma: found 0\.1, which the file sets for the same"):
        resolved("0.1")


def tuned_experiment(folder, by, rates, gap=1e-3, **shapes):
    """adapt_reg at several sigma, three seeds each, converging at the given rates; one run that is not tuned."""
    results = []
    for sigma, rate in rates.items():
        for seed in range(3):
            asked = stored.spec(reduction="adapt_reg", sigma=sigma, seed=seed)
            results.append(stored.result(asked, stored.trace(rate=rate * (1 + 0.01 * seed), **shapes)))
    results += [stored.result(stored.spec(reduction="regularize", sigma=1.0, seed=s)) for s in range(3)]
    experiment = stored.experiment(folder, results)
    manifest = experiment.manifest()
    for entry in manifest["runs"]:
        entry["tuned"] = ["reduction.sigma"] if entry["spec"]["reduction"]["name"] == "adapt_reg" else []
    manifest["config"] = {"tune": {"grid": {}, "by": by, "gap": gap}}
    experiment.write_manifest(manifest)
    return experiment


def test_the_best_final_objective_is_kept_with_all_its_seeds(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9, 1.0: 0.5})
    found = runs_of(experiment)
    (choice,) = choices(experiment.manifest(), found)
    assert choice.values == {"reduction.sigma": 0.3}
    assert [run.keys["seed"] for run in choice.kept] == [0, 1, 2]
    assert len(choice.trials) == 6 and not choice.at_edge
    passes = sum(run.column("passes")[-1] for run in choice.kept + choice.trials)
    assert f"best of 3 by objective (search: {passes:.4g} passes" in choice.text


def test_every_reader_tells_what_the_search_cost(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9, 1.0: 0.5})
    cost = "search: 180 passes, 1.8 s"  # 3 values with 3 seeds of 20 passes
    (standings,) = standings_at(experiment.directory)
    assert f"({cost})" in show_latex.as_text([standings])
    found = json.loads(show_json.as_text([standings], CERTIFIED_GAPS))["experiments"][0]["problems"][0]["methods"]
    told = [method["tuned"] and method["tuned"]["search"] for method in found]
    assert told == [{"passes": 180.0, "seconds": pytest.approx(1.8)}, None]
    sides = (Side(experiment.directory, (f"reduction={name}",)) for name in ("adapt_reg", "regularize"))
    (sentence,) = [line for line in compare(*sides).sentences if "tuned" in line]
    assert sentence.startswith("A is tuned, and its search not in the ratios: ") and cost in sentence
    ((_, _, sheet),) = plots.sheets(experiment.directory)
    assert "all of them took 180 passes, 1.8 s" in sheet.notes


def test_a_value_that_lacks_seeds_is_not_the_best_and_is_counted(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9, 1.0: 0.5})
    found = [run for run in runs_of(experiment) if run.keys.get("reduction.sigma") != 0.3 or run.keys["seed"] == 1]
    (choice,) = choices(experiment.manifest(), found)
    assert choice.values == {"reduction.sigma": 1.0}
    assert [run.keys["seed"] for run in choice.kept] == [0, 1, 2]
    assert "is the best of 3 (1 with fewer or other seeds left out) by objective" in choice.text


def test_values_with_more_seeds_come_before_several_with_as_few(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9, 1.0: 0.5})
    found = [run for run in runs_of(experiment) if run.keys.get("reduction.sigma") == 0.1 or run.keys["seed"] < 2]
    (choice,) = choices(experiment.manifest(), found)
    assert (choice.values, choice.incomplete) == ({"reduction.sigma": 0.1}, 2)


def test_the_only_value_of_a_grid_is_no_edge(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3})
    (choice,) = choices(experiment.manifest(), runs_of(experiment))
    assert choice.values == {"reduction.sigma": 0.1} and not choice.at_edge


def test_values_with_runs_of_other_seeds_are_not_compared(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9, 1.0: 0.5})
    seeds = {0.1: (0, 1), 0.3: (1, 2), 1.0: (0, 1)}
    found = [run for run in runs_of(experiment) if run.keys["seed"] in seeds.get(run.keys["reduction.sigma"], ())]
    (choice,) = choices(experiment.manifest(), found)
    assert choice.values == {"reduction.sigma": 1.0}
    assert "is the best of 3 (1 with fewer or other seeds left out) by objective" in choice.text


def test_where_no_value_has_a_finished_run_none_is_the_best_and_all_are_shown(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9})
    for result in experiment.results():
        if result.spec["reduction"]["name"] == "adapt_reg":
            experiment.write(replace(result, status="timeout", w=result.w, b=result.b))
    console = Console(width=100, record=True)
    console.print(summary(experiment.directory))
    shown = " ".join(console.export_text().split())
    assert "none of 2 values is the best, as none has finished runs for most of its seeds" in shown
    assert "trials of tuning" not in shown and "EDGE" not in shown
    assert "sigma=0.1)" in shown and "sigma=0.3)" in shown
    ((_, _, sheet),) = plots.sheets(experiment.directory)
    assert len(sheet.labels) == 3 and not [note for note in sheet.notes if "best of" in note]


def test_passes_to_a_gap_prefer_what_gets_there_first_and_tell_an_edge(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "passes_to_gap", {0.1: 0.4, 0.3: 0.8, 1.0: 2.0}, gap=1e-2)
    (choice,) = choices(experiment.manifest(), runs_of(experiment))
    assert choice.values == {"reduction.sigma": 1.0} and choice.at_edge
    assert "AT THE EDGE" in choice.text
    assert "by passes_to_gap (" in choice.text


@pytest.mark.parametrize(
    ("rates", "at_edge", "said"),
    [
        ({0.1: 0.5, 0.3: 0.5, 1.0: 0.5}, False, "is the best of 3 (2 more are as good) by"),  # it has no effect
        ({0.1: 0.5, 0.3: 0.5, 1.0: 0.4}, False, "is the best of 3 (1 more is as good) by"),
        ({0.1: 0.5, 0.3: 0.4, 1.0: 0.5}, True, "is the best of 3 (1 more is as good) by"),
        ({0.1: 8.0, 0.3: 7.0, 1.0: 0.5}, False, "is the best of 3 (1 more is as good) by"),  # to rounding
    ],
)
def test_values_that_are_as_good_as_the_best_are_told_and_are_no_edge(tmp_path, rates, at_edge, said):
    experiment = tuned_experiment(tmp_path / "e", "objective", rates)
    (choice,) = choices(experiment.manifest(), runs_of(experiment))
    assert choice.values == {"reduction.sigma": 0.1} and choice.at_edge == at_edge
    assert said in choice.text and ("AT THE EDGE" in choice.text) == at_edge


def test_by_objective_what_a_gap_ended_first_is_best_and_not_what_went_beyond_it(tmp_path):
    """1.0 is lower at its end, and needs more passes to it; 3.0 is lower still, but has not proven the gap."""
    results = []
    for sigma, passes, lower, reason in ((0.3, 8, 0.0, "gap"), (1.0, 12, 1e-4, "gap"), (3.0, 20, 2e-4, "passes")):
        columns = stored.trace(1.0, passes)
        columns["primal"][-1] -= lower * columns["gap"][-1]
        asked = stored.spec(reduction="adapt_reg", sigma=sigma)
        results.append(stored.result(asked, columns, reason=reason))
    experiment = stored.experiment(tmp_path / "e", results)
    stored.tuned(experiment, "reduction.sigma", config={"tune": {"grid": {}, "by": "objective"}})
    (choice,) = choices(experiment.manifest(), runs_of(experiment))
    assert choice.values == {"reduction.sigma": 0.3}
    assert "is the best of 3 by passes to the gap that ends its runs" in choice.text
    assert choice.by == "objective"


@pytest.mark.parametrize(("gap", "best"), [(1e-3, 0.2), (1e-30, 0.5)])
def test_the_gap_is_the_one_that_ends_the_runs_and_what_does_not_come_there_is_told(tmp_path, gap, best):
    """0.2 is first at the gap, 0.5 lower at the end."""
    results = []
    for sigma, rate, passes in ((0.2, 1.0, 10), (0.5, 0.8, 20)):
        asked = stored.spec(reduction="adapt_reg", sigma=sigma) | {"stop": {"passes": 20, "gap": gap}}
        results.append(stored.result(asked, stored.trace(rate, passes)))
    experiment = stored.experiment(tmp_path / "e", results)
    stored.tuned(
        experiment,
        "reduction.sigma",
        config={"tune": {"grid": {}, "by": "passes_to_gap"}, "stop": {"passes": 20}},
    )
    (choice,) = choices(experiment.manifest(), runs_of(experiment))
    assert choice.values == {"reduction.sigma": best}
    assert ("by objective, since none comes to its gap" in choice.text) == (gap == 1e-30)
    assert choice.by == ("objective" if gap == 1e-30 else "passes_to_gap")  # as in JSON


@pytest.mark.parametrize("stop", ["{passes: 9}", "{passes: 9, relative_gap: 1e-3}", None])
def test_passes_to_a_gap_need_one(tmp_path, stop):
    (tmp_path / "tiny.txt").write_text("1 1:1\n-1 2:1\n")
    keys = FILE.replace("reduction.mu: [0.5, 1]}", "reduction.mu: [0.5, 1]}, by: passes_to_gap")
    for text, message in (
        (keys + (f"stop: {stop}\n" if stop else ""), "passes_to_gap needs a gap: tune.gap, or stop.gap of every run"),
        (keys + "stop: {gap: 1e-3}\n", None),
        (keys.replace("by: passes_to_gap", "by: passes_to_gap, gap: 1e-3"), None),
    ):
        (tmp_path / "c.yaml").write_text(text)
        if message is None:
            assert config.resolve(config.read(tmp_path / "c.yaml")).runs
        else:
            with pytest.raises(RrmbenchError, match=f"c.yaml:[0-9]+: tune.by: {message}"):
                config.resolve(config.read(tmp_path / "c.yaml"))


def test_show_and_plot_keep_the_best_and_say_what_became_of_the_rest(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9, 1.0: 0.5})
    console = Console(width=140, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(summary(experiment.directory))
    text = console.export_text()
    assert "12 runs, 6 of them trials of tuning, not shown" in text
    assert "reduction.sigma = 0.3 is the best of 3" in text
    ((_, _, sheet),) = plots.sheets(experiment.directory)
    (panel,) = sheet.panels.values()
    assert len(panel.curves) == 2 and len(panel.faint) == 2
    assert any("faint: the others" in note for note in sheet.notes)
    assert len(plots.plot(experiment.directory)) == 2


@pytest.mark.parametrize("other", ["stop", "code"])
def test_values_that_were_run_otherwise_are_another_search(tmp_path, other):
    """Some values with another rule as well, or one by other code: neither splits nor joins the search of the rest."""
    results = [stored.result(stored.spec(reduction="adapt_reg", sigma=sigma)) for sigma in (0.1, 0.3, 1.0)]
    if other == "stop":
        asked = [stored.spec(reduction="adapt_reg", sigma=sigma) | {"stop": {"passes": 10}} for sigma in (0.3, 1.0)]
        results += [stored.result(spec, stored.trace(passes=10)) for spec in asked]
    else:
        results[0] = replace(results[0], code="1111bbbb", w=results[0].w, b=results[0].b)
    experiment = stored.experiment(tmp_path / "e", results)
    stored.tuned(experiment, "reduction.sigma")
    found = choices(experiment.manifest(), runs_of(experiment))
    assert sorted(choice.count for choice in found) == ([2, 3] if other == "stop" else [1, 2])


def test_where_no_value_comes_to_the_gap_for_most_seeds_the_objective_decides(tmp_path):
    """One seed of one value comes there."""
    runs = [
        stored.result(
            stored.spec(solver="sgd", step_scale=scale, seed=seed), stored.trace(0.5 if fast else 0.1 * scale)
        )
        for scale, quick in ((1.0, 1), (0.5, 0))
        for seed, fast in enumerate([True] * quick + [False] * (3 - quick))
    ]
    experiment = stored.experiment(tmp_path / "e", runs)
    stored.tuned(experiment, "solver.step_scale", config={"tune": {"grid": {}, "by": "passes_to_gap", "gap": 1e-3}})
    (choice,) = choices(experiment.manifest(), runs_of(experiment))
    assert choice.values == {"solver.step_scale": 1.0} and choice.unreached
    assert "by objective, since none comes to its gap for most of its seeds" in choice.text


@pytest.mark.parametrize("rate, known", [(0.4, True), (0.2, False)])
def test_a_bound_that_evaluation_found_lets_no_value_win(tmp_path, rate, known):
    """Of 1.0 evaluation has found at 10 passes a bound that its own are far from; 0.5 comes there at 19, or never."""
    helped = stored.trace(0.1)
    helped["gap"][10:] = np.minimum(helped["gap"][10:], 1e-4)
    runs = [
        stored.result(stored.spec(solver="sgd", step_scale=0.5), stored.trace(rate)),
        stored.result(stored.spec(solver="sgd", step_scale=1.0), helped, evaluation_passes=9.0, helped=[[10, 0.7]]),
    ]
    experiment = stored.experiment(tmp_path / "e", runs)
    stored.tuned(experiment, "solver.step_scale", config={"tune": {"grid": {}, "by": "passes_to_gap", "gap": 1e-3}})
    (choice,) = choices(experiment.manifest(), runs_of(experiment))
    assert choice.values == {"solver.step_scale": 0.5} and choice.unreached != known
    assert "of 2 (1 at the gap only by a bound of evaluation, which tells no passes) by " in choice.text
    assert ("by objective, since none is known to come to its gap" in choice.text) != known


@pytest.mark.parametrize("by", ["passes_to_gap", "objective"])
def test_of_black_boxes_the_seconds_of_their_quickest_call_decide(tmp_path, by):
    runs = []
    for scale, slow in ((1.0, 3.0), (0.5, 1.0)):
        asked = stored.spec(solver="box", step_scale=scale) | {"stop": {"gap": 1e-3}}
        columns = stored.trace(1.0, passes=10) | {"passes": np.full(11, np.nan)}
        columns["seconds"] = slow * columns["seconds"]
        runs.append(stored.result(asked, columns, reason="gap"))
    experiment = stored.experiment(tmp_path / "e", runs)
    stored.tuned(experiment, "solver.step_scale", config={"tune": {"grid": {}, "by": by, "gap": 1e-3}})
    (choice,) = choices(experiment.manifest(), runs_of(experiment))
    assert choice.values == {"solver.step_scale": 0.5}
    assert "by seconds to the gap" in choice.text and "nan" not in choice.text and "passes" not in choice.text[-30:]


def test_a_value_without_a_result_is_in_the_grid(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9, 1.0: 0.5})
    found = [run for run in runs_of(experiment) if run.keys.get("reduction.sigma") != 1.0 or not run.tuned]
    (choice,) = choices(experiment.manifest(), found)
    assert choice.values == {"reduction.sigma": 0.3} and choice.count == 2 and not choice.at_edge


def test_readers_of_some_runs_keep_the_choice_among_all(tmp_path):
    experiment = tuned_experiment(tmp_path / "e", "objective", {0.1: 0.3, 0.3: 0.9, 1.0: 0.5})
    found = runs_of(experiment)
    (choice,) = choices(experiment.manifest(), found)
    shown = [run for run in found if run.keys["seed"] == 1]
    (part,) = among([choice], shown)
    assert part.values == choice.values and part.count == 3 and not part.at_edge
    assert [run.keys["seed"] for run in part.kept] == [1] and len(part.trials) == 2
    assert among([choice], choice.trials) == []
    only = ["reduction.sigma=[0.1,1.0]"]
    ((_, _, sheet),) = plots.sheets(experiment.directory, only=only)
    assert list(sheet.labels.values())[1:] == ["adapt_reg \u03c3=0.1", "adapt_reg \u03c3=1"]
    page = tables(experiment, found, [run for run in found if run.keys.get("reduction.sigma") in (0.1, 1.0)])
    assert page["tuning"] == []
