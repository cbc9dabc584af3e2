"""Experiments on disk for the tests of the readers, written through the store."""

import hashlib
import json

import numpy as np

from rrmbench.bench.bounds import Bounds
from rrmbench.bench.store import Experiment, Result
from rrmbench.report.levels import CERTIFIED_GAPS
from rrmbench.report.plots import sheets
from rrmbench.report.standings import standings_at

OPTIMUM = 0.25


def spec(dataset="toy", strength=1e-4, solver="apcg", reduction="none", seed=0, loss="squared", **parameters):
    """Return a resolved run spec; `parameters` are the reduction's, if there is one, else the solver's."""
    at_solver, at_reduction = ({}, parameters) if reduction != "none" else (parameters, {})
    return {
        "dataset": {"name": dataset, "scale": "mean_norm"},
        "loss": {"name": loss},
        "regularizer": {"name": "l1", "strength": strength},
        "solver": {"name": solver, **at_solver},
        "reduction": {"name": reduction, **at_reduction},
        "seed": seed,
        "stop": {"passes": 20},
        "trace": {"every": 1},
    }


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def entry(asked):
    """Return the manifest's entry for a spec."""
    problem = digest([asked["dataset"], asked["loss"], asked["regularizer"]])
    return {"run": digest(asked) + "-0000aaaa", "spec_id": digest(asked), "problem": problem, "spec": asked}


def trace(rate=0.5, passes=20, certified=True, seconds_per_pass=0.01):
    """Return a linearly convergent trace: P(w) - P* = P* - D(b) = exp(-rate passes)."""
    count = np.arange(passes + 1.0)
    distance = np.exp(-rate * count)
    dual = OPTIMUM - distance if certified else np.full_like(distance, -np.inf)
    primal = OPTIMUM + distance
    return {
        "passes": count,
        "checks": count / 4,
        "seconds": count * seconds_per_pass,
        "cpu_seconds": count * seconds_per_pass,
        "primal": primal,
        "dual": dual,
        "gap": primal - dual,
        "nonzeros": np.minimum(count, 7.0),
    }


def result(asked, columns=None, status="done", reason="passes", created="2026-01-01T00:00:00+00:00", **info):
    """Return the Result of a spec; `info` goes into the header."""
    e = entry(asked)
    return Result(
        e["run"], e["spec_id"], e["problem"], "0" * 64, "0000aaaa", asked, status, reason, created,
        info={"concurrent_runs": 1, "environment": "e"} | info,
        trace=trace() if columns is None else columns, w=np.arange(8.0), b=np.array([0.5, -0.5]),
    )  # fmt: skip


def experiment(directory, results, plot=None, pending=(), width=1e-6):
    """Write results, their manifest and their references (of the given width) and return the Experiment."""
    written = Experiment(directory)
    for one in results:
        written.write(one)
        part = {kind: one.spec[kind] for kind in ("dataset", "loss", "regularizer")}
        written.improve_reference(one.problem, part, Bounds(one.run, OPTIMUM + width, OPTIMUM))
    runs = [entry(one.spec) for one in results] + [entry(asked) for asked in pending]
    written.write_manifest(
        {
            "name": written.name,
            "config": {},
            "plot": plot or {},
            "runs": runs,
            "skipped": [],
            "environments": {},
        }
    )
    return written


def tuned(experiment, *keys, config=None, count=None):
    """Have the manifest call these keys tuned, of the first `count` runs or of all; `config` replaces its config."""
    manifest = experiment.manifest()
    for one in manifest["runs"][:count]:
        one["tuned"] = list(keys)
    experiment.write_manifest(manifest | ({"config": config} if config else {}))


def standings(experiment, levels=CERTIFIED_GAPS):
    """Return the Standings of one Experiment."""
    (one,) = standings_at(experiment.directory, levels)
    return one


def sheets_of(folder, results, plot=None, pending=(), width=1e-6, **options):
    """The Sheets of an experiment in `folder`/e, with what `sheets` takes."""
    made = experiment(folder / "e", results, plot, pending, width)
    return [sheet for _, _, sheet in sheets(made.directory, **options)]
