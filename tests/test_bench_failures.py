"""Solvers that misbehave, processes that die, users who interrupt, disks that refuse."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from multiprocessing import forkserver

import numpy as np
import pytest
from lab import make_lab, odd, wait_for  # noqa: F401

from rrmbench.bench import children
from rrmbench.bench.runner import Scheduler
from rrmbench.bench.store import Experiment
from rrmbench.errors import RrmbenchError

LIMIT = 6
# how: status, part of the reason, points of the curve that is kept
EXPECTED = {
    "raise": ("failed", "ValueError: gone wrong", 3),
    "SystemExit": ("failed", "SystemExit: 0", 3),
    "KeyboardInterrupt": ("failed", "KeyboardInterrupt", 3),
    "nothing": ("failed", "without yielding an iterate", 0),
    "still": ("failed", "1000 iterates in a row without touching the data", 4),
    "shape": ("failed", "w of shape (1,), not (6,)", 3),
    "b_shape": ("failed", "b of shape (1,), not (30,)", 3),
    "array": ("failed", "yielded ndarray, not an Iterate", 3),
    "mute": ("failed", "Mute: its message cannot be had, RuntimeError", 3),
    "surrogate": ("failed", "ValueError: \\ud800 \\x1b[31mred", 3),
    "odd_array": ("failed", "Odd w of float64, not w as a numpy array of float64", 3),
    "float32": ("failed", "w of float32", 3),
    "integer": ("failed", "w of int64", 3),
    "endless": ("failed", "counted inf passes", 3),
    "worded": ("failed", "counted 'many' passes and 0.0 checks, not numbers", 3),
    "uncounted": ("failed", "counted nan passes; one that counts none says so: @solver(counts_passes=False)", 3),
    "undercounted": ("failed", "counted 2.25 passes, its products with X and X^T alone are 2.5: each", 3),
    "does_not_close": ("done", "passes", 6),
    "process": ("done", "passes", 6),
    "process_of_multiprocessing": ("failed", "have children; a run starts no processes by multiprocessing; on its", 3),
    "process_at_work": ("failed", "s of the processor that its clock has not: a solver waits for what it starts", 4),
    "process_waited_for": ("done", "passes", 6),
    "backwards": ("failed", "counted 1 passes", 3),
    "nan": ("diverged", "the objective is nan after 3 passes", 4),
    "huge": ("diverged", "the objective is inf after 3 passes", 4),
    "exit": ("killed", "the process ended with exit code 3", 3),
    "early": ("killed", "exit code 3, while it loaded and warmed up", 0),
    "kill": ("killed", "killed by signal 9, as the system does where memory is out", 3),
    "sleep": ("timeout", f"killed after the limit of {LIMIT} s", 3),
    "hang": ("timeout", f"killed after the limit of {LIMIT} s", 3),
    "ends": ("done", "ended", 4),
    "spoils": ("done", "ended", 4),
    "print": ("done", "passes", 6),
    "thread": ("done", "passes", 6),
    "fork": ("done", "passes", 6),
    "well": ("done", "passes", 6),
}


def sleeping(lab, runs):
    """Return a command for runs of a good 0.2 s each, four at a time."""
    config = lab.config(solver=odd("slow"), seed=list(range(runs)), stop={"passes": 2})
    return ("run", config, "-o", lab.out, "-j", 4)


def test_whatever_a_solver_does_its_curve_and_status_are_kept_and_the_others_run(lab):
    lab.run(lab.config(name="warm", solver=["agd", odd("well")]))  # compiling may take longer than the limit
    config = lab.config(solver=["agd", odd(list(EXPECTED))], limit=LIMIT)
    ran = lab.run(config, "-j", 2)
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert "spam" not in ran.out
    assert "\x1b[31m" not in ran.out + ran.err
    results = {result.spec["solver"].get("how", "agd"): result for result in lab.results()}
    assert results.pop("agd").status == "done"
    found = {how: (r.status, EXPECTED[how][1] in r.reason, r.points) for how, r in results.items()}
    assert found == {how: (status, True, points) for how, (status, _, points) in EXPECTED.items()}
    for how, result in results.items():
        assert np.array_equal(result.trace.get("passes", []), np.arange(result.points)), how
    assert np.isfinite(results["spoils"].w).all()
    assert "in act" in results["raise"].info["traceback"]
    assert results["process_waited_for"].trace["cpu_seconds"][3] >= 0.5
    for reader in (("show", lab.out), ("export", lab.out, "--to", lab.folder / "t.csv"), ("verify", lab.out)):
        ran = lab.cli(*reader)
        assert ran.code == 0, reader
        assert ("passes of odd: as the plug-in counts them" in ran.out) == (reader[0] == "show")
    before = lab.files()
    lab.run(config, "-j", 2)
    changed = {name.removesuffix(".npz") for name, time in lab.files().items() if before[name] != time}
    again = {how for how, result in results.items() if result.run in changed}
    assert again == {how for how, (status, _, _) in EXPECTED.items() if status in ("failed", "killed")}


@pytest.mark.exhaustive
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes in /proc")
def test_processes_that_a_solver_starts_end_with_its_run(lab):
    ran = lab.command("run", lab.config(solver=odd("process")), "-o", lab.out)
    assert ran.code == 0, ran.err
    assert wait_for(lambda: not lab.processes(), 20)
    process = lab.start("run", lab.config(solver=odd(["process", "hang"], at=1), limit=600), "-o", lab.out, "-j1")
    assert wait_for(lambda: len(lab.files()) == 1 and len(lab.processes()) >= 4, 60)
    process.kill()
    process.wait()
    assert wait_for(lambda: not lab.processes(), 20)


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTERM], ids=lambda n: n.name)
def test_a_fork_server_that_stops_or_dies_costs_no_run(lab, number, monkeypatch):
    monkeypatch.setattr(children, "PATIENCE", 1.0)
    monkeypatch.setattr(children, "GRACE", 0.5)
    stopped = []

    def once(self, run, outcome, stored=Scheduler._store):
        if not stopped:
            stopped.append(forkserver._forkserver._forkserver_pid)
            os.kill(stopped[0], number)
        return stored(self, run, outcome)

    monkeypatch.setattr(Scheduler, "_store", once)
    ran = lab.run(lab.config(solver=odd("slow"), seed=[0, 1, 2, 3, 4, 5], stop={"passes": 2}), "-j", 2)
    assert ran.code == 0, ran.err
    assert [result.status for result in lab.results()] == ["done"] * 6
    assert forkserver._forkserver._forkserver_pid != stopped[0]


def test_time_in_which_the_command_stood_still_is_no_time_of_a_run(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(children.time, "monotonic", lambda: now[0])

    class Stopped:
        """A pipe whose reader is stopped for an hour before each message."""

        messages = [("start", {}), ("row", {"passes": 0.0}), ("end", "done", "passes", {})]  # noqa: RUF012

        def poll(self, seconds):
            now[0] += 3600.0
            return True

        def recv(self):
            return self.messages.pop(0)

    outcome = children.Outcome("killed", "")
    children.Children()._listen(Stopped(), outcome, 60.0, 60.0, lambda row: None, ())
    assert (outcome.status, len(outcome.rows)) == ("done", 1)
    assert outcome.wall_seconds == -2 * 3600.0  # to which the time from its start to its end is added


def test_a_child_that_cannot_be_started_is_tried_a_few_times(monkeypatch):
    tried, running = [], children.Children()

    def refused(main, task, connection):
        tried.append(connection.close())
        raise OSError("no room")

    monkeypatch.setattr(children, "TICK", 0.0)
    monkeypatch.setattr(running, "_start", refused)
    outcome = running.run(None, None, 60.0)
    assert (outcome.status, len(tried)) == ("killed", children.TRIES)
    assert outcome.reason == "its process could not be started (OSError: no room)"


def test_a_first_child_whose_parent_has_given_it_up_ends_without_a_word():
    code = "from multiprocessing import Pipe; from rrmbench.bench import children; a, b = Pipe(); a.close()"
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}; children._nothing(None, b)"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_solver_that_changes_its_problem_is_measured_on_the_one_that_was_asked_for(lab):
    meddlers = [
        {"path": odd("well")["path"], "name": "meddler", "target": target} for target in ("labels", "operator", "psi")
    ]
    assert lab.run(lab.config(loss="logistic", solver=[*meddlers, "agd"], reference={"seconds": 1})).code == 0
    assert [result.status for result in lab.results()] == ["done"] * 4
    assert lab.cli("verify", lab.out, "--trust").code == 0


def test_a_solver_that_ends_between_two_points_leaves_its_last_iterate(lab):
    lab.run(lab.config(solver=odd("ends", at=5), trace={"every": 2.0}, stop={"passes": 50}))
    (result,) = lab.results()
    assert result.reason == "ended"
    assert result.trace["passes"].tolist() == [0.0, 2.0, 4.0, 5.0]
    assert lab.cli("verify", lab.out).code == 0


DRAWS = """
import random
import numpy as np
import rrmbench

