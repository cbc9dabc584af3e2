"""`run --json`: what happens, as one JSON object per line on stdout, and nothing else there.

docs/running.md has the schema: each method of `Events` writes one kind of event.
"""

import json
import threading
import time
from collections import Counter

from rrmbench.keys import keys
from rrmbench.report import naming
from rrmbench.report.forecast import Forecast
from rrmbench.report.plain import finite


class Events:
    """Writes events to a text stream; a display as in `rrmbench.report.display`."""

    def __init__(self, stream, clock=time.monotonic):
        self.stream, self.clock, self.began = stream, clock, clock()
        self.forecast, self.total, self.finished = None, 0, 0
        self.lock = threading.RLock()

    def emit(self, event, **facts):
        """Write one event."""
        line = {"event": event, "time": round(self.clock() - self.began, 6)} | facts
        with self.lock:
            self.stream.write(json.dumps(finite(line), allow_nan=False) + "\n")
            self.stream.flush()

    def skipped(self, experiment, spec, reason):
        """A combination is not run."""
        self.emit("skipped", experiment=experiment, **_names(spec), reason=reason)

    def planned(self, experiment, spec, seconds):
        """A run of a dry run."""
        self.emit("planned", experiment=experiment, **_names(spec), estimate=seconds)

    def begin(self, runs, what, expected=None):
        """A batch of runs begins."""
        self.total, self.finished, self.forecast = len(runs), 0, None
        if expected is not None:
            self.forecast = Forecast(**vars(expected), clock=self.clock)
        self.emit("begin", batch=what, runs=len(runs), estimate=self._left())

    def start(self, run):
        """A run starts."""
        with self.lock:
            if self.forecast:
                self.forecast.start(run.run)
            self.emit("start", run=run.run, **_names(run.spec), spec=run.spec, left=self._left())

    def row(self, run, row):
        """A run has a new trace point."""
        with self.lock:
            if self.forecast:
                self.forecast.row(run.run, row, run.spec["stop"])
            self.emit("row", run=run.run, **row)

    def end(self, run, result):
        """A run is over and stored."""
        with self.lock:
            if self.forecast:
                self.forecast.end(run.run)
            self.finished += 1
            last = {name: result.trace[name][-1] if result.points else None for name in ("passes", "seconds", "gap")}
            about = {"status": result.status, "reason": result.reason, "points": result.points} | last
            self.emit("end", run=run.run, **about, finished=self.finished, runs=self.total, left=self._left())

    def summary(self, experiment, report):
        """An experiment is over."""
        self.emit(
            "summary",
            experiment=experiment,
            directory=str(report.directory),
            ok=report.ok,
            interrupted=report.interrupted,
            kept=report.kept,
            older=report.older,
            lost=report.lost,
            statuses=dict(Counter(report.statuses.values())),
        )

    def close(self):
        """Nothing is left to show."""

    def _left(self):
        return self.forecast.left() if self.forecast else None


def _names(spec):
    names = keys(spec)
    return {"problem": naming.problem(names), "method": naming.method(names), "seed": names["seed"]}
