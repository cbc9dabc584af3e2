"""The small print under a figure: what is not in it, and what a reader must know about what is."""

import numpy as np

from rrmbench.report import naming
from rrmbench.report.plots.curves import FAR

LONGEST = 6  # lines about runs that ended badly, and about bounds that are not drawn; the rest is counted


def notes(runs, tuned, panels, pending, axes):
    """Return the lines of small print for a figure of `runs` in `panels`.

    `tuned` are the Choices among its runs; `pending` runs are to come.
    """
    lines = [*_aggregation(runs, panels), *_theory(panels), *_tuning(tuned), *_timing(runs, axes), *_floor(panels)]
    without = sorted({run.keys["solver"] for run in runs if _lacks(run, axes.x)})
    if without:
        lines.append(f"not shown, as {axes.x} are not counted: {', '.join(without)}")
    if pending:
        lines.append(f"{pending} run{'s' * (pending != 1)} of this experiment not done yet")
    bad = _endings(runs)
    lines += bad[:LONGEST]
    if len(bad) > LONGEST:
        lines.append(f"... and {len(bad) - LONGEST} more; `rrmbench show` lists all")
    return lines


def _aggregation(runs, panels):
    seeds = len({run.keys["seed"] for run in runs})
    if any(curve.low is not None for panel in panels for curve in panel.curves.values()):
        yield f"lines: medians over {seeds} seeds, bands: quartiles"


def _theory(panels):
    if any(panel.proven for panel in panels):
        yield "fine dots: the bound proven for the method on this problem (constants measured, w* of the reference)"
    above = sum(len(panel.proven) - len(panel.near_bounds) for panel in panels)
    if above:
        yield f"{above} bound{'s lie' if above > 1 else ' lies'} above the panels, beyond {FAR:g} times the start"
    reasons = list(dict.fromkeys(reason for panel in panels for reason in panel.unproven))
    yield from (f"no bound for {reason}" for reason in reasons[:LONGEST])
    if len(reasons) > LONGEST:
        yield f"no bound for {len(reasons) - LONGEST} more"


def _tuning(tuned):
    if not tuned:
        return
    sizes = sorted({(len(choice.trials) + len(choice.kept)) // len(choice.kept) for choice in tuned})
    of = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    yield f"strong: the best of {of} values by {tuned[0].by}, chosen in each panel; faint: the others"
    edges = sum(choice.at_edge for choice in tuned)
    if edges:
        yield f"{edges} of {len(tuned)} best values lie at the edge of their grid; `rrmbench show` names them"


def _timing(runs, axes):
    if axes.x not in ("seconds", "cpu_seconds"):
        return
    together = sorted({run.result.info.get("concurrent_runs") or 1 for run in runs})
    if len(together) > 1 and together[0] == 1:
        yield f"CAUTION: some runs were timed alone, others with up to {together[-1]} at the same time"
    elif together[-1] > 1:
        yield f"timed with up to {together[-1]} runs at the same time"
    repeats = {(run.result.info.get("timing") or {}).get("repeats", 1) for run in runs}
    if repeats != {1}:
        least, most = min(repeats), max(repeats)
        times = str(least) if least == most else f"{least} to {most}"
        caution = f"CAUTION: some seconds are of one run, others the median of {most} on a core of their own"
        yield caution if least == 1 else f"seconds: the median of {times} repeats on a core of their own"
    machines = {run.result.info.get("environment") for run in runs} - {None}
    if len(machines) > 1:
        yield f"CAUTION: seconds from {len(machines)} different environments (machine or versions)"


def _floor(panels):
    if any(_floor_matters(panel) for panel in panels):
        yield "grey: below the certified accuracy of the reference optimum"
    if any(panel.optimum is not None for panel in panels):
        yield "dashed: the least objective known"


def _floor_matters(panel):
    lowest = [curve.y.min() for curve in panel.curves.values()]
    return panel.floor > 0 and bool(lowest) and min(lowest) <= 10 * panel.floor


def _lacks(run, x):
    return run.result.points > 0 and not np.isfinite(run.column(x)).any()


def _endings(runs):
    """Return a line per way of ending badly: "failed: apcg, rcv1_train, seeds 0, 1: ZeroDivisionError"."""
    differ = {key for key in naming.varying(run.keys for run in runs) if key != "seed"}
    seeds = {}
    for run in runs:
        if run.status != "done":
            where = naming.problem_difference(run.keys, differ)
            what = ", ".join(part for part in (naming.method(run.keys, differ), where) if part)
            seeds.setdefault((run.status, what, run.result.reason), []).append(str(run.keys["seed"]))
    return [
        f"{status}: {what}, seed{'s' * (len(which) > 1)} {', '.join(which)}: {reason}"
        for (status, what, reason), which in seeds.items()
    ]
