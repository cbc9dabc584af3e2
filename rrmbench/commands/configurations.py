"""`rrmbench list configs`: the shipped configurations, what they are about, which data they need, a rough cost."""

import math

from rrmbench.bench.rates import Rates
from rrmbench.errors import printable


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

    stored = [sizes.stored_entries(spec["dataset"]) for spec in specs]
    return sum(seconds for seconds, _ in Rates.here().batch(specs, [None if math.isnan(n) else n for n in stored]))


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
