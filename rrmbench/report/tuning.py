"""Tuned parameters, as readers see them: the value that is kept, its rivals, and what the search cost."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from rrmbench.bench.rules import ROUNDING
from rrmbench.keys import keys as keys_of
from rrmbench.report import naming
from rrmbench.report.levels import GAP_RULES, Levels
from rrmbench.report.origins import but_seed
from rrmbench.report.spreads import is_bound


@dataclass(frozen=True, eq=False)
class Choice:
    """One method on one problem with all values of its grid.

    kept : the Runs (one per seed) with the best value; trials : the Runs with the other values. Where no value has
        finished runs for most of its seeds, none is the best, and all Runs are kept
    values : {key: value} that is best, {} if none is
    at_edge : whether a number among these is the least or greatest of its grid, values without a result included, and
        so of all values that are as good, which are not all of the grid
    alike : how many other values are as good as the best, to rounding
    keys : the keys that are tuned; count : how many values have results
    by : "objective" or "passes_to_gap"; unreached : whether it is the former because no value comes to the gap for most
        of its seeds
    ended : whether it is the former, but the gap that ends runs ended those of the best
    timed : whether seconds stand for passes, which the method does not count
    late : how many of the values are at the gap only by a bound of evaluation, so that nobody knows their passes to it
    incomplete : how many of the values have runs of fewer seeds than others, or of others, and cannot be the best
    """

    kept: tuple
    trials: tuple
    values: dict
    at_edge: bool
    by: str
    keys: tuple = ()
    count: int = 1
    unreached: bool = False
    late: int = 0
    incomplete: int = 0
    ended: bool = False
    timed: bool = False
    alike: int = 0

    @property
    def criterion(self):
        """What the best is the best by, in words."""
        spent = "seconds" if self.timed else "passes"
        if self.ended:
            return f"{spent} to the gap that ends its runs, below which objectives tell nothing"
        if self.unreached:
            comes = "is known to come" if self.late else "comes"
            return f"{self.by}, since none {comes} to its gap for most of its seeds"
        return "seconds to the gap, as it counts no passes" if self.timed and self.by == "passes_to_gap" else self.by

    def trials_by_value(self):
        """The trials (one run per seed) of each value that was not kept."""
        groups = {}
        for run in self.trials:
            groups.setdefault(tuple(run.keys[key] for key in self.values), []).append(run)
        return groups

    @property
    def search(self):
        """{"passes": ..., "seconds": ...} of all runs with a point, the best included; NaN for what is not counted."""
        runs = [run for run in self.kept + self.trials if run.result.points]
        return {name: sum(float(run.column(name)[-1]) for run in runs) for name in _COST}

    @property
    def text(self):
        """What a reader must know of the search, its cost included."""
        spent = "seconds" if self.timed else "passes"
        best = ", ".join(f"{key} = {naming.short(value)}" for key, value in self.values.items())
        method = naming.method({k: v for k, v in self.kept[0].keys.items() if k not in self.keys})
        left_out = f" ({self.incomplete} with fewer or other seeds left out)" if self.incomplete else ""
        if self.late:
            left_out += f" ({self.late} at the gap only by a bound of evaluation, which tells no {spent})"
        if self.alike:
            left_out += f" ({self.alike} more {'is' if self.alike == 1 else 'are'} as good)"
        edge = "; AT THE EDGE of its grid, which should be wider" if self.at_edge else ""
        found = f"{best} is the best of {self.count}{left_out} by {self.criterion}"
        if not self.values:
            found = (
                f"none of {self.count} values{left_out} is the best, as none has finished runs for most of its seeds"
            )
        passes, seconds = (self.search[name] for name in _COST)
        cost = f"search: {seconds:.3g} s" if self.timed else f"search: {passes:.4g} passes, {seconds:.3g} s"
        return f"{naming.problem(self.kept[0].keys)}, {method}: {found} ({cost}){edge}"


_COST = ("passes", "seconds")


def choices(manifest, stored):
    """Return the Choices of an experiment: all its runs with a result, grouped by all keys but the tuned and the seed.

    Whoever shows some of the runs takes `among` of these: another value would be the best of fewer.
    """
    groups = {}
    for run in stored:
        keys = tuple(key for key in run.tuned if key in run.keys)
        if keys:
            fixed = but_seed({key: value for key, value in run.keys.items() if key not in keys})
            groups.setdefault((fixed, keys), {}).setdefault(tuple(run.keys[k] for k in keys), []).append(run)
    section = (manifest.get("config") or {}).get("tune") or {}
    by = section.get("by", "objective")
    asked = _asked(manifest)
    return [_choice(keys, runs, by, section.get("gap"), asked) for (_, keys), runs in groups.items()]


def among(tuned, shown):
    """The Choices whose best has runs among those that are `shown`, with these runs alone."""
    shown = set(shown)

    def those(runs):
        return tuple(run for run in runs if run in shown)

    parts = (replace(choice, kept=those(choice.kept), trials=those(choice.trials)) for choice in tuned)
    return [choice for choice in parts if choice.kept]


def _asked(manifest):
    """{a tuned key: all values that the runs of a manifest have, done or not}."""
    found = {}
    for entry in manifest["runs"]:
        of_run = keys_of(entry["spec"]) if entry.get("tuned") else {}
        for key in entry.get("tuned") or ():
            found.setdefault(key, []).append(of_run.get(key))
    return found


def _choice(keys, candidates, by, level, asked):
    """The Choice among {values of the keys: runs}; passes count to `level`, or to the gap that ends these runs.

    asked : as of `_asked`
    """
    runs = [run for members in candidates.values() for run in members]
    complete = _complete(candidates)
    by, scores, found = _scores(complete, by, level or runs[0].result.spec.get("stop", {}).get("gap"))
    about = found | {"keys": keys, "count": len(candidates), "incomplete": len(candidates) - len(complete)}
    about["timed"] = any(_cost(run) == "seconds" for run in runs)
    best = min(scores, key=scores.get)
    if scores[best][0] == np.inf:
        return Choice(tuple(runs), (), {}, False, by, **about)
    trials = tuple(run for values, runs in candidates.items() if values != best for run in runs)
    *before, least = scores[best]
    at_most = (*before, least + ROUNDING * abs(least))  # of objectives, which are sums, that are the same to rounding
    good = [values for values, score in scores.items() if score <= at_most]
    about["alike"] = len(good) - 1
    grids = [[*asked.get(key, ()), *(values[i] for values in candidates)] for i, key in enumerate(keys)]
    all_alike = 1 < len(good) == len(scores)
    at_edge = not all_alike and any(all(_is_edge(one[i], grid) for one in good) for i, grid in enumerate(grids))
    about["ended"] = scores[best][0] == -np.inf
    return Choice(tuple(candidates[best]), trials, dict(zip(keys, best, strict=True)), at_edge, by, **about)


def _complete(candidates):
    """The candidates with runs of the most seeds; of several such sets of seeds, those of the set that most have."""
    seeds = {values: frozenset(run.keys["seed"] for run in runs) for values, runs in candidates.items()}
    shared = max(Counter(seeds.values()).items(), key=lambda pair: (len(pair[0]), pair[1]))[0]
    return {values: runs for values, runs in candidates.items() if seeds[values] == shared}


def _scores(complete, by, level):
    """(by what they are, {values: a tuple, the less the better}, what a Choice tells of `unreached` and `late`)."""
    objectives = {values: float(np.median([_last(run) for run in runs])) for values, runs in complete.items()}
    found = {}
    if by == "passes_to_gap":
        reached = {values: np.inf if level is None else _to_gap(runs, level) for values, runs in complete.items()}
        found["late"] = sum(map(np.isnan, reached.values()))
        scores = {values: (np.inf if np.isnan(cost) else cost, objectives[values]) for values, cost in reached.items()}
        found["unreached"] = min(cost for cost, _ in scores.values()) == np.inf
        if not found["unreached"]:
            return by, scores, found
    return "objective", {values: _by_objective(runs, objectives[values]) for values, runs in complete.items()}, found


def _by_objective(runs, objective):
    """What is less for better values: (objective,), the median over seeds of the last one.

    A gap that ends runs ends them at objectives that differ by less than it; where all runs came to it, they are before
    others, and in the order of what they needed.
    """
    met = np.isfinite(objective) and all(run.result.reason in GAP_RULES for run in runs)
    return (-np.inf, float(np.median([run.column(_cost(run))[-1] for run in runs])), objective) if met else (objective,)


def _last(run):
    primal = run.column("primal")
    return float(primal[-1]) if run.status == "done" and len(primal) and np.isfinite(primal[-1]) else np.inf


def _to_gap(runs, level):
    """What the runs need to the gap, a median over seeds: passes, or seconds where these are not counted.

    NaN where only an upper bound is known, which depends on when evaluation looked.
    """
    levels = Levels((level,))
    points = [levels.points(run) for run in runs]
    costs = [levels.costs(run, _cost(run), at)[0] for run, at in zip(runs, points, strict=True)]
    late = [levels.are_late(run, at)[0] for run, at in zip(runs, points, strict=True)]
    return np.nan if is_bound(costs, late) else float(np.median(costs))


def _cost(run):
    return "seconds" if run.lacks("passes") else "passes"


def _is_edge(value, grid):
    numbers = {v for v in grid if isinstance(v, (int, float))}
    return len(numbers) > 1 and value in (min(numbers), max(numbers))
