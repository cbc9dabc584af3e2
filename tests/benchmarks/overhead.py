"""What the harness itself costs: per run, and per point of a curve.

    python tests/benchmarks/overhead.py

runs the command line, one run at a time, on a problem so small that nearly all time is the harness's own: one run, some
more, and one with a long curve. The differences in wall time, less the solvers' own clocks, are what a further run and
a further point cost, storing included.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from rrmbench.bench.store import Experiment

RUNS = 20
POINTS = 5000
CONFIG = {
    "dataset": {"name": "breast_cancer_sklearn", "scale": "unit_rows"},
    "loss": "logistic",
    "regularizer": {"name": "l2", "strength": 1e-9},
    "solver": {"name": "agd", "step": "bound"},
    "reference": False,
}


def measured(folder, name, runs, passes):
    """Wall seconds of an experiment with so many runs less the solvers' clocks, and its results."""
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(CONFIG | {"name": name, "seed": list(range(runs)), "stop": {"passes": passes}}))
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "rrmbench", "run", file, "-j1", "-o", folder, "-q"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wall = time.perf_counter() - begin
    results = list(Experiment(folder / name).results())
    return wall - sum(result.trace["seconds"][-1] for result in results), results


def milliseconds(results, key):
    """The mean of a fact of the results' headers."""
    return 1e3 * sum(result.info[key] for result in results) / len(results)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        measured(folder, "first", 1, 1)  # prepares the data and compiles
        one, _ = measured(folder, "one", 1, 1)
        more, runs = measured(folder, "more", 1 + RUNS, 1)
        long, points = measured(folder, "long", 1, 1 + POINTS)
    load, warm = milliseconds(runs, "load_seconds"), milliseconds(runs, "warmup_seconds")
    evaluation = milliseconds(points, "evaluation_seconds") / POINTS
    print(f"rrmbench run with one run: {one:.2f} s")
    print(f"a further run: {1e3 * (more - one) / RUNS:.0f} ms, of these {load:.0f} to load and {warm:.0f} to warm up")
    print(f"a further point: {1e6 * (long - one) / POINTS:.0f} us, of these {1e3 * evaluation:.0f} to evaluate w")


if __name__ == "__main__":
    main()
