"""How the seconds of a figure were measured, in words: alone or side by side, repeated, on which machines."""

import math

from rrmbench.report.plots.curves import TIMED


def timing(runs, axes):
    """Yield the lines of small print about the clock, for axes over seconds."""
    runs = [run for run in runs if run.result.points]
    if axes.x not in TIMED or not runs:
        return
    records = [_record(run) for run in runs]
    timed = [record for record in records if record]
    if timed:
        repeats = sorted({record["repeats"] for record in timed})
        pinned = all(record["pinned"] for record in timed)
        most = max(record["spread"] for record in timed)
        spread = f", which differ by up to {most:.0%}" if math.isfinite(most) else ""
        each = f"{repeats[0]}" if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
        yield f"timed alone, {'pinned to one core, ' if pinned else ''}the median of {each} repeats{spread}"
    if timed and len(timed) < len(runs):
        yield f"CAUTION: {len(runs) - len(timed)} of {len(runs)} runs were timed once, without repeats"
    together = sorted({_together(run) for run, record in zip(runs, records, strict=True) if not record})
    if together and together[-1] > 1:
        alone = timed or together[0] == 1
        caution = "CAUTION: some runs were timed alone, others" if alone else "timed"
        yield f"{caution} with up to {together[-1]} runs at the same time"
    elif together and not timed:
        yield "timed once, one run at a time"
    machines = {run.result.info.get("environment") for run in runs} - {None}
    if len(machines) > 1:
        yield f"CAUTION: seconds from {len(machines)} different environments (machine or versions)"


def _together(run):
    return run.result.info.get("concurrent_runs") or 1


def _record(run):
    """The record of repeated timings of a run, checked, or None."""
    found = run.result.info.get("timing")
    repeats = found.get("repeats") if isinstance(found, dict) else None
    if type(repeats) is not int or repeats < 2:
        return None
    pinned = found.get("pinned") not in (None, False)  # the number of a core, which may be 0
    return {"repeats": repeats, "pinned": pinned, "spread": _spread(found.get("spread"))}


def _spread(found):
    """(max - min) / median of the repeats: as it is, or from these three; -inf for anything else."""
    if isinstance(found, dict):
        least, middle, most = (_number(found.get(name)) for name in ("min", "median", "max"))
        return (most - least) / middle if middle > 0.0 else -math.inf
    return _number(found)


def _number(found):
    plain = isinstance(found, (int, float)) and not isinstance(found, bool) and found >= 0.0
    return float(found) if plain else -math.inf
