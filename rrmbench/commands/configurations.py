"""`rrmbench list configs`: the shipped configurations, what they are about, which data they need, a rough cost."""

import math

from rrmbench.commands.dry_run import NANOSECONDS_PER_NONZERO
from rrmbench.errors import printable

SECONDS_PER_RUN = 0.1  # of the harness, for estimates only


def rows():
    """Yield (name, number of runs, estimate in seconds or NaN, [(data set, whether it is here)], summary)."""
    from rrmbench import data
    from rrmbench.config import resolve, shipped
    from rrmbench.config.raw import read

    for name in shipped.names():
        raw = read(shipped.path_of(name))
        plan = resolve(raw)
        blocks = {spec["dataset"]["name"]: spec["dataset"] for spec in plan.runs}
        needed = [(label, data.is_here(block)) for label, block in sorted(blocks.items())]
        yield name, len(plan.runs), _seconds(plan.runs), needed, shipped.summary(shipped.text_of(name))


def _seconds(specs):
    from rrmbench.data import sizes

    total = 0.0
    for spec in specs:
        stop, stored = spec["stop"], sizes.stored_entries(spec["dataset"])
        by_passes = stop["passes"] * stored * NANOSECONDS_PER_NONZERO * 1e-9 if "passes" in stop else math.inf
        total += SECONDS_PER_RUN + min(by_passes, stop.get("seconds", math.inf))
    return total


def print_all(console):
    """Print two lines for each configuration."""
    from rich.text import Text

    console.print("configs: runs, a rough estimate of their time on one core, data (* not here)", highlight=False)
    for name, runs, seconds, needed, summary in rows():
        names = ", ".join(label + ("" if here else "*") for label, here in needed)
        for line in (f"{name:31} {runs:5} {_time(seconds):>8}  {names}", f"    {summary}"):
            console.print(Text(printable(line)), no_wrap=True, overflow="ellipsis")


def _time(seconds):
    """A rough time as people say it, or "?"."""
    if math.isnan(seconds):
        return "?"
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"
