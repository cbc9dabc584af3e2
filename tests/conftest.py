"""Settings for all tests."""

import gc
import re
import sys
import zlib

import pytest
import scipy.linalg  # noqa: F401, so that its BLAS is loaded
from hypothesis import settings
from threadpoolctl import threadpool_limits

from rrmbench import registry
from rrmbench.components import PLUGIN

# Test processes are as many as the cores, and more: threads of BLAS beside them wait for each other.
threadpool_limits(1, "blas")

gc.set_threshold(50_000, 20, 100)  # as the command line does: compilation makes many objects and few cycles

# Kernels compile inside of a first example; the same examples in each run.
settings.register_profile("rrmbench", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("rrmbench")


@pytest.fixture(autouse=True)
def plug_ins_of_this_test_alone(monkeypatch, tmp_path_factory):
    """Components, plug-in files and modules of a test are gone after it: tests share a process in any order."""
    registry.load()
    monkeypatch.setattr(registry, "plugin_paths", set(registry.plugin_paths))
    monkeypatch.setattr(sys, "path", list(sys.path))
    before, folder = set(sys.modules), str(tmp_path_factory.getbasetemp())
    with registry.restored():
        yield
    for name in set(sys.modules) - before:
        if name.startswith(PLUGIN) or str(getattr(sys.modules[name], "__file__", None)).startswith(folder):
            del sys.modules[name]


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """An empty working directory with a cache of its own, away from the data of this machine."""
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RRMBENCH_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def own_bounds(monkeypatch):
    """Gaps are what a solver proves by itself: evaluation looks for no better bounds, whose methods compile and run."""
    monkeypatch.setattr("rrmbench.bench.polishing.methods_for", lambda problem, passes: ())


def pytest_addoption(parser):
    parser.addoption("--share", default="1/1", help="K/N runs the K-th of N shares of the test functions, by name")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """`@pytest.mark.core(k)`: k cases of a parametrized test, evenly spread, run by default; the rest is exhaustive."""
    grids = {}
    for item in items:
        if item.get_closest_marker("core"):
            grids.setdefault((item.path, item.originalname), []).append(item)
    for cases in grids.values():
        (wanted,) = cases[0].get_closest_marker("core").args
        kept = {round(k * (len(cases) - 1) / max(wanted - 1, 1)) for k in range(wanted)}
        for number, item in enumerate(cases):
            if number not in kept:
                item.add_marker("exhaustive")
    share = re.fullmatch("([1-9][0-9]*)/([1-9][0-9]*)", config.getoption("share"))
    if not share:
        raise pytest.UsageError(f"--share: found {config.getoption('share')}, allowed is K/N such as 1/3")
    k, n = map(int, share.groups())
    # all cases of a function together: they share what they compile
    items[:] = [item for item in items if zlib.crc32(item.nodeid.partition("[")[0].encode()) % n == (k - 1) % n]
