"""What the pairs of a comparison say at each level: who comes there, and the ratio of the costs where both do."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rrmbench.report.compare.pairs import Pair
from rrmbench.report.compare.ratios import Ratio, basis, ratio
from rrmbench.report.levels import Levels
from rrmbench.report.methods import COSTS


@dataclass(frozen=True)
class Outcome:
    """One level. The pairs are counted by who comes to it: both, one side only, or neither.

    at_start : those of `both` where a side is there before any work, which has no ratio
    begin_a, begin_b : those of them where that side is
    at_end : those where a side is known to be there only by a bound of evaluation (`Levels.are_late`), likewise
    grain : the share of the passes (else seconds) that lies between the trace point of the level and the one before, in
        the median over pairs, of the side that is coarser
    ratios : {"passes": Ratio, "work": Ratio, "seconds": Ratio} of the others of `both`; None where nothing is counted
    """

    level: float
    both: int
    only_a: int
    only_b: int
    neither: int
    at_start: int
    at_end: int = 0
    ratios: dict[str, Ratio | None] = field(default_factory=dict)
    grain: float = 0.0
    begin_a: int = 0
    begin_b: int = 0

    @property
    def pairs(self) -> int:
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def measured(self) -> int:
        """The pairs that have a ratio."""
        return self.both - self.at_start - self.at_end


def outcomes(pairs: Sequence[Pair], levels: Levels) -> list[Outcome]:
    """Return the Outcome of each level, the loosest first."""
    points = [(levels.points(pair.a), levels.points(pair.b)) for pair in pairs]
    late = [
        np.logical_or(levels.are_late(pair.a, a), levels.are_late(pair.b, b))
        for pair, (a, b) in zip(pairs, points, strict=True)
    ]
    over = basis([pair.case for pair in pairs])
    spent = {
        cost: [
            (levels.costs(pair.a, cost, a), levels.costs(pair.b, cost, b))
            for pair, (a, b) in zip(pairs, points, strict=True)
        ]
        for cost in COSTS
    }
    return [
        _outcome(
            level,
            pairs,
            [(a[k], b[k]) for a, b in points],
            [one[k] for one in late],
            {cost: [(a[k], b[k]) for a, b in both] for cost, both in spent.items()},
            over,
        )
        for k, level in enumerate(levels.values)
    ]


def telling(found: Sequence[Outcome]) -> Outcome | None:
    """Return the tightest level with a ratio of half as many pairs as any level has, or None."""
    most = max((one.measured for one in found), default=0)
    tight = [one for one in found if one.measured >= max(most / 2.0, 1.0)]
    return tight[-1] if tight else None


def _outcome(level, pairs, at, late, spent, over):
    """at : the points (of A, of B) of each pair; spent : {cost: what (A, B) of each pair need}."""
    both = [k for k, ij in enumerate(at) if None not in ij]
    only_a = sum(i is not None and j is None for i, j in at)
    only_b = sum(i is None and j is not None for i, j in at)
    begun = [k for k in both if min(at[k]) > 0]
    working = [k for k in begun if not late[k]]
    ratios = {cost: _ratio([(*spent[cost][k], pairs[k].case) for k in working], over) for cost in COSTS}
    neither = len(at) - len(both) - only_a - only_b
    without = {"at_start": len(both) - len(begun), "at_end": len(begun) - len(working)}
    begin = {"begin_a": sum(at[k][0] == 0 for k in both), "begin_b": sum(at[k][1] == 0 for k in both)}
    grain = _grain([(pairs[k], *at[k]) for k in working])
    return Outcome(level, len(both), only_a, only_b, neither, **without, ratios=ratios, grain=grain, **begin)


def _grain(working):
    sides = [[_step(pair.a, i) for pair, i, _ in working], [_step(pair.b, j) for pair, _, j in working]]
    return max((float(np.median(steps)) for steps in sides if steps), default=0.0)


def _step(run, point):
    cost = run.column("passes")
    cost = cost if np.isfinite(cost[point]) else run.column("seconds")
    return (cost[point] - cost[point - 1]) / cost[point] if cost[point] > 0.0 else 0.0


def _ratio(costs, over):
    """The Ratio of the (cost of A, cost of B, case) that are measured."""
    measured = [one for one in costs if all(np.isfinite(value) and value > 0.0 for value in one[:2])]
    return ratio(*zip(*measured, strict=True), over) if measured else None
