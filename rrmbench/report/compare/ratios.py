"""How many times the cost of B does A need? Paired log ratios with a t-interval."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


FEW = 5  # cases: fewer say little of others, so that the interval is over the seeds of these


@dataclass(frozen=True)
class Ratio:
    """The geometric mean of A's cost over B's, with an interval of 95 %.

    low, high : ends of the t-interval of the mean log ratio; NaN where nothing varies that could be measured
    pairs, cases : how many pairs, of how many cases
    over : "cases" or "seeds", what the interval is over, see `basis`
    alike : whether there are several pairs and no variation, so that the interval has no width
    """

    estimate: float
    low: float
    high: float
    pairs: int
    cases: int
    over: str
    alike: bool

    @property
    def differs(self) -> bool:
        """Whether a difference is shown: the interval does not hold 1."""
        return self.low > 1.0 or self.high < 1.0


def basis(cases: Sequence) -> str:
    """Return what an interval over pairs of these cases is over: "cases", or "seeds" where the cases are few.

    Seeds of one case are not independent of each other, so with FEW cases or more, or with one seed in each, the mean
    of each case is one observation, and the interval is of the mean over cases like these. With fewer cases it is over
    their seeds, and of the mean over these very cases.
    """
    return "seeds" if len(set(cases)) < min(FEW, len(cases)) else "cases"


def ratio(a: Sequence[float], b: Sequence[float], cases: Sequence, over: str) -> Ratio | None:
    """Return the Ratio of the positive finite costs a and b, pair by pair; None without a pair.

    cases : the problem and method that each pair belongs to. Every case weighs the same, whatever its number of seeds.
    over : "cases", with the mean log ratio of each as one observation; or "seeds", with the variance inside the cases,
        pooled. The interval is symmetric in A and B: that of B over A has the reciprocal ends.
    """
    logs = np.log(np.asarray(a, dtype=float)) - np.log(np.asarray(b, dtype=float))
    if not len(logs):
        return None
    grouped: dict = {}
    for case, value in zip(cases, logs, strict=True):
        grouped.setdefault(case, []).append(value)
    groups = [np.array(values) for values in grouped.values()]
    means = np.array([values.mean() for values in groups])
    free = len(logs) - len(groups) if over == "seeds" else len(groups) - 1
    half = _quantile(free) * _error(groups, means, free, over) if free else np.nan
    estimate, low, high = (float(np.exp(means.mean() + part)) for part in (0.0, -half, half))
    return Ratio(estimate, low, high, len(logs), len(groups), over, bool(half <= 1e-12))


def _error(groups, means, free, over):
    """The standard error of the mean of the cases' means."""
    if over == "cases":
        return means.std(ddof=1) / np.sqrt(len(groups))
    variance = sum(((values - values.mean()) ** 2).sum() for values in groups) / free
    return np.sqrt(variance * sum(1.0 / len(values) for values in groups)) / len(groups)


def _quantile(free):
    """The quantile of Student's t with `free` degrees of freedom for a two-sided interval."""
    from scipy.stats import t

    return float(t.ppf(0.5 + CONFIDENCE / 2.0, free))
