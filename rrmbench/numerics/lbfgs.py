"""What L-BFGS knows of a Hessian: pairs of steps and changes of the gradient. [Liu and Nocedal 1989]"""

import math
from collections import deque

import numpy as np

PAIRS = 30
ROUNDING = 1e-14  # the cosine of a step and a change of the gradient below which it is rounding


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
        curvature = float(np.vdot(step, change))
        if curvature > ROUNDING * math.sqrt(float(np.vdot(step, step)) * float(np.vdot(change, change))):
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
