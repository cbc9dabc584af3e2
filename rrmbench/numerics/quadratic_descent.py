"""Coordinate descent with extrapolation on a quadratic model plus a sum over coordinates.

    Q(w) = g.(w - w0) + (1/2) (w - w0)^T H (w - w0) + (s/2) ||w||^2 - linear.w + sum_j psi(w_j)

H = A^T A is known by the columns of A, or as a matrix. `state` is then q = A (w - w0), or c = H (w - w0).
"""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel

K = 5  # sweeps between extrapolations
SHARE = 0.1  # of the potential of a sweep over all coordinates, at which that of the active ones is small enough


class ByColumns(NamedTuple):
    """H = A^T A by the columns of A (n, m): data[indptr[j]:indptr[j+1]] in rows indices[indptr[j]:indptr[j+1]]."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    def slope(self, j, state):
        c = 0.0
        for e in range(self.indptr[j], self.indptr[j + 1]):
            c += self.data[e] * state[self.indices[e]]
        return c

    def move(self, j, step, state):
        for e in range(self.indptr[j], self.indptr[j + 1]):
            state[self.indices[e]] += self.data[e] * step

    def reads(self, j):
        return 2 * (self.indptr[j + 1] - self.indptr[j])

    def square(self, away, state):
        total = 0.0
        for i in range(state.shape[0]):
            total += state[i] * state[i]
        return total


class ByMatrix(NamedTuple):
    """H (m, m) itself."""

    matrix: np.ndarray

    def slope(self, j, state):
        return state[j]

    def move(self, j, step, state):
        line = self.matrix[j]
        for i in range(state.shape[0]):
            state[i] += step * line[i]

    def reads(self, j):
        return self.matrix.shape[0]

    def square(self, away, state):
        total = 0.0
        for j in range(state.shape[0]):
            total += away[j] * state[j]
        return total


@kernel
def sweep(H, regularizer, s, linear, curvatures, g, which, w, state, moved):
    """A step for each coordinate of `which`; return (greatest potential, numbers read).

    The potential of a step is (H_jj + s) times its square: twice what it lowers Q by, or less. moved[k] says whether
    coordinate which[k] has moved.
    """
    greatest, read = 0.0, 0
    for k in range(which.shape[0]):
        j = which[k]
        total = curvatures[j] + s
        c = g[j] + H.slope(j, state)
        step = regularizer.prox((curvatures[j] * w[j] - c + linear[j]) / total, 1.0 / total) - w[j]
        moved[k] = step != 0.0
        read += H.reads(j)
        if step != 0.0:
            w[j] += step
            greatest = max(greatest, total * step * step)
            H.move(j, step, state)
    return greatest, read


@kernel
def objective(H, regularizer, s, linear, g, w0, w, state):
    """Q(w)."""
    total = 0.5 * H.square(w - w0, state)
    for j in range(w.shape[0]):
        total += g[j] * (w[j] - w0[j]) + 0.5 * s * w[j] * w[j] - linear[j] * w[j] + regularizer.psi(w[j])
    return total


@kernel
def mixture(points, weights):
    """Write to weights (K,) what of sum 1 makes sum_k weights[k] (points[k+1] - points[k]) least; whether there is one.

    points : (K + 1, m)
    """
    size = weights.shape[0]
    table = np.ones((size, size + 1))
    for k in range(size):
        for l in range(k + 1):
            total = 0.0
            for j in range(points.shape[1]):
                total += (points[k + 1, j] - points[k, j]) * (points[l + 1, j] - points[l, j])
            table[k, l] = table[l, k] = total
    trace = 0.0
    for k in range(size):
        trace += table[k, k]
    for k in range(size):
        table[k, k] += 1e-14 * trace
    for k in range(size):  # elimination without pivots: the matrix is positive definite
        if not table[k, k] > 1e-17 * trace:
            return False
        for i in range(size):
            if i != k:
                factor = table[i, k] / table[k, k]
                for l in range(k, size + 1):
                    table[i, l] -= factor * table[k, l]
    total = 0.0
    for k in range(size):
        weights[k] = table[k, size] / table[k, k]
        total += weights[k]
    for k in range(size):
        weights[k] /= total
    return abs(total) > 0.0


@kernel
def mixed(points, weights, out):
    """Write sum_k weights[k] points[k+1] to `out`."""
    out[:] = 0.0
    for k in range(weights.shape[0]):
        for j in range(out.shape[0]):
            out[j] += weights[k] * points[k + 1, j]


@kernel
def descend(H, regularizer, s, linear, curvatures, g, w0, w, state, tolerance, most):
    """Sweeps until no coordinate has a greater potential than `tolerance`, or `most` numbers are read.

    A sweep over all coordinates is followed by sweeps over those that moved in it. K of those give an extrapolated
    point, which is taken if Q is less there. Returns (numbers read, whether the tolerance is met).
    """
    m = w.shape[0]
    every, moved = np.arange(m), np.empty(m, np.bool_)
    points, states = np.empty((K + 1, m)), np.empty((K + 1, state.shape[0]))
    ahead, ahead_state, weights = np.empty(m), np.empty(state.shape[0]), np.empty(K)
    active = np.empty(m, np.int64)
    read = 0
    while True:
        potential, more = sweep(H, regularizer, s, linear, curvatures, g, every, w, state, moved)
        read += more
        if potential <= tolerance:
            return read, True
        if read >= most:
            return read, False
        size = 0
        for j in range(m):
            if moved[j]:
                active[size] = j
                size += 1
        enough = max(tolerance, SHARE * potential)
        while True:
            points[0, :] = w
            states[0, :] = state
            for k in range(K):
                potential, more = sweep(H, regularizer, s, linear, curvatures, g, active[:size], w, state, moved)
                read += more
                points[k + 1, :] = w
                states[k + 1, :] = state
            if potential <= enough or read >= most:
                break
            if mixture(points, weights):
                mixed(points, weights, ahead)
                mixed(states, weights, ahead_state)
                before = objective(H, regularizer, s, linear, g, w0, w, state)
                if objective(H, regularizer, s, linear, g, w0, ahead, ahead_state) < before:
                    w[:] = ahead
                    state[:] = ahead_state
