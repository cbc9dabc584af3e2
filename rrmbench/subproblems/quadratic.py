"""Coordinate descent and conjugate gradients on a quadratic model of P in the coordinates of a working set."""

from functools import cached_property

import numpy as np

from rrmbench.numerics import block_descent, quadratic_descent
from rrmbench.numerics.tolerances import SUM_ROUNDING

NEARLY_ALL = 0.9  # of what a sweep over all units reads
SHARE = 0.3  # of the potential of a sweep over all coordinates, at which that of those that move is small enough
ROUNDING = 1e-30  # of a potential over P: what is left of the gap then are errors of the gradient
EARLY = 0.1  # of a tolerance, at which the first sweep ends a descent: many short steps may go far together
ROUNDS = 20  # of sweeps over all coordinates, and of sweeps over those that move
SHORTEST, LONGEST = 4, 64  # conjugate gradient steps in a row
HALVINGS = 5  # of the way to the point that conjugate gradients found
ENOUGH = 1e-2  # of the first squared residual, at which conjugate gradients end
TINY = 1e-12  # of a curvature over the greatest one, of a coordinate that no sample sees


def positive(curvatures):
    """The curvatures with a little instead of 0, so that every coordinate has a step."""
    return np.maximum(curvatures, TINY * (curvatures.max(initial=0.0) or 1.0))


