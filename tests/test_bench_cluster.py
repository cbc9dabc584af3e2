"""Runs on a Dask cluster: a scheduler and workers as processes of their own, each worker with a cache of its own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from lab import make_lab, odd, wait_for  # noqa: F401

from rrmbench.bench.store import Experiment

pytest.importorskip("distributed")


class Cluster:
    """A scheduler and the workers that are started with it."""

    def __init__(self, folder):
        self.folder, self.processes = folder, {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self._start("scheduler", "dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")

    def worker(self, name, threads=1, **environment):
        """Start a worker whose cache lacks everything but compiled kernels and what the texts of the package mean."""
        cache = self.cache(name)
        cache.mkdir(exist_ok=True)
        kernels = Path(os.environ["RRMBENCH_CACHE"]) / "kernels"
        kernels.mkdir(parents=True, exist_ok=True)
        if not (cache / "kernels").exists():
            (cache / "kernels").symlink_to(kernels)
            (cache / "syntax.json").symlink_to(kernels.parent / "syntax.json")
        local = ("--local-directory", self.folder / f"{name}.local", "--no-dashboard", "--death-timeout", "60")
        options = (
            "--nthreads",
            threads,
            "--name",
            name,
            "--nanny" if environment.pop("nanny", False) else "--no-nanny",
        )
        environment = {"RRMBENCH_CACHE": str(cache)} | environment
        self._start(name, "dask_worker", self.address, *options, *local, **environment)

    def cache(self, name):
        return self.folder / f"{name}.cache"

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def end(self, name, number=signal.SIGKILL):
        process = self.processes.pop(name)
        os.killpg(process.pid, number)
        process.wait()

    def _start(self, name, module, *arguments, **environment):
        with (self.folder / f"{name}.log").open("w") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *map(str, arguments)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=os.environ | environment,
                start_new_session=True,
            )


@pytest.fixture
def cluster(lab):
    made = Cluster(lab.folder)
    yield made
    for name in list(made.processes):
        made.end(name)


def on(cluster, config, lab, *options, **environment):
    """Start `rrmbench run` on a cluster."""
    where = ("--backend", "dask", "--scheduler", cluster.address)
    return lab.start("run", config, "-o", lab.folder / "remote", *where, *options, **environment)


def bits(folder):
    """{run: what is the same on every machine of one kind}"""
    columns = "passes", "checks", "primal", "dual", "gap"
    arrays = {r.run: [*(r.trace[c] for c in columns), r.w, r.b] for r in Experiment(folder).results()}
    return {run: [None if array is None else array.tobytes() for array in found] for run, found in arrays.items()}


@pytest.mark.exhaustive
def test_a_worker_that_dies_costs_nothing_and_the_bits_are_those_of_a_local_run(lab, cluster):
    cluster.worker("one")
    cluster.worker("two")
    config = lab.config(
        solver=["prox_sdca", odd("slow", seconds=0.2)], seed=[0, 1, 2, 3], stop={"passes": 3}, reference={"seconds": 5}
    )
    process = on(cluster, config, lab)
    remote = lab.folder / "remote" / "toy"
    assert wait_for(lambda: len(list(remote.glob("runs/*.npz"))) >= 5, 120), cluster.log("one")
    cluster.end("two")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert err.count("done: gap") == 9  # each run once, and the reference
    assert lab.run(config, "-j", 2).code == 0
    found = bits(remote)
    assert len(found) == 8
    assert found == bits(lab.out / "toy")
    experiment = Experiment(remote)
    results = [experiment.read(run) for run in experiment.run_ids()]
    environments = experiment.manifest()["environments"]
    assert {environments[r.info["environment"]]["host"] for r in results} == {socket.gethostname()}
    assert 1 <= len({r.info["worker"] for r in results}) <= 2
    assert (cluster.cache("one") / "data").is_dir()  # it was sent
    assert "Traceback" not in err


def test_what_is_asked_of_a_cluster_that_is_not_there_is_one_message(lab):
    other = lab.folder / "other.json"
    other.write_text('{"a": 1}')
    for options, message in (
        (("--backend", "dask"), "--backend dask needs --scheduler ADDRESS"),
        (("--backend", "dusk"), "found 'dusk', allowed is local, dask; did you mean 'dask'?"),
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler: has no effect without --backend dask"),
        (
            ("--backend", "dask", "--scheduler", "nonsense://x"),
            "--scheduler: found 'nonsense://x', no file and no address",
        ),
        (("--backend", "dask", "--scheduler", "missing.json"), "--scheduler: found 'missing.json', no file and"),
        (("--backend", "dask", "--scheduler", str(other)), "found no file of a Dask scheduler"),
    ):
        ran = lab.run(lab.config(), *options)
        assert (ran.code, ran.out) == (2, "")
        assert message in ran.err
        assert "Traceback" not in ran.err


# beyond the core: each starts a cluster of its own


@pytest.mark.exhaustive
def test_plug_ins_are_sent_with_what_they_import_and_limits_hold(lab, cluster):
    cluster.worker("one", threads=2)
    (lab.folder / "plug").mkdir()
    (lab.folder / "plug" / "pack").mkdir()
    (lab.folder / "plug" / "pack" / "__init__.py").write_text("")
    (lab.folder / "plug" / "pack" / "beside.py").write_text("def half():\n    return 0.5\n")
    (lab.folder / "plug" / "mine.py").write_text(MINE)
    solvers = [{"path": "plug/mine.py", "name": "mine"}, odd(["sleep", "kill", "raise"], at=2)]
    config = lab.config(solver=solvers, limit=8, regularizer={"name": "group_lasso", "strength": 0.01, "groups": "g"})
    (lab.folder / "g").write_text("2\n4\n")
    process = on(cluster, config, lab, "-j", 2)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 1, err
    results = {r.spec["solver"].get("how", "mine"): r for r in Experiment(lab.folder / "remote" / "toy").results()}
    assert {how: r.status for how, r in results.items()} == {
        "mine": "done", "sleep": "timeout", "kill": "killed", "raise": "failed"
    }  # fmt: skip
    assert results["mine"].w[:2].tolist() == [0.5, 1.0]  # what is beside it, and that it came from a cache
    assert results["raise"].reason.endswith(" in act: ValueError: gone wrong")
    assert [results[how].points for how in ("sleep", "kill", "raise")] == [2, 2, 2]
    shipped = [p.name for p in (cluster.cache("one") / "plugins").rglob("*.py")]
    assert sorted(shipped) == ["__init__.py", "beside.py", "mine.py", "misbehaving.py"]
    assert {r.info["concurrent_runs"] for r in results.values()} <= {1, 2, 3}  # the look at the code is a child, too


MINE = """
import numpy as np
import rrmbench
from pack.beside import half

