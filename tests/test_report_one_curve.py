"""One curve is one set of runs: what differs in anything but the seed is replaced or told apart, by every reader."""

import csv
import json

import numpy as np
import pytest
import stored
from lab import make_lab  # noqa: F401

from rrmbench.bench.store import Experiment
from rrmbench.report.compare import Side, compare
from rrmbench.report.plots import sheets
from rrmbench.report.results import runs_of
from rrmbench.report.tidy import load_results
from rrmbench.report.tuning import choices

TWICE = {"cases": [{"stop": {"passes": 3}}, {"stop": {"passes": 6}}]}


def curves(path, **asked):
    """[(label of a series, passes at the end of its curve)] of all figures, each of one panel."""
    drawn = [sheet for _, _, sheet in sheets(path, **asked)]
    return sorted(
        (sheet.labels[series], float(curve.x[-1]))
        for sheet in drawn
        for series, curve in sheet.panels[0, 0].curves.items()
    )


def test_a_run_with_another_stopping_rule_replaces_the_one_before_in_the_manifest(lab):
    config = lab.config(solver=["prox_sdca", "apcg"], seed=[0, 1])
    lab.run(config)
    again = lab.run(config, "--only", "solver=prox_sdca", "--set", "stop.passes=2", "--set", "trace.every=2")
    assert "2 results of before are asked for no longer; they are kept, and not shown" in again.out
    entries = Experiment(lab.out / "toy").manifest()["runs"]
    passes = [(entry["spec"]["solver"]["name"], entry["spec"]["stop"]["passes"]) for entry in entries]
    assert sorted(passes) == [("apcg", 5), ("apcg", 5), ("prox_sdca", 2), ("prox_sdca", 2)]
    assert curves(lab.out / "toy", y="objective") == [
        ("apcg", 5.0),
        ("prox_sdca [stop.passes=2, trace.every=2]", 2.0),
    ]
    for option, rows in ((), 1), (("--runs",), 2):  # of its two seeds
        shown = lab.cli("show", lab.out, *option).out
        assert sum(line.startswith("prox_sdca") for line in shown.splitlines()) == rows
    assert "stop.passes=2" in shown and "stop.passes=5" not in shown
    stops = load_results(lab.out / "toy").groupby("solver")["stop.passes"].unique()
    assert {solver: list(found) for solver, found in stops.items()} == {"apcg": [5.0], "prox_sdca": [2.0]}
    baseline = lab.folder / "b.json"
    lab.cli("check", lab.out, "--baseline", baseline, "--update")
    assert "prox_sdca, " not in baseline.read_text() and "apcg, seed 0" in baseline.read_text()
    assert lab.cli("compare", lab.out, "--a", "solver=apcg", "--b", "solver=prox_sdca").code == 0


def test_each_problem_has_a_rule_of_its_own_and_two_methods_by_name_are_compared_whatever_theirs(tmp_path):
    def run(strength, solver, reduction, passes):
        asked = stored.spec(strength=strength, solver=solver, reduction=reduction) | {"stop": {"passes": passes}}
        return stored.result(asked, stored.trace(passes=passes))

    runs = [run(s, solver, "none", p) for s, p in ((0.1, 10), (0.2, 20)) for solver in ("agd", "fista")]
    assert not [k for one in runs_of(stored.experiment(tmp_path / "e", runs)) for k in one.keys if k.startswith("stop")]
    runs = [run(0.1, solver, r, p) for r, p in (("none", 10), ("regularize", 20)) for solver in ("agd", "fista")]
    folder = stored.experiment(tmp_path / "f", runs).directory
    found = compare(Side(folder, ("reduction=none",)), Side(folder, ("reduction=regularize",)))
    assert len(found.pairing.pairs) == 2


