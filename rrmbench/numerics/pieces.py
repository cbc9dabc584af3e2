"""The conjugate of a polyhedral function, as linear programs take it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Pieces(NamedTuple):
    """f(v) = constant + min of sum_k slopes_k sum_j u_jk  where  sum_k u_jk = v_j,  lower_k <= u_jk <= upper_k.

    Where a radius is given, the sum of |u_jk| over all k and the j of a block is at most the radius, a block being
    `length` consecutive entries of v.
    """

    slopes: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    radius: float | None = None
    length: int = 1


def in_l1_balls(radius: float, length: int) -> Pieces:
    """The indicator of ||v||_1 <= radius for each block of `length` entries."""
    return Pieces((0.0, 0.0), (0.0, -radius), (radius, 0.0), radius, length)


class Parts(NamedTuple):
    """n Phi*(b) = min of costs.u  where  b = columns u,  0 <= u <= 1,  the sum of u over each group <= limit.

    costs, groups : (K,), groups the number of the group of each u
    columns : (entries of b, K), sparse
    balance : sparse, where u has to meet balance u = 0, too
    balanced : then u, which may miss this by rounding -> one that does not
    """

    costs: np.ndarray
    columns: Any
    groups: np.ndarray
    limit: float
    balance: Any = None
    balanced: Callable[[np.ndarray], np.ndarray] | None = None

    def within(self, u: np.ndarray) -> np.ndarray:
        """u, which may miss all of this by rounding, within its limits."""
        u = np.clip(u, 0.0, 1.0)
        u = u / np.maximum(np.bincount(self.groups, u) / self.limit, 1.0)[self.groups]
        return u if self.balanced is None else self.balanced(u)
