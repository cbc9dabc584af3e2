"""Experiments: what is run again and what is kept, the same bits for the same seed, what is recorded."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lab import ODD, make_lab, odd, rows, wait_for  # noqa: F401

import rrmbench
from rrmbench.bench.children import Children
from rrmbench.bench.store import Experiment

PACKAGE = Path(rrmbench.__file__).parent


def identities(lab, name="toy"):
    return {result.run for result in lab.results(name)}


# a display that fails


@pytest.mark.parametrize("when", ["begin", "start", "row", "end"])
def test_a_display_that_fails_ends_no_run_and_is_told_once(lab, monkeypatch, when):
    def fail(*facts):
        raise ValueError("no pen")

    monkeypatch.setattr(f"rrmbench.report.display.Plain.{when}", fail)
    ran = lab.run(lab.config(solver=["agd", "gd"]), "-j2")
    assert ran.code == 0
    assert [result.status for result in lab.results()] == ["done"] * 2
    assert ran.err.count("cannot be shown any longer (ValueError: no pen); the runs go on") == 1
    assert ran.out.splitlines()[-1] == str(lab.out / "toy")


def test_errors_and_summaries_that_nobody_reads_end_no_experiment(lab):
    first, second = lab.config("a.yaml", name="a"), lab.config("b.yaml", name="b")
    process = lab.start("run", first, second, "-o", lab.out)
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=100) == 1
    assert [result.status for name in "ab" for result in lab.results(name)] == ["done"] * 2


# what is kept


def test_a_second_run_executes_nothing_and_fresh_everything(lab):
    config = lab.config(solver="prox_sdca", seed=[0, 1], stop={"passes": 2}, reference={"seconds": 5})
    assert lab.run(config).code == 0
    first = lab.files()
    assert len(first) == 3  # and the reference
    ran = lab.run(config)
    assert ran.code == 0
    assert "2 of 2 runs were done before" in ran.out
    assert "[1/" not in ran.err
    assert lab.files() == first
    assert lab.run(config, "--fresh").code == 0
    fresh = lab.files()
    assert sum(fresh[name] != time for name, time in first.items()) == 2
    assert fresh.keys() == first.keys()


def test_a_changed_configuration_adds_what_is_missing(lab):
    lab.run(lab.config(solver="prox_sdca", seed=[0, 1]))
    before = lab.files()
    ran = lab.run(lab.config(solver="prox_sdca", seed=[1, 2], plot={"x": "work"}))
    assert "1 of 2 runs was done before" in ran.out
    after = lab.files()
    assert len(after) == 3
    assert {name: after[name] for name in before} == before
    assert sorted(result.spec["seed"] for result in lab.results()) == [1, 2]
    assert Experiment(lab.out / "toy").manifest()["plot"]["x"] == "work"


def test_set_is_another_run_and_leaves_the_first(lab):
    config = lab.config()
    lab.run(config)
    (before,) = lab.files()
    lab.run(config, "--set", "solver.step_scale=0.5", "--set", "stop.passes=3")
    (result,) = lab.results()
    assert result.spec["solver"] == {"name": "agd", "step_scale": 0.5}
    assert 3.0 <= result.trace["passes"][-1] < 5.0
    assert before in lab.files()


def test_only_runs_a_part_and_keeps_the_manifests_other_runs(lab):
    config = lab.config(solver=["prox_sdca", "apcg"], seed=[0, 1])
    ran = lab.run(config, "--only", "solver=apcg")
    assert ran.code == 0
    assert Counter(r.spec["solver"]["name"] for r in lab.results()) == {"apcg": 2}
    lab.run(config, "--only", "solver=prox_sdca", "--only", "seed=1")
    assert Counter(r.spec["solver"]["name"] for r in lab.results()) == {"apcg": 2, "prox_sdca": 1}
    before = lab.files()
    assert "3 of 4 runs were done before" in lab.run(config).out
    assert {name: lab.files()[name] for name in before} == before


@pytest.mark.exhaustive
def test_timeouts_are_kept_unless_asked_for(lab):
    lab.run(lab.config(name="warm", solver=odd("well")))
    config = lab.config(solver=odd(["sleep", "well"], at=2), limit=5)
    assert lab.run(config).code == 1
    before = lab.files()
    ran = lab.run(config)
    assert ran.code == 1  # kept, but still no success
    assert lab.files() == before
    lab.run(config, "--retry", "timeout")
    changed = [name.removesuffix(".npz") for name, time in lab.files().items() if before[name] != time]
    assert changed == [r.run for r in lab.results() if r.status == "timeout"]


def test_runs_that_timed_out_are_told_apart_from_those_that_were_done(lab):
    config = lab.config(solver=["agd", "gd"])
    assert lab.run(config).code == 0
    late, _ = lab.results()
    Experiment(lab.out / "toy").write(replace(late, status="timeout", w=None, b=None))
    ran = lab.run(config)
    assert ran.code == 1
    assert "1 of 2 runs was done before and was kept (--fresh runs it again)" in ran.out
    assert "1 timed out before and was kept (--retry timeout runs it again)" in ran.out
    assert lab.run(config, "--retry", "timeout").code == 0
    assert "2 of 2 runs were done before" in (again := lab.run(config)).out and "timed out" not in again.out


def test_a_second_writer_is_told_who_is_there(lab):
    with Experiment(lab.out / "toy").lock():
        ran = lab.command("run", lab.config(), "-o", lab.out)
    assert (ran.code, ran.out) == (2, "")
    assert "toy: another run is writing here (process " in ran.err


def test_the_manifest_of_a_newer_version_is_left_alone(lab):
    lab.run(lab.config())
    file = lab.out / "toy" / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema_version": 10**6}))
    before = file.read_bytes()
    ran = lab.run(lab.config(), "--only", "solver=agd")
    assert ran.code == 2
    assert "upgrade rrmbench" in ran.err
    assert file.read_bytes() == before


# what a result belongs to


def test_other_data_under_the_same_name_are_other_runs(lab):
    config = lab.config()
    lab.run(config)
    before = identities(lab)
    (lab.folder / "toy.txt").write_text(rows(seed=1))
    ran = lab.run(config)
    assert ran.code == 0
    assert "done before" not in ran.out
    assert not before & identities(lab)
    assert len(lab.files()) == 2


@pytest.fixture
def copy(lab, pytestconfig):
    """A copy of the package, always in the same place so that its kernels are compiled once, and a runner."""
    place = pytestconfig.cache.mkdir("copy")
    for name in "rrmbench", "datasets":
        shutil.rmtree(place / name, ignore_errors=True)
        source = PACKAGE if name == "rrmbench" else PACKAGE.parent / name
        shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    config = lab.config()

    def run():
        ran = lab.command("run", config, "-o", lab.out, PYTHONPATH=str(place))
        assert ran.code == 0, ran.err
        return ran

    return place / "rrmbench", run


def edit(file, before, after):
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


def test_an_edited_loss_is_run_again_an_edited_docstring_or_plot_is_not(lab, copy):
    package, run = copy
    run()
    before = lab.files()
    edit(package / "losses" / "squared.py", "The squared loss", "The well-known squared loss")
    edit(package / "report" / "plots" / "style.py", '"""', '"""How curves look. ')
    with open(package / "report" / "naming.py", "a") as file:
        file.write("\nUNUSED = 1\n")
    assert "1 of 1 run was done before" in run().out
    assert lab.files() == before
    edit(package / "losses" / "squared.py", "0.5 * (z - y) * (z - y)", "(z - y) * (z - y) * 0.5")
    ran = run()
    assert "1 result belongs to older code" in ran.out
    after = lab.files()
    assert len(after) == 2
    assert {name: after[name] for name in before} == before
    (result,) = lab.results()
    assert f"{result.run}.npz" not in before
    edit(package / "losses" / "hinge.py", "return", "return 1.0 *")
    assert "1 of 1 run was done before" in run().out


# the same bits


def curves(lab, name):
    columns = "passes", "primal", "dual", "gap"
    return {
        result.spec_id: [result.trace[c].tobytes() for c in columns] + [result.w.tobytes(), result.b.tobytes()]
        for result in lab.results(name)
    }


def test_the_same_seed_gives_the_same_bits_whatever_runs_beside(lab):
    keys = {
        "loss": "smoothed_hinge",
        "regularizer": {"name": "elastic_net", "l1": 0.01, "l2": 0.01},
        "solver": ["prox_sdca", "apcg", "svrg", "sgd"],
        "seed": [0, 1],
        "stop": {"passes": 10},
    }
    for name, jobs in ("first", 1), ("second", 1), ("third", 2):
        assert lab.run(lab.config(name=name, **keys), "-j", jobs).code == 0
    first = curves(lab, "first")
    assert len({tuple(curve) for curve in first.values()}) == 8
    assert curves(lab, "second") == first
    assert curves(lab, "third") == first


# what is recorded


def test_load_and_set_up_are_recorded(lab):
    config = lab.config(solver=odd("slow"), seed=[0, 1, 2, 3], stop={"passes": 2})
    for jobs in 1, 2:
        assert lab.run(config, "-j", jobs, "--fresh").code == 0
        results = lab.results()
        assert {result.info["concurrent_runs"] for result in results} == {jobs}
        for result in results:
            assert result.info["warmup_seconds"] > 0.0
            assert result.info["load_seconds"] > 0.0
            assert result.info["evaluation_seconds"] > 0.0
            assert 0 < result.info["memory"]["own_bytes"] < result.info["memory"]["peak_bytes"]  # Linux tells both
            assert result.trace["seconds"][-1] >= 0.2
    environments = Experiment(lab.out / "toy").manifest()["environments"]
    (one,) = environments  # however many run at a time, which each run tells
    assert {result.info["environment"] for result in results} == {one}
    facts = environments[one]
    assert facts["jobs"] == 2
    assert facts["threads_per_run"] == 1
    assert facts["versions"]["numpy"] == np.__version__


def test_every_run_has_one_thread(lab):
    lab.run(lab.config(solver={"path": str(ODD), "name": "census"}, stop={"passes": 1}))
    (result,) = lab.results()
    assert result.w[:2].tolist() == [1.0, 1.0]


def test_the_reference_is_a_run_that_pins_the_optimum_and_only_improves(lab, monkeypatch):
    limits, run = [], Children.run

    def limited(self, main, task, limit, *rest):
        limits.extend([limit] if task is not None else [])
        return run(self, main, task, limit, *rest)

    monkeypatch.setattr(Children, "run", limited)
    config = lab.config(reference={"seconds": 5}, stop={"passes": 5, "seconds": 1})
    lab.run(config)
    assert limits == [3 * 1 + 60, 3 * 5 + 60]  # of the run, and of the extra one
    (file,) = (lab.out / "toy" / "references").iterdir()
    bounds = json.loads(file.read_text())
    assert -1e-12 <= 1.0 - bounds["dual"] / bounds["primal"] <= 1e-9
    (result,) = lab.results()
    assert result.trace["primal"].min() > bounds["primal"]
    assert np.all(result.trace["dual"] <= (1.0 + 1e-12) * bounds["primal"])
    lab.run(config, "--fresh")
    of_equals = {"dual_run": None}  # both runs have this D: the first one is named, which is another now
    assert json.loads(file.read_text()) | of_equals == bounds | of_equals


@pytest.mark.exhaustive
def test_results_can_be_read_while_they_are_written(lab):
    config = lab.config(solver=odd("slow", seconds=0.5), seed=list(range(50)), stop={"passes": 2})
    process = lab.start("run", config, "-o", lab.out, "-j", 4)
    assert wait_for(lambda: len(lab.files()) >= 2, 60)
    for reader in (("show", lab.out), ("export", lab.out, "--to", lab.folder / "t.csv"), ("plot", lab.out)):
        assert lab.cli(*reader).code == 0
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate()
    assert process.returncode == 130


# a loss of one's own, in a notebook

MINE = """
from typing import NamedTuple
import numpy as np
import rrmbench

class Halved(NamedTuple):
    conjugate_convexity: float = 2.0
    lipschitz: float = float("inf")

    def value(self, z, y):
        return 0.25 * (z - y) * (z - y)

    def conjugate(self, b, y):
        return b * b + y * b

    def dual_point(self, z, y, mu):
        return (z - y) / (2.0 + mu)

X, y = np.eye(3), np.array([1.0, -1.0, 1.0])
l2 = {"name": "l2", "strength": 0.1}
own = rrmbench.solve(rrmbench.Problem(X, y, Halved(), l2), "agd", gap=1e-12)
shipped = rrmbench.solve(rrmbench.Problem(X, y, "squared", {"name": "l2", "strength": 0.2}), "agd", gap=1e-12)
print(own.reason, np.allclose(own.w, shipped.w), own.gap <= 1e-12)
"""


@pytest.mark.exhaustive
def test_a_loss_of_a_notebook_does_not_disturb_other_processes(lab):
    script = lab.folder / "notebook.py"
    script.write_text(MINE)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("gap True True\n", "")
    script.unlink()
    assert lab.command("run", lab.config(), "-o", lab.out).code == 0
