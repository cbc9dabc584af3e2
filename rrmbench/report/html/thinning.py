"""Curves as the page stores them: no more points than a screen shows, each array once."""

import base64
from itertools import pairwise

import numpy as np


def thinned(y, most):
    """Return the indices, increasing, of at most `most` points that draw the curve y, (points,), as all of them would.

    The points are kept in bins, half of the bins equal in length and half growing geometrically, for an axis that may
    be linear or logarithmic; of each bin the least and the greatest y stay, and so do both ends. The points are those
    of the curve: nothing is interpolated. `most` is at least 8.
    """
    n = len(y)
    if n <= most:
        return np.arange(n)
    bins = (most - 2) // 4  # of each kind; two points of each bin stay
    edges = np.unique(np.concatenate([np.linspace(0, n, bins + 1), np.geomspace(1, n, bins)]).astype(int))
    kept = {0, n - 1}
    for start, end in pairwise(edges):
        kept |= {start + int(np.argmin(y[start:end])), start + int(np.argmax(y[start:end]))}
    return np.array(sorted(kept))


class Pool:
    """Arrays of numbers, each kept once: `add` returns the number of an array, `texts` are they all in base64."""

    def __init__(self):
        self._numbers = {}

    def add(self, array):
        """Return the number of a float array (points,)."""
        return self._numbers.setdefault(np.ascontiguousarray(array, dtype="<f8").tobytes(), len(self._numbers))

    @property
    def texts(self):
        """The arrays as base64 of little-endian float64, in the order of their numbers."""
        return [base64.b64encode(content).decode() for content in self._numbers]
