"""Who won: of each problem its methods, with what each level of accuracy costs them, the best of each column marked."""

import numpy as np

from rrmbench.report.methods import Levels, standings

LEVELS = Levels()
COSTS = {"passes": "", "seconds": " s"}  # and the unit of each


def winners(experiment, kept):
    """Return the table for the template: levels, whether there are several seeds, problems with rows.

    kept : the Results that the page is about. A cell of a row is a pair (passes, seconds) of mappings `text`, `spread`
    (quartiles, "" for one seed), `best`, with what a share of seeds needs that come to the level; None where none does.
    """
    standing = standings(experiment, LEVELS, lambda runs: [run for run in runs if run.result in kept])
    return {
        "levels": LEVELS.texts,
        "shared": standing.shared,
        "seeds": max((len(method.runs) for method in standing.methods), default=0) > 1,
        "problems": [
            {"heading": problem.heading, "rows": _rows(problem)} for problem in standing.problems if problem.methods
        ],
    }


def _rows(problem):
    best = {
        (level, cost): problem.winners(lambda method, at=(level, cost): _cost(method, *at))
        for level in range(len(LEVELS.values))
        for cost in COSTS
    }
    ranked = sorted(problem.methods, key=_rank)
    return [
        {
            "name": method.name,
            "certified": method.certified,
            "statuses": method.statuses,
            "gap": _number(method.final(method.quantity).median, ".1e"),
            "cells": [
                _cell(at, {cost: method in best[level, cost] for cost in COSTS})
                for level, at in enumerate(method.reached)
            ],
        }
        for method in ranked
    ]


def _rank(method):
    """The method first that comes cheapest to the smallest level that any comes to, then to the next one."""
    costs = [_cost(method, level, cost) for cost in COSTS for level in reversed(range(len(LEVELS.values)))]
    costs.append(method.final(method.quantity).median)
    return [cost if np.isfinite(cost) else np.inf for cost in costs]


def _cost(method, level, cost):
    return getattr(method.reached[level], cost).median


def _cell(at, best):
    if not at.count:
        return None
    costs = {cost: getattr(at, cost) for cost in COSTS}
    return {
        "share": "" if at.count == at.runs else f"{at.count} of {at.runs}",
        "costs": [
            {
                "text": _number(spread.median, ".3g", COSTS[cost]),
                "spread": f"{_number(spread.low, '.3g')} to {_number(spread.high, '.3g')}" if at.runs > 1 else "",
                "best": best[cost],
            }
            for cost, spread in costs.items()
            if not np.isnan(spread.median)
        ],
    }


def _number(value, form, unit=""):
    return f"{value:{form}}{unit}" if np.isfinite(value) else "never" if np.isinf(value) else "unknown"
