"""What `run` shows while it works: live bars on a terminal, one plain line per finished run elsewhere, or JSON lines.

A display has the methods of `Plain`. Rows come from several threads at once.
"""

import threading
import time
from math import isnan

from rrmbench.keys import keys
from rrmbench.report import naming
from rrmbench.report.forecast import Forecast

REFRESH = 0.5  # seconds after which the time left is computed again
WORTH = 3.0  # seconds: a plain line says how long the rest takes if it is more


def progress_on(console, quiet):
    """Return the display for a rich console, which shows nothing but bad endings if `quiet`."""
    if quiet:
        return BadEndings(console)
    return Live(console) if console.is_terminal else Plain(console)


def console(**options):
    """Return a rich console on which ":100:" is a line of a file and no picture, and a reader that is gone an error."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self):
            raise  # rich would end the command

    return Plain(emoji=False, **options)


def _label(run, shown):
    names = keys(run.spec)
    parts = [naming.problem_difference(names, shown) if shown else naming.problem(names)]
    parts += [naming.method(names)] + ([f"seed {names['seed']}"] if shown is None or "seed" in shown else [])
    return ", ".join(part for part in parts if part)


def _at(row):
    """The passes or seconds and the gap of a trace point."""
    gap = "no certificate" if row["gap"] == float("inf") else f"gap {row['gap']:.1e}"
    spent = f"{row['seconds']:.3g} s" if isnan(row["passes"]) else f"{row['passes']:.4g} passes"
    return f"{gap} at {spent}"


def _ending(result):
    trace = result.trace
    if not result.points:
        return f"{result.status}: {result.reason}"
    passes, gap, seconds = (trace[name][-1] for name in ("passes", "gap", "seconds"))
    shown = "no certificate" if gap == float("inf") else "no finite P(w)" if isnan(gap) else f"gap {gap:.1e}"
    tail = "" if result.status == "done" else f" ({result.reason})"
    spent = f"{seconds:.3g} s" if isnan(passes) else f"{passes:.4g} passes, {seconds:.3g} s"
    return f"{result.status}: {shown} after {spent}{tail}"


def duration(seconds):
    """Seconds as people say them: 8 s, 3 min, 2.5 h."""
    if seconds < 99.5:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.2g} h"


class Plain:
    """One line per finished run."""

    def __init__(self, console):
        self.console, self.shown = console, None
        self.total = self.finished = 0
        self.forecast, self.lock = None, threading.Lock()

    def begin(self, runs, what, expected=None):
        """Announce a batch of runs; expected: `rrmbench.bench.rates.Expected` of them, or None."""
        self.total, self.finished = len(runs), 0
        self.shown = set(naming.varying(keys(run.spec) for run in runs)) or None
        if expected is not None:
            self.forecast = Forecast(**vars(expected))
        self.announce(what)

    def announce(self, what):
        """Show that the batch called `what` begins."""
        left = self.forecast.left() if self.forecast else 0.0
        more = f", about {duration(left)}" if left >= WORTH else ""
        self._print(f"{what}: {self.total} run{'s' * (self.total != 1)}{more}")

    def start(self, run):
        """A run starts."""
        if self.forecast:
            with self.lock:
                self.forecast.start(run.run)

    def row(self, run, row):
        """A run has a new trace point."""
        if self.forecast:
            with self.lock:
                self.forecast.row(run.run, row, run.spec["stop"])

    def end(self, run, result):
        """A run is over and stored."""
        self.finished += 1
        left = 0.0
        if self.forecast:
            with self.lock:
                self.forecast.end(run.run)
                left = self.forecast.left()
        tail = f"  (about {duration(left)} left)" if left >= WORTH and self.finished < self.total else ""
        self._print(f"[{self.finished}/{self.total}] {_label(run, self.shown)}: {_ending(result)}{tail}")

    def close(self):
        """Nothing is left to show."""

    def _print(self, text):
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


class BadEndings(Plain):
    """One line per run that is not done in the end."""

    def begin(self, runs, what, expected=None):
        super().begin(runs, what)  # nobody sees the time left

    def announce(self, what):
        """Nothing is shown of a beginning."""

    def end(self, run, result):
        if result.status != "done":
            self._print(f"{_label(run, self.shown)}: {_ending(result)}")


class Live(Plain):
    """A bar over all runs with the time left, and a line for each that is under way; finished runs scroll by above."""

    def __init__(self, console):
        super().__init__(console)
        self.bars = None
        self.lines = {}
        self.drawing = threading.Lock()

    def begin(self, runs, what, expected=None):
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self.close()
        super().begin(runs, what, expected)
        self.bars = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[note]}", markup=False, table_column=Column(no_wrap=True, justify="right")),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            expand=True,
        )
        self.overall = self.bars.add_task(what, total=len(runs), note=self._overall())
        self.bars.start()
        threading.Thread(target=self._keep_time, args=(self.bars,), daemon=True).start()

    def _overall(self):
        if not self.forecast:
            return f"{self.finished}/{self.total}"
        with self.lock:
            return f"{self.finished}/{self.total}, about {duration(self.forecast.left())} left"

    def _keep_time(self, bars):
        """Show the time left again and again until the bars are closed."""
        while not bars.finished and self.bars is bars:
            bars.update(self.overall, note=self._overall())
            time.sleep(REFRESH)

    def start(self, run):
        super().start(run)
        with self.drawing:
            total = run.spec["stop"].get("passes")
            self.lines[run.run] = self.bars.add_task(_label(run, self.shown), total=total, note="starting")

    def row(self, run, row):
        super().row(run, row)
        known = {} if isnan(row["passes"]) else {"completed": round(row["passes"])}
        self.bars.update(self.lines[run.run], note=_at(row), **known)

    def end(self, run, result):
        super().end(run, result)
        with self.drawing:
            self.bars.remove_task(self.lines.pop(run.run))
        self.bars.advance(self.overall)

    def close(self):
        bars, self.bars = self.bars, None
        if bars is not None:
            bars.stop()
