"""What `run` shows while it works: live bars on a terminal, one plain line per finished run elsewhere."""

import threading
from math import isnan

from rrmbench.report import naming
from rrmbench.report.results import keys


def progress_on(console, quiet):
    """Return the display for a rich console, or None if `quiet`."""
    if quiet:
        return None
    return Live(console) if console.is_terminal else Plain(console)


def _label(run, shown):
    names = keys(run.spec)
    wanted = None if shown is None else shown
    parts = [naming.problem_difference(names, wanted) if wanted else naming.problem(names)]
    parts += [naming.method(names)] + ([f"seed {names['seed']}"] if wanted is None or "seed" in wanted else [])
    return ", ".join(part for part in parts if part)


def _ending(result):
    trace = result.trace
    if not result.points:
        return f"{result.status}: {result.reason}"
    passes, gap, seconds = (trace[name][-1] for name in ("passes", "gap", "seconds"))
    shown = "no certificate" if gap == float("inf") else f"gap {gap:.1e}"
    tail = "" if result.status == "done" else f" ({result.reason})"
    spent = f"{seconds:.3g} s" if isnan(passes) else f"{passes:.4g} passes, {seconds:.3g} s"
    return f"{result.status}: {shown} after {spent}{tail}"


class Plain:
    """One line per finished run."""

    def __init__(self, console):
        self.console, self.shown = console, None
        self.total = self.finished = 0

    def begin(self, runs, what):
        """Announce a batch of runs."""
        self.total, self.finished = len(runs), 0
        self.shown = set(naming.varying(keys(run.spec) for run in runs)) or None
        self._print(f"{what}: {len(runs)} runs" if len(runs) != 1 else f"{what}: 1 run")

    def start(self, run):
        """A run starts."""

    def row(self, run, row):
        """A run has a new trace point."""

    def end(self, run, result):
        """A run is over and stored."""
        self.finished += 1
        self._print(f"[{self.finished}/{self.total}] {_label(run, self.shown)}: {_ending(result)}")

    def close(self):
        """Nothing is left to show."""

    def _print(self, text):
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


class Live(Plain):
    """A bar over all runs and a line for each that is under way; finished runs scroll by above."""

    def __init__(self, console):
        super().__init__(console)
        self.bars = None
        self.lines = {}
        self.lock = threading.Lock()

    def begin(self, runs, what):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self.close()
        super().begin(runs, what)
        self.bars = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            expand=True,
        )
        self.overall = self.bars.add_task(what, total=len(runs))
        self.bars.start()

    def start(self, run):
        with self.lock:
            total = run.spec["stop"].get("passes")
            self.lines[run.run] = self.bars.add_task(_label(run, self.shown), total=total)

    def row(self, run, row):
        if not isnan(row["passes"]):  # another library's, which nobody counts
            self.bars.update(self.lines[run.run], completed=round(row["passes"]))

    def end(self, run, result):
        super().end(run, result)
        with self.lock:
            self.bars.remove_task(self.lines.pop(run.run))
        self.bars.advance(self.overall)

    def close(self):
        if self.bars is not None:
            self.bars.stop()
            self.bars = None
