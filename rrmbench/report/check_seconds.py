"""`rrmbench check --seconds`: the time to each gap, in units of the reference kernel that was measured next to the run.

A unit is `rrmbench.bench.yardstick`. The baseline keeps the ratios, so that it serves on another machine, as far as two
machines differ in their speed alone.
"""

from statistics import median

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.report import naming
from rrmbench.report.results import LEVELS, passes_to

TOLERANCE = 1.5  # the factor by which a time may grow
FLOOR = 20.0  # units: what is less than this apart is noise


def ratios(run):
    """{gap: seconds to it in units of the kernel} of a StoredRun; RrmbenchError where no kernel was measured."""
    units = run.result.info.get("yardstick_seconds")
    if not units:
        raise RrmbenchError(
            f"check --seconds: no reference kernel was measured next to '{naming.run(run.keys)}' ({run.experiment}); "
            "run it again with --fresh"
        )
    unit = median(units)
    reached = zip(LEVELS, passes_to(run), strict=True)
    return {naming.short(level): float(f"{at[1] / unit:.4g}") for level, at in reached if at and np.isfinite(at[1])}


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
