"""What runs cost on this machine: learnt from each run, kept in the cache folder, and used for estimates only.

Averages of the parts in `costs` are kept for the spec itself, for its names, for them on data of the same decade of
size, without the regularizer, and so on to all runs; the most special one that is known counts. Where nothing is known,
typical constants do.
"""

import hashlib
import json
import math
import platform
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from rrmbench import kernel_cache, kernel_folder
from rrmbench.bench.costs import TYPICAL, Cost, cost_of, points, typical
from rrmbench.bench.identity import canonical, id_of, problem_key
from rrmbench.errors import RrmbenchError
from rrmbench.files import locked, replacing
from rrmbench.folders import cache_root
from rrmbench.keys import nested

MOST = 5000  # averages that the file keeps, the last used
ALIKE = 3  # of the keys of a run: the same method on the same kind of problem, on data of the same size
SAME_LOSS = ALIKE + 1  # of the keys; a black box says nothing of other losses
SEVERAL = 4.0  # times `stop.seconds`, what the calls of a black box take together
VERSION = 2


@dataclass(frozen=True)
class Expected:
    """What a batch of runs is expected to take, for displays: see `rrmbench.report.forecast`.

    seconds, methods : {run id: wall-clock seconds, NaN if unknown}, {run id: name of the method}
    after : seconds of the extra runs that are expected to follow
    measured : the fraction of the runs whose like was measured on this machine
    """

    seconds: dict
    methods: dict
    jobs: int
    after: float = 0.0
    measured: float = 0.0


class Rates:
    """The costs that are known; `learn` adds to them, `save` writes what was learnt.

    costs, referred, compiled : {key: Cost}; {problem: whether its optimum needed an extra run}; {kernels: None}
    """

    def __init__(self, path):
        self.path, self._new = Path(path), []
        self.costs, self.referred, self.compiled = _read(self.path)
        self._referred, self._compiled = {}, {}
        self._nothing_compiled = not _kernel_folder().exists()  # before the runs
        self._warm_since = {}  # {kernels that the runs compiled: when they were there}

    @classmethod
    def here(cls):
        """Those of this machine."""
        machine = hashlib.sha256(f"{platform.node()} {platform.machine()}".encode()).hexdigest()[:8]
        return cls(cache_root() / f"rates-{machine}.json")

    def batch(self, specs, entries):
        """[(wall-clock seconds, whether its like was measured here)] of specs on data of so many stored entries.

        Alike are runs of the method with the same loss and regularizer on data of the same decade of size. The first
        run of a method compiles its kernels, where they are not in their cache. NaN seconds where nothing bounds them,
        or the number of entries is None.
        """
        seen, found = set(), []
        for spec, size in zip(specs, entries, strict=True):
            kernels = _kernels(spec)
            found.append(self._seconds(spec, size, kernels not in seen and self._is_cold(kernels)))
            seen.add(kernels)
        return found

    def _is_cold(self, kernels):
        """Whether kernels are to be compiled; of a cache from before anything was learnt it is not known."""
        if kernels in self.compiled:
            return False
        folder = f"{_kernel_folder().name} "
        begun = any(key.startswith(folder) for key in self.compiled)
        return begun or self._nothing_compiled

    def _seconds(self, spec, entries, cold):
        stop = spec["stop"]
        if entries is None:
            return stop.get("seconds", math.nan), False
        keys = _keys(spec, entries)
        level = next((level for level, key in enumerate(keys) if key in self.costs), len(keys))
        cost = self.costs[keys[level]] if level < len(keys) else typical(entries)
        measured = level < ALIKE
        passes = stop["passes"] * cost.share if "passes" in stop else cost.passes
        allowed = stop.get("seconds", math.inf)
        if cost.passes is None:  # a black box, whose calls together take several times its last one
            passes, allowed = 1.0, SEVERAL * allowed
        name = "cold" if cold else "fixed"
        fixed = getattr(cost, name)
        fixed = getattr(TYPICAL, name) if fixed is None else fixed
        if "passes" not in stop and level >= len(keys) - 1:
            return fixed + stop.get("seconds", math.nan), False
        work = min(cost.step * passes * entries, allowed)
        return fixed + work + cost.look * points(passes, **spec["trace"]) * entries, measured

    def expected(self, runs, jobs, extra=(), repeats=1):
        """The Expected of Runs, `jobs` at a time; extra: (Run, spec of the extra run for its problem)."""
        specs, entries = [run.spec for run in runs], [entries_of(run.prepared) for run in runs]
        costs = self.batch(specs, entries)
        seconds = {run.run: repeats * cost for run, (cost, _) in zip(runs, costs, strict=True)}
        after = self.referring([(run.spec, spec, entries_of(run.prepared)) for run, spec in extra])
        measured = sum(here for _, here in costs) / len(costs)
        return Expected(seconds, {run.run: _keys(run.spec, 1)[2] for run in runs}, jobs, after, measured)

    def referring(self, problems):
        """Seconds of the extra runs of (spec of a run of the problem, spec of the extra run, stored entries) each."""
        wanted = [(spec, size) for asked, spec, size in problems if self.referred.get(id_of(problem_key(asked)), True)]
        costs = self.batch([spec for spec, _ in wanted], [size for _, size in wanted])
        return sum(seconds for seconds, _ in costs if not math.isnan(seconds))

    def learn(self, spec, entries, result):
        """Take a stored Result of a run that has just ended, on data of so many stored entries, into account.

        A run that began before its kernels were there is a cold one, too: it compiled them, or waited for them.
        """
        kernels, first = _kernels(spec), self._is_cold(_kernels(spec))
        began = monotonic() - (result.info.get("wall_seconds") or 0.0)
        cost = cost_of(spec, entries, result, first or began < self._warm_since.get(kernels, -math.inf))
        if first:
            self._warm_since[kernels] = monotonic()
        if cost is not None:
            keys = _keys(spec, entries)
            self._new.append((keys[:SAME_LOSS] if cost.passes is None else keys, cost))
            self.compiled[kernels] = self._compiled[kernels] = None

    def learn_reference(self, spec, needed):
        """Remember whether the optimum of the problem of a spec needed an extra run."""
        self._referred[id_of(problem_key(spec))] = needed

    def save(self):
        """Write what was learnt, on top of what other processes have written meanwhile; a failure to is no error.

        What could not be written is tried again by the next call.
        """
        with suppress(RrmbenchError), locked(self.path.parent):  # nobody else writes between reading and replacing
            self.costs, referred, compiled = _read(self.path)
            for keys, cost in self._new:
                for key in keys:
                    old = self.costs.pop(key, None)
                    self.costs[key] = cost if old is None else old.joined(cost)
            self.referred, self.compiled = referred | self._referred, compiled | self._compiled
            content = {
                "version": VERSION,
                "costs": {key: vars(cost) for key, cost in list(self.costs.items())[-MOST:]},
                "referred": dict(list(self.referred.items())[-MOST:]),
                "compiled": list(self.compiled)[-MOST:],
            }
            with replacing(self.path) as file:
                file.write(json.dumps(content).encode())
            self._new = []


