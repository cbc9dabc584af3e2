"""What a result says of itself, held against its own trace: no data and no mathematics are needed.

Passes, checks and seconds of single points are measurements, of which only order, finiteness and, of passes, the
distances that the run asked for can be checked, and P and D before the last point are numbers whose w and b are not
kept, of which only the side on which they lie; all else follows from other columns, from w and b, or from the rules of
the run.
"""

import math
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

from rrmbench.bench.bounds import bounds, size_of
from rrmbench.bench.rules import COLUMNS, OWN_ENDS, SPREAD, Schedule, StopRule, relative_spread
from rrmbench.bench.store import ENDED_BY_ITSELF
from rrmbench.columns import METRICS
from rrmbench.problem.certificate import BELOW, contradict
from rrmbench.report.levels import without_bounds

FAR = 1e3  # times the rounding of the final w and b, which that of the w of the least P may be


def faults(result):
    """Return, in words, what cannot be true of a Result, [] if nothing is."""
    return [*_identity(result), *_presence(result), *(_trace(result) if result.points else ())]


def contradictions(trace, primal, dual, size, rounding):
    """Return, in words, the values of a trace that lie on the wrong side of a true P(w) or D(b); either may be NaN.

    size, rounding : of P and D, as of `certificate.contradict`
    """
    if contradict(*bounds(trace), size, rounding):
        yield "P of the trace is below D"
    if any(contradict(value, dual, size, rounding) for value in trace["primal"]):
        yield "primal of the trace lies below D(b)"
    if any(contradict(primal, value, size, rounding) for value in trace["dual"]):
        yield "dual of the trace lies above P(w)"


def is_too_coarse(told, primal, size, rounding):
    """Whether the `rounding` that is told hides contradictions of P that neither the terms of P nor w and b explain.

    told : of the w of the least P, which the final w may be far from, and the b of the greatest D
    size, rounding : of P and D, as of `certificate.contradict`, of the final w and b
    """
    return told > FAR * rounding and contradict(primal, primal + told, size)


def _identity(result):
    if result.run.partition("-")[2] != result.code[:8]:
        yield "the run's name is not that of its code"
    if not _is_utc(result.created):
        yield "created is no date and time in UTC, as run writes it"


