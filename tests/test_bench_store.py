"""The store: nothing half-written is ever seen, nothing is lost, and every problem has one clear message."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import stored
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from lab import make_lab  # noqa: F401

from rrmbench.bench import stored_files
from rrmbench.bench.bounds import Bounds, best_of, bounds
from rrmbench.bench.statuses import Index
from rrmbench.bench.store import SCHEMA_VERSION, Experiment, UnreadableFile, experiments
from rrmbench.data import checksums
from rrmbench.errors import RrmbenchError, printable
from rrmbench.files import locked, replacing

floats = st.floats(allow_nan=True, allow_infinity=True, width=64)
names = st.sampled_from(["passes", "primal", "gap", "test_error"])


@settings(max_examples=40, deadline=None)
@given(
    columns=st.integers(0, 5).flatmap(lambda n: st.dictionaries(names, arrays(float, n, elements=floats), min_size=1)),
    w=st.none() | arrays(float, st.tuples(st.integers(0, 4), st.integers(0, 3)), elements=floats),
    reason=st.text(st.characters(codec="utf-8")),
)
def test_a_result_comes_back_bit_for_bit(tmp_path_factory, columns, w, reason):
    experiment = Experiment(tmp_path_factory.mktemp("e"))
    written = stored.result(stored.spec(), columns, reason=reason, traceback="line\nline")
    written.w, written.b = w, None
    experiment.write(written)
    read = experiment.read(written.run)
    assert read.header() == written.header() | {"reason": printable(reason)}
    assert read.info["traceback"] == "line\nline"
    assert list(read.trace) == list(columns)
    for name, column in columns.items():
        assert read.trace[name].tobytes() == column.tobytes()
    assert read.b is None
    assert (read.w is None) if w is None else (read.w.tobytes() == w.tobytes() and read.w.shape == w.shape)


@pytest.mark.parametrize("member", ["header", "trace.gap", "trace.passes", "w", "b"])
def test_a_flipped_byte_in_any_member_is_noticed_as_the_record_is_read(tmp_path, member):
    experiment = Experiment(tmp_path)
    written = stored.result(stored.spec())
    written.w = np.random.default_rng(0).random(1000)
    experiment.write(written)
    assert experiment.statuses() == {written.run: "done"}
    file = tmp_path / "runs" / f"{written.run}.npz"
    content = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        info = archive.getinfo(f"{member}.npy")
    start = info.header_offset + 30 + len(info.filename) + len(info.extra)
    content[start + 20 + info.compress_size // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(UnreadableFile, match=written.run):
        experiment.read(written.run)
    assert experiment.statuses() == {written.run: "failed"}


def test_results_are_those_that_the_manifest_asks_for_or_the_newest_of_their_spec(tmp_path):
    old, other = stored.result(stored.spec()), stored.result(stored.spec(seed=1))
    experiment = stored.experiment(tmp_path / "e", [other, old], pending=[stored.spec(seed=2)])
    new = stored.result(stored.spec(), reason="gap", created="2026-01-02T00:00:00+00:00")
    new.run = old.spec_id + "-ffff0000"
    experiment.write(new)
    experiment.write(stored.result(stored.spec(seed=9)))  # of an earlier configuration
    assert [(r.run, r.reason) for r in experiment.results()] == [(other.run, "passes"), (old.run, "passes")]
    experiment._path(old.run).unlink()  # as before the code of the manifest has run
    assert [(r.run, r.reason) for r in experiment.results()] == [(other.run, "passes"), (new.run, "gap")]


@pytest.mark.parametrize("damage", ["empty", "half", "text", "zip without header", "header without status"])
def test_a_damaged_file_is_reported_by_name_and_counts_as_failed(tmp_path, damage):
    good, bad = stored.result(stored.spec()), stored.result(stored.spec(seed=1))
    experiment = stored.experiment(tmp_path / "e", [good, bad])
    file = tmp_path / "e" / "runs" / f"{bad.run}.npz"
    if damage == "zip without header":
        np.savez(file, x=np.zeros(2))
    elif damage == "header without status":
        np.savez(file, header=np.frombuffer(b'{"schema_version": 1}', dtype=np.uint8))
    else:
        whole = file.read_bytes()
        file.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "text": b"hello"}[damage])
    with pytest.raises(UnreadableFile, match=bad.run):
        experiment.read(bad.run)
    first, second = experiment.results()
    assert (first.status, second.status, second.points) == ("done", "failed", 0)
    assert str(file) in second.reason
    assert second.spec == bad.spec
    assert experiment.statuses() == {good.run: "done", bad.run: "failed"}


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 4000), noise=st.binary(max_size=40))
def test_no_damage_whatever_escapes_as_another_error(tmp_path_factory, cut, noise):
    experiment = Experiment(tmp_path_factory.mktemp("e"))
    written = stored.result(stored.spec())
    experiment.write(written)
    file = experiment.directory / "runs" / f"{written.run}.npz"
    whole = file.read_bytes()
    file.write_bytes(whole[:cut] + noise + whole[cut + len(noise) :])
    try:
        read = experiment.read(written.run)
        _ = read.w, read.b
    except UnreadableFile as error:
        assert written.run in str(error)


def test_a_newer_schema_is_refused_with_advice(tmp_path):
    experiment = stored.experiment(tmp_path / "e", [])
    experiment.write_manifest({"schema_version": SCHEMA_VERSION + 1, "runs": []})
    with pytest.raises(RrmbenchError, match=r"manifest.json.*newer.*upgrade"):
        experiment.manifest()


@pytest.mark.parametrize("version", [-1, 0, True, "1", None])
def test_a_schema_that_there_never_was_is_refused(tmp_path, version):
    experiment = stored.experiment(tmp_path / "e", [])
    experiment.write_manifest({"schema_version": version, "runs": []})
    with pytest.raises(RrmbenchError, match=r"manifest.json: .*schema_version is "):
        experiment.manifest()


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(file) as stream:
        stream.write(b"half of the n")
        raise KeyboardInterrupt
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x.json"]


def test_after_kill_9_the_lock_is_free_and_stray_files_are_ignored_then_removed(tmp_path):
    one = stored.result(stored.spec())
    experiment = stored.experiment(tmp_path / "e", [one])
    code = f"""
