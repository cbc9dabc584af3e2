"""Tuned parameters, as readers see them: the value that is kept, its rivals, and what the search cost."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from rrmbench.report import naming
from rrmbench.report.levels import GAP_RULES
from rrmbench.report.results import points_to


@dataclass(frozen=True, eq=False)
class Choice:
    """One method on one problem with all values of its grid.

    kept : the Runs (one per seed) with the best value; trials : the Runs with the other values. Where no value has
        finished runs for most of its seeds, none is the best, and all Runs are kept
    values : {key: value} that is best, {} if none is
    at_edge : whether a number among these is the least or greatest of its grid
    keys : the keys that are tuned; count : how many values there are
    by : "objective" or "passes_to_gap"; unreached : whether it is the former because no value comes to the gap
    ended : whether it is the former, but the gap that ends runs ended those of the best
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
    incomplete: int = 0
    ended: bool = False

    @property
    def criterion(self):
        """What the best is the best by, in words."""
        if self.ended:
            return "passes to the gap that ends its runs, below which objectives tell nothing"
        return f"{self.by}, since none comes to its gap" if self.unreached else self.by

    def trials_by_value(self):
        """The trials (one run per seed) of each value that was not kept."""
        groups = {}
        for run in self.trials:
            groups.setdefault(tuple(run.keys[key] for key in self.values), []).append(run)
        return groups

    @property
    def text(self):
        """What a reader must know of the search, its cost included."""
        runs = self.kept + self.trials
        passes, seconds = (sum(float(run.column(name)[-1]) for run in runs if run.result.points) for name in _COST)
        best = ", ".join(f"{key} = {naming.short(value)}" for key, value in self.values.items())
        method = naming.method({k: v for k, v in self.kept[0].keys.items() if k not in self.keys})
        left_out = f" ({self.incomplete} with fewer or other seeds left out)" if self.incomplete else ""
        edge = "; AT THE EDGE of its grid, which should be wider" if self.at_edge else ""
        found = f"{best} is the best of {self.count}{left_out} by {self.criterion}"
        if not self.values:
            found = (
                f"none of {self.count} values{left_out} is the best, as none has finished runs for most of its seeds"
            )
        cost = f"search: {passes:.4g} passes, {seconds:.3g} s"
        return f"{naming.problem(self.kept[0].keys)}, {method}: {found} ({cost}){edge}"


_COST = ("passes", "seconds")


def choices(manifest, found):
    """Return the Choices of an experiment: the runs `found` grouped by all keys but the tuned ones and the seed."""
    groups = {}
    for run in found:
        keys = tuple(key for key in run.tuned if key in run.keys)
        if keys:
            fixed = tuple((k, repr(v)) for k, v in run.keys.items() if k not in keys and k != "seed")
            groups.setdefault((fixed, keys), {}).setdefault(tuple(run.keys[k] for k in keys), []).append(run)
    section = (manifest.get("config") or {}).get("tune") or {}
    by = section.get("by", "objective")
    return [_choice(keys, runs, by, section.get("gap")) for (_, keys), runs in groups.items()]


def _choice(keys, candidates, by, level):
    """The Choice among {values of the keys: runs}; passes count to `level`, or to the gap that ends these runs."""
    unreached = False
    if by == "passes_to_gap":
        level = level or next(iter(candidates.values()))[0].result.spec.get("stop", {}).get("gap")
        runs = [run for members in candidates.values() for run in members]
        unreached = level is None or not any(np.isfinite(_passes_to(run, level)) for run in runs)
        by = "objective" if unreached else by
    seeds = {values: frozenset(run.keys["seed"] for run in runs) for values, runs in candidates.items()}
    shared = max(Counter(seeds.values()).items(), key=lambda pair: (len(pair[0]), pair[1]))[0]
    scores = {values: _score(runs, by, level) for values, runs in candidates.items() if seeds[values] == shared}
    about = {"by": by, "keys": keys, "count": len(candidates), "unreached": unreached}
    about["incomplete"] = len(candidates) - len(scores)
    best = min(scores, key=scores.get)
    if scores[best][0] == np.inf:
        return Choice(tuple(run for runs in candidates.values() for run in runs), (), {}, False, **about)
    trials = tuple(run for values, runs in candidates.items() if values != best for run in runs)
    at_edge = any(_is_edge(best[i], [values[i] for values in candidates]) for i in range(len(keys)))
    about["ended"] = by == "objective" and scores[best][0] == -np.inf
    return Choice(tuple(candidates[best]), trials, dict(zip(keys, best, strict=True)), at_edge, **about)


def _score(runs, by, level):
    """What is less for better values, medians over seeds.

    (passes to the gap, final objective) or, by the objective, (final objective,). A gap that ends runs ends them at
    objectives that differ by less than it; where all runs came to it, they are before others, and in the order of
    their passes.
    """
    objective = float(np.median([_last(run) for run in runs]))
    if by == "objective":
        passes = float(np.median([run.column("passes")[-1] for run in runs if run.result.points] or [np.nan]))
        met = np.isfinite(objective + passes) and all(run.result.reason in GAP_RULES for run in runs)
        return (-np.inf, passes, objective) if met else (objective,)
    return float(np.median([_passes_to(run, level) for run in runs])), objective


def _last(run):
    primal = run.column("primal")
    return float(primal[-1]) if run.status == "done" and len(primal) and np.isfinite(primal[-1]) else np.inf


def _passes_to(run, level):
    (point,) = points_to(run.column("gap"), (level,))
    return np.inf if point is None else float(run.column("passes")[point])


def _is_edge(value, grid):
    numbers = {v for v in grid if isinstance(v, (int, float))}
    return len(numbers) > 1 and value in (min(numbers), max(numbers))
