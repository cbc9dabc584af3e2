"""Tuned parameters, as readers see them: the value that is kept, its rivals, and what the search cost."""

from dataclasses import dataclass

import numpy as np

from rrmbench.report import naming
from rrmbench.report.results import points_to


@dataclass(frozen=True, eq=False)
class Choice:
    """One method on one problem with all values of its grid.

    kept : the Runs (one per seed) with the best value; trials : the Runs with the other values
    values : {key: value} that is best; at_edge : whether a number among them is the least or greatest of its grid
    by : "objective" or "passes_to_gap"; unreached : whether it is the former because no value comes to the gap
    incomplete : how many of the values have runs of fewer seeds than others, and cannot be the best
    """

    kept: tuple
    trials: tuple
    values: dict
    at_edge: bool
    by: str
    unreached: bool = False
    incomplete: int = 0

    @property
    def criterion(self):
        """What the best is the best by, in words."""
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
        runs, values = self.kept + self.trials, 1 + len(self.trials_by_value())
        passes, seconds = (sum(float(run.column(name)[-1]) for run in runs if run.result.points) for name in _COST)
        best = ", ".join(f"{key} = {naming.short(value)}" for key, value in self.values.items())
        method = naming.method({k: v for k, v in self.kept[0].keys.items() if k not in self.values})
        left_out = f" ({self.incomplete} with fewer seeds are left out)" if self.incomplete else ""
        edge = "; AT THE EDGE of its grid, which should be wider" if self.at_edge else ""
        return (
            f"{naming.problem(self.kept[0].keys)}, {method}: {best} is the best of {values}{left_out} by "
            f"{self.criterion} (search: {passes:.4g} passes, {seconds:.3g} s){edge}"
        )


_COST = ("passes", "seconds")


def choices(manifest, found):
    """Return the Choices of an experiment: the runs `found` grouped by all keys but the tuned ones and the seed."""
    tuned = {entry["spec_id"]: tuple(entry["tuned"]) for entry in manifest["runs"] if entry.get("tuned")}
    groups = {}
    for run in found:
        keys = tuple(key for key in tuned.get(run.result.spec_id, ()) if key in run.keys)
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
    seeds = max(len(runs) for runs in candidates.values())
    scores = {values: _score(runs, by, level) for values, runs in candidates.items() if len(runs) == seeds}
    best = min(scores, key=scores.get)
    trials = [run for values, runs in candidates.items() if values != best for run in runs]
    incomplete = len(candidates) - len(scores)
    at_edge = any(_is_edge(best[i], [values[i] for values in candidates]) for i in range(len(keys)))
    return Choice(
        tuple(candidates[best]), tuple(trials), dict(zip(keys, best, strict=True)), at_edge, by, unreached, incomplete
    )


def _score(runs, by, level):
    """The median over seeds: (passes to the gap, final objective) or (final objective,); less is better."""
    objective = float(np.median([_last(run) for run in runs]))
    if by == "objective":
        return (objective,)
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
