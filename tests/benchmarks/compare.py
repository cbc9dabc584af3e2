"""Time to certified accuracies, ours and other libraries, by rrmbench itself: configs/bench.yaml, and one table.

    python tests/benchmarks/compare.py [results]

runs what is missing of configs/bench.yaml, one run at a time, on the data sets that are here (others are named and
left out), and prints the CPU seconds of the fastest solver of this package next to the fastest other library. Two
tables: until P(w) - D* is small, D* the greatest certified dual value of all runs, which judges the models alone; and
until the run's own certificate says so, P(w) - D(b), where a library without b has one made from its w. Within 20 % is
a tie. A dash: nobody got there in the time of the configuration. A library's time has the check and conversion of its
input in it, see `rrmbench.solvers.peers.black_box`. "7: 6" says among how many settings each side's best was found.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from rrmbench import load_results, registry
from rrmbench.bench.identity import data_of
from rrmbench.config import read, resolve
from rrmbench.errors import RrmbenchError
from rrmbench.report.results import points_to

CONFIG = Path(__file__).parents[2] / "configs" / "bench.yaml"
LEVELS = (1e-3, 1e-6)
TIE = 1.2
MEASURES = {"accuracy": "P(w) - D*", "gap": "the certified gap P(w) - D(b)"}
PROBLEM = ["dataset", "loss", "l1", "l2"]


def data_here():
    """The names of the data sets of the configuration that can be had; the others are printed."""
    blocks = {spec["dataset"]["name"]: spec for spec in resolve(read(CONFIG)).runs}
    for name, spec in blocks.items():
        try:
            data_of(spec)
        except RrmbenchError as error:
            print(f"{name} is left out: {error}")
        else:
            yield name


def run(output):
    """Run the configuration on the data that are here; return whether there were any."""
    only = [word for name in data_here() for word in ("--only", f"dataset={name}")]
    if only:
        command = [
            sys.executable,
            "-m",
            "rrmbench",
            "run",
            str(CONFIG),
            "-j",
            "1",
            "-o",
            str(output),
            "--quiet",
        ]
        subprocess.run([*command, *only], check=False)  # exit code 1: a run failed, the others count
    return bool(only)


def is_peer(solver):
    return registry.lookup("solver", solver).build.__module__.startswith("rrmbench.solvers.peers")


def best(runs, measure, level):
    """(CPU seconds, solver) of the run whose `measure` is first at or below `level`; (inf, "-") if none is."""
    times = [(np.inf, "-")]
    for (_, solver), points in runs.groupby(["run", "solver"], sort=False):
        (point,) = points_to(points[measure], [level])
        if point is not None:
            times.append((points["cpu_seconds"].iloc[point], solver))
    return min(times)


def verdict(ours, theirs):
    if ours == theirs == np.inf:
        return ""
    if ours * TIE < theirs:
        return "ahead"
    return "behind" if theirs * TIE < ours else "tie"


def described(problem):
    dataset, loss, l1, l2 = problem
    return f"{dataset:24s} {loss:14s} l1 {l1:5.0e} l2 {l2:7.1e} "


def tidy(table):
    """The results with the columns l1, l2, peer and accuracy = P(w) - D*, D* read off the suboptimality."""
    parameters = table.reindex(columns=["regularizer.l1", "regularizer.l2", "regularizer.strength"])
    l1, l2, strength = (column for _, column in parameters.items())
    peer = table["solver"].map({name: is_peer(name) for name in table["solver"].unique()})
    table = table.assign(l1=l1.fillna(0.0), l2=l2.fillna(strength), peer=peer)
    table["D*"] = table["primal"] - table["suboptimality"]  # empty below the width of the reference
    table["D*"] = table.groupby(PROBLEM)["D*"].transform("max")
    return table.assign(accuracy=table["primal"] - table["D*"])


def report(results):
    """Print both tables, and what failed."""
    table = tidy(load_results(results))
    for measure in ("accuracy", "gap"):
        print(f"\nCPU seconds until {MEASURES[measure]} is at most ...")
        for problem, runs in table.groupby(PROBLEM, sort=False):
            for level in LEVELS:
                print(described(problem), line(runs, measure, level))
    failed = table[table["status"] == "failed"].drop_duplicates(["solver", "reason"])
    for solver, reason in failed[["solver", "reason"]].itertuples(index=False):
        print(f"failed: {solver}: {reason}")


def line(runs, measure, level):
    """Level, ours, theirs, the numbers of settings of both, and the verdict."""
    ours, mine = best(runs[~runs["peer"]], measure, level)
    theirs, library = best(runs[runs["peer"]], measure, level)
    said = verdict(ours, theirs) if runs["peer"].any() else "no other library"
    shown = f"{_seconds(ours):>8s} {mine:22s} {_seconds(theirs):>8s} {library:16s}"
    many = runs.groupby("peer")["run"].nunique()  # settings that each side may choose from
    return f"{level:6.0e} {shown} {many.get(False, 0):2d}:{many.get(True, 0):2d} {said}".rstrip()


def _seconds(seconds):
    return "-" if np.isinf(seconds) else f"{seconds:.3f}"


def main(output="results"):
    if run(output):
        report(Path(output) / "bench")


if __name__ == "__main__":
    main(*sys.argv[1:])