@rrmbench.solver()
def draws(problem, start, rng):
    w = np.zeros(problem.shape)
    for passes in range(4):
        yield rrmbench.Iterate(w, passes=passes)
        w += 1e-3 * np.random.normal(size=w.shape) * random.random()
"""


def test_of_global_generators_a_seed_gives_the_same_numbers_again_and_another_one_others(lab):
    (lab.folder / "draws.py").write_text(DRAWS)
    config = lab.config(solver={"path": "draws.py", "name": "draws"}, seed=[0, 1, 2], stop={"passes": 3})
    found = []
    for number in (2, 1):
        assert lab.run(config, "--fresh", "-j", number).code == 0
        found.append({result.spec["seed"]: tuple(result.w) for result in lab.results()})
    assert found[0] == found[1]
    assert len(set(found[0].values())) == 3


@pytest.mark.parametrize("closed", [">&-", pytest.param("<&- >&- 2>&-", marks=pytest.mark.exhaustive)])
def test_runs_need_no_standard_streams(lab, closed):
    command = (sys.executable, "-m", "rrmbench", "run", lab.config(solver="agd"), "-o", lab.out)
    ended = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *map(str, command)], timeout=100)
    assert [result.status for result in lab.results()] == ["done"]
    assert ended.returncode == 0


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes in /proc")
def test_after_kill_9_nothing_is_left_and_the_rest_is_run(lab):
    slow = sleeping(lab, 16)
    process = lab.start(*slow)
    assert wait_for(lambda: len(lab.files()) >= 4, 60)
    process.kill()
    process.wait()
    assert wait_for(lambda: not lab.processes(), 2.5)
    kept = lab.files()
    assert 4 <= len(kept) < 16
    experiment = Experiment(lab.out / "toy")
    assert all(experiment.read(run).status == "done" for run in experiment.run_ids())
    ran = lab.command(*slow)
    assert ran.code == 0
    assert f"{len(kept)} of 16 runs were done before" in " ".join(ran.out.split())
    files = lab.files()
    assert len(files) == 16
    assert {name: files[name] for name in kept} == kept
    assert not list(lab.out.rglob("*.tmp"))


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="relies on SIGIO")
def test_a_child_that_holds_the_interpreter_dies_with_its_parent(lab):
    config = lab.config(solver=odd("hang", at=1), limit=600)
    process = lab.start("run", config, "-o", lab.out)
    assert wait_for(lambda: len(lab.processes()) >= 4, 60)  # itself, fork server, resource tracker, child
    time.sleep(1.0)  # past the warm-up
    process.kill()
    process.wait()
    assert wait_for(lambda: not lab.processes(), 2.5)


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(lab):
    slow = sleeping(lab, 16)
    process = lab.start(*slow)
    assert wait_for(lambda: len(lab.files()) >= 4, 60)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=2.5)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "the same command runs the rest" in err
    statuses = Experiment(lab.out / "toy").statuses()
    done = {run for run, status in statuses.items() if status == "done"}
    assert len(done) >= 4
    assert set(statuses.values()) <= {"done", "interrupted"}
    before = lab.files()
    assert lab.command(*slow).code == 0
    after = lab.files()
    assert len(after) == 16
    assert {name for name in before if before[name] == after[name]} == {f"{run}.npz" for run in done}


@pytest.mark.exhaustive
def test_a_run_that_is_interrupted_does_not_replace_the_finished_one(lab):
    slow = sleeping(lab, 12)
    assert lab.command(*slow).code == 0
    before = wall_seconds(lab)
    process = lab.start(*slow, "--fresh")
    assert wait_for(lambda: len(lab.processes()) >= 4, 60)  # itself, fork server, resource tracker, child
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert {result.status for result in lab.results()} == {"done"}
    assert any(before[run] == seconds for run, seconds in wall_seconds(lab).items())


@pytest.mark.exhaustive
def test_a_run_that_cannot_start_does_not_replace_the_finished_one(lab, monkeypatch):
    slow = sleeping(lab, 2)
    assert lab.command(*slow).code == 0
    before = wall_seconds(lab)
    folder = lab.folder / ("x" * 150)  # too long for the name of a socket
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    again = lab.command(*slow, "--fresh")
    assert again.code == 1 and "could not be started" in again.err
    assert wall_seconds(lab) == before


def wall_seconds(lab):
    return {result.run: result.info["wall_seconds"] for result in lab.results()}


@pytest.mark.exhaustive
def test_ctrl_c_while_the_fork_server_starts(lab):
    slow = sleeping(lab, 20)
    process = lab.start(*slow)
    assert wait_for((lab.out / "toy" / "manifest.json").exists, 60)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=5)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.exhaustive
def test_a_fork_server_that_dies_is_started_again(lab):
    slow = sleeping(lab, 20)
    process = lab.start(*slow)
    assert wait_for(lambda: len(lab.files()) >= 2, 60)
    os.kill(_fork_server(lab, process.pid), signal.SIGKILL)
    process.communicate(timeout=60)
    statuses = Counter((result.status, result.reason) for result in lab.results())
    assert sum(statuses.values()) == 20
    assert statuses["done", "passes"] >= 14, statuses


def _fork_server(lab, parent):
    for pid in lab.processes():
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            if pid != parent and "forkserver" in file.read() and os.getsid(pid) == parent:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                    if int(stat.read().split(")")[1].split()[1]) == parent:
                        return pid
    raise AssertionError("no fork server found")


def test_results_that_cannot_be_written_are_one_message(lab):
    (lab.folder / "file").write_text("")
    for place, why in ((lab.folder / "file", ": found a file"), ("/proc/results", "/toy: cannot write here: ")):
        ran = lab.cli("run", lab.config(), "-o", place)
        assert ran.code == 2
        assert ran.out == ""
        assert f"rrmbench: {place}{why}" in ran.err
        assert "Traceback" not in ran.err


def test_a_full_disk_in_the_middle_ends_the_run_at_once(lab, monkeypatch):
    slow = sleeping(lab, 16)
    sync, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    ran = lab.cli(*slow)
    assert ran.code == 2
    assert "toy/runs: cannot write here: No space left on device" in ran.err
    assert "Traceback" not in ran.err
    assert 1 <= len(lab.files()) < 10
    assert "Warning" not in ran.err
    assert not list(lab.out.rglob("*.tmp"))
    monkeypatch.setattr(os, "fsync", sync)
    assert lab.cli(*slow).code == 0
    assert len(lab.files()) == 16


def full_disk(*arguments):
    raise RrmbenchError("No space left on device")


def test_bounds_of_runs_that_were_stored_just_before_the_end_reach_the_reference_later(lab, monkeypatch):
    config = lab.config(solver=["agd", "gd"], reference={"seconds": 5})
    with monkeypatch.context() as patch:
        patch.setattr(Experiment, "improve_reference", full_disk)
        for stored in 1, 2, 3:  # the third is the extra run
            assert lab.run(config, "-j", 1).code == 2
            assert len(lab.files()) == stored
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1 and "has a better" in ran.out
    before = lab.files()
    assert lab.run(config).code == 0
    assert lab.files() == before
    assert_references_rest_on_all_runs(lab)
    assert lab.cli("verify", lab.out).code == 0


def test_the_bounds_of_a_run_that_was_withdrawn_and_not_replaced_come_back(lab, monkeypatch):
    config = lab.config()
    assert lab.run(config).code == 0
    with monkeypatch.context() as patch:
        patch.setattr(Experiment, "write", full_disk)
        assert lab.run(config, "--fresh").code == 2
    assert "has a better" in lab.cli("verify", lab.out).out
    assert lab.run(config).code == 0
    assert_references_rest_on_all_runs(lab)


def assert_references_rest_on_all_runs(lab):
    experiment = Experiment(lab.out / "toy")
    found = [experiment.read(run) for run in experiment.run_ids()]
    known = experiment.reference(found[0].problem)
    assert known["primal"] == min(result.trace["primal"].min() for result in found)
    assert known["dual"] == max(result.trace["dual"].max() for result in found)


def test_results_that_cannot_be_read_again_are_told_and_end_with_1(lab, monkeypatch):
    def damaged(self, result):
        self._path(result.run).parent.mkdir(exist_ok=True)
        self._path(result.run).write_bytes(b"no archive")

    with monkeypatch.context() as patch:
        patch.setattr(Experiment, "write", damaged)
        ran = lab.run(lab.config())
    assert ran.code == 1 and "1 result of these runs is not there, or cannot be read" in ran.err
    assert lab.run(lab.config()).code == 0


def test_a_results_folder_that_is_removed_meanwhile_is_told_and_can_be_read(lab):
    solver = {"path": "removing.py", "name": "removing"}
    (lab.folder / "removing.py").write_text(
        "import shutil\nimport rrmbench\n\n\n@rrmbench.solver\ndef removing(problem, start, rng):\n"
        f"    if problem.n > 8:\n        shutil.rmtree({str(lab.out)!r})\n"
        "    yield rrmbench.Iterate(problem.start(start))\n"
    )
    ran = lab.run(lab.config(solver=["agd", solver]), "-j", 1)
    assert ran.code == 1 and "1 result of these runs is not there" in ran.err
    assert lab.cli("show", lab.out).code == 0
    assert {result.spec["solver"]["name"] for result in lab.results()} == {"removing"}


FORKED = """
import multiprocessing, sys, rrmbench

