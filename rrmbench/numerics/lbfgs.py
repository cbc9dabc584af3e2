"""L-BFGS: what pairs of steps and changes of the gradient tell of a Hessian, and its line search.

[Liu and Nocedal 1989]
"""

import math
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from rrmbench.numerics.tolerances import SUM_ROUNDING

PAIRS = 30  # of vectors like w or b, which are all that it keeps
ROUNDING = 1e-14  # the cosine of a step and a change of the gradient below which it is rounding
DECREASE, SLOPE = 1e-4, 0.5  # of the two conditions of Wolfe
TRIALS = 40  # of a line search

Point = TypeVar("Point")


class Memory:
    """The last `PAIRS` steps, arrays of one shape, each with the change of the gradient that it made."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=PAIRS)

    def __len__(self) -> int:
        return len(self._pairs)

    def forget(self) -> None:
        """Begin again, with the gradient itself."""
        self._pairs.clear()

    def take(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep a pair, unless rounding hides its curvature."""
        curvature, size = float(np.vdot(step, change)), float(np.vdot(change, change))  # which may underflow
        if size > 0.0 and curvature > ROUNDING * math.sqrt(float(np.vdot(step, step)) * size):
            self._pairs.append((step, change, curvature))

    def direction(self, slope: np.ndarray) -> np.ndarray:
        """Minus the gradient `slope` times an approximation of the inverse of the Hessian, a new array."""
        d, shares = -slope, []
        for step, change, curvature in reversed(self._pairs):
            shares.append(float(np.vdot(step, d)) / curvature)
            d -= shares[-1] * change
        if self._pairs:
            _, change, curvature = self._pairs[-1]
            d *= curvature / float(np.vdot(change, change))
        for (step, change, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            d += (share - float(np.vdot(change, d)) / curvature) * step
        return d


def searched(at: Callable[[float], tuple[float, float, Point]], F: float, down: float, t: float) -> Point | None:
    """The first point of a bisection that meets Wolfe's conditions, or None after `TRIALS` points between two ends.

    at(t) : F at the step length t, its derivative along the line there, and the point, which is returned
    F, down : F and its derivative at t = 0; where F is flat to rounding, the derivative alone decides
    t : the first step length, > 0
    """
    if not down < 0.0:
        return None
    low, high, trials = 0.0, math.inf, 0
    while trials < TRIALS and 0.0 < t < math.inf:  # where F falls as steeply for long, it takes any number of doublings
        value, along, point = at(t)
        flat = abs(value - F) <= SUM_ROUNDING * abs(F) and abs(along) <= SLOPE * abs(down)
        if not (value <= F + DECREASE * t * down or flat):
            high = t
        elif along < SLOPE * down:
            low = t
        else:
            return point
        trials += high < math.inf
        t = 0.5 * (low + high) if high < math.inf else 2.0 * t
    return None
