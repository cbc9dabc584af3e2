"""The sentences of `rrmbench compare`: what is shown, by which method, and what to beware of."""

import numpy as np

from rrmbench.report import naming

LOUD = 0.1  # a spread of seconds beyond which it is said to be great
COARSE = 0.1  # a share of the passes between two trace points beyond which ratios are said to be rough


def verdict(outcome, cost, of="gap"):
    """Return the sentence on one cost (passes, seconds) at one level."""
    to = f"{of} {naming.short(outcome.level)}"
    found = outcome.ratios[cost]
    if found is None:
        return f"{cost}: no pair in which both sides count them to {to}"
    factor, pairs = number(found.estimate), f"{found.pairs} pair{'s' * (found.pairs != 1)}"
    if np.isnan(found.low):
        what = "the one pair" if found.pairs == 1 else f"{pairs} of {found.cases} case{'s' * (found.cases != 1)}"
        return f"A needs {factor}x the {cost} of B to {to} in {what}, too few for an interval"
    if found.alike and abs(np.log(found.estimate)) < 1e-12:
        return f"A and B need the same {cost} to {to} (the same over all {found.over}, {pairs})"
    if found.alike:
        return f"A needs {factor}x the {cost} of B to {to} (the same over all {found.over}, {pairs})"
    interval = f"95 % interval {number(found.low)} to {number(found.high)}, {pairs}"
    if not found.differs:
        return f"no difference in {cost} is shown: A needs {factor}x those of B to {to} ({interval})"
    return f"A needs {factor}x the {cost} of B to {to} ({interval})"


def reach(outcome, of="gap"):
    """Return the sentence on the pairs that have no ratio at the level, or None where all have one."""
    if outcome.both == outcome.pairs and not outcome.at_end:
        return None
    parts = [
        f"{who} in {count}"
        for who, count in (
            ("both", outcome.both),
            ("A alone", outcome.only_a),
            ("B alone", outcome.only_b),
            ("neither", outcome.neither),
        )
        if count
    ]
    text = f"{of} {naming.short(outcome.level)} is reached by {', by '.join(parts)} of {outcome.pairs} pairs"
    partial = "; the ratio is of the pairs that both reach, and so leaves out where they differ most"
    at_end = (
        f"; {outcome.at_end} of them without a ratio: a point where evaluation has found a better bound, mostly the "
        "last one, does not tell when the run was there (--y suboptimality does)"
    )
    return text + partial * bool(outcome.both and outcome.only_a + outcome.only_b) + at_end * bool(outcome.at_end)


def late(outcomes, of="gap"):
    """Return the sentence on the levels that both sides reach, and of which evaluation leaves no ratio, or None."""
    found = [naming.short(one.level) for one in outcomes if one.at_end and not one.measured]
    if not found:
        return None
    return f"no ratio to {of} {', '.join(found)}: a side is known to be there only by a bound of evaluation"


def start(outcome, of="gap"):
    """Return the sentence on the pairs of which a side is at the level before any work."""
    if outcome.begin_a == outcome.begin_b == outcome.at_start:
        sides = "both sides are"
    else:
        sides = " or ".join(name for name, count in (("A", outcome.begin_a), ("B", outcome.begin_b)) if count) + " is"
    some = f" in {outcome.at_start} of {outcome.pairs} pairs" if outcome.at_start < outcome.pairs else ""
    return f"{sides} at {of} {naming.short(outcome.level)} before any work{some}"


def method(found):
    """Return how the interval was made."""
    if found is None or np.isnan(found.low):
        return None
    how = "geometric means of A / B, pair by pair; t-interval of the mean log ratio"
    if found.over == "cases":
        return f"{how} over {found.cases} cases of a problem and a method, each the mean over its seeds"
    given = f", for the {found.cases} cases of a problem and a method as they are" if found.cases > 1 else ""
    return f"{how} over seeds{given}"


def rough(outcome):
    """Return the sentence on trace points that are far apart, or None."""
    if outcome.grain <= COARSE:
        return None
    return (
        f"ratios are rough: from one trace point to the next are {outcome.grain:.0%} of the passes to the level;"
        " a smaller trace.every makes them finer"
    )


def cautions(a, b):
    """Yield what the Noise of both sides means for their seconds."""
    for name, one in (("A", a), ("B", b)):
        if np.isfinite(one.spread):
            loud = ", which is much" if one.spread > LOUD else ""
            vary = f"seconds for the same work vary by {one.spread:.0%} over seeds"
            yield f"{name}: {vary} (quartile range / median){loud}"
        if np.isfinite(one.repeats):
            yield f"{name}: repeats of one run vary by up to {one.repeats:.0%}"
        if one.concurrent is None:
            yield f"{name}: it is not recorded whether runs were timed alone"
        elif one.concurrent > 1:
            some = "some runs were timed" if one.alone == 1 else "runs were timed"
            yield f"CAUTION: {name}: {some} with up to {one.concurrent} at the same time; seconds may be too many"
    if a.environments and b.environments and a.environments != b.environments:
        yield "CAUTION: A and B are of different environments (machine or versions), which seconds depend on"
    elif len(a.environments | b.environments) > 1:
        yield f"CAUTION: seconds are of {len(a.environments | b.environments)} environments (machine or versions)"


def number(value, digits=3):
    """Return a ratio with three digits or as many as asked: 0.62, 12.3, 1.23e4."""
    return f"{value:.{digits}g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
