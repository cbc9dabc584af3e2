"""Running the command line in tests: in this process, or as a process of its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import namedtuple
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import yaml

from rrmbench.bench.store import Experiment
from rrmbench.folders import cache_root

ODD = Path(__file__).parent / "misbehaving.py"
Ran = namedtuple("Ran", "code out err")

# a problem on which full gradient steps are quick, and which is not solved in a few passes
TOY = {
    "name": "toy",
    "dataset": "toy.txt",
    "loss": "squared",
    "regularizer": {"name": "l2", "strength": 0.01},
    "solver": "agd",
    "stop": {"passes": 5},
    "reference": False,
}


def odd(how, **parameters):
    """Return the mapping of the plug-in solver that misbehaves in the way `how`, or in a list of ways."""
    return {"path": str(ODD), "name": "odd", "how": how, **parameters}


def rows(n=30, d=6, seed=0, labels=(-1, 1)):
    """Return the text of a LibSVM file."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        values = " ".join(f"{j}:{v:.4f}" for j, v in enumerate(rng.normal(size=d), 1))
        lines.append(f"{labels[i % len(labels)]} {values}\n")
    return "".join(lines)


def new_cache(folder):
    """Make a cache without compiled kernels; what the texts of the package mean is in it, which takes two seconds."""
    known = cache_root() / "syntax.json"
    folder.mkdir(exist_ok=True)
    if known.exists() and not (folder / known.name).exists():
        shutil.copy(known, folder)
    return folder


class Lab:
    """A folder with data and configurations, and the command line."""

    def __init__(self, folder, capfd):
        self.folder, self.capfd = folder, capfd
        self.out = folder / "results"
        self.mark = uuid.uuid4().hex
        (folder / "toy.txt").write_text(rows())

    def config(self, file="toy.yaml", **keys):
        """Write the configuration TOY, with other `keys`, and return its path."""
        (self.folder / file).write_text(yaml.safe_dump(TOY | keys))
        return self.folder / file

    def cli(self, *arguments):
        """Run the command line in this process; return exit code, stdout and stderr."""
        from rrmbench import cli

        self.capfd.readouterr()
        before = sys.argv
        sys.argv = ["rrmbench", *map(str, arguments)]
        try:
            cli.run_app()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            sys.argv = before
        return Ran(code, *self.capfd.readouterr())

    def run(self, config, *options):
        """`rrmbench run CONFIG -o results` in this process."""
        return self.cli("run", config, "-o", self.out, *options)

    def command(self, *arguments, **environment):
        """Run the command line in its own process to its end."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=120)
        return Ran(process.returncode, out, err)

    def start(self, *arguments, **environment):
        """Start the command line in its own process group; its processes carry a mark.

        Shells have background jobs ignore SIGINT: the command line hears it, wherever the tests run.
        """
        return subprocess.Popen(
            [sys.executable, "-m", "rrmbench", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=os.environ | {"RRMBENCH_LAB": self.mark} | environment,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def end(self):
        """Kill whatever a failed test has left."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self):
        """The ids of all processes that descend from `start`; needs /proc."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def results(self, name="toy"):
        """The results of an experiment, newest per spec of the manifest."""
        return Experiment(self.out / name).results()

    def files(self, name="toy"):
        """{run file: time of change}"""
        return {path.name: path.stat().st_mtime_ns for path in (self.out / name / "runs").glob("*.npz")}


def wait_for(condition, seconds):
    """Whether `condition` comes true within `seconds`."""
    end = time.monotonic() + seconds
    while not (true := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(true)


@pytest.fixture(name="lab")
def make_lab(tmp_path, capfd, monkeypatch, pytestconfig):
    """A Lab; one cache for all tests and sessions, so that kernels compile once."""
    if "RRMBENCH_CACHE" not in os.environ:
        monkeypatch.setenv("RRMBENCH_CACHE", str(pytestconfig.cache.mkdir("rrmbench")))
    monkeypatch.delenv("RRMBENCH_DATA", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)  # of the terminal that pytest runs in
    for name in ("__file__", "__spec__"):  # children import the main module again, here all of pytest
        monkeypatch.setattr(sys.modules["__main__"], name, None, raising=False)  # `python -c` has no file
    lab = Lab(tmp_path, capfd)
    yield lab
    lab.end()
