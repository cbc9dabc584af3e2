"""How far above the true distance to the optimum the certified gap is, at the end of every run of results folders.

    python tests/benchmarks/certificates.py RESULTS [RESULTS ...]

prints, for each experiment, the runs whose distance P(w) - D* is at least 1e-9, D* being the greatest D of the
problem's runs and of its reference: the median and the greatest ratio of gap and distance, how many are above 10, and
what share of the solver's passes the evaluation spent. A run is *open* where the least P known of its problem is above
D* by more than half of that distance, since P* may then be much nearer to its P, and the ratio greater. Of several
folders with results of the same problem (before and after a change, say) all take part in D*. `--all` prints a line per
run.
"""

import sys
from math import inf
from statistics import median

from rrmbench.bench.identity import canonical
from rrmbench.bench.store import experiments

LEAST = 1e-9
GOAL = 10.0
PROBLEM = ("dataset", "loss", "regularizer")


def problem_of(result):
    return canonical({kind: result.spec[kind] for kind in PROBLEM})


def best_bounds(found):
    """{problem: (the greatest D known, the least P known)}."""
    best = {}
    for experiment in found:
        for result in experiment.results():
            if result.status != "done":
                continue
            reference = experiment.reference(result.problem) or {"dual": -inf, "primal": inf}
            key = problem_of(result)
            dual, primal = best.get(key, (-inf, inf))
            dual = max(dual, reference["dual"], float(result.trace["dual"][-1]))
            best[key] = dual, min(primal, reference["primal"], float(result.trace["primal"].min()))
    return best


def measured(result, best):
    """(gap/distance, distance, whether it is open, passes of the run, passes of its evaluation) of a result."""
    primal, gap = (float(result.trace[name][-1]) for name in ("primal", "gap"))
    dual, least = best[problem_of(result)]
    distance = primal - dual
    work = float(result.trace["passes"][-1] + result.trace["checks"][-1])
    is_open = least - dual > 0.5 * distance
    return gap / max(distance, 1e-300), distance, is_open, work, result.info.get("evaluation_passes", 0.0)


def name_of(result):
    spec = result.spec
    parts = [spec[kind].get("name", spec[kind].get("path")) for kind in (*PROBLEM, "solver", "reduction")]
    return " ".join(part for part in parts if part != "none")


def main(folders, every):
    found = [experiment for folder in folders for experiment in experiments(folder)]
    best = best_bounds(found)
    for experiment in found:
        done = [result for result in experiment.results() if result.status == "done"]
        lines = [(*measured(result, best), name_of(result)) for result in done]
        lines = [line for line in lines if line[1] >= LEAST]
        if not lines:
            continue
        ratios = [line[0] for line in lines]
        shares = [line[4] / line[3] for line in lines if line[3] > 0.0] or [0.0]
        above, opened = sum(ratio > GOAL for ratio in ratios), sum(line[2] for line in lines)
        print(
            f"{experiment.directory}: {len(ratios)} runs, gap/distance {median(ratios):.3g} (median), "
            f"{max(ratios):.3g} (greatest), {above} above {GOAL:g}, {opened} open; evaluation took "
            f"{median(shares):.0%} of the passes (median)"
        )
        for ratio, distance, is_open, work, spent, name in sorted(lines, reverse=True) if every else ():
            kind = "open" if is_open else "    "
            print(f"    {ratio:10.3g}  distance {distance:.1e} {kind}  passes {work:g} + {spent:g}  {name}")


if __name__ == "__main__":
    main([argument for argument in sys.argv[1:] if argument != "--all"], "--all" in sys.argv)
