"""How long the runs that are left will take: by estimates, and by what the finished and the running ones have taken."""

import math
import time
from collections import defaultdict
from typing import NamedTuple

TRUST = 0.2  # the fraction of a run from which on its own pace says how long it takes
PRIOR = 0.25  # the weight of what was known before beside that of one run
LATE = 0.25  # of the time that a run has taken without a point of its trace, what it takes at least
MEASURED = 0.1  # of the seconds of a batch: what outweighs estimates that were measured
UNKNOWN = 1.0  # seconds of a run of which nothing is known


class Sum(NamedTuple):
    """Of runs: how many, what they took, and what was expected of them."""

    count: float = 0.0
    spent: float = 0.0
    expected: float = 0.0

    def plus(self, weight, spent, expected):
        """The Sum with one more run of this weight."""
        return Sum(self.count + weight, self.spent + weight * spent, self.expected + weight * expected)

    def factor(self, before, mass=0.0):
        """What runs take beside what is expected of them, `before` being what was known without these.

        mass : seconds of expectation that stand behind `before`, at least those of PRIOR runs
        """
        if self.count == 0.0 or self.spent <= 0.0:
            return before
        mass += PRIOR * min(self.spent / before, self.expected) / self.count
        return (self.spent + before * mass) / (self.expected + mass)


class Forecast:
    """The seconds left of a batch of runs, `jobs` at a time.

    seconds : {run id: estimate}, NaN where there is none
    methods : {run id: a name}; what one run of a method took beside its estimate is expected of the others
    after : seconds that are expected to follow the batch
    measured : the part of the estimates that rests on measurements of this machine
    """

    def __init__(self, seconds, methods, jobs, after=0.0, measured=0.0, clock=time.monotonic):
        known = [value for value in seconds.values() if math.isfinite(value)]
        mean = sum(known) / len(known) if known else UNKNOWN
        self.estimates = {run: value if math.isfinite(value) else mean for run, value in seconds.items()}
        self.methods, self.jobs, self.after, self.clock = methods, max(jobs, 1), after, clock
        self.mass = MEASURED * measured * sum(self.estimates.values())
        self.running = {}
        self._all, self._of = Sum(), defaultdict(Sum)  # of the finished runs, and of those of each method
        self._waiting = defaultdict(dict)  # method -> {run: estimate}
        for run, value in self.estimates.items():
            self._waiting[methods[run]][run] = value
        self._left = {method: sum(runs.values()) for method, runs in self._waiting.items()}

    def start(self, run):
        """A run starts."""
        waiting = self._waiting[self.methods[run]]
        if waiting.pop(run, None) is not None:
            self._left[self.methods[run]] -= self.estimates[run] if waiting else self._left[self.methods[run]]
        self.running[run] = _Pace(self.clock())

    def row(self, run, row, stop):
        """A run has a new trace point; `stop` are its rules."""
        if run in self.running:
            self.running[run].take(row, stop, self.clock())

    def end(self, run):
        """A run is over."""
        pace = self.running.pop(run, None)
        if pace is not None:
            done = 1.0, self.clock() - pace.began - pace.excess(self.estimates[run]), self.estimates[run]
            self._all = self._all.plus(*done)
            self._of[self.methods[run]] = self._of[self.methods[run]].plus(*done)

    def left(self):
        """The seconds that are left."""
        now, every, of = self.clock(), self._all, {}
        finished = every.factor(1.0, self.mass)
        for run, pace in self.running.items():  # what they have shown so far counts, too
            method = self.methods[run]
            weight = pace.weight(now, self.estimates[run] * self._of[method].factor(finished))
            shown = weight, pace.total(now) - pace.excess(self.estimates[run]), self.estimates[run]
            every, of[method] = every.plus(*shown), of.get(method, self._of[method]).plus(*shown)
        common = every.factor(1.0, self.mass)

        def factor(method):
            return of.get(method, self._of[method]).factor(common)

        parts = []
        for run, pace in self.running.items():
            expected = self.estimates[run] * factor(self.methods[run])
            own = min(pace.fraction / TRUST, 1.0)
            total = own * pace.total(now) + (1.0 - own) * expected
            late = 0.0 if pace.fraction else LATE * (now - pace.began)
            parts.append(max(total - (now - pace.began), late))
        waiting = sum(seconds * factor(method) for method, seconds in self._left.items() if seconds > 0.0)
        return max((sum(parts) + waiting) / self.jobs, *parts, 0.0) + self.after / self.jobs


class _Pace:
    """How far a run has come, by whichever of its rules is nearest."""

    def __init__(self, began):
        self.began, self.first, self.fraction, self.gap = began, None, 0.0, None

    def weight(self, now, expected):
        """How much it says of others: by its own pace, or by being late, beside what finished runs let expect.

        Nothing before its first point: it may compile what they will not.
        """
        if self.first is None:
            return 0.0
        return min(max(self.fraction / TRUST, (now - self.first) / expected - 1.0), 1.0)

    def excess(self, expected):
        """The seconds before the first point beyond those that all of the run was expected to take."""
        return 0.0 if self.first is None else max(self.first - self.began - expected, 0.0)

    def take(self, row, stop, now):
        """Take a trace point into account."""
        if self.first is None:
            self.first, self.gap, self.primal = now, row["gap"], row["primal"]
        self.last = now
        self.fraction = max(self.fraction, *(done for done in self._fractions(row, stop) if not math.isnan(done)), 0.0)

    def _fractions(self, row, stop):
        for rule in ("passes", "seconds"):
            yield min(row[rule] / stop[rule], 1.0) if rule in stop else 0.0
        targets = [stop["gap"]] if "gap" in stop else []
        targets += [stop["relative_gap"] * abs(self.primal)] if "relative_gap" in stop else []
        for target in targets:
            if 0.0 < target < self.gap < math.inf and 0.0 < row["gap"] < math.inf:
                come = math.log(self.gap) - math.log(row["gap"])
                yield min(come / (math.log(self.gap) - math.log(target)), 1.0)

    def total(self, now):
        """The seconds from the start to the end at its own pace; those spent where there is no pace yet."""
        if self.first is None or self.fraction <= 0.0:
            return now - self.began
        own = self.first - self.began + (self.last - self.first) / self.fraction
        return max(own, now - self.began)
