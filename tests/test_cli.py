"""The command line: what each command prints and writes."""

import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from lab import make_lab, odd, rows  # noqa: F401

from rrmbench.bench.store import Experiment
from rrmbench.kinds import KINDS

HEAVY = "numpy", "numba", "pandas", "matplotlib", "sklearn", "scipy", "joblib", "yaml", "pydantic"


# commands

KEYS = {
    "solver": ["agd", {"name": "gd", "step_scale": [0.5, 1.0]}, "apcg"],
    "loss": ["smoothed_hinge", "hinge"],
    "plot": {"columns": "loss", "figure": "solver.step_scale"},
    "stop": {"passes": 20},
}


WITHOUT_A_SMOOTH_LOSS = ("(strength=1e-2), agd", ", gd (2 combinations)", "(strength=1e-2), apcg")


def test_run_prints_progress_on_stderr_and_the_summary_on_stdout(lab):
    config = lab.config(solver=["agd", "gd"], loss=["squared", "hinge"])
    ran = lab.run(config)
    assert ran.code == 0
    lines = ran.err.splitlines()
    assert lines[0] == "toy: 2 runs"
    assert sorted(line.split("]")[0] for line in lines[1:]) == ["[1/2", "[2/2"]
    assert all(re.search(r": done: gap \S+ after 5(\.5)? passes, \S+ s$", line) for line in lines[1:])
    assert ran.out.splitlines()[-1] == str(lab.out / "toy")
    assert ran.out.count("skipped 1: ") == 2
    assert "hinge" in ran.out
    assert "\x1b" not in ran.out + ran.err
    quiet = lab.run(config, "--quiet")
    assert (quiet.out, quiet.err) == (f"{lab.out / 'toy'}\n", "")


def test_a_folder_that_the_terminal_cannot_write_ends_no_command(lab):
    command = [sys.executable, "-m", "rrmbench", "run", lab.config(), "-o", lab.folder / "r ü", "--quiet"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    ended = subprocess.run([*map(str, command)], env=environment, capture_output=True, timeout=100)
    assert (ended.returncode, ended.stdout.decode()[-11:]) == (0, "r \\xfc/toy\n")


def test_the_locale_c_writes_the_bytes_of_a_path_and_escapes_other_characters(lab):
    data = lab.folder / "ü.svm"
    data.write_text("1 1:1\n-1 2:1\n")
    assert lab.run(lab.config(dataset=str(data))).code == 0
    environment = os.environ | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}

    def printed(*arguments):
        command = [sys.executable, "-m", "rrmbench", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, timeout=100, check=True).stdout

    assert b"(\\xfc, " in printed("show", lab.out)
    table = lab.folder / "ü.csv"
    assert printed("export", lab.out, "--to", table) == os.fsencode(f"{table}\n")


def test_the_line_of_a_file_is_no_picture(lab):
    reason = "my_solver.py:100: gone wrong"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rrmbench.report.display._ending", lambda result: reason)
        assert reason in lab.run(lab.config()).err


def test_a_failed_run_is_exit_code_1_and_shown(lab):
    ran = lab.run(lab.config(solver=["agd", odd("raise")]))
    assert ran.code == 1
    assert "failed" in ran.out
    assert "ValueError: gone wrong" in ran.err
    assert lab.cli("show", lab.out).code == 0
    quiet = lab.run(lab.config(solver=["agd", odd("raise")]), "--quiet")
    assert (quiet.code, quiet.out) == (1, f"{lab.out / 'toy'}\n")
    (line,) = quiet.err.splitlines()
    assert "odd(how=raise), seed 0: failed: " in line and "ValueError: gone wrong" in line


def test_dry_run_shows_all_and_writes_nothing(lab):
    config = lab.config(**KEYS)
    ran = lab.run(config, "--dry-run")
    assert ran.code == 0
    assert "4 runs, about" in ran.out
    lines = [line.partition(":")[0] for line in ran.out.splitlines() if line.startswith("skipped ")]
    assert lines == [f"skipped toy, hinge, l2{more}" for more in WITHOUT_A_SMOOTH_LOSS]
    assert not lab.out.exists()
    ran = lab.run(config, "--dry-run", "--set", "dataset=astro_ph")  # neither here nor fetched
    assert (ran.code, ran.err) == (0, "")
    assert "some data are not here" in ran.out


