"""Steps on blocks of coordinates of a quadratic model plus a sum of norms, w (m,).

    Q(w) = g.(w - w0) + (1/2) (w - w0)^T H (w - w0) + (s/2) ||w||^2 - linear.w + sum_b radii[b] ||w_b||

H and `state` as in `rrmbench.numerics.quadratic_descent`, whose conjugate gradients are for this Q too. Where H_b, the
part of H in block b, is known, a step takes the block to its minimizer: many small steps, one reading of its columns.
"""

import math
from typing import NamedTuple

import numpy as np

from rrmbench.numerics.jit import kernel

INNER = 20  # small steps by H_b, at most
ENOUGH = 1e-4  # of the first of these, squared, at which they end


class Blocks(NamedTuple):
    """Block b has the coordinates members[starts[b]:starts[b + 1]] of w (m,); radii (blocks,) >= 0."""

    members: np.ndarray
    starts: np.ndarray
    radii: np.ndarray


class Curvatures(NamedTuple):
    """Bounds of the greatest eigenvalues of all H_b, and H_b itself in parts[places[b]:places[b + 1]], if it is known.

    bounds : (blocks,); parts : row by row; places : (blocks + 1,)
    """

    bounds: np.ndarray
    parts: np.ndarray
    places: np.ndarray


class Bend(NamedTuple):
    """The second derivative of (s/2) ||w||^2 + sum radii[b] ||w_b|| in blocks that are not 0.

    It is s + rho[k] (I - u u^T) in the k-th one, whose coordinates are those cuts[k]:cuts[k + 1] of all: u is this part
    of `units`, w_b over its norm, and rho[k] = radii[b]/||w_b||.
    """

    s: float
    cuts: np.ndarray
    rho: np.ndarray
    units: np.ndarray

    def add_bend(self, p, Hp):
        for k in range(self.rho.shape[0]):
            along = 0.0
            for c in range(self.cuts[k], self.cuts[k + 1]):
                along += self.units[c] * p[c]
            for c in range(self.cuts[k], self.cuts[k + 1]):
                Hp[c] += (self.s + self.rho[k]) * p[c] - self.rho[k] * along * self.units[c]


@kernel
def norm_of(blocks, b, w):
    """||w_b||."""
    total = 0.0
    for e in range(blocks.starts[b], blocks.starts[b + 1]):
        total += w[blocks.members[e]] ** 2
    return math.sqrt(total)


@kernel
def kept_of(radius, length):
    """max(0, 1 - radius/length), by which a proximal step shortens a vector, `length` that of `total` times it."""
    return 1.0 - radius / length if length > radius else 0.0


@kernel
def curvatures_of(H, blocks, which, whole, size, curvatures):
    """Write what `curvatures` has of the blocks `which`, for a state of H of this size.

    whole : the coordinates whose part of H is looked at; the bound of a larger block is the sum of those of its parts
    """
    u, part, square = np.zeros(size), np.empty((whole, whole)), np.empty((whole, whole))
    for b in which:
        place, end = curvatures.places[b], curvatures.places[b + 1]
        curvatures.bounds[b] = 0.0
        for first in range(blocks.starts[b], blocks.starts[b + 1], whole):
            q = min(whole, blocks.starts[b + 1] - first)
            for k in range(q):
                j = blocks.members[first + k]
                H.move_along(j, 1.0, u)
                for c in range(k, q):
                    part[k, c] = part[c, k] = H.slope_along(blocks.members[first + c], u)
                H.move_along(j, -1.0, u)  # which leaves 0: the same products are subtracted
            curvatures.bounds[b] += eigenvalue_bound(part, square, q)
            if place < end:
                for k in range(q):
                    for c in range(q):
                        curvatures.parts[place] = part[k, c]
                        place += 1


@kernel
def reads_of_parts(H, blocks, which, whole, reads):
    """Write to `reads` the numbers that `curvatures_of` reads of each block of `which`.

    The k-th column of a part is moved along twice, and the slope along it is taken k + 1 times.
    """
    for t in range(which.shape[0]):
        b, total = which[t], 0
        for first in range(blocks.starts[b], blocks.starts[b + 1], whole):
            for k in range(min(whole, blocks.starts[b + 1] - first)):
                total += (k + 3) * H.reads_along(blocks.members[first + k]) // 2
        reads[t] = total


@kernel
def eigenvalue_bound(part, square, q):
    """A bound of the greatest eigenvalue of the symmetric matrix A = part[:q, :q], A >= 0: ||A^4||_F^(1/4).

    It is at most q^(1/8) times that eigenvalue. `square` is overwritten.
    """
    trace = 0.0
    for k in range(q):
        trace += part[k, k]
    if not trace > 0.0:
        return 0.0
    for k in range(q):  # (A / trace)^2, whose powers are numbers
        for c in range(k + 1):
            total = 0.0
            for e in range(q):
                total += (part[k, e] / trace) * (part[c, e] / trace)
            square[k, c] = square[c, k] = total
    fourth = 0.0
    for k in range(q):
        for c in range(q):
            total = 0.0
            for e in range(q):
                total += square[k, e] * square[c, e]
            fourth += total * total
    return trace * math.sqrt(math.sqrt(math.sqrt(fourth))) * (1.0 + 1e-12)