def test_a_run_on_changed_data_replaces_the_one_before_in_the_manifest(lab):
    config = lab.config(solver=["agd", "gd"])
    lab.run(config)
    text = (lab.folder / "toy.txt").read_text()
    (lab.folder / "toy.txt").write_text(text + "1 1:0.25\n")
    lab.run(config, "--only", "solver=agd")
    results = lab.results()
    assert [result.spec["solver"]["name"] for result in results] == ["gd", "agd"]
    assert results[0].data != results[1].data


def test_cases_that_differ_in_their_stopping_rule_are_two_curves_rows_and_baseline_entries(lab):
    lab.run(lab.config(**TWICE, solver="prox_sdca", seed=[0, 1]))
    found = curves(lab.out / "toy", y="objective")
    assert found == [("prox_sdca [stop.passes=3]", 3.0), ("prox_sdca [stop.passes=6]", 6.0)]
    shown = lab.cli("show", lab.out).out
    assert "prox_sdca [stop.passes=3]" in shown and "prox_sdca [stop.passes=6]" in shown
    lab.cli("export", lab.out, "--to", lab.folder / "t.csv")
    with open(lab.folder / "t.csv") as file:
        table = list(csv.DictReader(file))
    assert {row["stop.passes"] for row in table} == {"3.0", "6.0"}
    assert "trace.every" not in table[0]
    baseline = lab.folder / "b.json"
    lab.cli("check", lab.out, "--baseline", baseline, "--update")
    names = list(json.loads(baseline.read_text())["experiments"]["toy"])
    assert sum("prox_sdca [stop.passes=3], seed" in name for name in names) == 2
    assert lab.cli("check", lab.out, "--baseline", baseline).code == 0


def test_without_a_difference_there_are_no_such_keys(lab):
    lab.run(lab.config(solver="prox_sdca", seed=[0, 1]))
    assert not [
        key for run in runs_of(Experiment(lab.out / "toy")) for key in run.keys if key.startswith(("stop", "trace"))
    ]
    assert "[" not in lab.cli("show", lab.out).out


@pytest.mark.parametrize(
    ("change", "label"),
    [
        ({"code": "ffff0000"}, "apcg [code=ffff0000]"),
        ({"data": "1" * 64}, "apcg"),
        ({"trace": {"every": 2}}, "apcg [trace.every=2]"),
        ({"stop": {"passes": 20, "gap": 0.1}}, "apcg [stop.gap=0.1]"),
        ({"path": "/there/apcg.py"}, "apcg path=apcg.py"),
    ],
)
def test_seeds_of_other_code_data_or_rules_are_no_seeds_of_one_curve(tmp_path, change, label):
    runs = [stored.result(stored.spec(seed=seed)) for seed in (0, 1)]
    for seed in 2, 3:
        asked = stored.spec(seed=seed)
        asked["solver"] |= {"path": change["path"]} if "path" in change else {}
        asked |= {key: change[key] for key in ("stop", "trace") if key in change}
        other = stored.result(asked, stored.trace(passes=10))
        if "code" in change:
            other.code, other.run = change["code"], f"{other.spec_id}-{change['code']}"
        other.data = change.get("data", other.data)
        runs.append(other)
    experiment = stored.experiment(tmp_path / "e", runs)
    found = curves(experiment.directory, y="gap")
    assert [end for _, end in sorted(found, key=lambda pair: pair[1])] == [10.0, 20.0]
    assert label in dict(found)
    keys = [run.keys for run in runs_of(experiment)]
    assert len({json.dumps({k: v for k, v in one.items() if k != "seed"}) for one in keys}) == 2
    table = load_results(experiment.directory)
    apart = [name for name in table if name == "code" or "." in name]
    assert len(table[apart].drop_duplicates()) == 2


