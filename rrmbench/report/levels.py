"""The accuracies that a comparison asks for: values of the certified gap or of the suboptimality."""

import math
from dataclasses import dataclass

import numpy as np

from rrmbench.bench.rules import StopRule
from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.report import naming
from rrmbench.report.results import LEVELS, StoredRun, points_to

QUANTITIES = ("gap", "suboptimality")
GAP_RULES = "gap", "relative_gap"  # that end a run by its gap
MOST = 50  # levels
SAME = 1e-9  # relative: passes are sums of shares of one, which rounding sets apart


def is_least(costs: np.ndarray | float, least: np.ndarray | float) -> np.ndarray | np.bool_ | bool:
    """Whether costs are the least one, but for rounding."""
    return costs - least <= SAME * np.abs(least)


@dataclass(frozen=True)
class Levels:
    """The accuracies to reach: `values` of the certified gap P(w) - D(b), or of the suboptimality P(w) - D*.

    relative : the values are fractions of |P(w)| at the start of each run
    """

    values: tuple[float, ...] = LEVELS
    quantity: str = "gap"
    relative: bool = False

    def points(self, run: StoredRun, quantity: str | None = None) -> list[int | None]:
        """Return, for each level, the index of the first trace point of `run` that reaches it, or None.

        quantity : another one than that of the levels, for runs that have no certificate
        """
        return points_to(run.known(quantity or self.quantity), self._of(run))

    def costs(self, run: StoredRun, column: str, points: list[int | None], quantity: str | None = None) -> list[float]:
        """Return, for each level, the passes, work or seconds at its point of `points`, or inf.

        Of a run whose points are calls of their own, the seconds are those of the quickest one that reaches the level.
        """
        cost = run.column(column)
        if column == "seconds" and run.is_called_anew:
            order = np.argsort(cost, kind="stable")
            cost, known = cost[order], run.known(quantity or self.quantity)[order]
            points = points_to(known, self._of(run))
        return [np.inf if at is None else float(cost[at]) for at in points]

    def are_late(self, run: StoredRun, points: list[int | None], quantity: str | None = None) -> list[bool]:
        """Return, for each of the `points`, whether it says when evaluation found a bound, not when w was there.

        Where evaluation finds a better bound the gap may fall far at once, and when it looks depends on the stopping
        rule: it spends most of its passes on the last point. A gap that ended the run was looked for all along.
        """
        info = run.result.info
        if (quantity or self.quantity) != "gap" or info.get("evaluation_passes", 0.0) <= 0.0:
            return [False] * len(points)
        looked_for = _looked_for(run)
        helped = info.get("helped", [[run.result.points - 1, looked_for]])  # older results tell of their last point
        without = {point: gap for point, gap in without_bounds(helped).items() if point > 0}
        return [
            point in without and bool(value < without[point]) and not math.isclose(value, looked_for)
            for point, value in zip(points, self._of(run), strict=True)
        ]

    def _of(self, run):
        """The values for this run."""
        if self.relative and run.result.points:
            return tuple(value * abs(run.column("primal")[0]) for value in self.values)
        return self.values

    @property
    def name(self) -> str:
        """What the levels are of, in words: gap, relative suboptimality."""
        return f"relative {self.quantity}" if self.relative else self.quantity

    @property
    def texts(self) -> list[str]:
        """The levels as people write them, all with an exponent where one has."""
        texts = [naming.short(value) for value in self.values]
        return [naming.with_exponent(value) for value in self.values] if any("e" in text for text in texts) else texts


def without_bounds(helped: list[list]) -> dict[int, float]:
    """{point: its gap without the bound that evaluation found there} of a result's `helped`, inf if there was none."""
    return {point: math.inf if gap is None else gap for point, gap in helped}


def _looked_for(run: StoredRun) -> float:
    """The gap that ended a run, or inf where it was not its gap that did."""
    if run.result.reason not in GAP_RULES or not run.result.points:
        return math.inf
    rules = run.result.spec.get("stop", {})
    of_gaps = StopRule(**{rule: rules[rule] for rule in GAP_RULES if rule in rules})
    return of_gaps.wanted_gap(run.column("primal")[0])


CERTIFIED_GAPS = Levels()


def parsed_levels(text: str | None, quantity: str = "gap", relative: bool = False, option: str = "--levels") -> Levels:
    """Return the Levels of a text like "1e-2,1e-4", loosest first; None stands for 1e-2, 1e-3, ..., 1e-8.

    option : what messages call the text; of `--level`, it is one number
    Raises RrmbenchError for what is no positive number, for too many levels, and for another quantity.
    """
    if quantity not in QUANTITIES:
        allowed = ", ".join(QUANTITIES)
        raise RrmbenchError(f"--y: found {shown(quantity)}, allowed is {allowed}{nearest(quantity, QUANTITIES)}")
    if text is None:
        return Levels(LEVELS, quantity, relative)
    parts = [text] if option == "--level" else text.split(",")
    values = sorted({_positive(option, part) for part in parts}, reverse=True)
    if len(values) > MOST:
        raise RrmbenchError(f"{option}: found {len(values)} levels, allowed are {MOST}")
    return Levels(tuple(values), quantity, relative)


def _positive(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0.0 < value < np.inf:
        raise RrmbenchError(f"{option}: found {shown(text)}, allowed are positive numbers such as 1e-4")
    return value
