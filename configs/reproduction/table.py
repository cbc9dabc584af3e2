"""The verdicts on the papers' claims, from the results of configs/reproduction/*.yaml: `make reproduction`.

The rules, fixed before the runs:

- A number is the median over five seeds of the passes to the first trace point at or below a level; "-" if fewer than
  three of the seeds get there within the budget. A certified gap that a bound of evaluation met alone does not count,
  unless the runs end at this gap, for which evaluation looks all along. Runs that are asked for other gaps, too, end by
  no gap: else evaluation would look for bounds on the way, and leave no gap of the method's own after the first.
- Every method compared has the same number of settings (six), except the theory's own (`auto`), which has one.
- *AdaptReg and AdaptSmooth* (Reductions, Figures 1-5). Levels of suboptimality 1e-2, 1e-4, 1e-6. The tuned method (best
  of six starting values by the final objective, so one value for all levels) is compared with the best fixed strength
  *of each level*, which is the hardest opponent, and with the median fixed strength. In one setting and level the claim
  "holds" if the tuned method needs at most as many passes as the best fixed strength, "within 2x" if at most twice as
  many, "does not hold" otherwise; a level that neither reaches is left out. "Unbiased" holds in a setting if the tuned
  method's final suboptimality is at most that of every fixed strength. proximal_point, with its defaults, has a column
  of its own; it is compared, level by level, with the best of all others of the setting.
- *Accelerated Prox-SDCA* (Figure 3). Passes to a certified gap of 1e-3 with the theory's settings. The claim holds in
  a setting if the better of its two inner rules needs at most 1.1x the passes of Prox-SDCA and of FISTA; where nobody
  gets there in 100 passes, the final objectives are compared instead.
- "Does not hold" is a result.

For the accelerated gradients of AGM the rules stand at the head of agm.py.

For the proximal point reduction (proximal_point.py), of which no paper makes a claim. One seed; a problem is a data
set, loss, regularizer and strength, a setting is a problem with a solver.

- *Budgets* are 30 and 100 passes, and 100 of work (passes + checks), which counts what the reductions spend on looking.
  At a budget a method counts with P - P* and with its own certified gap at the last trace point within it, without the
  bounds of evaluation; P* is the least objective known, that of the reference. What is below 1e-11 P(0) counts as
  1e-11 P(0).
- Against a rival it "holds" in a setting if the number is at most the rival's, "within 2x" if at most twice that,
  "does not hold" otherwise; beside it stands the median of the rival's number over ours. Rivals are adapt_reg,
  accelerate, and `regularize` with the best of five sigma at each budget.
- *Chosen on, not used for the choice*: the defaults (accuracy 1, a sigma that follows the length of the epochs) were
  chosen on the first five data sets; the verdicts are given for these and for the other five apart.
- *No tuning*: the default against itself with sigma_0 = 1e-2 and 1e-6, a fixed sigma, one that is halved in every
  epoch, and accuracy 0.3: it needs none if it is within 2x of, or better than, each in at least 3 of 4 settings.
- `auto` takes for each kind of problem (no strong convexity, no smoothness, neither) the reduction with the least mean
  of log10(number / P(0)) over settings and budgets, for P - P*.

For Pdprox (pdprox.py). Its methods and rivals are deterministic: one seed, but for stochastic Pegasos, which has five.
Seconds are CPU seconds of the solver alone. First trials changed the grid, the rivals and the levels of Figure 6, as
docs/reproduction.md says; what they concern was run again.

- *Figures 2, 3 and 5*. Every method has 21 settings: step scales 2^-2 .. 2^18 (2^-10 .. 2^10 on the matrix), or, for
  Pdprox with two steps, ratios 2^-10 .. 2^10. Budgets are a tenth and all of the passes, and T/10 and T, T being the
  CPU seconds of the quickest run of the setting, so that all methods have been seen until then. At a budget each method
  counts with the least P - P* of its 21 runs, which may be another run at another budget; P* is the least objective
  known; * marks a best setting at the edge of the grid. The claim holds against a rival if Pdprox's is at most the
  rival's, "within 2x" if at most twice that. agd without a cap is the paper's, the one with a cap is stronger.
- *Theorem 6*. Runs of both algorithms with one step gamma = sqrt(1/(2c)), c = R^2/n, factor 1, averaged output. Holds
  in a setting if the left side is at most the right side at all iterations checked; w* is the reference's model.
- *Smaller m* (Figure 6). Passes of the averaged iterates to a certified gap of 1e-3, 3e-4, 1e-4, and to 0.3, 0.1, 0.03
  of P(0) = m/n, once with the theory's step and once with the best of 7 for each m and level. Holds for data and level
  if passes(100) <= passes(200) <= passes(400); left out where m = 100 does not get there.
- *Noise* (Table 1). Pdprox with averaged output at a certified gap of 1e-3, liblinear at P - D* <= 1e-3. Holds if the
  mean test accuracy over five trials is at least liblinear's.
- *Layouts* (Figure 7). Holds for an algorithm if a pass of double_primal takes at least 1.1 times the CPU time of one
  of double_dual, medians of five repetitions. The data with n >> d stand beside, without a verdict.
- *Two steps, Pegasos* (Figure 8). Levels 1e-2 .. 1e-5 of suboptimality; each variant counts with the best of its seven
  settings at each level. Two steps: holds at a level if they need at most the passes of one step, "within 2x" as above.
  Pegasos wins at a level if the better of its two forms is there in at most the CPU seconds of the best Pdprox.
- *School*. Holds if the median test RMSE over five splits is within 0.2 of the paper's 10.34.
"""

