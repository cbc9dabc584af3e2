"""Concave quadratic functions on the simplex, by an active set method."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

# the first that makes H factorable is added to its diagonal, over its greatest entry and the differences of slopes;
# after these 2 k, since no eigenvalue of a (k, k) matrix of entries of at most 1 is below -k
RIDGES = 1e-14, 1e-10, 1e-6, 1e-2
ROUNDS = 4  # for each entry, after which none joins: where H has errors, faces may come again a thousand times
ROUNDING = 1e-14  # of a slope, over the greatest of the slopes and of H h


def maximizer(H: np.ndarray, slopes: np.ndarray, a: np.ndarray) -> np.ndarray:
    """a + h with the h that maximizes  slopes.h - (1/2) h^T H h  where a + h is in the simplex, a new array.

    H is (k, k), symmetric and positive semidefinite, as far as its errors let it; a (k,) is a point of the simplex and
    slopes (k,) are those there, up to a constant. On the positive entries the maximizer under sum h = 0 alone is a
    linear system; on the way to it an entry that reaches 0 leaves. Where nothing leaves, the entry of 0 with the
    greatest slope joins, until the value rises no more or 4 k have joined. Values are differences from that at a, since
    near the maximum the values themselves are the same to rounding.
    """
    x, positive, size = a.copy(), a > 0.0, float(np.abs(slopes).max())
    slopes = slopes - slopes @ a / a.sum()
    best, value = x, -np.inf
    for _ in range(ROUNDS * a.size):
        while True:
            here = np.flatnonzero(positive)
            step = _on_plane(H[np.ix_(here, here)], (slopes - H @ (x - a))[here])
            aim = x[here] + step
            falling = aim <= 0.0
            if here.size == 1 or not falling.any():
                x[here] = aim
                break
            lengths = np.full(here.size, np.inf)
            lengths[falling] = -x[here][falling] / step[falling]
            leaving = int(np.argmin(lengths))
            x[here] = np.maximum(x[here] + lengths[leaving] * step, 0.0)
            x[here[leaving]] = 0.0
            positive[here[leaving]] = False
        x /= x.sum()
        h = x - a
        pull = H @ h
        before, value = value, float(slopes @ h) - 0.5 * float(h @ pull)
        if not value > before:
            return best
        best = x.copy()
        rises = slopes - pull
        rises -= rises[here] @ x[here]
        rises[positive] = -np.inf
        entering = int(np.argmax(rises))
        if not rises[entering] > ROUNDING * max(size, float(np.abs(pull).max())):
            return best
        positive[entering] = True
    return best


def _on_plane(H: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """argmax of slopes.h - (1/2) h^T H h under sum h = 0."""
    k = slopes.size
    if k == 1:
        return np.zeros(1)
    slopes = slopes - np.mean(slopes)
    size = float(max(np.abs(H).max(), np.ptp(slopes))) or 1.0  # errors may be all of H
    H, slopes = H / size, slopes / size
    for ridge in *RIDGES, 2.0 * k:
        # (sum h)^2 is 0 on the plane, and makes up for a direction in which H is singular
        A = H + 1.0
        A.flat[:: k + 1] += ridge
        try:
            factors = cho_factor(A, check_finite=False)
            break
        except LinAlgError:
            if ridge not in RIDGES:
                raise
    ones = cho_solve(factors, np.ones(k), check_finite=False)
    total, h = float(ones.sum()), np.zeros(k)
    for _ in range(2):  # the second time for the rounding and the ridge of the first
        step = cho_solve(factors, slopes - H @ h, check_finite=False)
        h = h + step - float(step.sum()) / total * ones
    return h
