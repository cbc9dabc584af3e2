"""Concave quadratic functions on the simplex, by an active set method."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

# the first that makes H factorable is added to its diagonal, over its greatest entry and the differences of g; after
# these 2 k, since no eigenvalue of a (k, k) matrix of entries of at most 1 is below -k
RIDGES = 1e-14, 1e-10, 1e-6, 1e-2
ROUNDING = 1e-14  # of a slope, over the greatest of H a and g


def maximizer(H: np.ndarray, g: np.ndarray, a: np.ndarray) -> np.ndarray:
    """argmax over the simplex of  g.a - (1/2) a^T H a, a new array, from the point `a` (k,) of the simplex.

    H is (k, k), symmetric and positive semidefinite, as far as its errors let it; g is (k,). On the positive entries
    the maximizer under sum a = 1 alone is a linear system; on the way to it an entry that reaches 0 leaves. Where
    nothing leaves, the entry of 0 with the greatest slope joins, until the value rises no more.
    """
    a, positive = a.copy(), a > 0.0
    best, value = a, -np.inf
    while True:
        while True:
            here = np.flatnonzero(positive)
            aim, level = _on_plane(H[np.ix_(here, here)], g[here])
            falling = aim <= 0.0
            if here.size == 1 or not falling.any():
                a[here] = aim
                break
            lengths = np.full(here.size, np.inf)
            lengths[falling] = a[here][falling] / (a[here] - aim)[falling]
            leaving = int(np.argmin(lengths))
            a[here] = np.maximum(a[here] + lengths[leaving] * (aim - a[here]), 0.0)
            a[here[leaving]] = 0.0
            positive[here[leaving]] = False
        a /= a.sum()
        pull = H @ a
        before, value = value, float(g @ a) - 0.5 * float(a @ pull)
        if not value > before:
            return best
        best = a.copy()
        slopes = g - pull - level
        slopes[positive] = -np.inf
        entering = int(np.argmax(slopes))
        if not slopes[entering] > ROUNDING * max(float(np.abs(g).max()), float(np.abs(pull).max())):
            return best
        positive[entering] = True


def _on_plane(H: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, float]:
    """(argmax of g.a - (1/2) a^T H a under sum a = 1, the multiplier of the sum)."""
    k = g.size
    if k == 1:
        return np.ones(1), float(g[0] - H[0, 0])
    middle, size = float(np.mean(g)), float(max(np.abs(H).max(), np.ptp(g))) or 1.0  # errors of H may be all of it
    H, g = H / size, (g - middle) / size
    for ridge in *RIDGES, 2.0 * k:
        # (sum a)^2 is constant on the plane, and makes up for a direction in which H is singular
        A = H + 1.0
        A.flat[:: k + 1] += ridge
        try:
            factors = cho_factor(A, check_finite=False)
            break
        except LinAlgError:
            if ridge not in RIDGES:
                raise
    ones = cho_solve(factors, np.ones(k), check_finite=False)
    total, a, level = float(ones.sum()), np.full(k, 1.0 / k), 0.0
    for _ in range(2):  # the second time for the rounding and the ridge of the first
        step = cho_solve(factors, g - H @ a, check_finite=False)
        level = float(step.sum()) / total
        a = a + step - level * ones
    return a, middle + size * level
