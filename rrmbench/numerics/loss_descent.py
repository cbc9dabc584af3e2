"""Coordinate steps on P itself, not on a model of it: w (d,), and with it z = X w and b = phi'(z), both (n,).

    P(w) = (1/n) sum_i phi(x_i.w; y_i) + (s/2) ||w||^2 - linear.w + sum_j psi(w_j)

X is known as `Columns` or, where no entry is missing, as `Lines`, with the same methods.
"""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel, plus
from rrmbench.numerics.lines import dot, whole_axpy, whole_dot
from rrmbench.numerics.sparse_rows import entries
from rrmbench.numerics.whole_arrays import dual_points

BLOCK = 64  # samples whose phi' are computed together, several at once: of the logistic loss in a sixth of the time
ROUNDING = 1e-12  # of a coordinate, relative
BENT = 2.0  # times the curvature of a step, up to which that on its way may be; below it, P falls but in odd cases
FLATTER = 0.1  # of the curvature of a step, the least of the next one
LEAST = 1e-3  # of the greatest curvature that a coordinate can have, the least of a step


class Columns(NamedTuple):
    """Column j is data[indptr[j]:indptr[j+1]] in rows indices[indptr[j]:indptr[j+1]]."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    def product_with(self, j, b):
        """x_j . b"""
        return dot(self.indices, self.data, self.indptr[j], self.indptr[j + 1], b)

    def size_of(self, j):
        """The entries of column j."""
        return self.indptr[j + 1] - self.indptr[j]

    def shift(self, j, step, loss, mu, y, z, b, room):
        """Have z and b for w_j + step; return x_j . b; `room` is (3, BLOCK). Reads the column twice."""
        begin, end, total = np.int64(self.indptr[j]), np.int64(self.indptr[j + 1]), 0.0
        while begin < end:
            first, size = np.uint64(begin), min(BLOCK, end - begin)
            for e in entries(0, size):
                i = self.indices[first + e]
                z[i] += step * self.data[first + e]
                room[0, e], room[1, e] = z[i], y[i]
            dual_points(loss, mu, room[0], room[1], room[2], size)
            for e in entries(0, size):
                b[self.indices[first + e]] = room[2, e]
                total = plus(total, self.data[first + e] * room[2, e])
            begin += size
        return total


class Lines(NamedTuple):
    """Column j is lines[place[j]]; lines (k, n)."""

    lines: np.ndarray
    place: np.ndarray

    def product_with(self, j, b):
        return whole_dot(self.lines[self.place[j]], 0, b)

    def size_of(self, j):
        return self.lines.shape[1]

    def shift(self, j, step, loss, mu, y, z, b, room):
        line = self.lines[self.place[j]]
        whole_axpy(line, 0, step, z)
        dual_points(loss, mu, z, y, b, line.shape[0])
        return whole_dot(line, 0, b)


@kernel
def sweep(X, loss, mu, y, regularizer, s, linear, greatest, curvatures, which, most, w, z, b):
    """A step for each coordinate of `which` in turn, until at least `most` numbers of X are read.

    Returns (by how much P falls, nearly; the numbers read; how many of `which` had their turn).

    A step minimizes P with (c/2) (u - w_j)^2 for what the mean loss has beside its slope. c is the curvature on the
    way of the step before, the fall or rise of the slope x_j.b/n over the way. Where that of a step is more than twice
    its c, the step is made with this curvature instead, from where it began; with the greatest, P always falls.

    greatest : (d,), bounds of the curvatures that coordinates can have
    which : (m,), of which the first always has its turn; curvatures (d,), w, z, b : changed
    """
    n, read, done, fall, room = y.shape[0], 0, 0, 0.0, np.empty((3, BLOCK))
    for j in which:
        if done > 0 and read >= most:
            break
        done += 1
        size, old, c = X.size_of(j), w[j], curvatures[j]
        g = X.product_with(j, b) / n
        read += size
        new = regularizer.prox((c * old - g + linear[j]) / (c + s), 1.0 / (c + s))
        if abs(new - old) <= ROUNDING * abs(old):
            continue
        at = old
        while True:
            after = X.shift(j, new - at, loss, mu, y, z, b, room) / n
            read += 2 * size
            on_way = (after - g) / (new - old) if new != old else c
            if not on_way > BENT * c or c >= greatest[j]:  # so written, NaN ends it
                break
            c, at = min(on_way, greatest[j]), new
            new = regularizer.prox((c * old - g + linear[j]) / (c + s), 1.0 / (c + s))
        w[j] = new
        curvatures[j] = min(max(on_way, FLATTER * c, LEAST * greatest[j]), greatest[j])
        slope = 0.5 * (g + after + s * (new + old)) - linear[j]
        fall -= slope * (new - old) + regularizer.psi(new) - regularizer.psi(old)
    return fall, read, done