import sys
from functools import partial
from pathlib import Path

import agm
import agm_checks
import numpy as np
import pdprox
import proximal_point
from measures import count, final, grouped, head, passes, row, tally, verdict

from rrmbench.bench.store import Experiment
from rrmbench.report.naming import short
from rrmbench.report.results import runs_of
from rrmbench.report.tuning import choices

LEVELS = (1e-2, 1e-4, 1e-6)


def reductions(experiment, adaptive, fixed, parameter, beside=None):
    """Rows for one experiment of the reductions paper: per solver, data set and strength; `beside` is a last column."""
    found = runs_of(experiment)
    chosen = {run for choice in choices(experiment.manifest(), found) for run in choice.kept}
    trials = {run for choice in choices(experiment.manifest(), found) for run in choice.trials}
    verdicts, ahead = [], []
    levels = [short(level) for level in LEVELS]
    extra = [f"{beside}: passes to {' / '.join(levels)}"] if beside else []
    measured = [f"passes to {level}: tuned / auto / best fixed / median fixed" for level in levels]
    head("solver", "data", "λ", adaptive, *measured, "unbiased", *extra)
    for (solver, dataset, strength), runs in grouped(found, "solver", "dataset", "regularizer.strength").items():
        tuned = [run for run in runs if run in chosen]
        auto = [run for run in runs if run.keys["reduction"] == adaptive and run not in chosen and run not in trials]
        rivals = grouped([run for run in runs if run.keys["reduction"] == fixed], f"reduction.{parameter}")
        added = [run for run in runs if run.keys["reduction"] == beside]
        cells, said, reached = [], [], []
        for level in LEVELS:
            others = [passes(rival, level) for rival in rivals.values()]
            mine, theory = passes(tuned, level), passes(auto, level)
            word = verdict(mine, min(others))
            said.append(word)
            if beside:
                reached.append(passes(added, level))
                ahead.append(verdict(reached[-1], min(mine, theory, *others)))
            cells.append(f"{count(mine)} / {count(theory)} / {count(min(others))} / {count(np.median(others))}")
        least = min(np.nan_to_num(final(rival), nan=0.0) for rival in rivals.values())
        unbiased = np.nan_to_num(final(tuned), nan=0.0) <= least
        verdicts.append((said, unbiased))
        value = short(tuned[0].keys[f"reduction.{parameter}"])
        last = [" / ".join(map(count, reached))] if beside else []
        row(solver, dataset, short(strength), value, *cells, "yes" if unbiased else "no", *last)
    print()
    for number, level in enumerate(LEVELS):
        words = [said[number] for said, _ in verdicts if said[number]]
        said = tally(words) or "nobody gets there"
        print(f"- {adaptive} at {short(level)}: {said} ({len(words)} settings reached)")
    print(f"- unbiased: {sum(unbiased for _, unbiased in verdicts)} of {len(verdicts)} settings")
    if beside:
        print(f"- {beside} against the best of all of these, all levels: {tally(ahead)}")
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
    reg = partial(reductions, adaptive="adapt_reg", fixed="regularize", parameter="sigma", beside="proximal_point")
    smooth = partial(reductions, adaptive="adapt_smooth", fixed="smooth", parameter="mu")
    sections = {
        "reproduction_lasso": ("AdaptReg, lasso (Reductions, Figures 1, 3, 4)", reg),
        "reproduction_svm": ("AdaptSmooth, SVRG (Reductions, Figures 2, 5)", smooth),
        "reproduction_proximal_point": ("Proximal point", proximal_point.proximal_point),
        "reproduction_accelerated_sdca": ("Accelerated Prox-SDCA (Figure 3)", accelerated),
        "reproduction_multiclass": ("Multiclass SVM to a certified gap", multiclass),
        "reproduction_pdprox": ("Pdprox against other first-order methods (Figures 2, 3, 5)", pdprox.first_order),
        "reproduction_pdprox_completion": ("Pdprox, matrix completion (Figure 5)", pdprox.compared),
        "reproduction_pdprox_budget": ("Pdprox with a budget m of the dual (Figure 6)", pdprox.budget),
        "reproduction_pdprox_noise": ("Pdprox on noisy labels (Table 1)", pdprox.noise),
        "reproduction_pdprox_layouts": ("The layouts of Pdprox (Figure 7)", pdprox.layouts),
        "reproduction_pdprox_svm": ("Pdprox with one and two steps, and Pegasos (Figure 8)", pdprox.step_sizes),
        "reproduction_pdprox_school": ("Test error on the School data", pdprox.school),
        "reproduction_agm": ("Accelerated gradients: ways to solve the SVM with a bias (AGM)", agm.ways),
        "reproduction_agm_peers": ("Accelerated gradients against max-margin solvers (AGM)", agm.peers),
        "reproduction_agm_structured": ("M3N and F1 (AGM, section 5.4)", agm.structured),
        "reproduction_agm_weights": ("Weights of the prox-function (AGM, section 5.6)", agm.weights),
        "reproduction_agm_boosting": ("Entropic LPBoost (AGM, section 5.4)", agm.boosting),
    }
    for name, (title, section) in sections.items():
        if (Path(folder) / name).exists():
            print(f"#### {title}\n")
            section(Experiment(Path(folder) / name))
    print("#### Inner solvers (AGM, section 5.5)\n")
    agm_checks.inner()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "results")
