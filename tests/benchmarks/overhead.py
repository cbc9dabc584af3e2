"""What the harness itself costs: per run, and per point of a curve.

    python tests/benchmarks/overhead.py

runs a problem so small that nearly all time is the harness's own, some seeds with a short and a long curve each, one
run at a time. The first experiment also starts the fork server; it is not counted. A run's cost is its share of the
wall time of the whole experiment, storing included, less the solver's own clock.
"""

import tempfile
import time
from pathlib import Path

import yaml

from rrmbench.config import read, resolve
from rrmbench.runner import run_experiment
from rrmbench.store import Experiment

SEEDS = 5
POINTS = 3000
CONFIG = {
    "dataset": {"name": "breast_cancer_sklearn", "scale": "unit_rows"},
    "loss": "logistic",
    "regularizer": {"name": "l2", "strength": 1e-9},
    "solver": {"name": "agd", "step": "bound"},
    "seed": list(range(SEEDS)),
    "reference": False,
}


def measured(folder, name, passes):
    """Wall seconds of the experiment less the solvers' clocks, per run; and its results."""
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(CONFIG | {"name": name, "stop": {"passes": passes}}))
    begin = time.perf_counter()
    run_experiment(resolve(read(file)), folder, jobs=1)
    wall = time.perf_counter() - begin
    results = list(Experiment(folder / name).results())
    assert all(result.status == "done" and len(result.trace["passes"]) == passes + 1 for result in results)
    return (wall - sum(result.trace["seconds"][-1] for result in results)) / SEEDS, results


def mean(results, key):
    return 1e3 * sum(result.info[key] for result in results) / SEEDS


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        measured(folder, "first", 1)
        short, results = measured(folder, "short", 1)
        long, points = measured(folder, "long", 1 + POINTS)
    load, warm = mean(results, "load_seconds"), mean(results, "warmup_seconds")
    print(
        f"a run with 2 points: {1e3 * short:.0f} ms, of these {load:.1f} ms to load and {warm:.1f} ms to warm up"
    )
    evaluation = (mean(points, "evaluation_seconds") - mean(results, "evaluation_seconds")) / POINTS
    print(
        f"a further point: {1e6 * (long - short) / POINTS:.0f} us, of these {1e3 * evaluation:.0f} us to evaluate w"
    )


if __name__ == "__main__":
    main()
