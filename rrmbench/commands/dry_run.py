"""`rrmbench run --dry-run`: the runs, what is skipped and why, and an estimate of the cost."""

import math

NANOSECONDS_PER_NONZERO = 6.0  # a typical stochastic epoch, for estimates only


def dry_run(plans, console):
    """Print the runs, the skipped combinations with reasons, and an estimate of the cost."""
    from rich.table import Table
    from rich.text import Text

    from rrmbench.errors import printable
    from rrmbench.report import naming
    from rrmbench.report.results import keys

    entries = {}  # of a data set as its loss wants it -> how many are stored
    for plan in plans:
        table = Table("#", "problem", "method", "seed", "estimate", box=None, title=plan.name, title_justify="left")
        total = 0.0
        for number, spec in enumerate(plan.runs, 1):
            seconds = _estimate(spec, entries)
            total += seconds
            names = keys(spec)
            cells = (str(number), naming.problem(names), naming.method(names), str(spec["seed"]), _seconds(seconds))
            table.add_row(*(Text(printable(cell)) for cell in cells))  # texts of the file are no markup
        console.print(table)
        for spec, reason in plan.skipped:
            names = keys(spec)
            line = f"skipped {naming.problem(names)}, {naming.method(names)}: {reason}"
            console.print(Text(printable(line)), highlight=False)
        unknown = "; some data are not here, their cost is unknown" if math.isnan(total) else ""
        console.print(f"{len(plan.runs)} runs, about {_seconds(total)} of one core{unknown}", highlight=False)


def _estimate(spec, entries):
    """Seconds of one run: passes times stored entries at a typical rate, at most `stop.seconds`; NaN if unknown.

    The counts of stored entries that are known are in `entries`, to which this run's is added.
    """
    from rrmbench import data
    from rrmbench.bench import identity

    stop = spec["stop"]
    key = identity.canonical([spec["dataset"], spec["loss"]])
    if "passes" not in stop or not (key in entries or data.is_here(spec["dataset"])):
        return stop.get("seconds", math.nan)
    if key not in entries:
        entries[key] = identity.data_of(spec).X_parts[0].size
    return min(stop["passes"] * entries[key] * NANOSECONDS_PER_NONZERO * 1e-9, stop.get("seconds", math.inf))


def _seconds(value):
    return "?" if math.isnan(value) else f"{value:.2g} s"