import time
from pathlib import Path
from rrmbench.bench.store import Experiment, replacing
with Experiment({str(experiment.directory)!r}).lock():
    with replacing(Path({str(experiment.directory)!r}) / "runs" / "{"f" * 16}-0000aaaa.npz") as file:
        file.write(b"half a result"); file.flush()
        print("writing", flush=True)
        time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "writing\n"
    with (
        pytest.raises(RrmbenchError, match=f"another run is writing here .process {child.pid} "),
        experiment.lock(),
    ):
        pass
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    strays = set((experiment.directory / "runs").glob(".*.tmp"))
    assert len(strays) == 1
    assert experiment.run_ids() == {one.run}
    with experiment.lock():
        assert not any(stray.exists() for stray in strays)
    assert [r.run for r in experiment.results()] == [one.run]


def test_readers_see_whole_files_while_a_writer_replaces_them(tmp_path):
    one = stored.result(stored.spec())
    experiment = stored.experiment(tmp_path / "e", [one])
    done = threading.Event()

    def rewrite():
        for passes in range(2, 60):
            experiment.write(stored.result(stored.spec(), stored.trace(passes=passes)))
            experiment.write_manifest(experiment.manifest())
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    while not done.is_set():
        (read,) = experiment.results()
        assert read.status == "done"
        assert len(read.trace["gap"]) == len(read.trace["passes"])
    writer.join()