def _is_utc(text):
    """Whether a text is a time as `run` writes it: of two records the newer one is that with the greater text."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat() == text
    except ValueError:
        return False


def _presence(result):
    """Which arrays and columns there are, and marks of runs that failed."""
    for mark in ("contradiction", "other_code"):
        if result.info.get(mark) and result.status != "failed":
            yield f"{mark}, but {result.status}"
    if result.status in ENDED_BY_ITSELF:
        if not result.points:
            yield f"{result.status} without a trace point"
        if result.w is None:
            yield f"{result.status} without w"
    elif result.w is not None and not (result.status == "failed" and BELOW in result.reason):
        yield f"{result.status}, but with a final w"
    if result.points and (missing := [name for name in COLUMNS if name not in result.trace]):
        yield f"the trace has no {', '.join(missing)}"
    if more := sorted(result.trace.keys() - {*COLUMNS, *METRICS, *SPREAD}):
        yield f"the trace has {', '.join(more)}, which nothing is known of"


def _trace(result):
    trace = {name: result.trace.get(name, np.full(result.points, np.nan)) for name in (*COLUMNS, *METRICS)}
    trace |= {name: result.trace[name] for name in SPREAD if name in result.trace}
    primal, dual, last = trace["primal"], trace["dual"], slice(None, -1)
    if not np.array_equal(trace["gap"], _difference(primal, dual), equal_nan=True):
        yield "gap is not primal - dual"
    if np.isnan(dual).any() or np.any(dual == np.inf) or np.any(dual[1:] < dual[:-1]):
        yield "dual is no growing lower bound"
    if not np.isfinite(primal[last]).all() or (result.status != "diverged" and not np.isfinite(primal[-1])):
        yield "primal is not finite"
    if contradict(*bounds(trace), size_of(trace), result.info.get("rounding", 0.0)):
        yield "P is below D"
    yield from _counts(trace, result.info.get("restarts") is True)
    yield from _distances(result, trace["passes"])
    if result.w is not None and np.any(trace["nonzeros"] > np.size(result.w)):
        yield "nonzeros is more than the entries of w"
    yield from _measures(trace)
    yield from _help(result, trace)
    yield from _repeats(result, trace)
    yield from _ending(result, trace)


def _difference(primal, dual):
    with np.errstate(invalid="ignore"):
        return primal - dual


def _counts(trace, restarts):
    """Work and time: never less than before, and counted throughout or not at all.

    The clocks of a black box, and of a method that `restarts`, begin anew with the call that each point is of.
    """
    counted = not np.isnan(trace["passes"]).any()
    for name in "passes", "checks", "seconds", "cpu_seconds":
        column = trace[name]
        uncounted = name in ("passes", "checks") and np.isnan(column).all()
        if not uncounted and not (np.isfinite(column).all() and np.all(column >= 0.0)):
            yield f"{name} is not finite"
        elif counted and not (restarts and name.endswith("seconds")) and np.any(np.diff(column) < 0.0):
            yield f"{name} decreases"
    least, most = (trace.get(name, trace["seconds"]) for name in SPREAD)
    if not np.all((least <= trace["seconds"]) & (trace["seconds"] <= most)):
        yield "seconds is not between seconds_min and seconds_max"
    if np.isnan(trace["nonzeros"]).any():
        yield "nonzeros is no number"


def _distances(result, passes):
    """Points are as far apart as the run asked for, but for the last one, which whatever ends a run may bring."""
    schedule = Schedule(**result.spec.get("trace", {}))
    near = [b for a, b in pairwise(passes[:-1].tolist()) if b < schedule.after(a)]
    if near:
        yield f"the point at {near[0]:g} passes comes earlier than spec.trace says"


def _measures(trace):
    for name in METRICS:
        column = trace[name]
        if np.isnan(column[np.isfinite(trace["primal"])]).any() and not np.isnan(column).all():
            yield f"{name} is missing at some points"
        if np.any((column < 0.0) | np.isinf(column) | (column > (np.inf if name == "test_rmse" else 1.0))):
            yield f"{name} is out of its range"
    if not np.array_equal(trace["test_accuracy"], 1.0 - trace["test_error"], equal_nan=True):
        yield "test_accuracy is not 1 - test_error"


def _help(result, trace):
    """What is said of the points whose bound evaluation found: on it rests which gaps are upper bounds only, `≤`."""
    helped = result.info.get("helped", [])
    points = [point for point, _ in helped]
    if points != sorted({*points}) or any(point >= result.points for point in points):
        yield "helped has points that are not those of the trace, in their order"
        return
    if points and not result.info.get("evaluation_passes"):
        yield "helped has points, and evaluation_passes is 0"
    for point, without in without_bounds(helped).items():
        best = _difference(trace["primal"][point], trace["dual"][point - 1]) if point else math.inf
        if not trace["gap"][point] <= without <= best:
            yield f"helped says that the gap of point {point} would be {without}, which lies not between those there"


def _repeats(result, trace):
    """What `run --timing` says of its repeats, beside the columns that it adds."""
    timing, there = result.info.get("timing"), [name for name in SPREAD if name in trace]
    if (timing is not None) != (len(there) == len(SPREAD)) or len(there) == 1:
        yield "seconds_min and seconds_max are those of timing, one without the other"
        return
    if timing is None:
        return
    # where the clock ended it, the last point may be of one repeat, and they are compared at the point before
    compared = {-1, -1 - (result.reason == "seconds" and result.points > 1)}
    told = timing["spread"], *(f(timing["seconds"]) for f in (len, min, max) if timing.get("seconds"))
    for at in compared:
        median, least, most = (float(trace[name][at]) for name in ("seconds", *SPREAD))
        true = relative_spread(median, least, most), timing["repeats"], least, most
        if np.allclose(told, true[: len(told)], rtol=1e-9, atol=0.0):
            return
    yield "timing is not of so many repeats with the seconds of the trace"


def _ending(result, trace):
    """Status and reason must be those that the rules of the run give for the rows of its trace."""
    if result.status == "diverged":
        if math.isfinite(trace["primal"][-1]):
            yield "diverged, with a finite objective"
        if not result.reason.startswith(f"the objective is {trace['primal'][-1]} after "):
            yield f"diverged, because '{result.reason}'"
    if result.status != "done":
        return
    limits = result.spec.get("stop", {})
    stop = StopRule(**limits)
    rows = [
        dict(zip(trace, values, strict=True)) for values in zip(*map(np.ndarray.tolist, trace.values()), strict=True)
    ]
    *before, end = [stop.reached(row, rows[0]["primal"]) for row in rows]
    # what ended a run stays its reason where the last point's better bound meets a gap, too
    met = {name for name in limits if StopRule(**{name: limits[name]}).reached(rows[-1], rows[0]["primal"])}
    if result.reason not in met and (met & {"passes", "seconds"} or result.reason not in OWN_ENDS):
        yield f"done because of '{result.reason}', but the last point meets {end or 'no rule'}"
    if any(before):
        yield f"went on after a point that meets {next(filter(None, before))}"
