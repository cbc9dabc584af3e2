"""`run --timing`: seconds for publication, of repeated runs that have a core to themselves.

Each run is done several times, one at a time, in processes that are pinned to one core. All repeats must give the same
bits; the trace's seconds are the medians of the repeats at each point, beside their least and greatest.
"""

import os
from dataclasses import dataclass
from itertools import chain
from statistics import median

import numpy as np

from rrmbench.bench.children import Outcome
from rrmbench.bench.environment import governor, load, numba_settings
from rrmbench.bench.pinning import quiet_core
from rrmbench.bench.rows import Rows
from rrmbench.bench.rules import SPREAD, relative_spread
from rrmbench.bench.store import ENDED_BY_ITSELF, UnreadableFile
from rrmbench.columns import CLOCKS

REPEATS = 3


@dataclass(frozen=True)
class Timing:
    """How runs are timed: the number of repeats, and the core that they are pinned to, None where there are no pins."""

    repeats: int
    core: int | None

    @classmethod
    def of(cls, repeats):
        """The Timing on this machine."""
        return cls(repeats, quiet_core())

    def warnings(self):
        """Yield what makes seconds of this machine doubtful now."""
        average, cores, busy = load()
        if busy:
            yield f"the load average is {average:.2g} on {cores} cores: other work disturbs the clock"
        found = governor()
        if found not in (None, "performance"):
            yield f"the frequency governor is '{found}', not 'performance': the processor's speed varies"
        if changed := numba_settings():
            yield f"numba is set to {changed}: kernels may take many times as long"
        if self.core is None:
            yield "this system cannot pin a process to a core"


def repeated(once, timing):
    """The Outcome of `once(k)` for k = 1, ..., `timing.repeats`, or the first that has no result to repeat.

    A repeat that gives other numbers makes the run a failed one.
    """
    outcomes, loads = [], []
    for k in range(1, timing.repeats + 1):
        loads.append(os.getloadavg()[0])
        outcome = once(k)
        if outcome is None or outcome.status not in ENDED_BY_ITSELF:
            if outcome is not None and k > 1:
                outcome.reason = f"repeat {k} of {timing.repeats}: {outcome.reason}"
            return outcome
        outcomes.append(outcome)
        if wrong := _difference(outcomes[0], outcome):
            return _failed(outcome, f"repeat {k} gave other numbers than repeat 1: {wrong}")
    return _merged(outcomes, timing, loads)


def untimed(experiment, runs, repeats):
    """The ids of those of the stored runs (ids) that have fewer repeats, and so are to be run again."""
    found = set()
    for run in runs:
        try:
            result = experiment.read(run)
        except UnreadableFile:
            continue
        known = result.info.get("timing") or {}
        if result.status in ENDED_BY_ITSELF and known.get("repeats", 1) < repeats:
            found.add(run)
    return found


def _merged(outcomes, timing, loads):
    """One Outcome: the shortest repeat, where a rule of seconds makes them differ, with the median clock."""
    shortest = min(outcomes, key=lambda outcome: len(_repeatable(outcome)))
    rows, common = Rows(), len(_repeatable(shortest))
    for point, row in enumerate(shortest.rows):
        met = outcomes if point < common else [shortest]
        clocks = {name: [outcome.rows[point][name] for outcome in met] for name in CLOCKS}
        medians = {name: median(values) for name, values in clocks.items()}
        if met != outcomes and rows:  # the shortest may have waited, and so have taken less of the processor
            medians["cpu_seconds"] = max(medians["cpu_seconds"], rows[-1]["cpu_seconds"])
        rows.append(row | medians | dict(zip(SPREAD, (min(clocks["seconds"]), max(clocks["seconds"])), strict=True)))
    last = [outcome.rows[common - 1]["seconds"] for outcome in outcomes] if common else []
    units = chain(*(outcome.facts.get("yardstick_cpu_seconds", []) for outcome in outcomes))
    facts = shortest.facts | {
        "yardstick_cpu_seconds": list(units),
        "timing": {
            "repeats": timing.repeats,
            "pinned": timing.core,
            "seconds": last,
            "spread": relative_spread(median(last), min(last), max(last)) if last else 0.0,
            "load_averages": loads,
            "governor": governor(),
        },
    }
    concurrent = max(outcome.concurrent_runs for outcome in outcomes)
    wall = sum(outcome.wall_seconds for outcome in outcomes) / len(outcomes)
    return Outcome(shortest.status, shortest.reason, rows, facts, concurrent, wall)


def _repeatable(outcome):
    """The rows that are the same in every repeat: where the clock ended a run, its last iterate is the clock's."""
    return outcome.rows[:-1] if outcome.reason == "seconds" else outcome.rows


def _difference(first, other):
    """What differs between two repeats beside their clocks, in words, or None; "seconds" may end them elsewhere."""
    for point, (a, b) in enumerate(zip(_repeatable(first), _repeatable(other), strict=False)):
        for name in dict.fromkeys([*a, *b]):
            if name not in CLOCKS and not _same(a.get(name), b.get(name)):
                return f"{name} at point {point} is {b.get(name)!r}, was {a.get(name)!r}"
    if "seconds" in (first.reason, other.reason):
        return None
    if (first.status, first.reason, len(first.rows)) != (other.status, other.reason, len(other.rows)):
        ends = [f"{outcome.status} ({outcome.reason}) after {len(outcome.rows)} points" for outcome in (other, first)]
        return f"{ends[0]}, was {ends[1]}"
    for name in ("w", "b"):
        a, b = first.facts.get(name), other.facts.get(name)
        if (a is None) != (b is None) or (a is not None and not np.array_equal(a, b, equal_nan=True)):
            return f"the final {name}"
    return None


def _same(a, b):
    return a == b or (a is not None and b is not None and a != a and b != b)


def _failed(outcome, reason):
    return Outcome("failed", reason, outcome.rows, {}, outcome.concurrent_runs, outcome.wall_seconds)
