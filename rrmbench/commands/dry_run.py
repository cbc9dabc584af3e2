"""`rrmbench run --dry-run`: the runs, what is skipped and why, and an estimate of the cost."""

import math

from rrmbench.bench.environment import physical_cores
from rrmbench.bench.rates import Rates, entries_of
from rrmbench.commands import plain


def dry_run(plans, jobs, repeats, console, events=None):
    """Print the runs, the skipped combinations with reasons, and an estimate of the cost; or give them to `events`.

    jobs : of each plan, the runs at a time
    repeats : of each run
    """
    from rrmbench.commands import PLAIN
    from rrmbench.errors import printable

    estimates = _Estimates()
    for plan, at_once in zip(plans, jobs, strict=True):
        plan = plan.fitting(estimates.dimensions)
        costs = [(repeats * seconds, here) for seconds, here in estimates.of(plan.runs)]
        if events:
            for spec, (seconds, _) in zip(plan.runs, costs, strict=True):
                events.planned(plan.name, spec, seconds)
            for spec, reason in plan.skipped:
                events.skipped(plan.name, spec, reason)
            continue
        console.print(_table(plan, costs))
        for line in _skipped(plan.skipped):
            console.print(printable(f"skipped {line}"), **PLAIN)
        for line in _closing(costs, estimates.references(plan), at_once):
            console.print(line, **PLAIN)


def _skipped(skipped):
    """Yield a line for the combinations that differ in nothing but parameters and seeds, and have one reason."""
    from rrmbench.keys import keys
    from rrmbench.report import naming

    groups = {}
    for spec, reason in skipped:
        short, full = (
            f"{naming.problem(keys(spec), shown)}, {naming.method(keys(spec), shown)}" for shown in ((), None)
        )
        groups.setdefault((short, reason), set()).add(full)
    for (short, reason), full in groups.items():
        yield f"{short} ({len(full)} combinations): {reason}" if len(full) > 1 else f"{full.pop()}: {reason}"


def _table(plan, costs):
    from rich.table import Table

    from rrmbench.config import is_deterministic
    from rrmbench.keys import keys
    from rrmbench.report import naming

    table = Table("#", "problem", "method", "seed", box=None, title=plan.name, title_justify="left")
    table.add_column("estimate", no_wrap=True)
    several = len({spec["seed"] for spec in plan.runs}) > 1
    for number, (spec, (seconds, _)) in enumerate(zip(plan.runs, costs, strict=True), 1):
        names = keys(spec)
        seed = "deterministic: once" if several and is_deterministic(spec) else str(spec["seed"])
        cells = (str(number), naming.problem(names), naming.method(names), seed, _seconds(seconds))
        table.add_row(*map(plain, cells))  # texts of the file are no markup
    return table


def _closing(costs, references, jobs):
    """Yield the total, what it rests on, and what the reference optima may add."""
    total = sum(seconds for seconds, _ in costs)
    measured = sum(here for _, here in costs)
    cores = min(jobs, physical_cores())  # more runs at a time only share them
    at_once = f", {_seconds(total / cores)} with {jobs} at a time" if jobs > 1 and not math.isnan(total) else ""
    unknown = "; some data are not here or some methods were never measured: their cost is unknown"
    runs = f"{len(costs)} run{'s' * (len(costs) != 1)}"
    yield f"{runs}, about {_seconds(total)} of one core{at_once}{unknown if math.isnan(total) else ''}"
    basis = "all" if measured == len(costs) else f"{measured} of {len(costs)}" if measured else "none"
    yield f"estimates: {basis} from runs of their kind on this machine" + (
        "" if measured == len(costs) else f", {'the others' if measured else 'all'} from others and may be far off"
    )
    count, seconds = references or (0, 0.0)
    if seconds > 0.0:
        problems = f"{count} problem{'s' * (count != 1)}"
        yield f"reference optima of {problems}: up to {_seconds(seconds)} more where the runs leave them open"


class _Estimates:
    """The expected seconds of specs; data are prepared once."""

    def __init__(self):
        self.rates, self.prepared = Rates.here(), {}

    def of(self, specs):
        """[(seconds or NaN, whether they come from measurements on this machine)]."""
        return self.rates.batch(specs, [self._entries_of(spec) for spec in specs])

    def references(self, plan):
        """(number of problems, seconds of their extra runs), or None where none is to be made."""
        from rrmbench.bench import identity, reference

        if plan.reference is None:
            return None
        problems = {identity.problem_key(spec): spec for spec in plan.runs}
        extra = []
        for spec in problems.values():
            entries = self._entries_of(spec)
            first, *_ = reference.specs(spec, plan.reference["seconds"], entries=entries or 0)
            extra.append((spec, first, entries))
        return len(problems), self.rates.referring(extra)

    def dimensions(self, spec):
        """(samples, features, outputs) of the data of a spec, None where they would have to be downloaded."""
        prepared = self._prepared(spec)
        return prepared and prepared.dimensions

    def _entries_of(self, spec):
        prepared = self._prepared(spec)
        return prepared and entries_of(prepared)

    def _prepared(self, spec):
        from rrmbench import data
        from rrmbench.bench import identity

        key = identity.canonical([spec["dataset"], spec["loss"]])
        if key not in self.prepared:
            self.prepared[key] = identity.data_of(spec) if data.is_here(spec["dataset"]) else None
        return self.prepared[key]


def _seconds(value):
    from rrmbench.report.display import duration

    return "?" if math.isnan(value) else duration(value)