def test_runs_on_data_that_are_too_large_for_their_solver_are_skipped(lab):
    """That is known once the data are here: the others run, none fails, and nothing is left only if all are skipped."""
    (lab.folder / "wide.txt").write_text("1 1:1 3001:2\n-1 2:1\n1 1:0.5\n")
    config = lab.config(dataset="wide.txt", loss="logistic", solver=["newton", "newton_cg"])
    why = "newton: found 3001 features, allowed are at most 3000"
    assert f"skipped wide, logistic, l2(strength=1e-2), newton: {why}" in lab.run(config, "--dry-run").out
    ran = lab.run(config)
    assert ran.code == 0 and f"skipped 1: {why}\n" in ran.out
    assert [run.spec["solver"]["name"] for run in lab.results()] == ["newton_cg"]
    assert "1 combination skipped" in lab.cli("show", lab.out).out
    events = [json.loads(line) for line in lab.run(config, "--json").out.splitlines()]
    assert [event["reason"] for event in events if event["event"] == "skipped"] == [why]
    for options in (), ("--dry-run",):
        ran = lab.run(config, "--set", "solver=newton", *options)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == f"rrmbench: {config}: every combination is skipped:\n  {why}\n"


def test_a_dry_run_refuses_a_file_in_place_of_the_folder_as_a_run_does(lab):
    file = lab.folder / "file"
    file.write_text("")
    for folder in file, file / "below":
        for options in (), ("--dry-run",):
            ran = lab.cli("run", lab.config(), "-o", folder, *options)
            assert (ran.code, ran.err) == (2, f"rrmbench: {file}: found a file, allowed is a folder for results\n")
            assert ran.out == ""


def test_validate_counts(lab):
    ran = lab.cli("validate", lab.config(**KEYS), lab.config("b.yaml", name="b"))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"{lab.folder}/toy.yaml: 4 runs, 4 skipped",
        f"{lab.folder}/b.yaml: 1 run, 0 skipped",
    ]


def test_export_has_the_columns_of_the_contract(lab):
    lab.run(lab.config(**KEYS))
    table = lab.folder / "t.csv"
    assert lab.cli("export", lab.out / "toy", "--to", table).code == 0
    with open(table, newline="") as file:
        read = list(csv.DictReader(file))
    names = list(read[0])
    fixed = ["run", "status", "reason", "dataset", "loss", "regularizer", "solver", "reduction"]
    assert names[: len(fixed)] == fixed
    tail = "seed point passes checks seconds cpu_seconds primal dual gap suboptimality nonzeros train_error"
    assert names[-len(tail.split()) :] == tail.split()
    assert set(names[len(fixed) : -len(tail.split())]) == {"regularizer.strength", "solver.step_scale"}
    assert Counter(row["run"] for row in read) == dict.fromkeys({row["run"] for row in read}, 21)
    assert {row["dataset"] for row in read} == {"toy"}
    assert {row["solver.step_scale"] for row in read} == {"", "0.5", "1.0"}
    results = {result.run: result for result in lab.results()}
    for row in read:
        trace = results[row["run"]].trace
        assert float(row["gap"]) == trace["gap"][int(row["point"])]
    lab.run(lab.config(name="other"))
    assert lab.cli("export", lab.out, "--to", table).code == 0
    assert table.read_text().splitlines()[0].endswith(",experiment")


@pytest.mark.exhaustive
def test_plot_writes_one_file_for_each_figure_and_format(lab):
    lab.run(lab.config(**KEYS))
    ran = lab.cli("plot", lab.out, "--format", "png,svg")
    assert ran.code == 0
    written = ran.out.split()
    assert len(written) == 6  # agd and apcg have no step_scale set: three figures
    assert all(os.path.getsize(path) > 1000 for path in written)
    other = lab.cli("plot", lab.out, "--x", "seconds", "--y", "gap", "--format", "png", "-o", lab.folder / "f")
    assert len(other.out.split()) == len(list((lab.folder / "f").iterdir())) == 3


