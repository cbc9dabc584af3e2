"""How the seconds of a figure were measured, in words: alone or side by side, repeated, on which machines."""

from rrmbench.columns import CLOCKS
from rrmbench.report.timing import how_many, of_environments, record


def timing(runs, axes):
    """Yield the lines of small print about the clock, for axes over seconds."""
    runs = [run for run in runs if run.result.points]
    if axes.x not in CLOCKS or not runs:
        return
    records = [record(run) for run in runs]
    timed = [one for one in records if one]
    if timed:
        repeats, pins, spreads = zip(*timed, strict=True)
        alone = f"timed alone, {'pinned to one core, ' * all(pins)}the median of {how_many(repeats)} repeats"
        yield f"{alone}, which differ by up to {max(spreads):.0%}"
    if timed and len(timed) < len(runs):
        yield f"CAUTION: {len(runs) - len(timed)} of {len(runs)} runs were timed once, without repeats"
    together = sorted({_together(run) for run, one in zip(runs, records, strict=True) if not one})
    if together and together[-1] > 1:
        alone = timed or together[0] == 1
        caution = "CAUTION: some runs were timed alone, others" if alone else "timed"
        yield f"{caution} with up to {together[-1]} runs at the same time"
    elif together and not timed:
        yield "timed once, one run at a time"
    yield from of_environments(runs)


def _together(run):
    return run.result.info.get("concurrent_runs") or 1
