"""`rrmbench check --seconds`: the CPU time to each gap, in units of a reference kernel measured next to the run.

A unit is `rrmbench.bench.yardstick`. The baseline keeps the ratios, so that it serves on another machine, as far as two
machines differ in their speed alone. CPU time, since other work on a machine makes a run wait, but hardly work more.
"""

from statistics import median

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.report import naming
from rrmbench.report.levels import CERTIFIED_GAPS
from rrmbench.report.results import LEVELS, points_to

TOLERANCE = 1.5  # the factor by which a time may grow
FLOOR = 20.0  # units: what is less than this apart is noise


def tolerated(wanted, tolerance):
    """The factor by which times may grow, None where they are not `wanted`; RrmbenchError for what is no factor."""
    if not wanted:
        if tolerance is not None:
            raise RrmbenchError(f"--tolerance: found {tolerance:g} without --seconds, whose factor it is")
        return None
    tolerance = TOLERANCE if tolerance is None else tolerance
    if not 1.0 <= tolerance < np.inf:
        raise RrmbenchError(f"--tolerance: found {tolerance:g}, allowed is a number of at least 1")
    return tolerance


def ratios(run):
    """{gap: CPU seconds to it in units of the kernel} of a StoredRun; RrmbenchError where no kernel was measured.

    A gap that only a bound of evaluation has met has none.
    """
    units = run.result.info.get("yardstick_cpu_seconds")
    if not units:
        raise RrmbenchError(
            f"check --seconds: no reference kernel was measured next to '{naming.run(run.keys)}' ({run.experiment}); "
            "run it again with --fresh"
        )
    spent = run.column("cpu_seconds") / median(units)
    points = points_to(run.column("gap"))
    reached = zip(LEVELS, points, CERTIFIED_GAPS.are_late(run, points), strict=True)
    found = {naming.short(level): spent[i] for level, i, late in reached if i is not None and not late}
    return {level: float(f"{ratio:.4g}") for level, ratio in found.items() if np.isfinite(ratio)}


def changes(run, before, tolerance=TOLERANCE):
    """(what takes longer, what takes less) than the ratios `before` by more than the tolerance, as phrases."""
    worse, better = [], []
    now = ratios(run) if before else {}
    for level, old in before.items():
        if level not in now:  # the gate of the passes tells
            continue
        new = now[level]
        if abs(new - old) <= FLOOR:
            continue
        phrase = f"gap {level}: {old:.4g} -> {new:.4g} times the reference kernel"
        if new > tolerance * old:
            worse.append(phrase)
        elif old > tolerance * new:
            better.append(phrase)
    return worse, better