def test_show_tells_status_and_passes_to_each_gap(lab):
    lab.run(lab.config(stop={"passes": 200, "gap": 1e-8}))
    (result,) = lab.results()
    ran = lab.cli("show", lab.out)
    assert ran.code == 0
    first = {level: result.trace["passes"][result.trace["gap"] <= level][0] for level in (1e-2, 1e-5, 1e-8)}
    (line,) = [line for line in ran.out.splitlines() if line.startswith("agd")]
    for passes in first.values():
        assert re.search(rf"\b{passes:.0f}\b", line)


def test_check_passes_then_tells_a_slower_solver(lab):
    stop = {"passes": 300, "gap": 1e-6}
    config = lab.config(solver=["gd", "agd"], stop=stop)
    baseline = lab.folder / "baseline.json"
    lab.run(config)
    assert lab.cli("check", lab.out, "--baseline", baseline, "--update").code == 0
    assert lab.cli("check", lab.out, "--baseline", baseline).code == 0
    slower = json.loads(baseline.read_text())
    before = json.dumps(slower)
    for experiments in [value for value in slower.values() if isinstance(value, dict)]:
        for name, record in _records(experiments):
            if name.endswith("agd") or " agd" in name:
                record["passes"] = {k: v and v / 2 for k, v in record["passes"].items()}
    assert json.dumps(slower) != before
    baseline.write_text(json.dumps(slower))
    ran = lab.cli("check", lab.out, "--baseline", baseline)
    assert ran.code == 1
    (line,) = [line for line in ran.out.splitlines() if line.startswith("regression")]
    assert "agd" in line


def _records(tree):
    for key, value in tree.items():
        if isinstance(value, dict) and "passes" in value:
            yield key, value
        elif isinstance(value, dict):
            yield from _records(value)


def test_a_run_missing_from_the_results_is_a_regression(lab):
    baseline = lab.folder / "baseline.json"
    lab.run(lab.config(solver=["gd", "agd"]))
    lab.cli("check", lab.out, "--baseline", baseline, "--update")
    lab.run(lab.config(solver=["gd"]))
    ran = lab.cli("check", lab.out, "--baseline", baseline)
    assert ran.code == 1
    assert "missing" in ran.out


@pytest.mark.exhaustive
def test_verify_recomputes_multiclass_results_too(lab):
    (lab.folder / "three.txt").write_text(rows(labels=(1, 2, 3)))
    losses = ["max_of_hinge", {"name": "smoothed_max_of_hinge", "gamma": 0.1}, "soft_max_of_hinge"]
    regularizer = {"name": "elastic_net", "l1": 0.01, "l2": 0.1}
    lab.run(lab.config(dataset="three.txt", loss=losses, regularizer=regularizer, solver="prox_sdca"))
    ran = lab.cli("verify", lab.out)
    assert ran.code == 0 and "3 results, 0 wrong" in ran.out, ran
    tampered = lab.results()[0]
    tampered.w = tampered.w + 1e-6
    Experiment(lab.out / "toy").write(tampered)
    assert lab.cli("verify", lab.out).code == 1


def test_verify_recomputes_and_finds_what_was_tampered_with(lab):
    keys = KEYS | {"stop": {"passes": 10}}  # without better bounds: near the optimum D is flat
    lab.run(lab.config(**keys, regularizer=[{"name": "l2", "strength": 0.1}, {"name": "l1", "strength": 0.01}]))
    ran = lab.cli("verify", lab.out)
    assert ran.code == 0
    assert f"{len(lab.results())} results, 0 wrong" in ran.out
    experiment = Experiment(lab.out / "toy")
    for part in "w", "b":
        result = lab.results()[0]
        changed = getattr(result, part).copy()
        changed[0] += 1e-6
        original = experiment.read(result.run)
        _ = original.w, original.b
        setattr(result, part, changed)
        _ = result.w, result.b
        experiment.write(result)
        ran = lab.cli("verify", lab.out)
        assert ran.code == 1
        assert ran.out.count("WRONG") == 1
        experiment.write(original)
    (lab.folder / "toy.txt").write_text(rows(seed=3))
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1
    assert "the data file has changed since" in ran.out


