"""Shipped configurations by name: run, validate, config, list configs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lab import make_lab  # noqa: F401, a fixture

from rrmbench import data
from rrmbench.commands import configurations
from rrmbench.config import shipped
from rrmbench.data import catalogue, commands, fetch, sizes
from rrmbench.errors import nearest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def elsewhere(lab, monkeypatch):
    monkeypatch.chdir(lab.folder)
    return lab


def test_a_shipped_configuration_runs_by_its_name(elsewhere):
    ran = elsewhere.cli(
        "run",
        "quickstart",
        "-o",
        elsewhere.out,
        "--set",
        "stop.passes=2",
        "--set",
        "reference=false",
        "--only",
        "solver=agd",
    )
    assert ran.code == 0, ran.err
    assert len(elsewhere.results("quickstart")) == 1


def test_files_beside_a_shipped_configuration_are_found(elsewhere):
    for name in "pdprox/figure2", "reproduction/pdprox":  # group sizes in its own folder, and in another one
        ran = elsewhere.cli("validate", name)
        assert ran.code == 0 and " runs, 0 skipped" in ran.out, ran.err


def test_a_file_of_the_folder_comes_before_a_shipped_configuration(elsewhere, caplog):
    own = elsewhere.config("quickstart.yaml")
    assert elsewhere.cli("validate", "quickstart").out == "quickstart.yaml: 1 run, 0 skipped\n"
    assert "not the shipped configuration" in caplog.text
    caplog.clear()
    assert elsewhere.cli("validate", own).code == 0 and not caplog.text
    own.rename(elsewhere.folder / "quickstart")
    assert elsewhere.cli("validate", "quickstart").out == "quickstart: 1 run, 0 skipped\n"
    (elsewhere.folder / "quickstart").unlink()
    (elsewhere.folder / "quickstart").mkdir()  # a folder of that name is no configuration
    assert "11 runs" in elsewhere.cli("validate", "quickstart").out


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("quickstrat", "quickstart"),
        ("configs/quickstart.yaml", "quickstart"),
        ("reductions/figure1_smal", "reductions/figure1_small"),
        ("pdprox-figure2", "pdprox/figure2"),
    ],
)
def test_an_unknown_name_gets_the_nearest_one(elsewhere, name, meant):
    for command in (("run", name, "--dry-run"), ("validate", name), ("config", name)):
        ran = elsewhere.cli(*command)
        assert ran.code == 2 and "no " in ran.err
        assert command[0] == "config" or f"did you mean '{meant}'" in ran.err
    assert "Traceback" not in ran.err


def test_config_prints_the_file_as_it_is(elsewhere):
    assert elsewhere.cli("config", "lasso_rcv1").out == (ROOT / "configs" / "lasso_rcv1.yaml").read_text()


@pytest.mark.exhaustive
def test_the_list_has_every_configuration_with_runs_cost_and_data(elsewhere):
    ran = elsewhere.cli("list", "configs")
    lines = ran.out.splitlines()
    assert len(lines) == 1 + 2 * len(shipped.names())
    row = next(line for line in lines if line.startswith("quickstart "))
    assert row.split()[1] == "11" and "synthetic_sparse" in row and "*" not in row
    row = next(line for line in lines if line.startswith("lasso_rcv1 "))
    assert row.split()[2] == "?" and "rcv1_train*" in row
    assert all(len(shipped.summary(shipped.text_of(name))) > 20 for name in shipped.names())


def test_the_summary_is_the_first_sentence_of_the_comment():
    assert shipped.summary("# A b (Somebody 2014), Figure 1.5: c\n# d. E\nname: x\n") == "A b, Figure 1.5: c d"
    assert shipped.summary("name: x\n# no\n") == ""


def test_times_are_told_in_units_that_people_use():
    found = [configurations._time(s) for s in (float("nan"), 0.2, 59, 200, 1e4, 1e5)]
    assert found == ["?", "1 s", "59 s", "3.3 min", "2.8 h", "28 h"]


def test_stored_entries_follow_the_preparation():
    whole = sizes.stored_entries({"name": "synthetic_sparse"})
    assert whole == catalogue.get("synthetic_sparse").nonzeros
    assert sizes.stored_entries({"name": "synthetic_sparse", "subset": 1000, "split": 0.5}) == whole / 4
    assert sizes.stored_entries({"name": "simulated", "n": 30, "d": 7}) == 210
    assert sizes.stored_entries({"name": "ratings_small"}) == 1500


@pytest.mark.parametrize(
    "block",
    [
        {"name": "documents", "n": 300, "d": 2000},
        {"name": "tall_table", "n": 300},
        {"name": "simulated", "n": 300, "X_density": 0.2, "task": "classification"},
    ],
)
def test_stored_entries_of_made_data_are_about_those_that_are_made(block):
    made = data.load(block)
    assert 0.5 <= sizes.stored_entries(block) / len(made.X_parts[0]) <= 2.0


KNOWN = [name for name in catalogue.names() if catalogue.get(name).nonzeros]
MADE = [name for name in KNOWN if catalogue.get(name).file is None]


@pytest.mark.parametrize(
    "name", [*MADE, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in KNOWN if n not in MADE)]
)
def test_the_registry_says_how_many_entries_are_stored(name):
    entry = catalogue.get(name)
    if entry.file is not None and fetch.locate(entry) is None:
        pytest.skip(f"the file of '{name}' is not in RRMBENCH_DATA")
    found = commands.info(name)
    assert found["nonzeros"] + found.get("stored zeros", 0) == entry.nonzeros


@pytest.mark.exhaustive
def test_a_wheel_has_the_configurations_and_the_registry(tmp_path):
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
    for folder in "configs", "datasets":
        files = [file for file in (ROOT / folder).rglob("*") if file.suffix in (".yaml", ".txt")]
        assert {f"rrmbench/{file.relative_to(ROOT)}" for file in files} <= names


@pytest.mark.parametrize(
    "name, meant",
    [
        ("gif", None),
        ("jpg", None),
        ("pfd", "pdf"),
        ("pmg", "png"),
        ("svgz", "svg"),
        ("gpf", "pgf"),
        ("pdf_", "pdf"),
        ("PNG", "png"),
    ],
)
def test_two_letters_in_common_make_no_misspelling(name, meant):
    assert nearest(name, ("png", "pdf", "svg", "pgf")) == (f"; did you mean '{meant}'?" if meant else "")