def entries_of(prepared):
    """The number of stored entries of prepared data."""
    return prepared.X_parts[0].size


def _keys(spec, entries):
    """The names under which the cost of a run is kept, the most special first."""
    solver, loss, regularizer = (spec[kind]["name"] for kind in ("solver", "loss", "regularizer"))
    dataset = spec["dataset"].get("name") or spec["dataset"]["path"]
    decade, method = f"1e{round(math.log10(max(entries, 1)))}", f"{solver} + {_reduction(spec['reduction'])}"
    whole = canonical({key: value for key, value in spec.items() if key != "seed"})
    return (
        id_of(whole),
        f"{method}, {dataset}, {loss}, {regularizer}",
        f"{method}, {loss}, {regularizer}, {decade}",
        f"{method}, {loss}, {decade}",
        f"{solver}, {decade}",
        solver,
        f"any, {decade}",
    )


def _kernels(spec):
    """What is compiled for a run: its code, and the components for whose types kernels are made."""
    parts = [spec[kind]["name"] for kind in ("solver", "loss", "regularizer")]
    return f"{_kernel_folder().name} {id_of(canonical([*parts, _reduction(spec['reduction'])]))}"


def _kernel_folder():
    """That of kernels with code of the plug-ins, if there are any."""
    folder_of = kernel_folder.chosen()
    return (folder_of and folder_of(kernel_cache.known_plugins())) or Path("none")


def _reduction(mapping):
    return " + ".join(inside["name"] for inside in nested(mapping))


def _read(path):
    """(costs, referred, compiled) of a file; nothing where it is missing, damaged or foreign."""
    try:
        content = json.loads(path.read_bytes())
        costs = {key: Cost(**cost) for key, cost in content["costs"].items()}
        values = [value for cost in costs.values() for value in vars(cost).values() if value is not None]
        if content["version"] == VERSION and all(math.isfinite(value) and value >= 0 for value in values):
            return costs, dict(content["referred"]), dict.fromkeys(content["compiled"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return {}, {}, {}
