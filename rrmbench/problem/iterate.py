"""What solvers, and notebooks, are written against."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Iterate(NamedTuple):
    """What a solver yields: a live view of its state, valid until the next step.

    w : model, of the problem's shape
    b : dual variable, of the shape of the outputs, (n,) or (n, k); or None where the solver has none
    passes : data touched so far, in units of all stored rows; NaN, in all iterates, where nobody counts them:
        such a solver says so by `counts_passes=False`, and no number of passes ends it
    checks : the same for evaluations that the method needs but papers do not count
    gradient_norm : norm of the prox-gradient map at w, of the problem that the solver sees, where it is known for free
    restarted : whether this iterate was computed from scratch, as by another library called with a greater budget:
        it took the time since the iterate before it, not the sum of all times. Of a solver that counts passes this is
        a failure unless it `gives={"restarts"}`
    objectives : objectives() is (P(w), D(b)) of the problem that the solver sees, for no product, until its next step
    """

    w: np.ndarray
    b: np.ndarray | None = None
    passes: float = 0.0
    checks: float = 0.0
    gradient_norm: float | None = None
    restarted: bool = False
    objectives: Callable[[], tuple[float, float]] | None = None

    def copied(self) -> "Iterate":
        """This iterate with arrays of its own, which the next step of the solver leaves as they are."""
        return self._replace(w=self.w.copy(), b=None if self.b is None else self.b.copy())
