"""Median and quartiles of what may be infinite: a run that never reaches a level needs for ever."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of a number over the runs of a method; inf where runs never come there, NaN if unknown."""

    median: float
    low: float
    high: float


def spread(values) -> Spread:
    """Return the Spread of numbers that may be inf; NaN counts as inf, but for numbers that are all NaN."""
    values = np.asarray(values, dtype=float)
    if not len(values) or np.isnan(values).all():
        return Spread(np.nan, np.nan, np.nan)
    ordered = np.sort(np.where(np.isnan(values), np.inf, values))
    return Spread(*(float(quantile(ordered, q)) for q in (0.5, 0.25, 0.75)))


def is_bound(costs, late) -> bool:
    """Whether the median of costs is only an upper bound: it depends on one that is `late`, see `Levels.are_late`."""
    return any(late) and spread(np.where(late, 0.0, costs)).median < spread(costs).median


def quantile(ordered, q):
    """The linear interpolation of numpy's quantile along the first axis, which makes NaN of infinite numbers."""
    below, part = divmod((len(ordered) - 1) * q, 1.0)
    low = ordered[int(below)]
    if not part:
        return low
    high = ordered[int(below) + 1]
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(high), low + part * (high - low), high)
