"""Reading results: the runs below a directory, as objects and as one tidy table.

`load_results` is the table for notebooks; `runs` is what the other readers (show, check, plots) start from.
"""

import math
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from rrmbench.bench.rules import ROUNDING, SPREAD
from rrmbench.bench.store import Experiment, Result, UnreadableFile, experiments
from rrmbench.columns import METRICS
from rrmbench.errors import RrmbenchError, RrmbenchWarning, nearest
from rrmbench.files import replacing
from rrmbench.keys import ORIGINS, flat, is_origin, keys, line, nested
from rrmbench.kinds import COMPONENTS
from rrmbench.report import namesakes, naming
from rrmbench.report.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas

LEVELS = tuple(float(f"1e-{k}") for k in range(2, 9))  # the gaps that show and check report passes to

_MEASURED = (
    "passes",
    "checks",
    "seconds",
    "cpu_seconds",
    "primal",
    "dual",
    "gap",
    "suboptimality",
    "nonzeros",
)
_WHOLE = ("seed", "point", "nonzeros")
_PARQUET = "pip install 'rrmbench[parquet]'"


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A stored run as readers see it: its keys (`dataset`, `regularizer.strength`, ...) and its columns.

    tuned : those of the keys whose values are a grid of `tune`
    """

    experiment: str
    result: Result
    keys: dict
    reference: dict | None
    tuned: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        return self.result.status

    def column(self, name: str) -> np.ndarray:
        """Return one measured quantity at every trace point, (points,); all NaN where it was not measured.

        Beside the trace's own columns: `objective` (primal), `work` (passes + checks), `suboptimality`. NaN is the gap,
        too, where P(w) was below D(b): the loss and the regularizer are no pair, so that no gap certifies anything.
        """
        trace = self.result.trace
        if name in ("dual", "gap") and self.result.info.get("contradiction"):
            return np.full(self.result.points, np.nan)
        if name == "objective":
            return self.column("primal")
        if name == "work":
            return self.column("passes") + self.column("checks")
        if name == "suboptimality":
            return suboptimality(self.column("primal"), self.reference)
        return trace[name] if name in trace else np.full(self.result.points, np.nan)

    def known(self, name: str) -> np.ndarray:
        """As `column`, of a gap or a suboptimality at least the rounding of P, and where it is less, that.

        A suboptimality that is empty, below the width of the reference, is known to be at most this width.
        """
        values, primal = self.column(name), self.column("primal")
        if name == "suboptimality":
            values = np.where(np.isnan(values) & np.isfinite(primal), width(self.reference), values)
        return np.maximum(values, ROUNDING * np.abs(primal))

    def lacks(self, name: str) -> bool:
        """Whether there are trace points, and the quantity was counted or measured at none."""
        return self.result.points > 0 and not np.isfinite(self.column(name)).any()

    @cached_property
    def is_called_anew(self) -> bool:
        """Whether each trace point is a call of its own, as of a black box, whose clock begins with the call."""
        return self.lacks("passes") or self.result.info.get("restarts") is True


def suboptimality(primal: np.ndarray, reference: dict | None) -> np.ndarray:
    """Return P(w) - D*, an upper bound on P(w) - P*, with D* the greatest dual value known for the problem.

    NaN where it is below the width P* - D* of the reference, where it says nothing any more, and everywhere
    if no dual bound is known.
    """
    if reference is None or not np.isfinite(reference["dual"]):
        return np.full(len(primal), np.nan)
    distance = primal - reference["dual"]
    return np.where(distance >= width(reference), distance, np.nan)


def width(reference: dict | None) -> float:
    """P* - D* of a reference, at least 0, below which no suboptimality is known; inf without a bound or a reference."""
    return max(reference["primal"] - reference["dual"], 0.0) if reference else math.inf


def points_to(values: np.ndarray, levels: Sequence[float] = LEVELS) -> list[int | None]:
    """Return, for each level, the index of the first trace point with a value at or below it, or None."""
    reached = np.asarray(values)[:, None] <= np.asarray(levels)
    return [int(column.argmax()) if column.any() else None for column in reached.T]


def readable(path: str | Path) -> list[Snapshot]:
    """Return the experiment at `path`, or of several those whose manifest can be read, and warn of the others.

    Raises RrmbenchError where that is none.
    """
    found = [Snapshot(experiment.directory) for experiment in experiments(path)]
    if len(found) == 1:
        return found
    read = []
    for experiment in found:
        try:
            experiment.manifest()
            read.append(experiment)
        except UnreadableFile as error:
            warnings.warn(f"{error}; its experiment is left out", RrmbenchWarning, stacklevel=2)
    if not read:
        raise RrmbenchError(f"{path}: no experiment in it can be read")
    return read


def runs_of(experiment: Experiment, referred: bool = True) -> list[StoredRun]:
    """Return the Runs of one experiment (newest result per spec), in the order of its manifest.

    Their keys tell apart all that differ in anything but the seed. referred : False leaves the references unread.
    """
    references, name = {}, line(experiment.name)
    tuned = {entry["spec_id"]: tuple(entry.get("tuned") or ()) for entry in experiment.manifest()["runs"]}
    found = []
    for result in experiment.results():
        if result.problem not in references:
            references[result.problem] = _reference_of(experiment, result.problem) if referred else None
        found.append(
            StoredRun(name, result, keys(result.spec), references[result.problem], tuned.get(result.spec_id, ()))
        )
    tell_apart(found)
    return found


def _reference_of(experiment: Experiment, problem: str) -> dict | None:
    """The reference of a problem; None, with a warning, where its file is damaged."""
    try:
        return experiment.reference(problem)
    except UnreadableFile as error:
        warnings.warn(f"{error}; without it no suboptimality of its problem is known", RrmbenchWarning, stacklevel=2)
        return None


def tell_apart(found: list[StoredRun]) -> None:
    """Add keys to the runs of one experiment until those that differ in anything but the seed have other ones."""
    namesakes.tell_apart(found)
    _tell_origins_apart(found)
    _tell_rules_apart(found)


def plugins_of(path: str | Path) -> list[str]:
    """Return the plug-in files, absolute paths as text, that the results at `path` name and that exist."""
    found: dict[str | None, None] = {}
    for experiment in experiments(path):
        with suppress(UnreadableFile):  # of which the reader tells
            for result in experiment.results():
                for kind in COMPONENTS[1:]:
                    found.update((component.get("path"), None) for component in nested(result.spec.get(kind)))
    return [file for file in found if file and Path(file).is_file()]


def _tell_rules_apart(found: list[StoredRun]) -> None:
    """Add the keys of stopping rule and trace points to methods that have not those of most methods on their problem.

    Of several values that are as frequent the first in the manifest counts as that of most.
    """
    problems: dict[tuple, dict[tuple, list[StoredRun]]] = {}
    for run in found:
        problem = but_seed({key: run.keys[key] for key in run.keys if key.partition(".")[0] in naming.PROBLEM})
        problems.setdefault(problem, {}).setdefault(but_seed(run.keys), []).append(run)
    for methods in problems.values():
        rules = {run: _rules(run) for runs in methods.values() for run in runs}
        for key in naming.varying(rules.values()):
            held = Counter(value for runs in methods.values() for value in {rules[run].get(key) for run in runs})
            ((usual, _),) = held.most_common(1)
            for run, rule in rules.items():
                if rule.get(key) != usual and key not in run.keys:
                    run.keys[key] = rule.get(key)


def _rules(run: StoredRun) -> dict:
    """When a run was to stop, and where its trace has points."""
    spec = run.result.spec
    return flat("stop", spec.get("stop", {})) | flat("trace", spec.get("trace", {}))


def _tell_origins_apart(found: list[StoredRun]) -> None:
    """Add the keys of what else differs among runs whose keys differ in the seed and what is tuned, see `_origin`.

    One curve, one median and one row are of runs that differ in the seed and in nothing else, and one value of a grid
    is compared with others that were run alike.
    """
    alike: dict[tuple, list[StoredRun]] = {}
    for run in found:
        alike.setdefault(but_seed({k: v for k, v in run.keys.items() if k not in run.tuned}), []).append(run)
    for members in alike.values():
        origins = {run: _origin(run) for run in members}
        known = [origin for run, origin in origins.items() if not run.result.unreadable]
        for key in naming.varying(known):
            for run in members:
                run.keys[key] = origins[run].get(key)


def but_seed(keys: dict) -> tuple[tuple[str, str], ...]:
    """Return what two runs that differ in the seed only have in common, hashable."""
    return tuple((key, repr(value)) for key, value in keys.items() if key != "seed")


def _origin(run: StoredRun) -> dict:
    """What a result depends on beside its keys: stopping rule, trace points, code and data."""
    rest = {"dataset.checksum": line(run.result.data[:12]), "code": line(run.result.code[:8])}
    return _rules(run) | {"timing": _repeats(run)} | rest


def _repeats(run: StoredRun) -> int | None:
    """The repeats of `run --timing`, None where seconds are of one run."""
    return (run.result.info.get("timing") or {}).get("repeats")


def load_results(path: str | Path) -> "pandas.DataFrame":
    """Return the results at `path` as a tidy pandas DataFrame: one row per trace point.

    `path` is an experiment's folder or a folder of experiments. Columns, in this order: run, status, reason,
    the names dataset, loss, regularizer, solver, reduction, every parameter that is set
    (`regularizer.strength`, ...), what sets runs apart that would be alike (`stop.passes`, `trace.every`, `code`),
    seed, point, passes, checks, seconds, cpu_seconds, primal, dual, gap, suboptimality, nonzeros, the metrics
    that were measured, and experiment if there are several. Where some runs were timed (`run --timing`), `timing`
    is the number of repeats whose median `seconds` is, and seconds_min and seconds_max are the extremes. Missing is
    NaN. A run without a single point (it failed at once) has one row. Raises RrmbenchError if there is no experiment.
    """
    import pandas as pd

    if not isinstance(path, str | os.PathLike):
        raise RrmbenchError(f"load_results: found {type(path).__name__}, needed is the path of a folder of results")
    read = readable(path)
    found = [run for experiment in read for run in runs_of(experiment)]
    metrics = [name for name in (*METRICS, *SPREAD) if any(name in run.result.trace for run in found)]
    told = {key for run in found for key in run.keys if is_origin(key)}
    told |= {"timing"} if any(_repeats(run) for run in found) else set()
    for run in found:
        run.keys.update({key: value for key, value in _origin(run).items() if key in told})
    columns = ["run", "status", "reason", *COMPONENTS, *_parameter_columns(found), "seed", "point"]
    columns += [*_MEASURED, *metrics] + ["experiment"] * (len(read) > 1)
    rows = [max(run.result.points, 1) for run in found]
    table = pd.DataFrame([_constant(run) for run in found]).loc[np.repeat(np.arange(len(found)), rows)]
    for name in ("point", *_MEASURED, *metrics):
        table[name] = np.concatenate([_measured(run, name) for run in found] or [np.empty(0)])
    table = table.reset_index(drop=True).reindex(columns=columns)
    return table.astype(dict.fromkeys(_WHOLE, "Int64"))


def _parameter_columns(found: list[StoredRun]) -> list[str]:
    """The keys beside names and seed: parameters in the order of the components, then origins."""
    ordered = dict.fromkeys(key for run in found for key in run.keys if key not in (*COMPONENTS, "seed"))
    order = (*COMPONENTS, *ORIGINS)
    return sorted(ordered, key=lambda key: order.index(key.partition(".")[0]))


def _constant(run: StoredRun) -> dict:
    result = run.result
    about = {
        "run": result.run,
        "status": result.status,
        "reason": result.reason,
        "experiment": run.experiment,
    }
    return about | run.keys


def _measured(run: StoredRun, name: str) -> Sequence[float] | np.ndarray:
    if not run.result.points:
        return [np.nan]
    return np.arange(run.result.points) if name == "point" else run.column(name)


def export(path: str | Path, to: str | Path) -> Path:
    """Write the table of `load_results(path)` to a .csv or .parquet file and return its path.

    Raises RrmbenchError for another suffix, without the package that writes Parquet, or where nothing can be
    written.
    """
    to = Path(to)
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    if to.suffix not in writers:
        guess = nearest(to.suffix, writers)
        raise RrmbenchError(f"--to {to}: found the suffix '{to.suffix}', allowed are .csv and .parquet{guess}")
    table = load_results(path)
    with replacing(to) as file:
        writers[to.suffix](table, file)
    return to


def _write_csv(table: "pandas.DataFrame", file: IO[bytes]) -> None:
    table.to_csv(file, index=False)


def _write_parquet(table: "pandas.DataFrame", file: IO[bytes]) -> None:
    import pandas as pd

    try:
        import pyarrow  # noqa: F401 - pandas would ask for it with a longer message
    except ImportError:
        raise RrmbenchError(f"writing .parquet needs the extra 'parquet': {_PARQUET}") from None
    for name, column in table.items():
        if pd.api.types.is_object_dtype(column) and column.dropna().map(type).nunique() > 1:
            table[name] = column.map(str, na_action="ignore")  # "auto" beside 1e-3: a column has one type
    table.to_parquet(file, index=False)
