"""`rrmbench clean`: what goes, and above all what does not."""

import os
import signal
import subprocess
import sys
import time

import pytest
import stored
from lab import make_lab, odd, wait_for  # noqa: F401

from rrmbench import data, fingerprint
from rrmbench.bench import cleaning
from rrmbench.bench.store import Experiment
from rrmbench.data import cache


def again(result, code, created):
    """A record of the same spec by other code."""
    return type(result)(
        f"{result.spec_id}-{code}", result.spec_id, result.problem, result.data, code, result.spec, result.status,
        result.reason, created, info=result.info, trace=result.trace, w=result.w, b=result.b,
    )  # fmt: skip


@pytest.fixture
def toy(lab):
    """An experiment with a result of two seeds, which newer code has superseded; the reference rests on the second."""
    new = [stored.result(stored.spec(seed=seed), created="2026-02-01") for seed in (0, 1)]
    experiment = stored.experiment(lab.out / "toy", new)
    for result in new:
        experiment.write(again(result, "0ld00000", "2026-01-01"))
    file = experiment.directory / "references" / f"{new[0].problem}.json"
    text = file.read_text()
    file.write_text(text.replace(new[0].run, f"{new[1].spec_id}-0ld00000"))
    return experiment


def everything(folder):
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


def test_results_of_older_code_go_when_asked_but_not_what_a_reference_rests_on(lab, toy):
    before = everything(lab.out)
    ran = lab.cli("clean", lab.out)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "0 would go, 0 bytes")
    ran = lab.cli("clean", lab.out, "--older")
    assert ran.code == 0
    assert "1 would go, " in ran.out
    assert "nothing was removed, --apply removes them" in ran.out
    assert "of other code, but a reference rests on it" in ran.out
    assert everything(lab.out) == before
    shown = lab.cli("show", lab.out).out
    ran = lab.cli("clean", lab.out, "--older", "--apply")
    assert ran.code == 0
    assert "1 removed" in ran.out
    gone = before.keys() - everything(lab.out).keys()
    assert [path.name.rpartition("-")[2] for path in gone] == ["0ld00000.npz"]
    assert lab.cli("show", lab.out).out == shown


def test_a_newer_failure_does_not_cost_an_older_success(lab, toy):
    failed = stored.result(stored.spec(seed=0), status="failed", reason="x", created="2026-03-01")
    failed = again(failed, "fa11ed00", "2026-03-01")
    toy.write(failed)
    asked = toy.manifest()
    next(entry for entry in asked["runs"] if entry["spec_id"] == failed.spec_id)["run"] = failed.run
    toy.write_manifest(asked)
    ran = lab.cli("clean", lab.out, "--older", "--apply")
    assert ran.out.count("which is shown, is failed") == 1
    assert "0 removed" in ran.out


def test_what_goes_after_an_edit_was_taken_back_is_what_the_edit_made(lab, toy):
    asked = {entry["run"] for entry in toy.manifest()["runs"]}
    for run in asked:
        toy.write(again(toy.read(run), "ed17ed00", "2026-03-01"))
    shown = lab.cli("show", lab.out).out
    ran = lab.cli("clean", lab.out, "--older", "--apply")
    assert ran.out.count("is shown") == 3
    assert asked < toy.run_ids()
    assert not any(run.endswith("ed17ed00") for run in toy.run_ids())
    assert lab.cli("show", lab.out).out == shown


def test_results_that_nobody_asks_for_any_longer_go_but_no_extra_runs(lab):
    keys = {"reference": {"seconds": 5}, "stop": {"passes": 3}}
    assert lab.run(lab.config(solver=["fista", "gd", "rda"], **keys)).code == 0
    folder, less = lab.out / "toy", lab.config(solver="fista", **keys)
    ids = Experiment(folder).run_ids()
    assert len(ids) == 4  # one is extra
    assert lab.cli("clean", lab.out, "--unasked").out.startswith("0 would go")
    assert Experiment(folder).run_ids() == ids
    ran = lab.run(less)
    assert "2 results of before are asked for no longer; they are kept, and not shown (rrmbench clean" in ran.out
    shown = lab.cli("show", lab.out).out
    assert lab.cli("clean", lab.out).out.startswith("0 would go")
    ran = lab.cli("clean", lab.out, "--unasked", "--apply")
    left = Experiment(folder).run_ids()
    assert 2 <= len(left) <= 3  # a reference may rest on one that is asked for no longer
    assert f"{4 - len(left)} removed" in ran.out
    assert ran.out.count("asked for no longer, but a reference rests on it") == len(left) - 2
    assert lab.cli("show", lab.out).out == shown
    assert lab.cli("verify", lab.out).code == 0
    assert "1 of 1 run was done before and was kept (--fresh runs it again)" in lab.run(less).out


def test_leftovers_of_a_writer_that_was_killed(lab, toy):
    runs = toy.directory / "runs"
    (runs / f".{'a' * 16}-00000000.npz.123-0123abcd.tmp").write_bytes(bytes(2048))
    (toy.directory / ".manifest.json.123-0123abcd.tmp").write_bytes(b"")
    mine = runs / ".mine.tmp"
    mine.write_text("no name that this package gives")
    outside = lab.folder / "outside"
    outside.write_text("")
    link = runs / ".link.npz.1-0123abcd.tmp"
    link.symlink_to(outside)
    ran = lab.cli("clean", lab.out, "--apply")
    assert ran.code == 0, ran.err
    assert "2.0 kB" in ran.out
    assert "2 removed" in ran.out
    assert mine.exists()
    assert link.is_symlink()
    assert outside.exists()


