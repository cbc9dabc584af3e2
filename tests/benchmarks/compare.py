"""Time to certified accuracies, ours and other libraries, by rrmbench itself: configs/bench.yaml, and one table.

    python tests/benchmarks/compare.py [results [configs/bench_others.yaml]]

runs what is missing of configs/bench.yaml, or of another configuration, one run at a time, on the data sets that are
here (others are named and left out), and prints cell by cell the CPU seconds of the fastest solver of this package,
those of the fastest other library, and their ratio, below 1 where ours is faster. Two tables: until P(w) - D* is small
beside P(0), D* the greatest certified dual value of all runs, which judges the models alone; and until the run's own
certificate says so, P(w) - D(b), where a library without b has one made from its w. Within 20 % is a tie. A dash:
nobody got there in the time of the configuration. A library's time has the check and conversion of its input in it, see
`rrmbench.solvers.peers.black_box`. "7:6" says among how many settings each side's best was found. A star marks a cell
of a data set that this package was not tuned to.

Below each table are the geometric means of the ratios, a block for each kind of problem and level, over the cells that
both sides reach. A cell that one side alone reaches has no ratio; beside the mean it counts as ahead or behind.
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
LEVELS = (1e-3, 1e-6)  # of P(0)
TIE = 1.2
TUNED_TO = {  # on which solvers of this package were tried out
    "rcv1_subsets",
    "covtype_sample20k_scale",
    "a9a",
    "documents",
    "tall_table",
    "simulated",
    "leukemia_raw",
    "letter",
    "pendigits",  # for several outputs only
}
TUNED_WITH_L1 = {  # on which working sets were tried out with the logistic and the squared hinge loss
    "reuters_acq",
    "w1a",
    "mushrooms",
    "splice",
    "colon_cancer_raw",
    "svmguide3",
    "satimage",
    "mnist_test",
}
GROUPS, ROWS = "group_lasso", "l21"
MEASURES = {"accuracy": "P(w) - D*", "gap": "the certified gap P(w) - D(b)"}
PROBLEM = ["dataset", "loss", "regularizer", "l1", "l2"]


def data_here(config):
    """The names of the data sets of the configuration that can be had; the others are printed."""
    blocks = {spec["dataset"]["name"]: spec for spec in resolve(read(config)).runs}
    for name, spec in blocks.items():
        try:
            data_of(spec)
        except RrmbenchError as error:
            print(f"{name} is left out: {error}")
        else:
            yield name


def run(config, output):
    """Run the configuration on the data that are here; return whether there were any."""
    only = [word for name in data_here(config) for word in ("--only", f"dataset={name}")]
    if only:
        command = [
            sys.executable,
            "-m",
            "rrmbench",
            "run",
            str(config),
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
    for (_, method), points in runs.groupby(["run", "method"], sort=False):
        (point,) = points_to(points[measure], [level])
        if point is not None:
            times.append((points["cpu_seconds"].iloc[point], method))
    return min(times)


def verdict(ours, theirs):
    if ours == theirs == np.inf:
        return ""
    if ours * TIE < theirs:
        return "ahead"
    return "behind" if theirs * TIE < ours else "tie"


def described(problem):
    dataset, loss, regularizer, l1, l2 = problem
    tuned = TUNED_TO | (TUNED_WITH_L1 if l1 and loss in ("logistic", "squared_hinge") else set())
    star, loss = " " if dataset in tuned else "*", f"{loss}{' groups' if regularizer == GROUPS else ''}"
    return f"{dataset[:16] + star:17s} {loss:20s} {l1:7.1e} {l2:7.1e}"


def block(problem):
    """The kind of problem, over which a mean is taken."""
    _, loss, regularizer, l1, l2 = problem
    named = {GROUPS: "groups", ROWS: "l21"}
    penalty = named.get(regularizer) or ("elastic net" if l1 and l2 else "l1" if l1 else "l2")
    return f"{loss} with {penalty}"


def tidy(table):
    """The results with the columns l1 (of norms, too), l2, peer, method, and accuracy = P(w) - D* and gap, over P(0).

    D* is read off the suboptimality, P(0) off the starts: P of a start is that of w = 0.
    """
    parameters = table.reindex(columns=[f"regularizer.{key}" for key in ("l1", "l2", "strength")])
    l1, l2, strength = (column.astype(float) for _, column in parameters.items())
    name = table["regularizer"]
    l1 = l1.fillna(strength.where(name.isin(["l1", GROUPS, ROWS]), 0.0))
    l2 = l2.fillna(strength.where(name == "l2", 0.0))
    peer = table["solver"].map({name: is_peer(name) for name in table["solver"].unique()})
    reduction = table["reduction"].where(table["reduction"] != "none", "")
    method = (reduction + " " + table["solver"]).str.strip()
    table = table.assign(l1=l1, l2=l2, peer=peer, method=method)
    table["D*"] = table["primal"] - table["suboptimality"]  # empty below the width of the reference
    problems = table.groupby(PROBLEM)
    start = table["primal"].where(table["point"] == 0).groupby([table[key] for key in PROBLEM]).transform("max")
    return table.assign(accuracy=(table["primal"] - problems["D*"].transform("max")) / start, gap=table["gap"] / start)


def report(results):
    """Print both tables with their means, and what failed."""
    table = tidy(load_results(results))
    for measure in ("accuracy", "gap"):
        print(f"\nCPU seconds until {MEASURES[measure]}, over P(0), is at most ...")
        print(f"{'data':17s} {'loss':20s} {'l1':7s} {'l2':7s} {'level':>7s} {'ours':31s} {'library':23s} ratio")
        seconds = {}
        for problem, runs in table.groupby(PROBLEM, sort=False):
            for level in LEVELS:
                said, pair = line(runs, measure, level)
                print(described(problem), said)
                if runs["peer"].any():
                    seconds.setdefault((block(problem), level), []).append(pair)
        means(seconds)
    print(f"\n* not tuned to: {', '.join(sorted(set(table['dataset']) - TUNED_TO))}")
    failed = table[table["status"] == "failed"].drop_duplicates(["solver", "reason"])
    for solver, reason in failed[["solver", "reason"]].itertuples(index=False):
        print(f"failed: {solver}: {reason}")


def line(runs, measure, level):
    """(level, ours, theirs, ratio, the numbers of settings of both and the verdict as text; (ours, theirs))."""
    ours, mine = best(runs[~runs["peer"]], measure, level)
    theirs, library = best(runs[runs["peer"]], measure, level)
    ratio = f"{ours / theirs:5.2f}" if np.isfinite([ours, theirs]).all() else ""
    said = verdict(ours, theirs) if runs["peer"].any() else "no other library"
    many = runs.groupby("peer")["run"].nunique()  # settings that each side may choose from
    settings = f"{many.get(False, 0)}:{many.get(True, 0)}"
    columns = f"{_seconds(ours):>6s} {mine:24.24s} {_seconds(theirs):>6s} {library:16s} {ratio:5s} {settings:5s} {said}"
    return f"{level:7.0e} {columns}".rstrip(), (ours, theirs)


def means(seconds):
    """Print the geometric mean of the ratios of each block and level, and of all.

    seconds : (block, level) -> [(ours, theirs), ...], inf where nobody got there
    """
    everything = {}
    for (_, level), pairs in seconds.items():
        everything.setdefault(("all", level), []).extend(pairs)
    print("geometric mean of the ratios")
    for (name, level), pairs in (seconds | everything).items():
        ours, theirs = np.array(pairs).T
        both = np.isfinite(ours) & np.isfinite(theirs)
        mean = f"{np.exp(np.mean(np.log(ours[both] / theirs[both]))):5.2f}" if both.any() else "    -"
        verdicts = [verdict(*pair) for pair in pairs]
        counts = ", ".join(f"{verdicts.count(word)} {word}" for word in ("ahead", "tie", "behind"))
        print(f"  {name:32s} {level:5.0e} {mean} over {both.sum():2d}; {counts}")


def _seconds(seconds):
    return "-" if np.isinf(seconds) else f"{seconds:.3f}"


def main(output="results", config=CONFIG):
    if run(config, output):
        report(Path(output) / resolve(read(config)).name)


if __name__ == "__main__":
    main(*sys.argv[1:])