class Quadratic:
    """Q(w) = g.(w - w0) + (1/2) (w - w0)^T H (w - w0) + (s/2) ||w||^2 - linear.w + sum_j psi(w_j) on m coordinates.

    H : `quadratic_descent.ByColumns`, `ByLines` or `ByMatrix`; `state` is what these know of w - w0, zeros at first
    curvatures : (m,) H_jj > 0; linear, g, w0 : (m,); w : (m,), the present point
    units : what a sweep takes one after the other: here the coordinates
    read : the numbers read so far of the columns, or of the matrix
    between : the numbers that may be read between two yields; a sweep may read more
    moved : moved[k] says whether the k-th unit of the last sweep moved
    alone : the part of a potential that is small enough at which sweeps do without conjugate gradients
    turns : sweeps over the units that move, before conjugate gradients go on from there
    loose_turns : the same where the model is no bound of P
    """

    alone, turns, loose_turns = 1.0, 5, 3

    def __init__(self, H, curvatures, state, regularizer, s, linear, g, w0, between=0.0):
        self.H, self.curvatures, self.state = H, curvatures, state
        self.regularizer, self.s, self.linear, self.g, self.w0, self.w = regularizer, s, linear, g, w0, w0.copy()
        self.units, self.read, self.between = np.arange(w0.size), 0, between
        self._length = 2 * SHORTEST
        self._tilts, self.moved = np.zeros(w0.size), np.zeros(w0.size, dtype=np.bool_)

    def descend(self, tolerance):
        """A generator that lowers Q until no step has a greater potential than `tolerance`, and yields now and then.

        A sweep over all units is followed by sweeps over those that moved in it, and by conjugate gradients. Where
        these are nearly all, the next sweep over all comes as soon as their potential is small: they may wait for the
        rest.
        """
        for turn in range(ROUNDS):
            potential = self.sweep(self.units)
            yield
            if potential <= (tolerance if turn else EARLY * tolerance):
                return
            active, enough = np.flatnonzero(self.moved), max(tolerance, SHARE * potential)
            small, times = max(tolerance, self.alone * enough), self._at_once(active, self.turns)
            are_most = NEARLY_ALL * self.reads(self.units) <= self.reads(active)  # a sweep over all takes hardly longer
            for _ in range(ROUNDS):
                for done in range(0, self.turns, times):
                    potential = self.sweep(active, min(times, self.turns - done))
                    yield
                    if are_most and potential <= small:
                        break
                if potential <= small:
                    break
                yield from self.extrapolate(active)
                if potential <= enough:
                    break

    def _at_once(self, active, most):
        """How many sweeps over `active` may be between two yields, at least 1, at most so many."""
        return int(min(max(self.between / max(self.reads(active), 1), 1), most))

    def reads(self, units):
        """The numbers that a sweep over these units reads."""
        return quadratic_descent.reads(self.H, units)

    def sweep(self, which, times=1):
        """Lower Q in each unit of `which` in turn, so many times; returns the last greatest potential."""
        potential, read = self._sweeps(which, times)
        self.read += read
        return potential

    def _sweeps(self, which, times):
        """(The last greatest potential, the numbers read): Q is minimized over each coordinate."""
        return quadratic_descent.sweeps(
            times,
            self.H,
            self.regularizer,
            self.s,
            self.linear,
            self.curvatures,
            self.g,
            which,
            self.w,
            self.state,
            self.moved,
            self._tilts,
        )

    def extrapolate(self, active):
        """A generator: conjugate gradients on the units `active` after a sweep, as if Psi were smooth, unless Q rises.

        Coordinates that went past a kink go back to it, many at a time, where the step to the first kink is short.
        There are more steps the next time if they went all the way, fewer if a kink of Psi was in between.
        """
        w, state = self.w.copy(), self.state.copy()
        active, bend, diagonal, r = self.tangent(active)
        reads, p = quadratic_descent.reads(self.H, active), np.zeros(active.size)
        self.read += reads // 2
        yield
        now, first, left = 0.0, 0.0, self._length
        times = int(min(max(self.between / max(reads, 1), 1), left))
        known = ENOUGH, self.H, bend, diagonal, active, r, p
        while left:
            first, now, steps = quadratic_descent.conjugate_steps(min(times, left), *known, first, now, w, state)
            self.read += steps * reads
            yield
            left -= steps
            if now <= ENOUGH * first:
                break
        self._bend_back(active, diagonal, w, state)
        value, halvings = self.value(self.w, self.state), 0
        # close to the minimizer a step is right though Q does not tell it from none
        level = value + SUM_ROUNDING * abs(value)
        while halvings <= HALVINGS and not self.value(w, state) < level:
            w, state = 0.5 * (self.w + w), 0.5 * (self.state + state)
            halvings += 1
        if halvings <= HALVINGS:
            self.w[:], self.state[:] = w, state
        self._length = max(SHORTEST, self._length // 2) if halvings else min(LONGEST, 2 * self._length)

    def _bend_back(self, active, diagonal, w, state):
        """Bring those `active` coordinates of w back to a kink of their psi_j that went past it."""
        self.read += quadratic_descent.bend_back(self.H, self.regularizer, diagonal, self._tilts, active, w, state)

    def tangent(self, active):
        """(Coordinates, the second derivative of Q beside H, its diagonal with H, minus the gradient) after a sweep.

        The coordinates are those of the units `active` in which Psi is smooth, here as if every psi_j were affine.
        """
        return active, quadratic_descent.Square(self.s), self.curvatures[active] + self.s, self.residuals(active)

    def residuals(self, active):
        """Minus the derivatives of Q by the coordinates `active` (a,), as if every psi_j were affine, after a sweep."""
        r = np.empty(active.size)
        quadratic_descent.residuals(self.H, self.s, self.linear, self.g, self._tilts, active, self.w, self.state, r)
        return r

    @property
    def fall(self):
        """Q(w0) - Q(w)."""
        return self._at_w0 - self.value(self.w, self.state)

    @cached_property
    def _at_w0(self):
        return self.value(self.w0, np.zeros(self.state.size))

    def value(self, w, state):
        """Q(w) for the `state` of w."""
        return quadratic_descent.value(self.H, self.regularizer, self.s, self.linear, self.g, self.w0, w, state)


class BlockQuadratic(Quadratic):
    """As `Quadratic`, with a sum of norms of blocks for the sum of all psi(w_j); its units are the blocks.

    blocks : `block_descent.Blocks` of the m coordinates, in place of a regularizer
    bends : `block_descent.Curvatures` of H
    """

    loose_turns = 5
    alone = 0.03  # steps on blocks whose columns are alike get slow before their potential says so

    def __init__(self, H, curvatures, state, blocks, bends, s, linear, g, w0, between=0.0):
        super().__init__(H, curvatures, state, blocks, s, linear, g, w0, between)
        self.bends, self.units = bends, np.arange(blocks.radii.size)
        self.moved = np.zeros(self.units.size, dtype=np.bool_)

    def reads(self, units):
        return block_descent.reads(self.H, self.regularizer, units)

    def _sweeps(self, which, times):
        return block_descent.sweeps(
            times,
            self.H,
            self.regularizer,
            self.bends,
            self.s,
            self.linear,
            self.g,
            which,
            self.w,
            self.state,
            self.moved,
        )

    def _bend_back(self, active, diagonal, w, state):
        """A norm has its kink at 0 alone, which no step meets."""

    def tangent(self, active):
        blocks = self.regularizer
        active = active[np.add.reduceat(self.w[blocks.members] ** 2, blocks.starts[:-1])[active] > 0.0]
        rho, cuts = np.empty(active.size), np.empty(active.size + 1, dtype=np.int64)
        size = int(np.sum(np.diff(blocks.starts)[active]))
        coordinates, units = np.empty(size, dtype=np.int64), np.empty(size)
        block_descent.bend_at(blocks, active, self.w, cuts, coordinates, rho, units)
        rho_of, radii = np.repeat(rho, np.diff(cuts)), np.repeat(blocks.radii[active], np.diff(cuts))
        self._tilts[coordinates] = radii * units
        diagonal = self.curvatures[coordinates] + self.s + rho_of * (1.0 - units**2)
        return coordinates, block_descent.Bend(self.s, cuts, rho, units), diagonal, self.residuals(coordinates)

    def value(self, w, state):
        return block_descent.value(self.H, self.regularizer, self.s, self.linear, self.g, self.w0, w, state)
