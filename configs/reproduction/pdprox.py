"""The claims of Pdprox on what the experiments reproduction_pdprox* measured; the rules are in table.py."""

from itertools import islice
from math import sqrt

import numpy as np
from measures import count, grouped, head, passes, row, tally, verdict

from rrmbench import registry
from rrmbench.bench import identity
from rrmbench.bench.problems import problem_of
from rrmbench.numerics.random import Rng
from rrmbench.report.naming import short
from rrmbench.report.results import runs_of

METHODS = {  # the columns of Figures 2, 3 and 5
    "pdprox_dual": {"solver": "pdprox_dual", "solver.ratio": None},
    "two steps": {"solver": "pdprox_dual", "solver.constant": "spectral"},
    "subgradient": {"solver": "subgradient"},
    "fobos": {"solver": "fobos"},
    "rda": {"solver": "rda"},
    "agd, no cap": {"solver": "agd_adaptive", "solver.cap": "none"},
    "agd, cap": {"solver": "agd_adaptive", "solver.cap": "rate"},
    "excessive_gap": {"solver": "excessive_gap"},
}
OURS = ("pdprox_dual", "two steps")
SETTING = ("dataset", "dataset.scale", "loss", "regularizer.strength")
CHECKED = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # iterations at which Theorem 6 is checked
PAPERS_RMSE, NEAR = 10.34, 0.2


# Figures 2, 3 and 5: the best of 21 step scales at equal passes and at equal seconds


def first_order(experiment):
    """Pdprox against five other methods, and Theorem 6 on the same problems."""
    compared(experiment)
    print("Theorem 6:\n")
    theorem(experiment)


def compared(experiment):
    """A row per setting and budget, with the least P - P* of each method."""
    found = runs_of(experiment)
    names = [name for name in METHODS if any(is_of(name, run.keys) for run in found)]
    head("data", "scale", "loss", "λ", "budget", *names)
    said = {}
    for (dataset, scale, loss, strength), runs in grouped(found, *SETTING).items():
        methods = {name: [run for run in runs if is_of(name, run.keys)] for name in names}
        for what, clock, amount in budgets(runs):
            best = {name: best_at(methods[name], clock, amount) for name in names}
            spent = what if clock == "passes" else f"{what} = {amount:.2g} s"
            row(dataset, scale or "none", loss, short(strength), spent, *(text for _, text in best.values()))
            for pair in ((ours, rival) for ours in names for rival in names if ours in OURS and rival not in OURS):
                ours, rival = (best[name][0] for name in pair)
                said.setdefault(pair, {}).setdefault(what, []).append(verdict(ours, rival))
    print()
    for (ours, rival), of in said.items():
        print(f"- {ours} against {rival}: " + "; ".join(f"{what}: {tally(words)}" for what, words in of.items()))
    print()


def is_of(name, keys):
    return all(keys.get(key) == value for key, value in METHODS[name].items())


