"""Methods: the runs of one problem that differ in the seed only, with medians and quartiles over the seeds."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rrmbench.bench.rules import ROUNDING
from rrmbench.columns import COUNTS
from rrmbench.keys import is_origin, owner
from rrmbench.report.levels import Levels, is_least
from rrmbench.report.results import StoredRun, width
from rrmbench.report.spreads import Spread, is_bound, spread
from rrmbench.report.tuning import Choice

COSTS = (*COUNTS, "seconds")
FINAL = ("gap", "suboptimality", "objective", *COSTS)  # what methods are ordered by


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
        return {key: value for key, value in self.keys.items() if is_of_method(key)}

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
        least = min((value for value in costs.values() if np.isfinite(value)), default=np.nan)
        return {method for method, value in costs.items() if is_least(value, least)} if len(costs) > 1 else set()

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


def is_of_method(key):
    """Whether a key is not of the problem: of solver, reduction and origin."""
    return owner(key) in ("solver", "reduction") or is_origin(key)


def _last(run, name):
    """The last value of a column; inf for a run without points, which is worse than any that got somewhere."""
    if not run.result.points:
        return np.inf
    last = float(run.column(name)[-1])
    if name == "suboptimality" and np.isnan(last) and run.reference and np.isfinite(run.column("primal")[-1]):
        return width(run.reference)  # below it, so at most that
    return last