@kernel
def sweep(H, blocks, curvatures, s, linear, g, which, w, state, moved):
    """Lower Q in each block of `which` in turn; return (greatest potential, numbers read).

    Small steps to the minimizer of the block go by its H_b, or there is one. Each is w_b = prox(w_b - slope/total),
    total = bounds[b] + s. The potential of the first is total times its square: it lowers Q by half of that, or more.

    w, state : changed; moved : (blocks,), moved[k] becomes whether block which[k] moved
    """
    largest = 0
    for b in which:
        largest = max(largest, blocks.starts[b + 1] - blocks.starts[b])
    slope, v, point = np.empty(largest), np.empty(largest), np.empty(largest)
    greatest, read = 0.0, 0
    for k in range(which.shape[0]):
        b = which[k]
        begin, looked = blocks.starts[b], 0
        size = blocks.starts[b + 1] - begin
        for c in range(size):
            j = blocks.members[begin + c]
            slope[c] = g[j] + H.slope_along(j, state) - linear[j] + s * w[j]
            v[c] = 0.0
            looked += H.reads_along(j)
        read += looked
        place, total, first = curvatures.places[b], curvatures.bounds[b] + s, 0.0
        times = 1
        if curvatures.places[b + 1] > place:  # what these steps take is no more than what reading the columns took
            times = max(1, min(INNER, 4 * looked // (size * size)))
        for time in range(times):
            norm = 0.0
            for c in range(size):
                gradient = slope[c] + s * v[c]
                if time:
                    for e in range(size):
                        gradient += curvatures.parts[place + c * size + e] * v[e]
                point[c] = w[blocks.members[begin + c]] + v[c] - gradient / total
                norm += point[c] * point[c]
            norm = math.sqrt(norm)
            kept = kept_of(blocks.radii[b], total * norm)
            change = 0.0
            for c in range(size):
                new = kept * point[c] - w[blocks.members[begin + c]]
                change += (new - v[c]) ** 2
                v[c] = new
            first = first if time else change
            if change <= ENOUGH * first:
                break
        moved[k] = first > 0.0
        greatest = max(greatest, total * first)
        if moved[k]:
            for c in range(size):
                j = blocks.members[begin + c]
                w[j] = w[j] + v[c] if kept > 0.0 else 0.0
                H.move_along(j, v[c], state)
    return greatest, read


@kernel
def sweeps(times, H, blocks, curvatures, s, linear, g, which, w, state, moved):
    """So many times `sweep`; return (greatest potential of the last, numbers read by all)."""
    greatest, read = 0.0, 0
    for _ in range(times):
        greatest, more = sweep(H, blocks, curvatures, s, linear, g, which, w, state, moved)
        read += more
    return greatest, read


@kernel
def reads(H, blocks, which):
    """The numbers that a sweep over the blocks `which` reads."""
    total = 0
    for b in which:
        for e in range(blocks.starts[b], blocks.starts[b + 1]):
            total += H.reads_along(blocks.members[e])
    return total


@kernel
def value(H, blocks, s, linear, g, w0, w, state):
    """Q(w)."""
    total = 0.5 * H.square_of(w - w0, state)
    for j in range(w.shape[0]):
        total += g[j] * (w[j] - w0[j]) + 0.5 * s * w[j] * w[j] - linear[j] * w[j]
    for b in range(blocks.radii.shape[0]):
        total += blocks.radii[b] * norm_of(blocks, b, w)
    return total


@kernel
def bend_at(blocks, which, w, cuts, active, rho, units):
    """Write what `Bend` has of the blocks `which`, none of which is 0, and their coordinates to `active`."""
    at = 0
    for k in range(which.shape[0]):
        b = which[k]
        norm = norm_of(blocks, b, w)
        cuts[k], rho[k] = at, blocks.radii[b] / norm
        for e in range(blocks.starts[b], blocks.starts[b + 1]):
            j = blocks.members[e]
            active[at], units[at] = j, w[j] / norm
            at += 1
    cuts[which.shape[0]] = at


@kernel
def proximal_steps(blocks, x, totals, u):
    """u_b = argmin_u radii[b] ||u|| + (totals[b]/2) ||u - x_b||^2 for all blocks; x and u have the shape (m,)."""
    for b in range(totals.shape[0]):
        kept = kept_of(blocks.radii[b], totals[b] * norm_of(blocks, b, x))
        for e in range(blocks.starts[b], blocks.starts[b + 1]):
            u[blocks.members[e]] = kept * x[blocks.members[e]]
