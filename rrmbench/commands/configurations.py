"""`rrmbench list configs`: the shipped configurations, what they are about, which data they need, a rough cost."""

import math

from rrmbench.bench.identity import canonical
from rrmbench.bench.rates import Rates
from rrmbench.commands import plain


def rows():
    """Yield (name, number of runs, estimate in seconds or NaN, [(data set, whether it is here)], summary)."""
    from rrmbench import data
    from rrmbench.config import resolve, shipped
    from rrmbench.config.raw import read

    rates = Rates.here()
    for name in shipped.names():
        raw = read(shipped.path_of(name))
        plan = resolve(raw)
        blocks = {spec["dataset"]["name"]: spec["dataset"] for spec in plan.runs}
        needed = [(label, data.is_here(block)) for label, block in sorted(blocks.items())]
        yield name, len(plan.runs), _seconds(rates, plan.runs), needed, shipped.summary(shipped.text_of(name))


def _seconds(rates, specs):
    from rrmbench.data import sizes

    names = [canonical(spec["dataset"]) for spec in specs]
    stored = {
        name: sizes.stored_entries(spec["dataset"]) for name, spec in dict(zip(names, specs, strict=True)).items()
    }
    entries = [None if math.isnan(stored[name]) else stored[name] for name in names]
    return sum(seconds for seconds, _ in rates.batch(specs, entries))


def print_all(console):
    """Print two lines for each configuration."""
    console.print("configs: runs, a rough estimate of their time on one core, data (* not here)", highlight=False)
    for name, runs, seconds, needed, summary in rows():
        names = ", ".join(label + ("" if here else "*") for label, here in needed)
        for line in (f"{name:31} {runs:5} {_time(seconds):>8}  {names}", f"    {summary}"):
            console.print(plain(line), no_wrap=True, overflow="ellipsis")


def _time(seconds):
    """A rough time as people say it, or "?"."""
    if math.isnan(seconds):
        return "?"
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"