@pytest.mark.parametrize(
    ("code", "labels"), [("0000aaaa", ["apcg"]), ("ffff0000", ["apcg path=a/my.py", "apcg path=b/my.py"])]
)
def test_a_plug_in_at_another_place_is_another_method_if_its_code_is_another(tmp_path, code, labels):
    runs = []
    for seed, folder in enumerate(["/here/a", "/there/b"]):
        asked = stored.spec(seed=seed)
        asked["solver"]["path"] = f"{folder}/my.py"
        runs.append(stored.result(asked))
    runs[1].code, runs[1].run = code, f"{runs[1].spec_id}-{code}"
    experiment = stored.experiment(tmp_path / "e", runs)
    assert [label for label, _ in curves(experiment.directory, y="gap")] == labels


def test_a_damaged_file_is_not_told_apart_by_the_code_it_does_not_tell(tmp_path):
    runs = [stored.result(stored.spec(seed=seed)) for seed in (0, 1, 2)]
    experiment = stored.experiment(tmp_path / "e", runs)
    (experiment.directory / "runs" / f"{runs[1].run}.npz").write_bytes(b"")
    assert all("code" not in run.keys for run in runs_of(experiment))
    assert curves(experiment.directory, y="gap") == [("apcg", 20.0)]


def test_tuning_compares_runs_of_one_rule(tmp_path):
    runs = []
    for passes in 10, 20:
        for scale in 1.0, 2.0:
            asked = stored.spec(step_scale=scale) | {"stop": {"passes": passes}}
            runs.append(stored.result(asked, stored.trace(rate=scale, passes=passes)))
    experiment = stored.experiment(tmp_path / "e", runs)
    stored.tuned(experiment, "solver.step_scale")
    found = choices(experiment.manifest(), runs_of(experiment))
    assert [choice.values for choice in found] == [{"solver.step_scale": 2.0}] * 2
    assert ["stop.passes=10" in choice.text for choice in found] == [True, False]
    assert np.all([len(choice.trials) == 1 for choice in found])


def test_a_variant_that_one_run_has_is_not_named_like_the_default(tmp_path):
    given = [{"sigma": 1e-4}, {"sigma": 1e-5}, {"eps": 1e-3}, {}]
    runs = [stored.result(stored.spec(reduction="regularize", **one), stored.trace()) for one in given]
    stored.experiment(tmp_path / "e", runs)
    labels = [label for label, _ in curves(tmp_path / "e")]
    assert labels == ["regularize", "regularize eps=1e-3", "regularize σ=1e-4", "regularize σ=1e-5"]


def test_a_key_that_one_data_set_has_is_named_beside_other_keys_that_differ(tmp_path):
    """Each component says what it has, whatever is said of the others."""
    runs = [
        stored.result(asked | {"dataset": asked["dataset"] | preparation}, stored.trace())
        for asked in (stored.spec(strength=s) for s in (0.1, 1e-4))
        for preparation in ({"split": 0.7}, {"flip": 0.3})
    ]
    stored.experiment(tmp_path / "e", runs, {"columns": "loss"})
    labels = [label for label, _ in curves(tmp_path / "e")]
    said = ["split=0.7, λ=0.1", "split=0.7, λ=1e-4", "λ=0.1, flip=0.3", "λ=1e-4, flip=0.3"]
    assert labels == [f"apcg, {one}" for one in said]


def test_values_that_are_one_in_short_are_told_apart_in_full(tmp_path):
    scales = [0.12345671, 0.12345672, 1.0]
    stored.experiment(tmp_path / "e", [stored.result(stored.spec(step_scale=c), stored.trace()) for c in scales])
    assert [label for label, _ in curves(tmp_path / "e")] == [
        "apcg step_scale=0.12345671",
        "apcg step_scale=0.12345672",
        "apcg step_scale=1",
    ]


def test_panels_whose_values_are_one_in_short_are_told_apart_in_full(tmp_path):
    strengths = [0.12345671, 0.12345672, 1.0]
    experiment = stored.experiment(tmp_path / "e", [stored.result(stored.spec(strength=s)) for s in strengths])
    ((_, _, sheet),) = sheets(experiment.directory, y="gap")
    assert [panel.title for panel in sheet.panels.values()] == ["λ = 0.12345671", "λ = 0.12345672", "λ = 1"]
