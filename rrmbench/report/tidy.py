"""Results as one tidy table, a row per trace point: for notebooks, and as a file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from rrmbench.bench.rules import SPREAD
from rrmbench.columns import METRICS
from rrmbench.errors import RrmbenchError, nearest
from rrmbench.files import replacing
from rrmbench.keys import ORIGINS, is_origin, owner
from rrmbench.kinds import COMPONENTS
from rrmbench.report.origins import origin, repeats
from rrmbench.report.results import StoredRun, readable, runs_of

if TYPE_CHECKING:
    import pandas

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


def load_results(path: str | Path) -> "pandas.DataFrame":
    """Return the results at `path` as a tidy pandas DataFrame: one row per trace point.

    `path` is an experiment's folder or a folder of experiments. Columns, in this order: run, status, reason,
    the names dataset, loss, regularizer, solver, reduction, every parameter that is set
    (`regularizer.strength`, ...), what sets runs apart that would be alike (`stop.passes`, `trace.every`, `code`),
    seed, point, passes, checks, seconds, cpu_seconds, primal, dual, gap, suboptimality, nonzeros, the metrics
    that were measured, and of a folder of experiments, experiment. Where some runs were timed (`run --timing`),
    `timing` is the number of repeats whose median `seconds` is, and seconds_min and seconds_max are the extremes.
    Missing is NaN, or NA in columns of whole numbers. A run without a single point (it failed at once) has one row.
    Raises RrmbenchError if there is no experiment.
    """
    import pandas as pd

    if not isinstance(path, str | os.PathLike):
        raise RrmbenchError(f"load_results: found {type(path).__name__}, needed is the path of a folder of results")
    read = readable(path)
    found = [run for experiment in read for run in runs_of(experiment)]
    metrics = [name for name in (*METRICS, *SPREAD) if any(name in run.result.trace for run in found)]
    told = {key for run in found for key in run.keys if is_origin(key)}
    told |= {"timing"} if any(repeats(run) for run in found) else set()
    for run in found:
        run.keys.update({key: value for key, value in origin(run).items() if key in told})
    columns = ["run", "status", "reason", *COMPONENTS, *_parameter_columns(found), "seed", "point"]
    of_several = Path(path) not in [experiment.directory for experiment in read]  # also where one is there, or readable
    columns += [*_MEASURED, *metrics] + ["experiment"] * of_several
    rows = [max(run.result.points, 1) for run in found]
    # as objects: a whole number beside a missing one would be a float, which holds 53 of its bits
    constant = pd.DataFrame([_constant(run) for run in found], dtype=object)
    whole = [name for name in constant if _are_whole(constant[name].dropna())]
    table = constant.astype(dict.fromkeys(whole, "Int64")).infer_objects()
    table = table.loc[np.repeat(np.arange(len(found)), rows)]
    for name in ("point", *_MEASURED, *metrics):
        table[name] = np.concatenate([_measured(run, name) for run in found] or [np.empty(0)])
    table = table.reset_index(drop=True).reindex(columns=columns)
    return table.astype(dict.fromkeys(_WHOLE, "Int64"))


def _parameter_columns(found: list[StoredRun]) -> list[str]:
    """The keys beside names and seed: parameters in the order of the components, then origins."""
    ordered = dict.fromkeys(key for run in found for key in run.keys if key not in (*COMPONENTS, "seed"))
    order = (*COMPONENTS, *ORIGINS)
    return sorted(ordered, key=lambda key: order.index(owner(key)))


def _are_whole(values: "pandas.Series") -> bool:
    """Whether there are values, all whole numbers that Int64 holds."""
    return len(values) > 0 and all(type(value) is int and -(2**63) <= value < 2**63 for value in values)


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
