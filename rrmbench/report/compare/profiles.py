"""Performance profiles: the share of problems that a method solves within tau times the best [Dolan and More 2002]."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rrmbench.bench.store import experiments
from rrmbench.errors import RrmbenchError, nearest
from rrmbench.files import refuse_link
from rrmbench.report import naming
from rrmbench.report.levels import Levels, is_least
from rrmbench.report.methods import COSTS
from rrmbench.report.plain import finite
from rrmbench.report.standings import other_seeds, standings_at

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
class Profile:
    """The costs of methods on problems, and their performance profiles.

    labels : names of the methods, in order; series : the `plots.curves.Series` of each
    problems : descriptions of the problems
    costs : medians over seeds, (methods, problems); inf where half of the seeds or more never come to the level, where
        a method was not run, and where only an upper bound of what the level costs is known
    missing, bounded : on how many problems each method was not run, or has only such a bound, (methods,)
    uncertified : labels of methods without a certified gap, where the level is one of the gap
    uncounted : labels of methods that count no passes, which are left out where the cost is passes
    concurrent : the greatest number of runs that were timed at the same time
    other_seeds : lines on medians over other numbers of seeds
    """

    cost: str
    levels: Levels
    labels: tuple[str, ...]
    series: tuple
    problems: tuple[str, ...]
    costs: np.ndarray
    missing: np.ndarray
    bounded: np.ndarray
    uncertified: tuple[str, ...]
    uncounted: tuple[str, ...]
    concurrent: int
    other_seeds: tuple[str, ...] = ()

    @property
    def ratios(self) -> np.ndarray:
        """Each cost over the least of its problem, (methods, problems), inf for a method that does not come there."""
        least = self.costs.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.costs / least
            ratios[is_least(self.costs, least)] = 1.0  # 0 work over 0 work, too
        ratios[~np.isfinite(self.costs)] = np.inf
        return ratios

    def steps(self, method: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (tau, rho) where the profile of a method jumps: the share rho of problems solved within tau."""
        taus, counts = np.unique(self.ratios[method], return_counts=True)
        rho = np.cumsum(counts) / len(self.problems)
        return taus[np.isfinite(taus)], rho[np.isfinite(taus)]

    @property
    def unsolved(self) -> int:
        """How many problems no method solves."""
        return int(np.isinf(self.costs).all(axis=0).sum())


def profile(path: str | Path, levels: Levels, cost: str = "passes", only: Sequence[str] = ()) -> Profile:
    """Return the Profile of the methods at `path` at the one level of `levels`.

    Methods that count no passes are left out where these are asked for. Raises RrmbenchError for another cost, and
    where nothing is left.
    """
    if cost not in COSTS:
        raise RrmbenchError(f"--x: found '{cost}', allowed is {', '.join(COSTS)}{nearest(cost, COSTS)}")
    found: dict = {}
    known: dict = {}
    methods: dict = {}
    bounds: list = []
    uncounted: dict = {}
    standings = standings_at(path, levels, only)
    for standing in standings:
        for problem in standing.problems:
            for method in problem.methods:
                if cost != "seconds" and not method.counts_passes:
                    uncounted.setdefault(method.identity, method)
                    continue
                what = standing.experiment, problem.heading
                known[what] = standing.experiment, problem.keys
                column = found.setdefault(what, {})
                methods.setdefault(method.identity, []).append(method)
                is_known = method.quantity == levels.quantity and not method.reached[0].is_bound
                column[method.identity] = getattr(method.reached[0], cost).median if is_known else np.inf
                bounds += [method.identity] * method.reached[0].is_bound
    if not found:
        raise RrmbenchError(f"{path}: no method counts {cost}; --x seconds compares all")
    costs = np.array([[column.get(one, np.inf) for column in found.values()] for one in methods])
    missing = np.array([sum(one not in column for column in found.values()) for one in methods])
    series, labels = _named([members[0] for members in methods.values()])
    without = [any(m.quantity != levels.quantity for m in members) for members in methods.values()]
    uncertified = tuple(label for label, lacks in zip(labels, without, strict=True) if lacks)
    problems = tuple(naming.told_apart(_description, list(known.values())))
    runs = (run for members in methods.values() for method in members for run in method.runs)
    concurrent = max(run.result.info.get("concurrent_runs") or 1 for run in runs)
    bounded = np.array([bounds.count(one) for one in methods])
    left_out = _named([*uncounted.values()])[1]
    counted = cost != "seconds"
    seeds = tuple(line for standing in standings for line in other_seeds(standing.problems, counted))
    return Profile(
        cost, levels, labels, series, problems, costs, missing, bounded, uncertified, left_out, concurrent, seeds
    )


def _description(problem, write):
    experiment, keys = problem
    return f"{experiment}: {naming.problem(keys, None, write)}"


def _named(methods):
    """(series, labels) of the methods, told apart by the keys in which they differ."""
    from rrmbench.report.plots.curves import STRUCTURE, Series

    keys = [
        method.own_keys | dict.fromkeys(method.choice.values if method.choice else (), "tuned") for method in methods
    ]
    differ = {*naming.varying(keys), *STRUCTURE}
    series = tuple(Series(tuple((key, one[key]) for key in one if key in differ)) for one in keys)
    return series, tuple(naming.told_apart(lambda one, write: naming.method(one, differ, write), keys))


def folder(path: str | Path) -> Path:
    """Return where figures of the results at `path` go: to those of the experiment, or beside all experiments."""
    found = experiments(path)
    return found[0].figures if len(found) == 1 else refuse_link(Path(path) / "figures")


def as_text(made: Profile) -> str:
    """Return the JSON text of a Profile; docs/reading.md describes the fields."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "cost": made.cost,
        "level": made.levels.values[0],
        "quantity": made.levels.quantity,
        "relative": made.levels.relative,
        "problems": made.problems,
        "unsolved": made.unsolved,
        "other_seeds": made.other_seeds,
        "methods": [
            {
                "method": label,
                "costs": made.costs[number].tolist(),
                "not_run_on": int(made.missing[number]),
                "bounds_on": int(made.bounded[number]),
                "tau": made.steps(number)[0].tolist(),
                "rho": made.steps(number)[1].tolist(),
            }
            for number, label in enumerate(made.labels)
        ],
    }
    return json.dumps(finite(content), indent=1, allow_nan=False)
