"""The record of `run --timing` in a result, checked, and what a table says of it."""

import math

from rrmbench.report import naming


def told(runs):
    """Yield how the seconds of StoredRuns were measured, where some are medians of repeats."""
    records = {run: one for run in runs if (one := record(run))}
    if not records:
        return
    repeats = sorted({one["repeats"] for one in records.values()})
    times = str(repeats[0]) if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    rest = len(runs) - len(records)
    of = f"{len(records)} of {len(runs)} runs, those of the others are of a single one" if rest else "every run"
    yield f"seconds: medians of {times} repeats of {of}"
    worst = max(records, key=lambda run: records[run]["spread"])
    if math.isfinite(records[worst]["spread"]):
        yield f"greatest spread of the repeats: {records[worst]['spread']:.1%}, {naming.method(worst.keys)}"


def record(run):
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
