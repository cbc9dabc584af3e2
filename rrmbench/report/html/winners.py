"""Who won: of each problem its methods, with what each level of accuracy costs them, the best of each column marked."""

import numpy as np

from rrmbench.report.levels import CERTIFIED_GAPS
from rrmbench.report.standings import other_seeds, standings_of

COSTS = {"passes": "", "seconds": " s"}  # and the unit of each


def winners(experiment, stored, wanted):
    """Return the table for the template, of the runs `wanted` among all that are `stored`: levels, problems with rows.

    The levels are those down to the smallest that any run comes to; `beyond` is the next one, "" after the last.
    A cell of a row is None where no run comes to the level, else a mapping: `costs` are the passes and the seconds,
    each with `text`, `spread` (the quartiles, "" for one seed) and `best`; `share` says how many runs come there.
    """
    standing = standings_of(experiment, stored, wanted, CERTIFIED_GAPS)
    reached = [level for method in standing.methods for level, at in enumerate(method.reached) if at.count]
    shown = max(reached, default=-1) + 1
    return {
        "levels": CERTIFIED_GAPS.texts[:shown],
        "beyond": "".join(CERTIFIED_GAPS.texts[shown : shown + 1]),
        "shared": standing.shared,
        "seeds": max((len(method.runs) for method in standing.methods), default=0) > 1,
        "other_seeds": list(other_seeds(standing.problems)),
        "problems": [{"heading": problem.heading, "rows": _rows(problem, shown)} for problem in standing.problems],
    }


def _rows(problem, shown):
    return [
        {
            "name": method.name,
            "certified": method.certified,
            "statuses": method.statuses,
            "gap": _number(method.final(method.quantity).median, ".1e", never="none"),
            "best": method in problem.gap_winners,
            "cells": [
                _cell(at, {cost: method in problem.level_winners[level, cost] for cost in COSTS})
                for level, at in enumerate(method.reached[:shown])
            ],
        }
        for method in sorted(problem.methods, key=_rank)
    ]


def _rank(method):
    """The method first that comes cheapest to the smallest level that any comes to, then to the next one."""
    costs = [getattr(at, cost).median for cost in COSTS for at in reversed(method.reached)]
    costs.append(method.final(method.quantity).median)
    return [cost if np.isfinite(cost) else np.inf for cost in costs]


def _cell(at, best):
    if not at.count:
        return None
    costs = {cost: getattr(at, cost) for cost in COSTS}
    return {
        "share": "" if at.count == at.runs else f"{at.count} of {at.runs}",
        "costs": [
            {
                "text": _median(at, spread.median, COSTS[cost]),
                "spread": f"{_number(spread.low, '.3g')} to {_number(spread.high, '.3g')}" if at.runs > 1 else "",
                "best": best[cost],
            }
            for cost, spread in costs.items()
            if not np.isnan(spread.median)
        ],
    }


def _median(at, median, unit):
    """The median of what a level costs; "-" where most runs never come there, as in `show`."""
    return "≤ " * at.is_bound + _number(median, ".3g", unit) if np.isfinite(median) else "-"


def _number(value, form, unit="", never="never"):
    return f"{value:{form}}{unit}" if np.isfinite(value) else never if np.isinf(value) else "unknown"
