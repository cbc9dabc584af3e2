"""Random sample orders that are the same in every process and version of numpy and numba."""

import numpy as np

from rrmbench.numerics.jit import draw_integers, draw_permutation


class Rng:
    """A stream of splitmix64 numbers, started from an integer seed; `state` is for kernels that draw by themselves."""

    def __init__(self, seed=0):
        self.state = np.array([seed], dtype=np.uint64)
        self._order = np.empty(0, dtype=np.int32)

    def permutation(self, n):
        """A uniform random permutation of 0 .. n-1, an int32 array (n,)."""
        order = np.empty(n, dtype=np.int32)
        draw_permutation(self.state, order)
        return order

    def integers(self, n, size):
        """`size` independent uniform integers in 0 .. n-1, an int32 array (size,)."""
        order = np.empty(size, dtype=np.int32)
        draw_integers(self.state, n, order)
        return order

    def epoch(self, n):
        """A fresh permutation of 0 .. n-1 in an array that the next call overwrites."""
        if self._order.size != n:
            self._order = np.empty(n, dtype=np.int32)
        draw_permutation(self.state, self._order)
        return self._order
