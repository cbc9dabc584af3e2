"""Reading results: the runs below a directory, as objects and as one tidy table.

`load_results` is the table for notebooks; `runs` is what the other readers (show, check, plots) start from.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rrmbench.errors import RrmbenchError, nearest
from rrmbench.files import replacing
from rrmbench.store import Result, experiments

COMPONENTS = ("dataset", "loss", "regularizer", "solver", "reduction")
METRICS = ("train_error", "test_error", "test_accuracy", "test_rmse")
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
class Run:
    """A stored run as readers see it: its keys (`dataset`, `regularizer.strength`, ...) and its columns."""

    experiment: str
    result: Result
    keys: dict
    reference: dict | None

    @property
    def status(self):
        return self.result.status

    def column(self, name):
        """Return one measured quantity at every trace point, (points,); all NaN where it was not measured.

        Beside the trace's own columns: `objective` (primal), `work` (passes + checks), `suboptimality`.
        """
        trace = self.result.trace
        if name == "objective":
            return self.column("primal")
        if name == "work":
            return self.column("passes") + self.column("checks")
        if name == "suboptimality":
            return suboptimality(self.column("primal"), self.reference)
        return trace[name] if name in trace else np.full(self.result.points, np.nan)


def suboptimality(primal, reference):
    """Return P(w) - D*, an upper bound on P(w) - P*, with D* the greatest dual value known for the problem.

    NaN where it is below the width P* - D* of the reference, where it says nothing any more, and everywhere
    if no dual bound is known.
    """
    if reference is None or not np.isfinite(reference["dual"]):
        return np.full(len(primal), np.nan)
    width = max(reference["primal"] - reference["dual"], 0.0)
    distance = primal - reference["dual"]
    return np.where(distance >= width, distance, np.nan)


def points_to(values, levels=LEVELS):
    """Return, for each level, the index of the first trace point with a value at or below it, or None."""
    reached = np.asarray(values)[:, None] <= np.asarray(levels)
    return [int(column.argmax()) if column.any() else None for column in reached.T]


def passes_to(run, levels=LEVELS, quantity="gap"):
    """Return (passes, seconds) at the first trace point where `quantity` is at most each level, or None."""
    passes, seconds = run.column("passes"), run.column("seconds")
    return [i if i is None else (passes[i], seconds[i]) for i in points_to(run.column(quantity), levels)]


def keys(spec):
    """Return the flat, readable keys of a run's spec: names of the components, their parameters, the seed."""
    names, parameters = {}, {}
    for kind in COMPONENTS:
        component = spec.get(kind, "none")
        component = {"name": component} if isinstance(component, str) else dict(component)
        path = component.pop("path", None)
        names[kind] = component.pop("name", None) or Path(path).stem
        parameters |= _flat(kind, component)
    return names | parameters | {"seed": spec.get("seed")}


def _flat(prefix, mapping):
    flat = {}
    for key, value in mapping.items():
        if isinstance(value, dict):
            rest = dict(value)
            if "name" in rest:  # a component inside a component: `reduction.inside`
                flat[f"{prefix}.{key}"] = rest.pop("name")
                rest.pop("path", None)
            flat |= _flat(f"{prefix}.{key}", rest)
        else:
            flat[f"{prefix}.{key}"] = json.dumps(value) if isinstance(value, list) else value
    return flat


def runs_of(experiment):
    """Return the Runs of one experiment (newest result per spec), in the order of its manifest."""
    references = {}
    found = []
    for result in experiment.results():
        if result.problem not in references:
            references[result.problem] = experiment.reference(result.problem)
        found.append(Run(experiment.name, result, keys(result.spec), references[result.problem]))
    _tell_namesakes_apart(found)
    return found


def _tell_namesakes_apart(found):
    """Add the key `dataset.path` where data files of one stem (a9a, a9a.t) would look the same."""
    paths = {}
    for run in found:
        paths.setdefault(run.keys["dataset"], set()).add(run.result.spec["dataset"].get("path"))
    for run in found:
        if len(paths[run.keys["dataset"]]) > 1:
            run.keys["dataset.path"] = run.result.spec["dataset"].get("path")


def load_results(path):
    """Return the results at `path` as a tidy pandas DataFrame: one row per trace point.

    `path` is an experiment's folder or a folder of experiments. Columns, in this order: run, status, reason,
    the names dataset, loss, regularizer, solver, reduction, every parameter that is set
    (`regularizer.strength`, ...), seed, point, passes, checks, seconds, cpu_seconds, primal, dual, gap,
    suboptimality, nonzeros, the metrics that were measured, and experiment if there are several. Missing is
    NaN. A run without a single point (it failed at once) has one row. Raises RrmbenchError if there is no
    experiment.
    """
    import pandas as pd

    read = experiments(path)
    found = [run for experiment in read for run in runs_of(experiment)]
    metrics = [name for name in METRICS if any(name in run.result.trace for run in found)]
    columns = ["run", "status", "reason", *COMPONENTS, *_parameter_columns(found), "seed", "point"]
    columns += [*_MEASURED, *metrics] + ["experiment"] * (len(read) > 1)
    rows = [max(run.result.points, 1) for run in found]
    table = pd.DataFrame([_constant(run) for run in found]).loc[np.repeat(np.arange(len(found)), rows)]
    for name in ("point", *_MEASURED, *metrics):
        table[name] = np.concatenate([_measured(run, name) for run in found] or [np.empty(0)])
    table = table.reset_index(drop=True).reindex(columns=columns)
    return table.astype(dict.fromkeys(_WHOLE, "Int64"))


def _parameter_columns(found):
    ordered = dict.fromkeys(key for run in found for key in run.keys if "." in key)
    return sorted(ordered, key=lambda key: COMPONENTS.index(key.partition(".")[0]))


def _constant(run):
    result = run.result
    about = {
        "run": result.run,
        "status": result.status,
        "reason": result.reason,
        "experiment": run.experiment,
    }
    return about | run.keys


def _measured(run, name):
    if not run.result.points:
        return [np.nan]
    return np.arange(run.result.points) if name == "point" else run.column(name)


def export(path, to):
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


def _write_csv(table, file):
    table.to_csv(file, index=False)


def _write_parquet(table, file):
    import pandas as pd

    try:
        import pyarrow  # noqa: F401 - pandas would ask for it with a longer message
    except ImportError:
        raise RrmbenchError(f"writing .parquet needs the extra 'parquet': {_PARQUET}") from None
    for name, column in table.items():
        if pd.api.types.is_object_dtype(column) and column.dropna().map(type).nunique() > 1:
            table[name] = column.map(str, na_action="ignore")  # "auto" beside 1e-3: a column has one type
    table.to_parquet(file, index=False)
