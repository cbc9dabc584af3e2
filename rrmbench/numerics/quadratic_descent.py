"""Coordinate steps and conjugate gradients on a quadratic model plus a sum over coordinates, w (m,).

    Q(w) = g.(w - w0) + (1/2) (w - w0)^T H (w - w0) + (s/2) ||w||^2 - linear.w + sum_j psi(w_j)

H is known by the columns of A with H = weight A^T A, or as a matrix. `state` is A (w - w0), or H (w - w0).
"""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.lines import axpy, dot, whole_axpy, whole_dot, whole_weighted_axpy, whole_weighted_square

ROUNDING = 1e-12  # of a coordinate, relative
FLAT = 1e-13  # of the curvature along a direction by the diagonal alone, below which that by all is rounding


class ByColumns(NamedTuple):
    """H = weight A^T A by the columns of A (n, m).

    Column j is data[indptr[k]:indptr[k+1]] in rows indices[indptr[k]:indptr[k+1]], k = place[j]; place (m,). The state
    is A v (n,) for v = w - w0.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    place: np.ndarray
    weight: float

    def slope_along(self, j, state):
        """(H v)_j."""
        k = self.place[j]
        return self.weight * dot(self.indices, self.data, self.indptr[k], self.indptr[k + 1], state)

    def move_along(self, j, step, state):
        """v_j += step."""
        k = self.place[j]
        axpy(self.indices, self.data, self.indptr[k], self.indptr[k + 1], step, state)

    def reads_along(self, j):
        """The numbers that `slope_along` and `move_along` read."""
        k = self.place[j]
        return 2 * (self.indptr[k + 1] - self.indptr[k])

    def square_of(self, v, state):
        """v^T H v."""
        return self.weight * whole_dot(state, 0, state)


class ByEvenLines(NamedTuple):
    """H = weight X^T X, where no entry is missing: column j of X is lines[place[j]]; lines (k, n), place (m,).

    The state is X v (n,).
    """

    lines: np.ndarray
    place: np.ndarray
    weight: float

    def slope_along(self, j, state):
        return self.weight * whole_dot(self.lines[self.place[j]], 0, state)

    def move_along(self, j, step, state):
        whole_axpy(self.lines[self.place[j]], 0, step, state)

    def reads_along(self, j):
        return 2 * self.lines.shape[1]

    def square_of(self, v, state):
        return self.weight * whole_dot(state, 0, state)


class ByLines(NamedTuple):
    """H = sum_i weights[i] x_i x_i^T, where no entry is missing: column j of X is lines[place[j]]; weights (n,) > 0.

    The state is diag(weights) X v (n,); lines (k, n), place (m,).
    """

    lines: np.ndarray
    place: np.ndarray
    weights: np.ndarray

    def slope_along(self, j, state):
        return whole_dot(self.lines[self.place[j]], 0, state)

    def move_along(self, j, step, state):
        whole_weighted_axpy(self.lines[self.place[j]], self.weights, step, state)

    def reads_along(self, j):
        return 2 * self.lines.shape[1]

    def square_of(self, v, state):
        total = 0.0
        for i in range(state.shape[0]):
            total += state[i] * state[i] / self.weights[i]
        return total


class Square(NamedTuple):
    """The second derivative of (s/2) ||w||^2 and of psi, where every psi_j is affine: s."""

    s: float

    def add_bend(self, p, Hp):
        """Hp += the product with p."""
        for k in range(p.shape[0]):
            Hp[k] += self.s * p[k]


class ByMatrix(NamedTuple):
    """H (m, m) itself; the state is H v (m,) for v = w - w0."""

    matrix: np.ndarray

    def slope_along(self, j, state):
        return state[j]

    def move_along(self, j, step, state):
        line = self.matrix[j]
        for k in range(state.shape[0]):
            state[k] += step * line[k]

    def reads_along(self, j):
        return self.matrix.shape[0]

    def square_of(self, v, state):
        total = 0.0
        for j in range(state.shape[0]):
            total += v[j] * state[j]
        return total


class OfOutputs(NamedTuple):
    """The same H for each of k outputs: v is a matrix (m, k) row by row, and coordinate j k + c is v[j, c].

    The state is that of H for each column of v, one after the other. What is read of a column of A serves all outputs,
    as in a product of matrices; it is counted for the first.
    """

    H: tuple
    k: int

    def slope_along(self, j, state):
        size, c = state.shape[0] // self.k, j % self.k
        return self.H.slope_along(j // self.k, state[c * size : (c + 1) * size])

    def move_along(self, j, step, state):
        size, c = state.shape[0] // self.k, j % self.k
        self.H.move_along(j // self.k, step, state[c * size : (c + 1) * size])

    def reads_along(self, j):
        return self.H.reads_along(j // self.k) if j % self.k == 0 else 0

    def square_of(self, v, state):
        size, total = state.shape[0] // self.k, 0.0
        for c in range(self.k):
            total += self.H.square_of(v[c :: self.k], state[c * size : (c + 1) * size])
        return total


def is_matrix(H):
    """Whether a form, of one output or several, is known as a matrix."""
    return isinstance(getattr(H, "H", H), ByMatrix)


@kernel
def sweep(H, regularizer, s, linear, curvatures, g, which, w, state, moved, tilts):
    """The minimization of Q over each coordinate of `which` in turn; return (greatest potential, numbers read).

    The potential of a step is (H_jj + s) times its square: it lowers Q by half of that, or more.

    curvatures : (m,) H_jj; w, state : changed
    moved : (m,), moved[k] becomes whether coordinate which[k] moved
    tilts : (m,), tilts[j] becomes the subgradient of psi at the new w_j
    """
    greatest, read = 0.0, 0
    for k in range(which.shape[0]):
        j = which[k]
        total = curvatures[j] + s
        x = (curvatures[j] * w[j] - g[j] - H.slope_along(j, state) + linear[j]) / total
        new = regularizer.prox(x, 1.0 / total)
        step = new - w[j]
        tilts[j], moved[k] = total * (x - new), step != 0.0
        read += H.reads_along(j)
        if step != 0.0:
            w[j] = new
            greatest = max(greatest, total * step * step)
            H.move_along(j, step, state)
    return greatest, read


@kernel
def sweeps(times, H, regularizer, s, linear, curvatures, g, which, w, state, moved, tilts):
    """So many times `sweep`; return (greatest potential of the last, numbers read by all)."""
    greatest, read = 0.0, 0
    for _ in range(times):
        greatest, more = sweep(H, regularizer, s, linear, curvatures, g, which, w, state, moved, tilts)
        read += more
    return greatest, read


@kernel
def value(H, regularizer, s, linear, g, w0, w, state):
    """Q(w)."""
    total = 0.5 * H.square_of(w - w0, state)
    for j in range(w.shape[0]):
        total += g[j] * (w[j] - w0[j]) + 0.5 * s * w[j] * w[j] - linear[j] * w[j] + regularizer.psi(w[j])
    return total


@kernel
def weighted_squares(H, squares):
    """Write H_jj to squares (m,), for H by lines."""
    for j in range(squares.shape[0]):
        squares[j] = whole_weighted_square(H.lines[H.place[j]], H.weights)


@kernel
def reads(H, which):
    """The numbers that a step on each coordinate of `which` reads."""
    total = 0
    for k in range(which.shape[0]):
        total += H.reads_along(which[k])
    return total


@kernel
def residuals(H, s, linear, g, tilts, active, w, state, r):
    """Write to r (a,) minus the derivatives of Q by the coordinates `active` (a,), tilts[j] for that of psi_j."""
    for k in range(active.shape[0]):
        j = active[k]
        r[k] = linear[j] - g[j] - H.slope_along(j, state) - s * w[j] - tilts[j]


@kernel
def bend_back(H, regularizer, diagonal, tilts, active, w, state):
    """w_j+ = prox(w_j + tilts[j]/c, 1/c), c = diagonal[k], of each j = active[k]; return the numbers read.

    Where psi_j is affine from the point with the subgradient tilts[j] to w_j, that is w_j but for rounding, and nothing
    is done; where a kink is between, w_j goes back to it, or toward it.
    """
    read = 0
    for k in range(active.shape[0]):
        j = active[k]
        new = regularizer.prox(w[j] + tilts[j] / diagonal[k], 1.0 / diagonal[k])
        if abs(new - w[j]) > ROUNDING * abs(w[j]):
            H.move_along(j, new - w[j], state)
            read += H.reads_along(j) // 2
            w[j] = new
    return read


@kernel
def conjugate_step(H, bend, diagonal, active, r, p, before, w, state):
    """A step of conjugate gradients on Q; return sum_k r_k^2/diagonal[k] before it, 0 at the end.

    active : (a,) the coordinates that move; r, p : (a,), minus the gradient and the direction, which are made new
    bend : the second derivative of Q beside H, in the active coordinates; diagonal : (a,), about that of all
    before : what the step before returned, 0 for the first one; w, state : changed along p
    """
    size, now = active.shape[0], 0.0
    for k in range(size):
        now += r[k] * r[k] / diagonal[k]
    beta = now / before if before > 0.0 else 0.0
    u = np.zeros(state.shape[0])
    for k in range(size):
        p[k] = r[k] / diagonal[k] + beta * p[k]
        H.move_along(active[k], p[k], u)
    Hp, curvature, scale = np.empty(size), 0.0, 0.0
    for k in range(size):
        Hp[k] = H.slope_along(active[k], u)
    bend.add_bend(p, Hp)
    for k in range(size):
        curvature += p[k] * Hp[k]
        scale += p[k] * p[k] * diagonal[k]
    if not curvature > FLAT * scale:
        return 0.0
    alpha = now / curvature
    for i in range(state.shape[0]):
        state[i] += alpha * u[i]
    for k in range(size):
        w[active[k]] += alpha * p[k]
        r[k] -= alpha * Hp[k]
    return now


@kernel
def conjugate_steps(times, enough, H, bend, diagonal, active, r, p, first, before, w, state):
    """At most so many times `conjugate_step`, until it returns at most `enough` times what the first one returned.

    first : that, 0 before there was any. Return (what the first one and the last one returned, the number of steps)
    """
    for k in range(times):
        before = conjugate_step(H, bend, diagonal, active, r, p, before, w, state)
        first = first if first > 0.0 else before
        if before <= enough * first:
            return first, before, k + 1
    return first, before, times
