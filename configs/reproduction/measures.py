"""What the verdicts are made of: numbers of groups of runs, and how they are printed."""

import numpy as np

from rrmbench.report.levels import Levels, without_bounds


def passes(runs, level, quantity="suboptimality", clock="passes"):
    """The median over seeds of the passes (or seconds) to a level; inf where fewer than half of the seeds reach it.

    A gap that a bound of evaluation met alone does not count, as it says when evaluation looked, unless it ended a run.
    """
    levels, reached = Levels((level,), quantity), []
    for run in runs:
        points = levels.points(run)
        (late,), (cost,) = levels.are_late(run, points), levels.costs(run, clock, points)
        reached.append(np.inf if late else cost)
    return float(np.median(reached))


def own_gaps(run):
    """The certified gaps of a run that no gap ends, without the bound that evaluation finds for its last point."""
    gaps = run.column("gap").copy()
    for point, gap in without_bounds(run.result.info.get("helped", [])).items():
        gaps[point] = gap
    return gaps


def final(runs, quantity="suboptimality"):
    """The median over seeds of the last value."""
    return float(np.median([run.column(quantity)[-1] for run in runs]))


def grouped(runs, *keys):
    """Runs by the values of some keys, in order."""
    groups = {}
    for run in runs:
        groups.setdefault(tuple(run.keys.get(key) for key in keys), []).append(run)
    return groups


def count(value):
    return "-" if not np.isfinite(value) else f"{value:.3g}"


def verdict(mine, best):
    """Whether `mine` (less is better) is at most `best`; None where neither is finite."""
    if not np.isfinite(min(mine, best)):
        return None
    return "holds" if mine <= best else "within 2x" if mine <= 2 * best else "does not hold"


def tally(words):
    """ "3 holds, 1 does not hold"; a None does not count."""
    kinds = [(word, words.count(word)) for word in ("holds", "within 2x", "does not hold")]
    return ", ".join(f"{number} {word}" for word, number in kinds if number)


def head(*cells):
    """Print the head of a table."""
    row(*cells)
    print("|" + "---|" * len(cells))


def row(*cells):
    print("| " + " | ".join(cells) + " |")
