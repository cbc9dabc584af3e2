"""Reading results: the runs below a directory, as objects from which the other readers (show, check, plots) start."""

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rrmbench.bench.rules import ROUNDING
from rrmbench.bench.store import Experiment, Result, UnreadableFile, experiments
from rrmbench.errors import RrmbenchError, RrmbenchWarning
from rrmbench.keys import keys, line, nested
from rrmbench.kinds import COMPONENTS
from rrmbench.report import origins
from rrmbench.report.snapshot import Snapshot

LEVELS = tuple(float(f"1e-{k}") for k in range(2, 9))  # the gaps that show and check report passes to


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A stored run as readers see it: its keys (`dataset`, `regularizer.strength`, ...) and its columns.

    tuned : those of the keys whose values are a grid of `tune`
    """

    experiment: str
    result: Result
    keys: dict
    reference: dict | None
    tuned: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        return self.result.status

    def column(self, name: str) -> np.ndarray:
        """Return one measured quantity at every trace point, (points,); all NaN where it was not measured.

        Beside the trace's own columns: `objective` (primal), `work` (passes + checks), `suboptimality`. NaN is the gap,
        too, where P(w) was below D(b): the loss and the regularizer are no pair, so that no gap certifies anything.
        """
        trace = self.result.trace
        if name in ("dual", "gap") and self.result.info.get("contradiction"):
            return np.full(self.result.points, np.nan)
        if name == "objective":
            return self.column("primal")
        if name == "work":
            return self.column("passes") + self.column("checks")
        if name == "suboptimality":
            return suboptimality(self.column("primal"), self.reference)
        return trace[name] if name in trace else np.full(self.result.points, np.nan)

    def known(self, name: str) -> np.ndarray:
        """As `column`, of a gap or a suboptimality at least the rounding of P, and where it is less, that.

        A suboptimality that is empty, below the width of the reference, is known to be at most this width.
        """
        values, primal = self.column(name), self.column("primal")
        if name == "suboptimality":
            values = np.where(np.isnan(values) & np.isfinite(primal), width(self.reference), values)
        return np.maximum(values, ROUNDING * np.abs(primal))

    def lacks(self, name: str) -> bool:
        """Whether there are trace points, and the quantity was counted or measured at none."""
        return self.result.points > 0 and not np.isfinite(self.column(name)).any()

    @cached_property
    def is_called_anew(self) -> bool:
        """Whether each trace point is a call of its own, as of a black box, whose clock begins with the call."""
        return self.lacks("passes") or self.result.info.get("restarts") is True


def suboptimality(primal: np.ndarray, reference: dict | None) -> np.ndarray:
    """Return P(w) - D*, an upper bound on P(w) - P*, with D* the greatest dual value known for the problem.

    NaN where it is below the width P* - D* of the reference, where it says nothing any more, and everywhere
    if no dual bound is known.
    """
    if reference is None or not np.isfinite(reference["dual"]):
        return np.full(len(primal), np.nan)
    distance = primal - reference["dual"]
    return np.where(distance >= width(reference), distance, np.nan)


def width(reference: dict | None) -> float:
    """P* - D* of a reference, at least 0, below which no suboptimality is known; inf without a bound or a reference."""
    return max(reference["primal"] - reference["dual"], 0.0) if reference else math.inf


def points_to(values: np.ndarray, levels: Sequence[float] = LEVELS) -> list[int | None]:
    """Return, for each level, the index of the first trace point with a value at or below it, or None."""
    reached = np.asarray(values)[:, None] <= np.asarray(levels)
    return [int(column.argmax()) if column.any() else None for column in reached.T]


def readable(path: str | Path) -> list[Snapshot]:
    """Return the experiment at `path`, or of several those whose manifest can be read, and warn of the others.

    Raises RrmbenchError where that is none.
    """
    found = [Snapshot(experiment.directory) for experiment in experiments(path)]
    if len(found) == 1:
        return found
    read = []
    for experiment in found:
        try:
            experiment.manifest()
            read.append(experiment)
        except UnreadableFile as error:
            warnings.warn(f"{error}; its experiment is left out", RrmbenchWarning, stacklevel=2)
    if not read:
        raise RrmbenchError(f"{path}: no experiment in it can be read")
    return read


def runs_of(experiment: Experiment, referred: bool = True) -> list[StoredRun]:
    """Return the Runs of one experiment (newest result per spec), in the order of its manifest.

    Their keys tell apart all that differ in anything but the seed. referred : False leaves the references unread.
    """
    references, name = {}, line(experiment.name)
    tuned = {entry["spec_id"]: tuple(entry.get("tuned") or ()) for entry in experiment.manifest()["runs"]}
    found = []
    for result in experiment.results():
        if result.problem not in references:
            references[result.problem] = _reference_of(experiment, result.problem) if referred else None
        found.append(
            StoredRun(name, result, keys(result.spec), references[result.problem], tuned.get(result.spec_id, ()))
        )
    origins.tell_apart(found)
    return found


def _reference_of(experiment: Experiment, problem: str) -> dict | None:
    """The reference of a problem; None, with a warning, where its file is damaged."""
    try:
        return experiment.reference(problem)
    except UnreadableFile as error:
        warnings.warn(f"{error}; without it no suboptimality of its problem is known", RrmbenchWarning, stacklevel=2)
        return None


def plugins_of(path: str | Path) -> list[str]:
    """Return the plug-in files, absolute paths as text, that the results at `path` name and that exist."""
    found: dict[str | None, None] = {}
    for experiment in experiments(path):
        with suppress(UnreadableFile):  # of which the reader tells
            for result in experiment.results():
                for kind in COMPONENTS[1:]:
                    found.update((component.get("path"), None) for component in nested(result.spec.get(kind)))
    return [file for file in found if file and Path(file).is_file()]
