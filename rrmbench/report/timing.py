"""The record of `run --timing` in a result, and what a table says of it."""

from rrmbench.report import naming


def record(run):
    """(repeats, whether pinned to a core, spread) of a StoredRun that was timed repeatedly, or None.

    The spread is (max - min) / median of the repeats.
    """
    found = run.result.info.get("timing")
    if found is None or found["repeats"] < 2:
        return None
    return found["repeats"], found["pinned"] is not None, found["spread"]


def how_many(repeats):
    """The numbers of repeats in words: "3", or "3 to 5"."""
    return f"{min(repeats)}" if min(repeats) == max(repeats) else f"{min(repeats)} to {max(repeats)}"


def told(runs):
    """Yield how the seconds of StoredRuns were measured, where some are medians of repeats."""
    records = {run: one for run in runs if (one := record(run))}
    if not records:
        return
    repeats, _, spreads = zip(*records.values(), strict=True)
    once = len(runs) - len(records)
    yield f"seconds: medians of {how_many(repeats)} repeats" + (
        f"; CAUTION: {once} of {len(runs)} runs were timed once" * (once > 0)
    )
    worst = max(records, key=lambda run: records[run][2])
    yield f"the repeats differ by up to {max(spreads):.1%}: {naming.method(worst.keys)}"
