"""Results beside those of the same runs executed again, by somebody else say.

Of the points of a trace before the last no w and no b are kept, so that `verify` cannot recompute them, and times are
measurements. Another execution has them all: the same bits on the same machine with the same code and versions, and to
rounding elsewhere.
"""

import math
from dataclasses import dataclass

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
    if path.resolve() == other.resolve():
        raise RrmbenchError(f"{other}: found the folder itself, needed is one of the same runs executed again")
    here, there = _by_spec(path), _by_spec(other)
    if here.keys().isdisjoint(there):
        raise RrmbenchError(f"{other}: no run there is one of {path}, executed again")
    found = [_compared(run, there[key]) if key in there else _alone(run, path) for key, run in here.items()]
    return found + [_alone(run, other) for key, run in there.items() if key not in here]


def _by_spec(path):
    """(spec, checksum of its data) -> StoredRun of all experiments at a path."""
    found = [run for experiment in readable(path) for run in runs_of(experiment, referred=False)]
    return {(run.result.spec_id, run.result.data): run for run in found}


def _alone(run, path):
    return Rerun(naming.run(run.keys), "alone", f"it is in {path} only")


def _compared(run, again):
    ours, theirs, label = run.result, again.result, naming.run(run.keys)
    timed = "seconds" in (ours.reason, theirs.reason)  # the clock ends it at another point each time
    points = min(ours.points, theirs.points)
    ratio = math.nan
    if points and theirs.trace["seconds"][points - 1] > 0.0:
        ratio = float(ours.trace["seconds"][points - 1] / theirs.trace["seconds"][points - 1])
    if not timed and (ours.status, ours.points) != (theirs.status, theirs.points):
        ends = (f"{result.status} with {result.points} points" for result in (ours, theirs))
        return Rerun(label, "OTHER", ", again ".join(ends), ratio)
    compared = points - 1 if timed else points  # evaluation spends more on a last point
    if _bits(ours, compared) == _bits(theirs, compared):
        if not timed and ours.info.get("helped") != theirs.info.get("helped"):
            return Rerun(
                label, "OTHER", "the points whose bound is one of evaluation (`helped`) are not the same", ratio
            )
        return Rerun(label, "same", f"{compared} points", ratio)
    why, apart = _difference(ours.trace, theirs.trace, compared)
    if ours.code == theirs.code and ours.info.get("environment") == theirs.info.get("environment"):
        why = why or f"P is up to {apart:.1e} P(0) apart, where one machine gives the same bits"
        return Rerun(label, "OTHER", why, ratio)
    if why:
        return Rerun(label, "OTHER", f"{why} (of other code, machines or versions)", ratio)
    return Rerun(label, "near", f"{compared} points, P is up to {apart:.1e} P(0) apart", ratio)


def _bits(result, points):
    """All that is no time of the first points."""
    return {name: column[:points].tobytes() for name, column in result.trace.items() if name not in TIMING}


def _difference(ours, theirs, points):
    """(what is not the same to rounding, or None; the greatest |P - P'| over |P(0)|)."""
    scale, greatest = abs(float(theirs["primal"][0])) if points else 1.0, 0.0
    names = [name for name in theirs if name not in (*TIMING, "gap")]
    if missing := sorted(set(ours) ^ set(theirs)):
        return f"{missing[0]} is there once only", greatest
    for at in range(points):
        for name in names:
            here, there = float(ours[name][at]), float(theirs[name][at])
            apart = 0.0 if here == there or (math.isnan(here) and math.isnan(there)) else abs(here - there)
            if name == "primal":
                greatest = max(greatest, apart / (scale or 1.0))
            unit, allowed = {"primal": (scale, NEAR), "dual": (scale, NEAR)}.get(name, (1.0 + abs(there), 0.0))
            allowed = PASSES if name in ("passes", "checks") else allowed or FEW
            if not apart <= allowed * (unit or 1.0):
                when = f"at point {at + 1}, after {theirs['passes'][at]:g} passes,"
                return f"{name} {when} is {here:.10g}, again {there:.10g}", greatest
    return None, greatest
