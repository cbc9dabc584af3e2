"""What a figure over seconds depends on: machine, versions, load. Recorded once per call of `run`."""

import hashlib
import os
import platform
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from rrmbench import registry
from rrmbench.components import is_shipped
from rrmbench.version import __version__

PASSING = ("jobs", "load_average")  # facts that are of one call
BUSY = 0.3  # a load average per core above which other work disturbs the clock
PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "joblib",
    "pandas",
    "threadpoolctl",
    "scikit-learn",
    "clarabel",
    "celer",
    "skglm",
    "cyanure",
)


def environment(jobs, **place):
    """Return (id, facts) of this machine and these versions.

    place : further facts, which tell machines apart
    """
    facts = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "blas": _blas(),
        "governor": governor(),
        "physical_cores": physical_cores(),
        "threads_per_run": 1,
        "versions": {"rrmbench": __version__}  # of the code that runs, which need not be what is installed
        | {name: version(name) for name in PACKAGES}
        | {name: _version_of_module(name) for name in _declared()},
    } | place
    if changed := numba_settings():
        facts["numba_settings"] = changed
    return _id(facts), facts | {"jobs": jobs, "load_average": os.getloadavg()[0]}


def is_id_of(name, facts):
    """Whether `name` is the id of a recorded environment; of the oldest records, with `jobs` among what lasts."""
    return isinstance(facts, dict) and name in (_id(facts), _id(facts, PASSING[1:]))


def _id(facts, passing=PASSING):
    lasting = sorted((name, fact) for name, fact in facts.items() if name not in passing)
    return hashlib.sha256(repr(lasting).encode()).hexdigest()[:8]


def numba_settings():
    """The settings of numba that are not its own, such as "OPT=0", or ""."""
    from rrmbench.numerics.jit_cache import settings

    return ", ".join(f"{name}={value}" for name, value in settings().items())


def _declared():
    """The libraries that solvers of plug-ins say they call, beside those of PACKAGES; by the names of their modules."""
    solvers = registry.components("solver")
    return sorted({one.library for one in solvers if one.library and not is_shipped(one.build)})


def physical_cores():
    """The cores of this machine on which runs do not slow each other down."""
    from joblib import cpu_count

    return cpu_count(only_physical_cores=True)


def load():
    """(load average of the last minute, logical cores, whether other work disturbs the clock)."""
    average, cores = os.getloadavg()[0], os.cpu_count() or 1
    return average, cores, average > BUSY * cores


def governor():
    """How the system chooses the frequencies of the cores, such as "performance" or "powersave"; None if unknown."""
    files = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    found = set()
    for file in files:
        with suppress(OSError):
            found.add(file.read_text().strip())
    return ", ".join(sorted(found - {""})) or None


def _blas():
    """The libraries behind numpy's and scipy's products, such as "openblas 0.3.30 (Haswell)"."""
    import scipy.linalg  # noqa: F401 - scipy brings a library of its own
    from threadpoolctl import threadpool_info

    loaded = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    names = {f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '?')})" for pool in loaded}
    return sorted(names)


def _processor():
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def version(package):
    """That of an installed distribution, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _version_of_module(module):
    """That of the first distribution that has a module of this name; None without one."""
    return next(map(version, _distributions().get(module, ())), None)


@cache  # a look at the files of all distributions
def _distributions():
    return metadata.packages_distributions()
