"""How long the runs that are left will take: by estimates, and by what the finished and the running ones have taken."""

import math
import time
from collections import defaultdict

TRUST = 0.2  # the fraction of a run from which on its own pace says how long it takes
UNKNOWN = 1.0  # seconds of a run of which nothing is known


class Forecast:
    """The seconds left of a batch of runs, `jobs` at a time.

    seconds : {run id: estimate}, NaN where there is none
    methods : {run id: a name}; what one run of a method took beside its estimate is expected of the others
    after : seconds that are expected to follow the batch
    """

    def __init__(self, seconds, methods, jobs, after=0.0, clock=time.monotonic):
        known = [value for value in seconds.values() if math.isfinite(value)]
        self.mean = sum(known) / len(known) if known else UNKNOWN
        self.estimates = {run: value if math.isfinite(value) else self.mean for run, value in seconds.items()}
        self.methods, self.jobs, self.after, self.clock = methods, max(jobs, 1), after, clock
        self.running = {}
        self._waiting, self._spent, self._expected = (defaultdict(float) for _ in range(3))  # by method; None: all
        for run, value in self.estimates.items():
            self._waiting[methods[run]] += value

    def start(self, run):
        """A run starts."""
        self._waiting[self.methods[run]] -= self.estimates[run]
        self.running[run] = _Pace(self.clock())

    def row(self, run, row, stop):
        """A run has a new trace point; `stop` are its rules."""
        if run in self.running:
            self.running[run].take(row, stop, self.clock())

    def end(self, run):
        """A run is over."""
        pace = self.running.pop(run, None)
        if pace is not None:
            for name in (None, self.methods[run]):
                self._spent[name] += self.clock() - pace.began
                self._expected[name] += self.estimates[run]

    def left(self):
        """The seconds that are left."""
        now, parts = self.clock(), []
        for run, pace in self.running.items():
            total = pace.total(self.estimates[run] * self._factor(self.methods[run]), now)
            parts.append(max(total - (now - pace.began), 0.0))
        waiting = sum(seconds * self._factor(method) for method, seconds in self._waiting.items() if seconds > 0.0)
        return max((sum(parts) + waiting) / self.jobs, *parts, 0.0) + self.after / self.jobs

    def _factor(self, method):
        """What the finished runs took beside their estimates, those of this method above all."""
        factor = 1.0
        for name in (None, method):
            factor = (self._spent[name] + factor * self.mean) / (self._expected[name] + self.mean)
        return factor


class _Pace:
    """How far a run has come, by whichever of its rules is nearest."""

    def __init__(self, began):
        self.began, self.first, self.fraction, self.gap = began, None, 0.0, None

    def take(self, row, stop, now):
        if self.first is None:
            self.first, self.gap, self.primal = now, row["gap"], row["primal"]
        self.fraction = max(self.fraction, *(done for done in self._fractions(row, stop) if not math.isnan(done)), 0.0)

    def _fractions(self, row, stop):
        for rule in ("passes", "seconds"):
            yield row[rule] / stop[rule] if rule in stop else 0.0
        targets = [stop["gap"]] if "gap" in stop else []
        targets += [stop["relative_gap"] * abs(self.primal)] if "relative_gap" in stop else []
        for target in targets:
            if 0.0 < target < self.gap < math.inf and row["gap"] > 0.0:
                yield math.log(self.gap / row["gap"]) / math.log(self.gap / target)

    def total(self, estimate, now):
        """The seconds from the start to the end: the estimate at first, its own pace later."""
        if self.first is None or self.fraction <= 0.0:
            return max(estimate, now - self.began)
        own = self.first - self.began + (now - self.first) / min(self.fraction, 1.0)
        weight = min(self.fraction / TRUST, 1.0)
        return (1.0 - weight) * estimate + weight * own
