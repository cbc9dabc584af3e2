"""doctor, --version, completion."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from lab import make_lab  # noqa: F401
from numba import config

import rrmbench
from rrmbench import folders
from rrmbench.bench.environment import environment
from rrmbench.bench.store import STATUSES
from rrmbench.cli import completion
from rrmbench.commands import examination
from rrmbench.data import catalogue


def test_version(lab):
    ran = lab.cli("--version")
    assert (ran.code, ran.out) == (0, f"rrmbench {rrmbench.__version__}\n")


def by_name(lab, *options, code=0):
    ran = lab.cli("doctor", "--json", *options)
    assert code in (ran.code, None), ran.out
    found = json.loads(ran.out)
    assert found["ok"] is (ran.code == 0)
    return {item["name"]: item for item in found["items"]}


def test_a_sound_machine_has_no_error_and_each_finding_its_line(lab, monkeypatch):
    monkeypatch.setenv("RRMBENCH_DATA", os.pathsep.join([str(lab.folder), str(lab.folder / "nowhere")]))
    (lab.folder / "a1a").write_text("")
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    findings = by_name(lab)
    assert {"rrmbench", "numpy", "numba", "BLAS", "extra parquet", "cache", "clock", "cores", "load"} <= findings.keys()
    assert findings["kernel cache"]["verdict"] == "ok"
    assert "loaded by a second process" in findings["kernel cache"]["found"]
    assert folders.cache_root().name in findings["cache"]["found"]
    assert (
        "pip install 'rrmbench[peers]'" in findings["extra peers"]["advice"]
        or "celer" in findings["extra peers"]["found"]
    )
    assert findings["data"] == {
        "name": "data", "verdict": "warning", "found": f"{lab.folder}/nowhere: no such folder",
        "advice": "correct RRMBENCH_DATA",
    }  # fmt: skip
    assert not list(folders.cache_root().glob(".doctor-*"))


@pytest.fixture
def without_processes(monkeypatch):
    monkeypatch.setattr(examination, "_counts", lambda environment: ((1, 0), 0.1))


def test_what_is_wrong_is_an_error_with_its_remedy(lab, monkeypatch, without_processes):
    (lab.folder / "file").write_text("")
    monkeypatch.setenv("RRMBENCH_CACHE", str(lab.folder / "file"))
    monkeypatch.setattr(os, "getloadavg", lambda: (1000.0, 0.0, 0.0))
    monkeypatch.setattr(config, "OPT", 0)
    findings = by_name(lab, code=1)
    assert findings["cache"]["verdict"] == "error"
    assert "cannot be written to" in findings["cache"]["found"]
    assert "set RRMBENCH_CACHE" in findings["cache"]["advice"]
    assert findings["load"]["verdict"] == "warning"
    assert (findings["numba settings"]["verdict"], findings["numba settings"]["found"]) == ("warning", "OPT=0")
    ran = lab.cli("doctor")
    assert ran.code == 1
    assert f"ERROR   cache: {lab.folder}/file" in ran.out


def test_a_folder_on_the_path_that_is_not_installed_is_examined(lab, monkeypatch, without_processes):
    def version(name, known=metadata.version):
        if name == "rrmbench":
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(examination, "_counts", lambda environment: ((0, 1), 0.1))
    found = by_name(lab, code=None)["rrmbench"]
    assert found["verdict"] == "warning" and "no package of this name is installed" in found["found"]
    assert environment(1)[1]["versions"]["rrmbench"] == rrmbench.__version__


def test_kernels_that_no_second_process_finds_are_an_error(lab, without_processes):
    found = by_name(lab, code=1)["kernel cache"]  # the first process hits what nobody has compiled
    assert found["verdict"] == "error"
    assert "a second process does not find" in found["found"]


def test_what_a_shell_completes(lab):
    assert completion.kinds("s") == ["solvers"]
    assert set(catalogue.names()) == set(completion.datasets(""))
    assert completion.backends("d") == ["dask"]
    assert set(completion.statuses("")) <= set(STATUSES)
    asked = {"COMP_WORDS": "rrmbench data get rcv1_t", "COMP_CWORD": "3", "_RRMBENCH_COMPLETE": "complete_bash"}
    program = Path(sys.executable).with_name("rrmbench")
    offered = subprocess.run([program], env=os.environ | asked, capture_output=True, text=True).stdout.split()
    assert {"rcv1_train", "rcv1_test"} <= set(offered)
    assert all(name.startswith("rcv1_t") for name in offered)
