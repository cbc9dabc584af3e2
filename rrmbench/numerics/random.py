"""Random sample orders that are the same in every process and version of numpy and numba."""

import numpy as np

from rrmbench.numerics.jit import kernel

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)


@kernel
def splitmix64(state):
    """The next 64 random bits of Steele, Lea and Flood's splitmix64; `state` is one uint64 in an array."""
    state[0] += GOLDEN_GAMMA
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * MIX1
    x = (x ^ (x >> np.uint64(27))) * MIX2
    return x ^ (x >> np.uint64(31))


@kernel
def below(state, n):
    """A random integer in 0 .. n-1 (n < 2^32) by Lemire's multiplication of the upper 32 bits."""
    return np.int64(((splitmix64(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def draw_integers(state, n, out):
    """Fill `out` with independent uniform integers in 0 .. n-1."""
    for k in range(out.shape[0]):
        out[k] = below(state, n)


@kernel
def shuffle(state, order):
    """Permute `order` (m,) uniformly in place (Fisher and Yates)."""
    for k in range(order.shape[0]):
        j = below(state, k + 1)
        order[k], order[j] = order[j], order[k]


@kernel
def draw_permutation(state, out):
    """Fill `out` (n,) with a uniform permutation of 0 .. n-1."""
    for k in range(out.shape[0]):
        out[k] = k
    shuffle(state, out)


@kernel
def draw_orders(state, values, out):
    """Fill each row of `out` (k, m) with the values (m,) in a uniformly random order."""
    for order in out:
        for k in range(values.shape[0]):  # not `order[:] = values`: see `rrmbench.numerics.balancing`
            order[k] = values[k]
        shuffle(state, order)


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

    def drawing(self, sampling):
        """The function from n to the order of the steps of a pass: a "permutation", or independent "uniform" draws."""
        return self.epoch if sampling == "permutation" else lambda n: self.integers(n, n)

    def orders(self, values, k):
        """The int32 `values` (m,) in k independent random orders, one after the other, an array (k m,)."""
        out = np.empty((k, values.size), dtype=np.int32)
        draw_orders(self.state, values, out)
        return out.reshape(-1)

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
