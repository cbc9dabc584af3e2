"""The bar of a run in this process."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from rrmbench.bench.guarded import Guarded
from rrmbench.bench.rules import Row, StopRule

PATIENCE = 2.0  # seconds without a progress bar


def with_bar(trace: Iterable[Row], name: str, stop: StopRule, progress: bool | None) -> Iterator[Row]:
    """The rows of a trace, with a bar that is drawn between them, while the clock stands."""
    if progress is None:
        progress = sys.stderr.isatty() or "ipykernel" in sys.modules
    with closing(Guarded(_Bar(name, stop) if progress else None)) as bar:
        for row in trace:
            bar.row(row)
            yield row


class _Bar:
    """A bar of passes, which is there after `PATIENCE` seconds."""

    def __init__(self, name: str, stop: StopRule) -> None:
        self.name, self.total = name, stop.passes if stop.passes < np.inf else None
        self.started = time.monotonic()
        self.bar: Any = None

    def row(self, row: Row) -> None:
        """The trace has a new row."""
        if self.bar is None and time.monotonic() - self.started > PATIENCE:
            self.bar = _bar()
            self.task = self.bar.add_task(self.name, total=self.total)
            self.bar.start()
        if self.bar is not None:
            done = 0.0 if np.isnan(row["passes"]) else row["passes"]
            self.bar.update(self.task, completed=done, description=f"{self.name}: gap {row['gap']:.1e}", refresh=True)

    def close(self) -> None:
        """The run is over."""
        if self.bar is not None:
            self.bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    # a thread that refreshes would take its time from the solver
    return Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