def test_list_names_everything(lab):
    from rrmbench import registry

    ran = lab.cli("list")
    assert ran.code == 0
    for kind in KINDS:
        for name in registry.names(kind):
            assert re.search(rf"^{name}\b", ran.out, re.MULTILINE), name
    assert "step_scale=1.0" in ran.out
    solvers = lab.cli("list", "solvers")
    assert "agd" in solvers.out
    assert "smoothed_hinge" not in solvers.out


def test_data_commands(lab):
    ran = lab.cli("data", "info", lab.folder / "toy.txt")
    assert ran.code == 0
    assert re.search(r"^n +30\b", ran.out, re.MULTILINE)
    assert re.search(r"^d +6\b", ran.out, re.MULTILINE)
    ran = lab.cli("data", "list")
    assert ran.code == 0
    assert "rcv1_train" in ran.out
    ran = lab.cli("data", "get", "breast_cancer_sklearn")
    assert ran.code == 0
    assert re.search(r"^sha256 +[0-9a-f]{64}\b", ran.out, re.MULTILINE)


# the terminal


def test_a_terminal_gets_bars_and_then_the_same_summary(lab):
    pty = pytest.importorskip("pty")
    config = lab.config(solver=["agd", odd("slow")], stop={"passes": 3})
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "rrmbench", "run", config, "-o", lab.out],
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(ours)
    assert process.wait() == 0
    text = shown.decode()
    assert "0/2" in text
    assert "toy: 2 runs" in text
    assert text.rstrip().endswith(str(lab.out / "toy"))
    assert "Traceback" not in text


def test_help_imports_nothing_heavy():
    script = (
        "import sys, rrmbench, rrmbench.cli, rrmbench.__main__\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")


def test_help_describes_every_command(lab):
    ran = lab.command("--help")
    assert ran.code == 0
    for name in ["run", "plot", "show", "check", "export", "list", "validate", "verify", "data"]:
        assert re.search(rf"\b{name}\b", ran.out)
    assert "--no-" not in lab.command("run", "--help").out


def test_dry_run_shows_texts_of_the_file_as_they_are(lab):
    for name in ("[_red].txt", "[bold]x[.txt"):
        (lab.folder / name).write_text((lab.folder / "toy.txt").read_text())
    config = lab.config(dataset=["[_red].txt", "[bold]x[.txt"], solver=["agd", "liblinear"])
    ran = lab.run(config, "--dry-run")
    assert ran.code == 0
    for shown in (" [_red], squared", " [bold]x[, squared", "skipped [_red], squared", "skipped [bold]x[, squared"):
        assert shown in ran.out


def test_more_jobs_than_runs_are_no_more_threads(lab):
    assert lab.run(lab.config(), "-j", 10**9).code == 0


def test_a_directory_is_no_baseline(lab):
    lab.run(lab.config())
    for options in ((), ("--update",)):
        ran = lab.cli("check", lab.out, "--baseline", lab.folder, *options)
        assert ran.code == 2
        assert ran.err.startswith("rrmbench: ")
        assert "Traceback" not in ran.err


@pytest.mark.core(1)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["list", "losses"], ["show"], ["show", "--json"]], ids=" ".join)
def test_output_that_cannot_be_written_is_one_message(lab, command):
    if command[0] == "show":
        assert lab.run(lab.config(solver="agd")).code == 0
        command = ["show", str(lab.out), *command[1:]]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "rrmbench", *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=100
        )
    assert ended.returncode == 2
    assert ended.stderr == "rrmbench: [Errno 28] No space left on device\n"


def test_names_that_the_system_refuses_are_one_message(lab):
    ran = lab.cli("run", lab.config(solver="agd"), "-o", lab.folder / ("x" * 300))
    assert ran.code == 2
    assert ran.err.startswith("rrmbench: [Errno ") and "File name too long" in ran.err


def test_a_terminal_that_says_it_has_no_columns_is_not_believed(lab, monkeypatch):
    assert lab.run(lab.config(solver="agd")).code == 0
    monkeypatch.setenv("COLUMNS", "0")
    assert "toy: 1 run" in lab.cli("show", lab.out).out
