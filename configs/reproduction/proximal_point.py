"""The verdicts on the proximal point reduction; their rules stand at the head of table.py."""

import numpy as np
from measures import grouped, head, own_gaps, row, tally, verdict

from rrmbench.report.naming import short
from rrmbench.report.results import runs_of

BUDGETS = (("passes", 30), ("passes", 100), ("work", 100))
CHOSEN_ON = ("a9a", "w1a", "reuters_acq", "covtype_sample20k_scale", "housing_scale")
FLOOR = 1e-11  # of P(0)
DEFAULT = "proximal_point"
RIVALS = ("adapt_reg", "accelerate", "best regularize")
OWN = ("sigma=1e-2", "sigma=1e-6", "decay=1", "decay=0.5", "accuracy=0.3")
NEITHER = ("joint_adapt", "joint_proximal_point", "adapt_smooth(proximal_point)", "adapt_reg", DEFAULT)
KINDS = ("not strongly convex", "neither", "groups", "not smooth")


def kind(run):
    """Which of KINDS the problem of a run is."""
    if run.keys["regularizer"] == "group_lasso":
        return "groups"
    if run.keys["loss"] in ("hinge", "absolute"):
        return "neither" if run.keys["regularizer"] == "l1" else "not smooth"
    return "not strongly convex"


def method(run):
    """The name of a reduction: of the proximal point method with other than default values, these values."""
    name, inside = run.keys["reduction"], run.keys.get("reduction.inside")
    if inside:
        return f"{name}({inside})"
    given = [
        f"{key}={short(run.keys[f'reduction.{key}'])}" for key in ("sigma", "decay", "accuracy") if _given(run, key)
    ]
    return ", ".join(given) if name == DEFAULT and given else name


def _given(run, key):
    return run.keys.get(f"reduction.{key}") not in (None, "auto") and key in run.result.spec["reduction"]


def numbers(experiment):
    """{kind: {(problem, solver): {method: (budgets, 2) of P - P* and gap over P(0)}}}, at least FLOOR."""
    found = {name: {} for name in KINDS}
    for problem, runs in grouped(runs_of(experiment), "dataset", "loss", "regularizer", "regularizer.strength").items():
        best = min(run.reference["primal"] for run in runs)  # of all runs, and of the one extra
        for (solver,), members in grouped(runs, "solver").items():
            methods = found[kind(members[0])].setdefault((problem, solver), {})
            for run in members:
                name, values = method(run), np.array([_at(run, *budget, best) for budget in BUDGETS])
                if name == "regularize":
                    name = "best regularize"
                    values = np.fmin(values, methods.get(name, np.inf))
                methods[name] = values
    return found


def _at(run, clock, budget, best):
    """(P - P*, gap) over P(0) at the last trace point within a budget."""
    last = np.flatnonzero(run.column(clock) <= budget * (1 + 1e-9))[-1]
    values = np.array([run.column("objective")[last] - best, own_gaps(run)[last]])
    return np.maximum(values / run.column("objective")[0], FLOOR)


def _compared(settings, mine, rival, budget, what):
    """ "3 holds, 1 does not hold (12x)" over settings; the factor is the median of the rival's number over ours."""
    pairs = [(m[mine][budget, what], m[rival][budget, what]) for m in settings if mine in m and rival in m]
    said = tally([verdict(a, b) for a, b in pairs])
    return f"{said} ({np.median([b / a for a, b in pairs]):.3g}x)" if pairs else "-"


def verdicts(settings, mine, rivals):
    """A table of verdicts: a row per rival and number, a column per budget."""
    head("against", "number", *(f"{budget} {clock}" for clock, budget in BUDGETS))
    for rival in rivals:
        for what, name in enumerate(("P - P*", "certified gap")):
            row(rival, name, *(_compared(settings, mine, rival, at, what) for at in range(len(BUDGETS))))
    print()


def means(settings, methods):
    """A table of the mean of log10(number / P(0)) over settings that have all of the methods, the least first."""
    settings = [m for m in settings if all(name in m for name in methods)]
    if not settings:
        return
    head("method", *(f"{name}: {budget} {clock}" for name in ("P - P*", "gap") for clock, budget in BUDGETS))
    logs = {name: np.mean([np.log10(m[name]) for m in settings], axis=0) for name in methods}
    for name in sorted(logs, key=lambda name: logs[name][:, 0].mean()):
        row(name, *(f"{value:.2f}" for value in logs[name].T.ravel()))
    print(f"\n- mean of log10(number / P(0)), {len(settings)} settings\n")


def proximal_point(experiment):
    """The tables of configs/reproduction/proximal_point.yaml."""
    found = numbers(experiment)
    lasso = found["not strongly convex"]
    for name, chosen in (("Chosen on", True), ("Not used for the choice", False)):
        settings = [m for (problem, _), m in lasso.items() if (problem[0] in CHOSEN_ON) == chosen]
        if settings:
            print(f"**{name}**, {len(settings)} settings:\n")
            verdicts(settings, DEFAULT, RIVALS)
            means(settings, (DEFAULT, *RIVALS, *OWN))
    if lasso:
        print("**No tuning**, the default against itself with other values:\n")
        verdicts(list(lasso.values()), DEFAULT, OWN)
    for solver in ("prox_sdca", "apcg"):
        settings = [m for (_, by), m in found["neither"].items() if by == solver]
        if settings:
            print(f"**Neither smooth nor strongly convex**, {solver}:\n")
            verdicts(settings, "joint_proximal_point", ("joint_adapt",))
            means(settings, [name for name in NEITHER if all(name in m for m in settings)])
    if found["groups"]:
        print("**Full gradients**, agd, group lasso:\n")
        verdicts(list(found["groups"].values()), DEFAULT, ("adapt_reg", "best regularize"))
        means(list(found["groups"].values()), (DEFAULT, "adapt_reg", "best regularize"))
    if found["not smooth"]:
        print("**Not smooth**, agd, hinge with l2:\n")
        verdicts(list(found["not smooth"].values()), "adapt_smooth", ("solve_dual(proximal_point)",))
        means(list(found["not smooth"].values()), ("adapt_smooth", "solve_dual(proximal_point)"))