def test_what_another_process_asks_for_again_meanwhile_stays(lab, toy, monkeypatch):
    """Between the list and the lock a run may have come back to the code of before, whose results it keeps."""
    manifest, before = toy.manifest(), toy.run_ids()
    back = [entry | {"run": f"{entry['spec_id']}-0ld00000"} for entry in manifest["runs"]]

    def after_another(directory, locked=cleaning.locked):
        toy.write_manifest(manifest | {"runs": back})
        return locked(directory)

    monkeypatch.setattr(cleaning, "locked", after_another)
    ran = lab.cli("clean", lab.out, "--older", "--apply")
    assert (ran.code, ran.out.count("may not go any longer")) == (1, 1)
    assert before - toy.run_ids() == set()


def test_an_experiment_that_is_being_written_is_left_alone(lab, toy):
    (toy.directory / ".manifest.json.123-0123abcd.tmp").write_bytes(b"")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, toy.directory], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert holder.stdout.readline() == "held\n"
    before = everything(lab.out)
    ran = lab.cli("clean", lab.out, "--older", "--apply")
    assert "another process is writing here" in ran.out
    assert everything(lab.out) == before
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    ran = lab.cli("clean", lab.out, "--older", "--apply")
    assert "2 removed" in ran.out


HOLD = """
import sys, time
from pathlib import Path
from rrmbench.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(100)
"""


def test_links_inside_results_are_refused(lab, toy):
    elsewhere = lab.folder / "elsewhere"
    (toy.directory / "references").rename(elsewhere)
    (toy.directory / "references").symlink_to(elsewhere)
    before = everything(elsewhere)
    ran = lab.cli("clean", lab.out, "--older", "--apply")
    assert ran.code == 2
    assert "is a symbolic link" in ran.err
    assert everything(elsewhere) == before


def aged(path, seconds=3 * 86400):
    for inner in (*path.rglob("*"), path):
        os.utime(inner, (time.time() - seconds,) * 2, follow_symlinks=False)


def test_caches_of_other_code_that_nobody_uses_go(lab, monkeypatch):
    root = lab.folder / "cache"
    monkeypatch.setenv("RRMBENCH_CACHE", str(root))
    data.load({"path": str(lab.folder / "toy.txt")})
    (current,) = (root / "data").iterdir()
    other, recent, strange = (root / "data" / name for name in ("0" * 32, "1" * 32, "mine"))
    for folder in (other, recent, strange):
        folder.mkdir()
        (folder / "header.json").write_text("{}")
    kernels = [root / "kernels" / name for name in ("0" * 16, fingerprint.mathematics())]
    arriving = root / "data" / ".new-abc"
    target, link = lab.folder / "target", root / "data" / ("2" * 32)
    for folder in (*kernels, arriving, target):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_bytes(bytes(100))
    link.symlink_to(target)
    for folder in (current, other, strange, *kernels, arriving, target):
        aged(folder)
    before = everything(root)
    ran = lab.cli("clean", "--caches")
    assert "3 would go" in ran.out
    assert everything(root) == before
    ran = lab.cli("clean", "--caches", "--apply")
    assert ran.code == 0
    assert "3 removed" in ran.out
    gone = [path for path in (other, recent, strange, *kernels, arriving, current, target, link) if not path.exists()]
    assert gone == [other, kernels[0], arriving]
    assert cache.find(current.name) is not None


def test_a_cache_folder_that_is_a_link_is_left_alone(lab, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(lab.folder / "cache"))
    target = lab.folder / "target" / ("0" * 16)
    target.mkdir(parents=True)
    aged(target.parent)
    (lab.folder / "cache").mkdir()
    (lab.folder / "cache" / "kernels").symlink_to(target.parent)
    ran = lab.cli("clean", "--caches", "--apply")
    assert "is a link, or no folder" in ran.out
    assert target.exists()


def test_what_clean_needs_to_know(lab):
    for options, message in (
        ((), "name a folder of results, or --caches"),
        (("--caches", "--older"), "--older is for"),
        (("--caches", "--unasked"), "--unasked is for"),
    ):
        ran = lab.cli("clean", *options)
        assert (ran.code, ran.out) == (2, "")
        assert message in ran.err
    assert lab.cli("clean", lab.folder / "nowhere").code == 2


@pytest.mark.exhaustive
def test_after_kill_9_the_rest_of_the_files_is_whole(lab):
    process = lab.start("run", lab.config(solver=odd("slow"), seed=list(range(20))), "-o", lab.out, "-j", "2")
    experiment = Experiment(lab.out / "toy")
    assert wait_for(lambda: len(experiment.run_ids()) >= 2, 60)
    assert "another process is writing here" in lab.cli("clean", lab.out, "--apply").out
    process.kill()
    process.wait()
    assert wait_for(lambda: not lab.processes(), 5)
    done = experiment.statuses()
    assert lab.cli("clean", lab.out, "--older", "--apply").code == 0
    assert experiment.statuses() == done