@rrmbench.solver()
def mine(problem, start, rng):
    w = np.zeros(problem.shape)
    yield rrmbench.Iterate(w)
    w[0], w[1] = half(), "/plugins/" in __file__
    for passes in range(1, 6):
        yield rrmbench.Iterate(w, passes=passes)
"""


RUNS = 12


def long(lab):
    return lab.config(solver=odd("slow", seconds=0.3), seed=list(range(RUNS)), stop={"passes": 3})


def runs_of(mark):
    """The ids of processes that workers have started for runs: forked, and leaders of their groups; needs /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        with suppress(OSError):
            forked = b"forkserver" in (entry / "cmdline").read_bytes() and os.getpgid(pid) == pid
            if forked and mark.encode() in (entry / "environ").read_bytes():
                found.append(pid)
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
def test_what_a_caller_leaves_behind(lab, cluster, number):
    for name in "one", "two":
        cluster.worker(name, CLUSTER_MARK=lab.mark)
    config = long(lab)
    process = on(cluster, config, lab)
    remote = Experiment(lab.folder / "remote" / "toy")
    assert wait_for(lambda: len(remote.run_ids()) >= 3, 120)
    mark = f"CLUSTER_MARK={lab.mark}"
    assert wait_for(lambda: runs_of(mark), 5)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=20)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "the same command runs the rest" in err
        assert "Traceback" not in err
    assert wait_for(lambda: not runs_of(mark), 10)  # nobody wants them any more
    done = {run for run, status in remote.statuses().items() if status == "done"}
    assert 3 <= len(done) < RUNS
    process = on(cluster, config, lab)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert f"{len(done)} of {RUNS} runs were done before" in " ".join(out.split())
    assert set(remote.statuses().values()) == {"done"}


