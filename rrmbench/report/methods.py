"""Methods: the runs of one problem that differ in the seed only, with medians and quartiles over the seeds.

show, compare and the HTML report read their numbers here. Of a tuned method the best value stays, its trials go.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rrmbench.bench.rules import ROUNDING
from rrmbench.bench.store import Experiment
from rrmbench.columns import COUNTS
from rrmbench.errors import listed, printable
from rrmbench.keys import is_origin, owner
from rrmbench.report import naming
from rrmbench.report.levels import CERTIFIED_GAPS, Levels
from rrmbench.report.origins import but_seed
from rrmbench.report.results import StoredRun, readable, runs_of, width
from rrmbench.report.select import select_each
from rrmbench.report.spreads import Spread, is_bound, spread
from rrmbench.report.tuning import Choice, choices

COSTS = (*COUNTS, "seconds")
FINAL = ("gap", "suboptimality", "objective", *COSTS)  # what methods are ordered by
_MOST = 3  # methods and problems that a line names


@dataclass(frozen=True)
class Reached:
    """What a method spends until it reaches a level. `count` of its `runs` come there; the others count as inf.

    at_end : how many of `count` are known to be there only by a bound that evaluation found, see `Levels.are_late`
    is_bound : whether a median is only an upper bound, as it depends on one of these
    passes, work, seconds : Spreads over all runs; NaN passes and work for black boxes, which count none
    """

    level: float
    count: int
    runs: int
    at_end: int
    is_bound: bool
    passes: Spread
    work: Spread
    seconds: Spread

    @property
    def is_partial(self) -> bool:
        """Whether some of the runs come to the level, and others do not."""
        return 0 < self.count < self.runs


@dataclass(frozen=True, eq=False)
class Method:
    """The runs of one solver with one reduction on one problem, one per seed.

    name : what tells the method from the others of its experiment
    label : the same without the values that tuning chose, which are not those of another problem
    keys : the keys that the runs share (all but the seed)
    choice : the Choice of tuning, whose kept runs these are, or None
    levels : what `reached` is measured at
    """

    name: str
    label: str
    keys: dict
    runs: tuple[StoredRun, ...]
    choice: Choice | None
    levels: Levels

    @cached_property
    def certified(self) -> bool:
        """Whether any run has a finite gap, or none has a trace point (so nothing is known)."""
        gaps = [run.column("gap") for run in self.runs if run.result.points]
        return not gaps or any(np.isfinite(gap).any() for gap in gaps)

    @property
    def quantity(self) -> str:
        """What reaches the levels: that of the levels, or the suboptimality for a method without certificate."""
        return self.levels.quantity if self.certified else "suboptimality"

    @cached_property
    def reached(self) -> tuple[Reached, ...]:
        """What each level costs."""
        levels, quantity = self.levels, self.quantity
        points = [levels.points(run, quantity) for run in self.runs]
        late = [levels.are_late(run, at, quantity) for run, at in zip(self.runs, points, strict=True)]
        costs = {
            name: zip(
                *(levels.costs(run, name, at, quantity) for run, at in zip(self.runs, points, strict=True)), strict=True
            )
            for name in COSTS
        }
        rows = zip(levels.values, zip(*late, strict=True), *costs.values(), strict=True)
        return tuple(self._reached(level, late, dict(zip(COSTS, spent, strict=True))) for level, late, *spent in rows)

    def _reached(self, level, late, costs):
        spreads = {name: spread(cost) for name, cost in costs.items()}
        bound = any(is_bound(cost, late) for cost in costs.values())
        if not self.counts_passes:
            spreads |= dict.fromkeys(COUNTS, spread([np.nan]))
        count = sum(cost < np.inf for cost in costs["seconds"])
        return Reached(level, count, len(self.runs), sum(late), bound, **spreads)

    @cached_property
    def counts_passes(self) -> bool:
        """Whether passes are counted, as black boxes do not; true of runs without a point."""
        shown = [run.column("passes") for run in self.runs if run.result.points]
        return not shown or any(np.isfinite(passes).any() for passes in shown)

    def final(self, name: str) -> Spread:
        """Return the Spread of the last value of a column: gap, suboptimality, objective, passes, seconds, a metric."""
        return spread([_last(run, name) for run in self.runs])

    @property
    def statuses(self) -> dict[str, int]:
        """How many runs ended in which status, the most frequent first."""
        return dict(Counter(run.status for run in self.runs).most_common())

    @property
    def reasons(self) -> list[str]:
        """Why runs ended that are done (the rules that they met), in order, each once."""
        return list(dict.fromkeys(run.result.reason for run in self.runs if run.status == "done"))

    @property
    def seeds(self) -> list:
        return [run.keys["seed"] for run in self.runs]

    @property
    def own_keys(self) -> dict:
        """The keys of solver, reduction and origin: what is not of the problem."""
        return {key: value for key, value in self.keys.items() if _of_method(key)}

    @property
    def identity(self) -> tuple:
        """What the method is, on whatever problem and with whatever values tuning has chosen."""
        tuned = self.choice.values if self.choice else {}
        return tuple(sorted((k, "tuned" if k in tuned else repr(value)) for k, value in self.own_keys.items()))


@dataclass(frozen=True, eq=False)
class ProblemMethods:
    """All methods of one problem. `heading` tells it from the other problems of its experiment, "" for the only one."""

    heading: str
    keys: dict
    methods: tuple[Method, ...]

    @property
    def width(self) -> float:
        """P* - D* of the reference, below which no suboptimality is known; inf without a reference."""
        references = [run.reference for method in self.methods for run in method.runs if run.reference]
        return min(map(width, references), default=np.inf)

    def winners(self, cost: Callable[[Method], float]) -> set[Method]:
        """Return the methods of least finite `cost`; none where there is nothing to compare with.

        A method that is measured by its suboptimality for want of a certificate does not compete for a gap.
        """
        costs = {method: cost(method) for method in self.methods if method.quantity == method.levels.quantity}
        least = min((value for value in costs.values() if np.isfinite(value)), default=None)
        return {method for method, value in costs.items() if value == least} if len(costs) > 1 else set()

    @cached_property
    def gap_winners(self) -> set[Method]:
        """The methods of least final gap, of which what is below the rounding of P is one."""
        return self.winners(lambda m: max(m.final("gap").median, ROUNDING * abs(m.final("objective").median)))

    @cached_property
    def level_winners(self) -> dict[tuple[int, str], set[Method]]:
        """{(number of the level, "passes" or "seconds"): the methods that need least}."""
        count = max((len(method.reached) for method in self.methods), default=0)
        return {
            (k, cost): self.winners(
                lambda method, k=k, cost=cost: (
                    np.inf if method.reached[k].is_bound else getattr(method.reached[k], cost).median
                )
            )
            for k in range(count)
            for cost in ("passes", "seconds")
        }


@dataclass(frozen=True, eq=False)
class Standings:
    """One experiment: its problems with their methods, and what stands behind them.

    asked : how many runs the manifest names; stored : how many of them have a result; wanted : how many were asked for
    tuned : the Choices; trials : how many of the wanted runs are trials that tuning did not keep
    differ : the keys in which the runs differ, trials left out
    """

    experiment: str
    problems: tuple[ProblemMethods, ...]
    asked: int
    stored: int
    wanted: int
    tuned: tuple[Choice, ...]
    trials: int
    differ: frozenset[str]
    skipped: int

    @property
    def methods(self) -> list[Method]:
        return [method for problem in self.problems for method in problem.methods]

    @property
    def runs(self) -> list[StoredRun]:
        return [run for method in self.methods for run in method.runs]

    @property
    def shared(self) -> str:
        """What all problems have in common, in words."""
        keys = next((method.keys for method in self.methods), None)
        kept = {key: value for key, value in (keys or {}).items() if key not in self.differ}
        return ", ".join(naming.component(kept, kind) for kind in naming.PROBLEM if kind in kept)


def other_seeds(problems: Iterable[ProblemMethods], counting: bool = False) -> Iterator[str]:
    """Yield of how many seeds the medians are, where the methods of a problem have not as many as each other.

    What is deterministic is run once for all seeds. Problems of the same counts have one line.

    counting : of the methods that count passes alone
    """
    found: dict[str, list[str]] = {}
    counted = 0
    for problem in problems:
        counts: dict[int, list[str]] = {}
        for method in problem.methods:
            drawn = method.runs[0].result.info.get("deterministic") is not True
            if drawn and (method.counts_passes or not counting):
                counts.setdefault(len(method.runs), []).append(method.label)
        counted += bool(counts)
        if len(counts) > 1:
            parts = (f"{count} of {listed(counts[count], _MOST)}" for count in sorted(counts, reverse=True))
            found.setdefault("; ".join(parts), []).append(problem.heading)
    for text, headings in found.items():
        where = f" (on {listed(headings, _MOST)})" if len(headings) < counted else ""
        yield f"not all medians are over as many seeds{where}: {text}"


def standings_at(path: str | Path, levels: Levels = CERTIFIED_GAPS, only: Sequence[str] = ()) -> list[Standings]:
    """Return the Standings of the experiments at `path`, of those with a run that matches `only`.

    only : texts KEY=VALUE

    Raises RrmbenchError if a manifest is missing or unreadable, and for texts that match no run.
    """
    stored = {experiment: runs_of(experiment) for experiment in readable(path)}
    return [
        standings_of(experiment, stored[experiment], runs, levels)
        for experiment, runs in select_each(stored, only).items()
        if runs or not only
    ]


def standings_of(experiment: Experiment, stored: list[StoredRun], wanted: list[StoredRun], levels: Levels) -> Standings:
    """Return the Standings of the runs `wanted` among those that an experiment has stored, all of which are read."""
    manifest = experiment.manifest()
    chosen = choices(manifest, stored)
    trials = {run for choice in chosen for run in choice.trials}
    found = [run for run in wanted if run not in trials]
    differ = frozenset(naming.varying(run.keys for run in found))
    kept = set(found)
    tuned = tuple(choice for choice in chosen if not kept.isdisjoint(choice.kept))
    return Standings(
        experiment=printable(experiment.name),
        problems=tuple(_problems(found, tuned, levels, differ)),
        asked=len({entry["spec_id"] for entry in manifest["runs"]}),
        stored=len(stored),
        wanted=len(wanted),
        tuned=tuned,
        trials=sum(run in trials for run in wanted),
        differ=differ,
        skipped=len(manifest.get("skipped") or ()),
    )


def _problems(found, tuned, levels, differ):
    choice_of = {run: choice for choice in tuned for run in choice.kept}
    problems = {}
    for run in found:
        of_problem = ((key, repr(value)) for key, value in run.keys.items() if owner(key) in naming.PROBLEM)
        what = tuple(sorted(of_problem))  # blocks may name their keys in any order
        problems.setdefault(what, {}).setdefault(but_seed(run.keys), []).append(run)
    firsts = [next(iter(methods.values()))[0].keys for methods in problems.values()]
    headings = naming.told_apart(lambda keys, write: naming.problem_difference(keys, differ, write), firsts)
    for heading, methods in zip(headings, problems.values(), strict=True):
        keys = [{key: value for key, value in runs[0].keys.items() if key != "seed"} for runs in methods.values()]
        names = naming.told_apart(lambda keys, write: naming.method(keys, differ, write), keys)
        runs = zip(names, keys, methods.values(), strict=True)
        made = tuple(_method(*about, choice_of, levels, differ) for about in runs)
        yield ProblemMethods(heading, {k: v for k, v in made[0].keys.items() if not _of_method(k)}, made)


def _method(name, keys, runs, choice_of, levels, differ):
    choice = choice_of.get(runs[0])
    label = naming.method(keys | dict.fromkeys(choice.values, "tuned"), differ) if choice else name
    return Method(name, label, keys, tuple(runs), choice, levels)


def _of_method(key):
    return owner(key) in ("solver", "reduction") or is_origin(key)


def _last(run, name):
    """The last value of a column; inf for a run without points, which is worse than any that got somewhere."""
    if not run.result.points:
        return np.inf
    last = float(run.column(name)[-1])
    if name == "suboptimality" and np.isnan(last) and run.reference and np.isfinite(run.column("primal")[-1]):
        return width(run.reference)  # below it, so at most that
    return last
