"""The verdicts on the papers' claims, from the results of configs/reproduction/*.yaml: `make reproduction`.

The rules, fixed before the runs:

- A number is the median over five seeds of the passes to the first trace point at or below a level; "-" if fewer than
  three of the seeds get there within the budget.
- Every method compared has the same number of settings (six), except the theory's own (`auto`), which has one.
- *AdaptReg and AdaptSmooth* (Reductions, Figures 1-5). Levels of suboptimality 1e-2, 1e-4, 1e-6. The tuned method (best
  of six starting values by the final objective, so one value for all levels) is compared with the best fixed strength
  *of each level*, which is the hardest opponent, and with the median fixed strength. In one setting and level the claim
  "holds" if the tuned method needs at most as many passes as the best fixed strength, "within 2x" if at most twice as
  many, "does not hold" otherwise; a level that neither reaches is left out. "Unbiased" holds in a setting if the tuned
  method's final suboptimality is at most that of every fixed strength.
- *Accelerated Prox-SDCA* (Figure 3). Passes to a certified gap of 1e-3 with the theory's settings. The claim holds in
  a setting if the better of its two inner rules needs at most 1.1x the passes of Prox-SDCA and of FISTA; where nobody
  gets there in 100 passes, the final objectives are compared instead.
- "Does not hold" is a result.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np

from rrmbench.labels import short
from rrmbench.results import points_to, runs_of
from rrmbench.store import Experiment
from rrmbench.tuning import choices

LEVELS = (1e-2, 1e-4, 1e-6)


def passes(runs, level, quantity="suboptimality"):
    """The median over seeds of the passes to a level; inf where fewer than half of the seeds reach it."""
    reached = []
    for run in runs:
        values = run.column(quantity)
        if quantity == "suboptimality":  # below the certified width means at or below every level above it
            width = max(run.reference["primal"] - run.reference["dual"], 0.0)
            values = np.where(np.isnan(values), width, values)
        (point,) = points_to(values, (level,))
        reached.append(np.inf if point is None else run.column("passes")[point])
    return float(np.median(reached))


def final(runs, quantity="suboptimality"):
    """The median over seeds of the last value."""
    return float(np.median([run.column(quantity)[-1] for run in runs]))


def grouped(runs, *keys):
    """Runs by the values of some keys, in order."""
    groups = {}
    for run in runs:
        groups.setdefault(tuple(run.keys.get(key) for key in keys), []).append(run)
    return groups


def count(value):
    return "-" if not np.isfinite(value) else f"{value:.3g}"


def verdict(tuned, best):
    if not np.isfinite(min(tuned, best)):
        return None
    return "holds" if tuned <= best else "within 2x" if tuned <= 2 * best else "does not hold"


def reductions(experiment, adaptive, fixed, parameter):
    """Rows for one experiment of the reductions paper: per solver, data set and strength."""
    found = runs_of(experiment)
    chosen = {run for choice in choices(experiment.manifest(), found) for run in choice.kept}
    trials = {run for choice in choices(experiment.manifest(), found) for run in choice.trials}
    verdicts = []
    print(
        f"| solver | data | λ | {adaptive} | "
        + " | ".join(f"passes to {short(level)}: tuned / auto / best fixed / median fixed" for level in LEVELS)
        + " | unbiased |"
    )
    print("|---|---|---|---|" + "---|" * len(LEVELS) + "---|")
    for (solver, dataset, strength), runs in grouped(found, "solver", "dataset", "regularizer.strength").items():
        tuned = [run for run in runs if run in chosen]
        auto = [run for run in runs if run.keys["reduction"] == adaptive and run not in chosen and run not in trials]
        rivals = grouped([run for run in runs if run.keys["reduction"] == fixed], f"reduction.{parameter}")
        cells, said = [], []
        for level in LEVELS:
            others = [passes(rival, level) for rival in rivals.values()]
            mine, theory = passes(tuned, level), passes(auto, level)
            word = verdict(mine, min(others))
            said.append(word)
            cells.append(f"{count(mine)} / {count(theory)} / {count(min(others))} / {count(np.median(others))}")
        least = min(np.nan_to_num(final(rival), nan=0.0) for rival in rivals.values())
        unbiased = np.nan_to_num(final(tuned), nan=0.0) <= least
        verdicts.append((said, unbiased))
        value = short(tuned[0].keys[f"reduction.{parameter}"])
        print(
            f"| {solver} | {dataset} | {short(strength)} | {value} | "
            + " | ".join(cells)
            + f" | {'yes' if unbiased else 'no'} |"
        )
    print()
    for number, level in enumerate(LEVELS):
        words = [said[number] for said, _ in verdicts if said[number]]
        tally = ", ".join(
            f"{words.count(word)} {word}" for word in ("holds", "within 2x", "does not hold") if words.count(word)
        )
        print(f"- {adaptive} at {short(level)}: {tally or 'nobody gets there'} ({len(words)} settings reached)")
    print(f"- unbiased: {sum(unbiased for _, unbiased in verdicts)} of {len(verdicts)} settings")
    print()


def accelerated(experiment):
    """Rows for Figure 3 of the accelerated Prox-SDCA paper."""
    found = runs_of(experiment)
    names = ("theory", "5 epochs", "prox_sdca", "fista")
    print("| data | λ | passes to a certified gap of 1e-3: " + " / ".join(names) + " | final objective | verdict |")
    print("|---|---|---|---|---|")
    holds = 0
    groups = grouped(found, "dataset", "regularizer.l2")
    for (dataset, strength), runs in groups.items():
        methods = grouped(runs, "solver", "solver.inner")
        order = [("accelerated_prox_sdca", None), ("accelerated_prox_sdca", 5), ("prox_sdca", None), ("fista", None)]
        needed = [passes(methods[method], 1e-3, "gap") for method in order]
        ends = [final(methods[method], "objective") for method in order]
        compared, slack = (needed, 1.1) if np.isfinite(needed).any() else (ends, 1.0)
        ok = min(compared[:2]) <= slack * min(compared[2:])
        holds += ok
        print(
            f"| {dataset} | {short(strength)} | {' / '.join(map(count, needed))} | "
            f"{' / '.join(f'{end:.4g}' for end in ends)} | {'holds' if ok else 'does not hold'} |"
        )
    print(f"\n- accelerated at most 1.1x the passes of both others: {holds} of {len(groups)} settings\n")


def multiclass(experiment):
    """Passes and seconds to a certified gap of 1e-6."""
    print("| data | loss | passes to a certified gap of 1e-6 | seconds | final gap |")
    print("|---|---|---|---|---|")
    for (dataset, loss), runs in grouped(runs_of(experiment), "dataset", "loss").items():
        print(
            f"| {dataset} | {loss} | {count(passes(runs, 1e-6, 'gap'))} | {final(runs, 'seconds'):.2g} | "
            f"{final(runs, 'gap'):.1e} |"
        )
    print()


def main(folder):
    """Print a section for each experiment of the reproduction that is there."""
    reg = partial(reductions, adaptive="adapt_reg", fixed="regularize", parameter="sigma")
    smooth = partial(reductions, adaptive="adapt_smooth", fixed="smooth", parameter="mu")
    sections = {
        "reproduction_lasso": ("AdaptReg, lasso (Reductions, Figures 1, 3, 4)", reg),
        "reproduction_svm": ("AdaptSmooth, SVRG (Reductions, Figures 2, 5)", smooth),
        "reproduction_accelerated_sdca": ("Accelerated Prox-SDCA (Figure 3)", accelerated),
        "reproduction_multiclass": ("Multiclass SVM to a certified gap", multiclass),
    }
    for name, (title, section) in sections.items():
        if (Path(folder) / name).exists():
            print(f"#### {title}\n")
            section(Experiment(Path(folder) / name))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "results")