@pytest.mark.exhaustive
def test_a_worker_that_comes_later_is_sent_what_it_lacks(lab, cluster):
    cluster.worker("one")
    process = on(cluster, long(lab), lab, "-j", 2)
    remote = Experiment(lab.folder / "remote" / "toy")
    assert wait_for(lambda: len(remote.run_ids()) >= 2, 120)
    cluster.worker("two")
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert len({result.info["worker"] for result in remote.results()}) == 2
    assert {result.status for result in remote.results()} == {"done"}
    assert len(remote.run_ids()) == RUNS


@pytest.mark.exhaustive
def test_a_run_that_takes_its_workers_with_it_is_given_up_and_the_others_run(lab, cluster):
    cluster.worker("one", nanny=True)
    (lab.folder / "assassin.py").write_text(ASSASSIN)
    config = lab.config(solver=["agd", {"path": "assassin.py", "name": "assassin"}], seed=[0, 1])
    process = on(cluster, config, lab, "--only", "seed=0")
    _, err = process.communicate(timeout=400)
    assert process.returncode == 1, err
    results = {r.spec["solver"]["name"]: r for r in Experiment(lab.folder / "remote" / "toy").results()}
    assert results["agd"].status == "done"
    assert results["assassin"].status == "killed"
    assert "given up by the cluster (KilledWorker" in results["assassin"].reason
    assert "Traceback" not in err


ASSASSIN = """
import multiprocessing, os, signal
import numpy as np
import rrmbench

@rrmbench.solver()
def assassin(problem, start, rng):
    yield rrmbench.Iterate(np.zeros(problem.shape))
    if problem.n > 8:
        os.kill(multiprocessing.parent_process().pid, signal.SIGKILL)
    yield rrmbench.Iterate(np.zeros(problem.shape), passes=1)
"""


@pytest.mark.exhaustive
def test_a_worker_with_other_code_is_refused(lab, cluster, pytestconfig):
    import rrmbench

    package, place = Path(rrmbench.__file__).parent, lab.folder / "copy"
    shutil.copytree(package, place / "rrmbench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(package.parent / "datasets", place / "datasets")
    loss = place / "rrmbench" / "losses" / "squared.py"
    cluster.worker("one", PYTHONPATH=str(place))
    process = on(cluster, lab.config(), lab)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    loss.write_text(loss.read_text().replace("0.5 * (z - y) * (z - y)", "(z - y) * (z - y) * 0.5"))
    process = on(cluster, lab.config(), lab, "--fresh")
    _, err = process.communicate(timeout=200)
    assert process.returncode == 2, err
    assert "refused: other code than the caller's (digest " in err
    assert "Traceback" not in err
    talk = place / "rrmbench" / "bench" / "remote.py"
    talk.write_text(talk.read_text() + "\nMORE = 1\n")
    cluster.end("one")
    cluster.worker("two", PYTHONPATH=str(place))
    process = on(cluster, lab.config(), lab, "--fresh")
    _, err = process.communicate(timeout=200)
    assert process.returncode == 2
    assert "runs another version of rrmbench; start it again" in err


@pytest.mark.exhaustive
def test_a_scheduler_that_dies_is_one_message_and_finished_runs_are_kept(lab, cluster):
    cluster.worker("one")
    process = on(cluster, long(lab), lab)
    remote = Experiment(lab.folder / "remote" / "toy")
    assert wait_for(lambda: len(remote.run_ids()) >= 2, 120)
    cluster.end("scheduler")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2, err
    assert "lost the scheduler" in err
    assert "Traceback" not in err
    assert len([run for run, status in remote.statuses().items() if status == "done"]) >= 2
