"""Results beside those of the same runs executed again, by somebody else say.

Of the points of a trace before the last no w and no b are kept, so that `verify` cannot recompute them, and times are
measurements. Another execution has them all: the same bits on the same machine with the same code and versions, and to
rounding elsewhere.
"""

import math
from dataclasses import dataclass

import numpy as np

from rrmbench.bench.merging import TIMING
from rrmbench.errors import RrmbenchError
from rrmbench.report import naming
from rrmbench.report.results import readable, runs_of

NEAR = 1e-6  # of |P| at the start: what rounding is allowed to grow to on the way
PASSES = 1e-9  # by which counts of one point may differ
FEW = 0.01  # the share of numbers that are not 0, or of wrong labels, that rounding may change


@dataclass(frozen=True)
class Rerun:
    """A run beside its other execution.

    state : "same" to the last bit; "near", to rounding; "OTHER" numbers; "alone", executed once
    ratio : its seconds at the last point that both have over those of the other execution, NaN if it has none
    """

    label: str
    state: str
    why: str = ""
    ratio: float = math.nan

    @property
    def ok(self):
        return self.state in ("same", "near")


def reruns(path, other):
    """The list of a Rerun for each run at `path` or `other`, folders of results; RrmbenchError if they share none."""
    ours, theirs = readable(path), readable(other)
    if both := sorted(_folders(ours) & _folders(theirs)):
        found = "the folder itself" if path.resolve() == other.resolve() else f"{both[0]}, which is at {path} too"
        raise RrmbenchError(f"{other}: found {found}, needed is one of the same runs executed again")
    here, there = _by_spec(ours), _by_spec(theirs)
    if here.keys().isdisjoint(there):
        raise RrmbenchError(f"{other}: no run there is one of {path}, executed again")
    found = [_compared(run, there[key]) if key in there else _alone(run, path) for key, run in here.items()]
    return found + [_alone(run, other) for key, run in there.items() if key not in here]


def _folders(experiments):
    return {experiment.directory.resolve() for experiment in experiments}


def _by_spec(experiments):
    """(spec, checksum of its data) -> StoredRun of all experiments."""
    found = [run for experiment in experiments for run in runs_of(experiment, referred=False)]
    return {(run.result.spec_id, run.result.data): run for run in found}


def _alone(run, path):
    return Rerun(naming.run(run.keys), "alone", f"it is in {path} only")


def _compared(run, again):
    ours, theirs = run.result, again.result
    timed = "seconds" in (ours.reason, theirs.reason)  # the clock ends it at another point each time
    points = min(ours.points, theirs.points) - timed  # evaluation spends more on a last point
    state, why = _found(ours, theirs, points, timed)
    return Rerun(naming.run(run.keys), state, why, _ratio(ours, theirs, points))


def _ratio(ours, theirs, points):
    """The seconds of our first points over theirs."""
    if points < 1 or not all("seconds" in result.trace for result in (ours, theirs)):
        return math.nan
    here, there = (float(result.trace["seconds"][points - 1]) for result in (ours, theirs))
    return here / there if there > 0.0 else math.nan


def _found(ours, theirs, points, timed):
    """(state, why) of a Rerun of two results, whose first points are compared."""
    if not timed and (ours.status, ours.points) != (theirs.status, theirs.points):
        return "OTHER", ", again ".join(f"{result.status} with {result.points} points" for result in (ours, theirs))
    if once := sorted(ours.trace.keys() ^ theirs.trace.keys()):
        return "OTHER", f"only one of the two traces has {', '.join(once)}"
    if _bits(ours, points) == _bits(theirs, points):
        if not timed and ours.info.get("helped") != theirs.info.get("helped"):
            return "OTHER", "the points whose bound is one of evaluation (`helped`) are not the same"
        return "same", f"{points} points"
    why, apart = _difference(ours.trace, theirs.trace, points)
    if ours.code == theirs.code and ours.info.get("environment") == theirs.info.get("environment"):
        return "OTHER", why or f"P is up to {apart:.1e} P(0) apart, where one machine gives the same bits"
    if why:
        return "OTHER", f"{why} (of other code, machines or versions)"
    return "near", f"{points} points, P is up to {apart:.1e} P(0) apart"


def _bits(result, points):
    """All that is no time of the first points."""
    return {name: column[:points].tobytes() for name, column in result.trace.items() if name not in TIMING}


def _difference(ours, theirs, points):
    """(the first number that is not the same to rounding, in words, or None; the greatest |P - P'| over |P(0)|)."""
    start = abs(float(theirs["primal"][0])) or 1.0
    with np.errstate(invalid="ignore"):  # of two that diverged
        apart = np.nanmax(np.abs(ours["primal"][:points] - theirs["primal"][:points]), initial=0.0) / start
    for at in range(points):
        for name in theirs:
            here, there = float(ours[name][at]), float(theirs[name][at])
            if not (
                here == there
                or (math.isnan(here) and math.isnan(there))
                or abs(here - there) <= _allowed(name, there, start)
            ):
                after = f"at point {at + 1}, after {theirs['passes'][at]:g} passes,"
                return f"{name} {after} is {here:.10g}, again {there:.10g}", apart
    return None, apart


def _allowed(name, value, start):
    """By how much a number may differ from `value` of another machine; start is |P(0)|."""
    if name in TIMING:
        return math.inf
    if name in ("primal", "dual", "gap"):
        return NEAR * start
    return (PASSES if name in ("passes", "checks") else FEW) * (1.0 + abs(value))
