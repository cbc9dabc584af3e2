"""What runs took beside the work of their solvers, as their records have it.

Memory (`rrmbench.bench.memory`), and passes of the evaluation for better bounds (`rrmbench.bench.polishing`).
"""

import math

from rrmbench.errors import printable
from rrmbench.report.sizes import megabytes

UNCHECKED_PAIR = "Fenchel's inequality was not checked at all random points"
WORTH_A_LINE = 2**30  # bytes


def greatest(runs):
    """{"peak_bytes": ..., "own_bytes": ...}: of StoredRuns the most of each; without what no record has."""
    found = [run.result.info.get("memory", {}) for run in runs]
    names = ("peak_bytes", "own_bytes")
    return {name: max(one[name] for one in found if name in one) for name in names if any(name in one for one in found)}


def evaluation_passes(runs):
    """The passes that evaluation spent on better bounds of StoredRuns, in all."""
    return sum(run.result.info.get("evaluation_passes", 0.0) for run in runs)


def told(runs):
    """Yield the passes of evaluation, what failed there or before the clock, and a gigabyte of memory or more."""
    if spent := evaluation_passes(runs):
        solvers = sum(map(_work, runs))
        yield f"better bounds took {spent:,.0f} passes of evaluation, beside {solvers:,.0f} of the solvers"
    if faults := [fault for run in runs if (fault := run.result.info.get("evaluation_fault"))]:
        yield f"the search for better bounds failed in {len(faults)} of {len(runs)} runs: {printable(str(faults[0]))}"
    if faults := [fault for run in runs if run.status == "done" and (fault := run.result.info.get("warmup_fault"))]:
        of = f"failed in {len(faults)} of {len(runs)} runs, whose seconds may have compilation in them"
        yield f"the warm-up {of}: {printable(str(faults[0]))}"
    if late := sum(run.result.info.get("compiled") is True for run in runs):
        of = f"{late} of {len(runs)} runs"
        yield f"{of} compiled a kernel, or imported a module, on their clock: their seconds have that in them"
    if faults := [fault for run in runs if (fault := run.result.info.get("unchecked_pair"))]:
        of = f"in {len(faults)} of {len(runs)} runs, so that their gaps are not sure"
        yield f"{UNCHECKED_PAIR} {of}: {printable(str(faults[0]))}"
    most = greatest(runs)
    if most.get("peak_bytes", 0) >= WORTH_A_LINE:
        own = f", up to {megabytes(most['own_bytes'])} of it its own and not shared data" if "own_bytes" in most else ""
        yield f"memory: up to {megabytes(most['peak_bytes'])} in one run{own}"


def _work(run):
    """The passes and checks of a run, 0 for a solver that counts none."""
    total = run.column("passes")[-1] + run.column("checks")[-1] if run.result.points else 0.0
    return 0.0 if math.isnan(total) else float(total)