def budgets(runs):
    """(name, clock, amount): a tenth and all of the passes, and of the CPU seconds of the quickest run."""
    whole = [run for run in runs if run.result.reason == "passes"]
    most = int(round(min(run.column("passes")[-1] for run in whole), -1))
    quickest = min(run.column("cpu_seconds")[-1] for run in whole)
    passes_ = [(f"{amount} passes", "passes", amount + 1.0) for amount in (most // 10, most)]  # a step may be 1.5
    return [*passes_, ("T/10", "cpu_seconds", quickest / 10), ("T", "cpu_seconds", quickest)]


def best_at(runs, clock, budget):
    """(P - P*, its text) of the best setting within the budget; * marks one at the edge of the grid."""
    values = {
        (run.keys.get("solver.ratio") or 1.0) * run.keys["solver.step_scale"]: within(run, clock, budget)
        for run in runs
    }
    best = min(values, key=values.get)
    return values[best], f"{values[best]:.1e}{'*' if best in (min(values), max(values)) else ''}"


def within(run, clock, budget):
    """P - P* at the last point within the budget, at least 1e-9 P*; P* is the least objective known."""
    if run.status != "done":
        return np.inf
    least = run.reference["primal"]
    return max(float(run.column("primal")[run.column(clock) <= budget][-1]) - least, 1e-9 * abs(least))


# Theorem 6


def theorem(experiment):
    """The greatest ratio of the two sides of Theorem 6 over the iterations CHECKED, for both algorithms."""
    head("data", "scale", "loss", "λ", "greatest (left side) / (right side): pdprox_dual / pdprox_primal", "verdict")
    words = []
    for (dataset, scale, loss, strength), runs in grouped(runs_of(experiment), *SETTING).items():
        best = experiment.read(runs[0].reference["primal_run"])
        problem = problem_of(best.spec, identity.data_of(best.spec))
        ratios = [greatest_ratio(problem, best.w, name) for name in ("pdprox_dual", "pdprox_primal")]
        words.append("holds" if max(ratios) <= 1.0 else "does not hold")
        row(dataset, scale or "none", loss, short(strength), " / ".join(f"{ratio:.3f}" for ratio in ratios), words[-1])
    print(f"\n- at {', '.join(map(str, CHECKED))} iterations: {tally(words)}\n")


def greatest_ratio(problem, w, name):
    """max over T of [P(wbar_T) - F(w, bbar_T)] / [(||w||^2 + ||b||^2) / (sqrt(2/c) T)], b the maximizer at wbar_T.

    F(w, b) = (1/n) b.(X w) - (1/n) sum phi*(b_i) + Psi(w), and c = R^2/n as in Appendix A.
    """
    solver = {"name": name, "step_scale": 1.0, "output": "average"}
    iterates = registry.build_solver(solver, {"name": "none"})(problem, None, Rng(0))
    z, square, c = problem.X.forward(w), float(np.vdot(w, w)), problem.R**2 / problem.n
    greatest = 0.0
    for T, x in enumerate(islice(iterates, CHECKED[-1] + 1)):
        if T in CHECKED:
            saddle = float(np.vdot(x.b, z)) / problem.n - problem.mean_conjugate(x.b) + problem.Psi(w)
            b = problem.loss_dual(problem.X.forward(x.w))
            bound = (square + float(np.vdot(b, b))) / (sqrt(2.0 / c) * T)
            greatest = max(greatest, (problem.primal(x.w) - saddle) / bound)
    return greatest


# Figure 6, Table 1


def budget(experiment):
    """Passes to certified gaps, absolute and relative to P(0) = m/n, for each m."""
    sizes = (100, 200, 400)
    names = " / ".join(f"m = {size}" for size in sizes)
    for unit, levels in {"": (1e-3, 3e-4, 1e-4), " m/n": (0.3, 0.1, 0.03)}.items():
        said = {"the theory's step": [], "the best of 7 steps": []}
        head("data", "step", *(f"passes to a gap of {short(level)}{unit}: {names}" for level in levels))
        for (dataset,), runs in grouped(runs_of(experiment), "dataset").items():
            for step, words in said.items():
                needed = [[passes_to_gap(runs, size, level, unit, step) for size in sizes] for level in levels]
                words += ["holds" if p == sorted(p) else "does not hold" for p in needed if np.isfinite(p[0])]
                row(dataset, step, *(" / ".join(map(count, p)) for p in needed))
        print()
        for step, words in said.items():
            print(f"- gap{unit and ' relative to m/n'}, {step}: {tally(words)}")
        print()


def passes_to_gap(runs, size, level, unit, step):
    mine = [run for run in runs if run.keys["loss.budget"] == size]
    if step == "the theory's step":
        mine = [run for run in mine if run.keys["solver.step_scale"] == 1.0]
    needed = [passes([run], level * (run.column("primal")[0] if unit else 1.0), "gap") for run in mine]
    return min(needed, default=np.inf)


def noise(experiment):
    """Test accuracy and CPU seconds where P - D* <= 1e-3, means over five trials of noise."""
    head("data", "method", "test accuracy: mean (deviation)", "CPU seconds: mean (deviation)", "verdict")
    words = []
    for (dataset,), runs in grouped(runs_of(experiment), "dataset").items():
        ended = {key: ends(members) for key, members in grouped(runs, "solver", "loss.budget").items()}
        plain = np.mean(ended["liblinear", None][0])
        for (solver, size), (accuracies, seconds) in ended.items():
            word = ""
            if size is not None:
                word = "holds" if np.mean(accuracies) >= plain else "does not hold"
                words.append(word)
            name = solver if size is None else f"{solver}, m = {short(size)}"
            row(dataset, name, spread(accuracies, ".4f"), spread(seconds, ".2g"), word)
    print(f"\n- Pdprox with m at least as accurate as liblinear: {tally(words)}\n")


def ends(runs):
    """(test accuracies, CPU seconds) of runs that stopped at a certified gap; of liblinear, where P - D* <= 1e-3."""
    at = dict.fromkeys(runs, -1)
    if runs[0].keys["solver"] == "liblinear":
        at = {run: int(np.argmax(run.column("primal") - run.reference["dual"] <= 1e-3)) for run in runs}
    return [[run.column(name)[point] for run, point in at.items()] for name in ("test_accuracy", "cpu_seconds")]


def spread(values, form):
    return f"{np.mean(values):{form}} ({np.std(values):{form}})"


# Figures 7 and 8, School


def layouts(experiment):
    """CPU time per pass of the two layouts of the two algorithms, medians over five repetitions."""
    head("data", "algorithm", "ms per pass: double_dual / double_primal", "factor", "verdict")
    for (dataset, solver), runs in grouped(runs_of(experiment), "dataset", "solver").items():
        times = {key: per_pass(members) for (key,), members in grouped(runs, "solver.layout").items()}
        dual, primal = times["double_dual"], times["double_primal"]
        wide = runs[0].result.w.size > runs[0].result.b.size
        said = ("holds" if primal >= 1.1 * dual else "does not hold") if wide else ""
        row(dataset, solver, f"{1e3 * dual:.3f} / {1e3 * primal:.3f}", f"{primal / dual:.2f}", said)
    print()


def per_pass(runs):
    return float(np.median([run.column("cpu_seconds")[-1] / run.column("passes")[-1] for run in runs]))


def step_sizes(experiment):
    """Passes and CPU seconds to levels of suboptimality: one step, two, accelerated, Pegasos."""
    levels = (1e-2, 1e-3, 1e-4, 1e-5)
    names = ("one step", "two steps", "accelerated", "pegasos, all", "pegasos, stochastic")
    said = {"two steps need at most the passes of one": [], "Pegasos is there before Pdprox, in CPU seconds": []}
    head("λ", "passes and CPU seconds to", *names)
    for (strength,), runs in grouped(runs_of(experiment), "regularizer.strength").items():
        variants = {name: [run for run in runs if variant(run.keys) == name] for name in names}
        for level in levels:
            needed = {name: quickest(members, level) for name, members in variants.items()}
            one, two = needed["one step"], needed["two steps"]
            ours = min(needed[name][1] for name in names[:3])
            pegasos = min(needed[name][1] for name in names[3:])
            for words, found in zip(said.values(), (verdict(two[0], one[0]), verdict(pegasos, ours)), strict=True):
                words.append(found)
            cells = [count(a) if a == np.inf else f"{a:.3g}, {b:.2g} s" for a, b in needed.values()]
            row(short(strength), short(level), *cells)
    print()
    for what, words in said.items():
        print(f"- {what}: {tally([word for word in words if word])}")
    print()


def variant(keys):
    if keys["solver"] == "pegasos":
        return "pegasos, all" if keys.get("solver.sampling") == "all" else "pegasos, stochastic"
    if keys["solver"] == "pdprox_accelerated":
        return "accelerated"
    return "one step" if keys["solver.ratio"] is None else "two steps"


def quickest(runs, level):
    """(passes, CPU seconds) to the level of the best setting, medians over seeds."""
    settings = grouped(runs, "solver.ratio", "solver.step_scale").values()
    return min((passes(members, level), passes(members, level, clock="cpu_seconds")) for members in settings)


def school(experiment):
    """Test RMSE on the School data, medians over five splits."""
    head("loss", "λ", "test RMSE: median (least, greatest) of five splits", "verdict")
    for (loss, strength), runs in grouped(runs_of(experiment), "loss", "regularizer.strength").items():
        values = [run.column("test_rmse")[-1] for run in runs]
        middle = float(np.median(values))
        near = "holds" if abs(middle - PAPERS_RMSE) <= NEAR else "does not hold"
        row(loss, short(strength), f"{middle:.2f} ({min(values):.2f}, {max(values):.2f})", near)
    print()
