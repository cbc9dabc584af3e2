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


def of_environments(runs):
    """Yield that the seconds of StoredRuns are of several machines or versions, if they are."""
    machines = {run.result.info.get("environment") for run in runs} - {None}
    if len(machines) > 1:
        yield f"CAUTION: seconds from {len(machines)} different environments (machine or versions)"


def told(runs):
    """Yield how the seconds of StoredRuns were measured, where some are medians of repeats or of another machine."""
    yield from of_environments([run for run in runs if run.result.points])
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
