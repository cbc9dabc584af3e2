"""`rrmbench show --json`: the Standings as plain data. docs/reading.md describes the fields."""

import json

from rrmbench.report import resources
from rrmbench.report.methods import COSTS, FINAL
from rrmbench.report.plain import finite

SCHEMA_VERSION = 1


def as_text(found, levels):
    """Return the JSON text of a list of Standings; what is NaN or infinite is null."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "levels": {"values": levels.values, "quantity": levels.quantity, "relative": levels.relative},
        "experiments": [_experiment(one) for one in found],
    }
    return json.dumps(finite(content), indent=1, allow_nan=False)


def _experiment(standings):
    counts = {name: getattr(standings, name) for name in ("asked", "stored", "trials", "skipped")}
    return {
        "experiment": standings.experiment,
        **counts,
        "outstanding": standings.asked - standings.stored,
        "problems": [_problem(problem) for problem in standings.problems],
    }


def _problem(problem):
    return {
        "keys": problem.keys,
        "reference_width": problem.width,
        "methods": [_method(method) for method in problem.methods],
    }


def _method(method):
    return {
        "name": method.name,
        "keys": method.own_keys,
        "seeds": method.seeds,
        "statuses": method.statuses,
        "reasons": method.reasons,
        "certified": method.certified,
        "counts_passes": method.counts_passes,
        "quantity": method.quantity,
        "tuned": _tuned(method.choice),
        "final": {name: _spread(method.final(name)) for name in FINAL},
        "levels": [_level(reached) for reached in method.reached],
        "memory": resources.greatest(method.runs),
        "evaluation_passes": resources.evaluation_passes(method.runs),
        "ended_badly": [
            {"seed": run.keys["seed"], "status": run.status, "reason": run.result.reason}
            for run in method.runs
            if run.status != "done"
        ],
    }


def _tuned(choice):
    if choice is None or not choice.values:
        return None
    told = {"values": choice.values, "by": choice.by, "at_edge": choice.at_edge, "trials": len(choice.trials)}
    return told | {"search": choice.search}


def _level(reached):
    costs = {name: _spread(getattr(reached, name)) for name in COSTS}
    counts = {name: getattr(reached, name) for name in ("level", "count", "runs", "at_end", "is_bound")}
    return counts | costs


def _spread(spread):
    return {"median": spread.median, "low": spread.low, "high": spread.high}
