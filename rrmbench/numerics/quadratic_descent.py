"""Coordinate descent with extrapolation on a quadratic model plus a sum over coordinates.

    Q(w) = g.(w - w0) + (1/2) (w - w0)^T H (w - w0) + (s/2) ||w||^2 - linear.w + sum_j psi(w_j)

H = A^T A is known by the columns of A, or as a matrix. `state` is then q = A (w - w0), or c = H (w - w0).
"""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel


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
def sweep(H, regularizer, s, linear, curvatures, g, which, w, state, moved, tilts):
    """A step for each coordinate of `which`; return (greatest potential, numbers read).

    The potential of a step is (H_jj + s) times its square: twice what it lowers Q by, or less. moved[k] says whether
    coordinate which[k] has moved.
    """
    greatest, read = 0.0, 0
    for k in range(which.shape[0]):
        j = which[k]
        total = curvatures[j] + s
        c = g[j] + H.slope(j, state)
        x = (curvatures[j] * w[j] - c + linear[j]) / total
        new = regularizer.prox(x, 1.0 / total)
        tilts[j] = total * (x - new)
        step = new - w[j]
        moved[k] = step != 0.0
        read += H.reads(j)
        if step != 0.0:
            w[j] = new
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
def slopes(H, s, linear, g, tilts, active, w, state, r):
    """Write to r the negative derivatives of Q by w_j, j in `active` (m,), with tilts[j] for that of psi_j."""
    for k in range(active.shape[0]):
        j = active[k]
        r[k] = linear[j] - g[j] - H.slope(j, state) - s * w[j] - tilts[j]


@kernel
def conjugate_step(H, s, curvatures, active, r, p, before, w, state):
    """A step of conjugate gradients on Q, each psi_j affine, scaled by the curvatures; return z.r, 0 at the end.

    active : (m,) the coordinates that move; r, p : (m,) minus the gradient there and the direction, which is made new
    before : z.r of the step before this one, 0 for the first; w, state : changed along p
    """
    size = active.shape[0]
    now = 0.0
    for k in range(size):
        now += r[k] * r[k] / (curvatures[active[k]] + s)
    beta = now / before if before > 0.0 else 0.0
    u = np.zeros(state.shape[0])
    for k in range(size):
        p[k] = r[k] / (curvatures[active[k]] + s) + beta * p[k]
        H.move(active[k], p[k], u)
    curvature = 0.0
    Hp = np.empty(size)
    for k in range(size):
        Hp[k] = H.slope(active[k], u) + s * p[k]
        curvature += p[k] * Hp[k]
    if not curvature > 0.0:
        return 0.0
    alpha = now / curvature
    for i in range(state.shape[0]):
        state[i] += alpha * u[i]
    for k in range(size):
        w[active[k]] += alpha * p[k]
        r[k] -= alpha * Hp[k]
    return now
