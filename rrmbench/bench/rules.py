"""What a trace point is, when points are due, and when a run is done."""

import math
from dataclasses import dataclass

Row = dict[str, float]  # a trace point: column -> value
SPREAD = ("seconds_min", "seconds_max")  # columns of repeated runs, whose `seconds` are medians
COLUMNS = ("passes", "checks", "seconds", "cpu_seconds", "primal", "dual", "gap", "nonzeros")

OWN_ENDS = ENDED, NO_PROGRESS = "ended", "no more progress"  # reasons beside the rules: of a solver, and of a black box
LEAST_GROWTH = 1.0 + 1e-5  # of passes from one point to the next, where points are not for all iterates
ROUNDING = 1e-15  # of |P|: a gap is the difference of two sums, which are rounded


def relative_spread(median: float, least: float, most: float) -> float:
    """(most - least) / median of the seconds of repeats, 0 where the clock saw none."""
    return (most - least) / median if median > 0.0 else 0.0


@dataclass(frozen=True)
class StopRule:
    """When a run is done; the first rule that is met gives its name to the result."""

    passes: float = math.inf
    gap: float = -math.inf
    relative_gap: float = -math.inf
    seconds: float = math.inf

    def reached(self, row: Row, first_primal: float) -> str | None:
        """The name of the rule that this row of the trace meets, or None; gaps below `ROUNDING` are not known."""
        gap = max(row["gap"], ROUNDING * abs(row["primal"]))
        if gap <= self.gap:
            return "gap"
        if gap <= self.relative_gap * abs(first_primal):
            return "relative_gap"
        if row["passes"] >= self.passes - 1e-9:
            return "passes"
        return "seconds" if row["seconds"] >= self.seconds else None

    def wanted_gap(self, first_primal: float) -> float:
        """The greatest gap that meets a rule, -inf without one."""
        relative = self.relative_gap * abs(first_primal) if self.relative_gap > -math.inf else -math.inf
        return max(self.gap, relative)


@dataclass(frozen=True)
class Schedule:
    """Trace points are `every` passes apart, or a factor `growth` where that is more.

    From 100,000 points on they are a factor `LEAST_GROWTH` apart at least, so that millions of passes leave a trace
    that can be kept, stored and read.
    """

    every: float = 1.0
    growth: float = 1.0

    def after(self, passes: float) -> float:
        """The passes at which the next point is due; fractions of a pass are compared with a little slack."""
        growth = max(self.growth, LEAST_GROWTH) if self.every else self.growth  # 0 asks for all iterates
        return max(passes + self.every, passes * growth) - 1e-9