@given(st.lists(st.tuples(floats, floats), max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_reference_only_ever_improves_and_refuses_what_contradicts(tmp_path_factory, bounds):
    experiment = Experiment(tmp_path_factory.mktemp("e"))
    best = {"primal": np.inf, "dual": -np.inf}
    for primal, dual in bounds:
        new_primal = min(best["primal"], primal) if np.isfinite(primal) else best["primal"]
        new_dual = max(best["dual"], dual) if np.isfinite(dual) else best["dual"]
        rounding = 1e-9 * (abs(new_primal) + abs(new_dual))
        if np.isfinite(rounding) and new_primal < new_dual - rounding:
            with pytest.raises(RrmbenchError, match="is below the dual bound"):
                experiment.improve_reference("p", {"loss": "squared"}, Bounds("r", primal, dual))
        else:
            best = {"primal": new_primal, "dual": new_dual}
            known = experiment.improve_reference("p", {"loss": "squared"}, Bounds("r", primal, dual))
            assert {name: known[name] for name in best} == best
        known = experiment.reference("p") or {"primal": np.inf, "dual": -np.inf}
        assert {name: known[name] for name in best} == best


def test_a_problem_that_no_run_bounds_has_no_reference(tmp_path):
    experiment = Experiment(tmp_path)
    for runs in ([], [Bounds("r", np.inf, -np.inf)]):
        assert experiment.settle_reference("p", {}, runs) == {}
        assert experiment.reference("p") is None
    experiment.improve_reference("p", {}, Bounds("r", 2.0, 1.0))
    experiment.settle_reference("p", {}, [])  # of a run that is no more
    assert {experiment.reference("p")[side] for side in ("primal", "dual")} == {np.inf, -np.inf}
    (tmp_path / "references" / "p.json").write_text("{")
    experiment.settle_reference("p", {}, [])  # which no reader can read
    assert experiment.reference("p")["problem"] == "p"


@pytest.mark.parametrize("withdrawn", ["primal", "dual"])
def test_a_run_that_is_withdrawn_leaves_its_bound_of_either_side(tmp_path, withdrawn):
    found = [
        stored.result(stored.spec(seed=0), stored.trace() | {"dual": np.full(21, -np.inf)}),
        stored.result(stored.spec(seed=1), stored.trace() | {"primal": np.full(21, 9.0)}),
        stored.result(stored.spec(seed=2), stored.trace(0.1)),
    ]
    experiment = stored.experiment(tmp_path / "e", found)
    problem = found[0].problem
    experiment.settle_references({problem: {}})
    before = experiment.reference(problem)
    assert (before["primal_run"], before["dual_run"]) == (found[0].run, found[1].run)
    experiment.withdraw(problem, before[f"{withdrawn}_run"])
    after = experiment.reference(problem)
    assert after[f"{withdrawn}_run"] == found[2].run and after[withdrawn] != before[withdrawn]


def test_bounds_are_the_least_primal_and_the_greatest_dual_that_are_numbers():
    trace = {"primal": np.array([3.0, np.inf, 1.0, np.nan, 2.0]), "dual": np.array([-1.0, 7.0, -np.inf, 8.0, 0.5])}
    assert bounds(trace) == (1.0, 0.5)  # a D beside a P that is no number is none
    assert bounds({"primal": trace["primal"]}) == (1.0, -np.inf)
    assert bounds({}) == (np.inf, -np.inf)


def test_runs_that_failed_come_last_and_leave_without_a_word():
    wrong, right = Bounds("wrong", 0.5, 0.4, failed=True), Bounds("right", 2.0, 1.0)
    best, left = best_of([wrong, right])
    assert (best["primal"], best["dual"]) == (2.0, 1.0) and not left
    best, left = best_of([wrong._replace(failed=False), right])
    assert (best["primal"], best["dual"]) == (0.5, 0.4) and "of run wrong is below the dual bound" in left["right"]
    failed, done = (Bounds.of(stored.result(stored.spec(), {}, status)) for status in ("failed", "done"))
    assert failed.failed and not done.failed


def test_references_improve_from_many_threads_without_losing_a_bound(tmp_path):
    experiment = Experiment(tmp_path)
    values = np.random.default_rng(0).permutation(60) / 60

    def improve(mine):
        for value in mine:
            experiment.improve_reference("p", {}, Bounds(None, 2 - value, float(value)))

    threads = [threading.Thread(target=improve, args=(values[k::4],)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = experiment.reference("p")
    assert (known["dual"], known["primal"]) == (59 / 60, 2 - 59 / 60)


def test_a_directory_that_refuses_is_named_with_the_reason(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    experiment = Experiment(tmp_path / "file" / "e")
    for write in (
        lambda: experiment.write(stored.result(stored.spec())),
        lambda: experiment.write_manifest({"runs": []}),
        lambda: experiment.lock().__enter__(),
    ):
        with pytest.raises(RrmbenchError, match=r"file.*cannot write here: Not a directory"):
            write()


@pytest.mark.parametrize("folder", ["runs", "references"])
def test_a_folder_that_refuses_is_told_before_the_manifest_is_replaced(lab, monkeypatch, folder):
    assert lab.run(lab.config()).code == 0
    before = (lab.out / "toy" / "manifest.json").read_bytes()
    inside = lab.out / "toy" / folder
    inside.chmod(0o500)
    if os.access(inside, os.W_OK):  # to root
        opened = os.open

        def refused(path, flags, *more, **named):
            if Path(os.fspath(path)).is_relative_to(inside) and flags & os.O_RDWR:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return opened(path, flags, *more, **named)

        monkeypatch.setattr(os, "open", refused)
    ran = lab.run(lab.config(solver="gd"))
    inside.chmod(0o700)
    assert (ran.code, ran.out, ran.err) == (2, "", f"rrmbench: {inside}: cannot write here: Permission denied\n")
    assert (lab.out / "toy" / "manifest.json").read_bytes() == before


def test_a_full_disk_is_a_clear_error_and_leaves_no_file(tmp_path, monkeypatch):
    def refuse(descriptor):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(RrmbenchError, match="cannot write here: No space left on device"):
        Experiment(tmp_path).write(stored.result(stored.spec()))
    assert os.listdir(tmp_path / "runs") == []


def test_experiments_are_found_in_a_folder_and_in_its_parent(tmp_path):
    for name in "b", "a":
        stored.experiment(tmp_path / name, [])
    (tmp_path / "other").mkdir()
    assert [e.name for e in experiments(tmp_path)] == ["a", "b"]
    assert [e.name for e in experiments(tmp_path / "a")] == ["a"]
    with pytest.raises(RrmbenchError, match="no experiment found in"):
        experiments(tmp_path / "other")
    with pytest.raises(RrmbenchError, match="no such directory"):
        experiments(tmp_path / "absent")


def test_a_manifest_that_is_not_json_is_reported_by_name(tmp_path):
    for text in "{", "[]", '"x"', "{}":
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(RrmbenchError, match=r"manifest\.json: not a readable file"):
            Experiment(tmp_path).manifest()


def test_the_manifest_keeps_what_it_is_given(tmp_path):
    experiment = Experiment(tmp_path / "e")
    experiment.write_manifest({"name": "é", "runs": [], "config": {"stop": {"gap": 1e-10}}})
    assert experiment.manifest() == {
        "schema_version": SCHEMA_VERSION, "name": "é", "runs": [], "config": {"stop": {"gap": 1e-10}},
    }  # fmt: skip
    assert json.loads((tmp_path / "e" / "manifest.json").read_text())["name"] == "é"


def test_statuses_are_those_of_the_files_whatever_the_index_says(tmp_path, monkeypatch):
    results = [stored.result(stored.spec(seed=seed)) for seed in range(3)]
    experiment = stored.experiment(tmp_path / "e", results)
    first, second, third = (one.run for one in results)
    monkeypatch.setattr(checksums, "SETTLED", 0.0)  # files are remembered at once
    done = dict.fromkeys((first, second, third), "done")
    assert experiment.statuses() == done
    read, looked = Experiment.read, []
    monkeypatch.setattr(Experiment, "read", lambda self, run: looked.append(run) or read(self, run))
    assert experiment.statuses([first]) == {first: "done"} and experiment.statuses() == done and not looked
    (tmp_path / "e" / "runs" / f"{second}.npz").write_bytes(b"hello")
    results[2].status = "timeout"
    experiment.write(results[2])
    found = {first: "done", second: "failed", third: "timeout"}
    assert experiment.statuses() == found and sorted(looked) == sorted((second, third))
    index = tmp_path / "e" / ".statuses.json"
    for spoil in (index.unlink, lambda: index.write_text('{"facts": 1}'), lambda: index.write_bytes(b"\xff")):
        spoil()
        looked.clear()
        assert Experiment(tmp_path / "e").statuses() == found and len(looked) == 3
    shutil.copytree(tmp_path / "e", tmp_path / "copy")  # whose files are others: its index knows nothing
    looked.clear()
    assert Experiment(tmp_path / "copy").statuses() == found and len(looked) == 3


def test_a_writer_reads_the_index_once_and_looks_at_every_file_again(tmp_path, monkeypatch):
    results = [stored.result(stored.spec(seed=seed)) for seed in range(3)]
    monkeypatch.setattr(checksums, "SETTLED", 0.0)
    stored.experiment(tmp_path / "e", results).statuses()
    experiment, read, made = Experiment(tmp_path / "e"), Index._read, []
    monkeypatch.setattr(Index, "_read", lambda self: made.append(self) or read(self))
    assert set(experiment.statuses().values()) == {"done"} and len(experiment.sizes()) == 1
    for status in "timeout", "diverged":
        results[1].status = status
        experiment.write(results[1])
        assert experiment.statuses()[results[1].run] == status
    assert len(made) == 1


def test_files_of_this_moment_are_read_again(tmp_path, monkeypatch):
    result = stored.result(stored.spec())
    experiment = stored.experiment(tmp_path / "e", [result])
    monkeypatch.setattr(checksums, "SETTLED", 1e9)
    assert experiment.statuses() == {result.run: "done"}
    monkeypatch.setattr(Experiment, "read", lambda self, run: stored.result(stored.spec(), status="timeout"))
    assert experiment.statuses() == {result.run: "timeout"}


@settings(max_examples=50, deadline=None)
@given(
    content=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        ),
        max_size=5,
    )
)
def test_readable_json_is_json(content):
    assert json.loads(stored_files._readable(content)) == content


def test_a_disk_that_is_full_as_a_folder_is_locked_is_one_message_that_names_it(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(RrmbenchError, match="toy: cannot write here: File too large"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            with locked(tmp_path / "toy"):
                pass
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