def go(name):
    return set(rrmbench.load_results(rrmbench.run(sys.argv[1], sets=[f"name={name}"], quiet=True))["status"])

def said(name, queue):
    queue.put(go(name))

fork = multiprocessing.get_context("fork")
print(go("parent"))
queue = fork.Queue()
child = fork.Process(target=said, args=("child", queue))
child.start()
print(queue.get(timeout=60))
child.join()
print(go("again"))
with fork.Pool(1) as pool:
    try:
        pool.apply(go, ("pool",))
    except rrmbench.RrmbenchError as error:
        print(error)
"""


@pytest.mark.exhaustive
def test_a_forked_process_runs_with_a_fork_server_of_its_own(lab):
    script = [sys.executable, "-c", FORKED, lab.config()]
    ran = subprocess.run(script, cwd=lab.folder, capture_output=True, text=True, timeout=120, check=True)
    *statuses, refused = ran.stdout.splitlines()
    assert statuses == ["{'done'}"] * 3 and refused.startswith("this process is daemonic")


def test_a_run_that_is_cut_short_in_place_of_a_finished_one_loses_nothing(lab, monkeypatch):
    assert lab.run(lab.config()).code == 0
    monkeypatch.setattr(children.Children, "run", lambda *given: children.Outcome("killed", "gone"))
    ran = lab.run(lab.config(), "--fresh")
    assert ran.code == 1 and "cannot be read" not in ran.err
    assert [result.status for result in lab.results()] == ["done"]


def test_a_thread_that_the_import_of_a_plug_in_leaves_behind_is_not_waited_for(lab):
    (lab.folder / "stays.py").write_text(
        "import threading, time\n\nimport rrmbench\n\n"
        "threading.Thread(target=time.sleep, args=(3600,), name='stays').start()\n\n\n"
        "@rrmbench.solver()\ndef stays(problem, start, rng):\n    yield rrmbench.Iterate(problem.start(start))\n"
    )
    ran = lab.command("validate", lab.config(solver={"path": "stays.py", "name": "stays"}))
    assert ran.code == 0 and "1 run" in ran.out
    assert ran.err == "rrmbench: not waited for: stays, which the code of a plug-in has left\n"
    ran = lab.command("validate", lab.config(solver={"path": "stays.py", "name": "stay"}))
    assert ran.code == 2 and "not waited for" in ran.err
