"""What runs and their clocks depend on, examined on this machine: libraries, caches, clock, cores, kernels."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from itertools import pairwise
from pathlib import Path

from packaging.requirements import Requirement

from rrmbench.bench.environment import governor, load, numba_settings, physical_cores, version
from rrmbench.errors import RrmbenchError
from rrmbench.files import bytes_in
from rrmbench.folders import cache_root
from rrmbench.report.sizes import megabytes
from rrmbench.version import __version__

BASIC = ("numpy", "scipy", "numba", "llvmlite", "joblib", "scikit-learn", "clarabel", "pandas", "matplotlib")
ROOM = 2**30  # bytes that the cache should have free
TICK = 1e-6  # seconds; a coarser clock blurs short passes
CALLS = 20_000  # of the clock, to measure it
PATIENCE = 300  # seconds for a process that compiles a kernel
# the first process compiles a kernel and keeps it, the second one finds it
KERNEL = """
import numpy
from rrmbench.numerics.whole_arrays import is_finite
is_finite(numpy.zeros(1))
print(sum(is_finite.stats.cache_hits.values()), sum(is_finite.stats.cache_misses.values()))
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was examined: the verdict is "ok", "warning" or "error"; advice says what to do, or is empty."""

    name: str
    verdict: str
    found: str
    advice: str = ""


def findings():
    """Yield a Finding per thing; none of them raises."""
    checks = [_python, *(partial(_library, name) for name in BASIC), _blas]
    checks += [partial(_extra, extra) for extra in _extras()]
    checks += [_cache, _clock, _cores, _load, _governor, _settings, _kernels]
    checks += [partial(_data, folder) for folder in _data_folders()]
    for check in checks:
        try:
            yield check()
        except Exception as error:  # a broken installation raises anything; the other findings are still of use
            name = getattr(check, "func", check).__name__.strip("_")
            yield Finding(name, "error", f"{type(error).__name__}: {error}", "repair the installation, or report this")


def _python():
    found = f"{__version__} in {Path(__file__).parents[1]}, Python {platform.python_version()}"
    if (installed := version("rrmbench")) == __version__:
        return Finding("rrmbench", "ok", found)
    other = "no package of this name is installed" if installed is None else f"the installed package is {installed}"
    return Finding("rrmbench", "warning", f"{found}; {other}", "pip install . in its folder")


def _library(name):
    import importlib

    try:
        importlib.import_module({"scikit-learn": "sklearn"}.get(name, name))
    except ImportError as error:
        return Finding(name, "error", f"cannot be imported: {error}", f"pip install --force-reinstall {name}")
    return Finding(name, "ok", metadata.version(name))


def _blas():
    import numpy  # noqa: F401 - it loads the library that is asked about
    from threadpoolctl import threadpool_info

    pools = [f"{p['internal_api']} {p['version']}, {p['num_threads']} threads" for p in threadpool_info()]
    return Finding("BLAS", "ok", "; ".join(dict.fromkeys(pools)) + "; each run uses one thread")


def _extras():
    if version("rrmbench") is None:  # a folder on the path, which says so of itself
        return []
    extras = metadata.metadata("rrmbench").get_all("Provides-Extra") or []
    return sorted(extra for extra in extras if extra != "test")


def _extra(extra):
    requirements = map(Requirement, metadata.requires("rrmbench") or [])
    packages = [one.name for one in requirements if one.marker and one.marker.evaluate({"extra": extra})]
    missing = [package for package in packages if version(package) is None]
    found = ", ".join(f"{package} {version(package)}" for package in packages if package not in missing)
    if not missing:
        return Finding(f"extra {extra}", "ok", found)
    found = f"not installed: {', '.join(missing)}" + (f"; installed: {found}" if found else "")
    return Finding(f"extra {extra}", "ok", found, f"optional: pip install 'rrmbench[{extra}]'")


def _cache():
    root = cache_root()
    why = "set RRMBENCH_CACHE to a folder that is writable and has space"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(b"x")
    except OSError as error:
        return Finding("cache", "error", f"{root}: cannot be written to: {error.strerror or error}", why)
    free = shutil.disk_usage(root).free
    parts = {part: bytes_in(root / part) for part in ("data", "kernels", "downloads", "made", "plugins")}
    sizes = ", ".join(f"{part} {megabytes(size)}" for part, size in parts.items() if size)
    found = f"{root}: {sizes or 'empty'}; {megabytes(free)} free"
    if free < ROOM:
        return Finding(
            "cache", "warning", found, f"less than {megabytes(ROOM)} is free: 'rrmbench clean --caches', or {why}"
        )
    return Finding("cache", "ok", found)


def _clock():
    times = [time.perf_counter() for _ in range(CALLS)]
    steps = [after - before for before, after in pairwise(times) if after > before]
    tick, cost = min(steps), (times[-1] - times[0]) / (CALLS - 1)
    info = time.get_clock_info("perf_counter")
    found = f"{info.implementation}, least step {tick * 1e9:.0f} ns, a reading costs {cost * 1e9:.0f} ns"
    if tick > TICK or not info.monotonic:
        return Finding("clock", "warning", found, "seconds of short runs mean little here; compare passes")
    return Finding("clock", "ok", found)


def _cores():
    physical, logical = physical_cores(), os.cpu_count()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical
    found = f"{physical} physical to use, {logical} logical, {usable} in the affinity of this process"
    if usable < physical:
        return Finding("cores", "warning", found, "fewer cores than -j takes by default: give -j")
    return Finding("cores", "ok", found)


def _load():
    average, cores, busy = load()
    found = f"{average:.2f} in the last minute on {cores} logical cores"
    if busy:
        return Finding(
            "load", "warning", found, "other programs are at work: seconds of runs will be noisy, passes not"
        )
    return Finding("load", "ok", found)


def _governor():
    found = governor()
    if found is None:
        return Finding("CPU governor", "ok", "not readable here, as in most virtual machines")
    if found != "performance":
        return Finding(
            "CPU governor", "warning", found, "the frequency follows the load: seconds vary; try 'performance'"
        )
    return Finding("CPU governor", "ok", found)


def _settings():
    if found := numba_settings():
        return Finding("numba settings", "warning", found, "kernels may take many times as long; unset NUMBA_*")
    return Finding("numba settings", "ok", "its own")


def _kernels():
    with tempfile.TemporaryDirectory(dir=cache_root(), prefix=".doctor-") as folder:
        environment = os.environ | {"RRMBENCH_CACHE": folder}
        compiled, seconds = _counts(environment)
        found, again = _counts(environment)
    took = f"compiled in {seconds:.1f} s, loaded by a second process in {again:.1f} s"
    if compiled[1] == 0 or found != (1, 0):
        advice = "every run compiles its kernels again; look at the permissions of the cache, and at numba's version"
        return Finding(
            "kernel cache", "error", f"a second process does not find what the first compiled ({took})", advice
        )
    return Finding("kernel cache", "ok", took)


def _counts(environment):
    """((hits, misses) of the kernel cache in a new process, its seconds)."""
    started = time.perf_counter()
    command = [sys.executable, "-c", KERNEL]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    if ran.returncode:
        raise RrmbenchError(ran.stderr.strip().rpartition("\n")[2])
    hits, misses = map(int, ran.stdout.split())
    return (hits, misses), time.perf_counter() - started


def _data_folders():
    from rrmbench.data import places

    return places.search_folders() or [None]


def _data(folder):
    from rrmbench.data import catalogue, fetch

    if folder is None:
        advice = "optional: RRMBENCH_DATA=FOLDER[:FOLDER] names folders with data files"
        return Finding("data", "ok", "RRMBENCH_DATA is not set; data come from the cache or the network", advice)
    if not folder.is_dir():
        return Finding("data", "warning", f"{folder}: no such folder", "correct RRMBENCH_DATA")
    entries = [catalogue.get(name) for name in catalogue.names()]
    located = [fetch.locate(entry) for entry in entries if entry.file is not None]
    here = sum(path is not None and path.parent == folder for path in located)
    return Finding("data", "ok", f"{folder}: files of {here} of {len(entries)} registered data sets")
