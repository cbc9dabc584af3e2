"""Coordinate descent and conjugate gradients on a quadratic model of P in the coordinates of a working set."""

import numpy as np

from rrmbench.numerics import quadratic_descent

SWEEPS = 5  # over the coordinates that move, before conjugate gradients go on from there
SHARE = 0.3  # of the potential of a sweep over all coordinates, at which that of those that move is small enough
ROUNDING = 1e-26  # of a potential over P: the gap is then 1e-13 P or so, and what is left are errors of the gradient
ROUNDS = 20  # of sweeps over all coordinates, and of sweeps over those that move
SHORTEST, LONGEST = 4, 64  # conjugate gradient steps in a row
HALVINGS = 5  # of the way to the point that conjugate gradients found
ENOUGH = 1e-2  # of the first squared residual, at which conjugate gradients end


class Quadratic:
    """Q(w) = g.(w - w0) + (1/2) (w - w0)^T H (w - w0) + (s/2) ||w||^2 - linear.w + sum_j psi(w_j) on m coordinates.

    H : `quadratic_descent.ByColumns`, `ByLines` or `ByMatrix`; `state` is what these know of w - w0, zeros at first
    curvatures : (m,) H_jj > 0; linear, g, w0 : (m,); w : (m,), the present point
    read : the numbers read so far of the columns, or of the matrix
    between : the numbers that may be read between two yields; a sweep may read more
    moved : (m,), moved[k] says whether the k-th coordinate of the last sweep moved
    """

    def __init__(self, H, curvatures, state, regularizer, s, linear, g, w0, between=0.0):
        self.H, self.curvatures, self.state = H, curvatures, state
        self.regularizer, self.s, self.linear, self.g, self.w0, self.w = regularizer, s, linear, g, w0, w0.copy()
        self.read, self.between = 0, between
        self._length = 2 * SHORTEST
        self._tilts, self.moved = np.zeros(w0.size), np.zeros(w0.size, dtype=np.bool_)

    def descend(self, tolerance):
        """A generator that lowers Q until no step has a greater potential than `tolerance`, and yields now and then.

        A sweep over all coordinates is followed by sweeps over those that moved in it, and by conjugate gradients.
        """
        every = np.arange(self.w.size)
        for _ in range(ROUNDS):
            potential = self.sweep(every)
            yield
            if potential <= tolerance:
                return
            active, enough = np.flatnonzero(self.moved), max(tolerance, SHARE * potential)
            times = self._at_once(active, SWEEPS)
            for _ in range(ROUNDS):
                for done in range(0, SWEEPS, times):
                    potential = self.sweep(active, min(times, SWEEPS - done))
                    yield
                if potential <= enough:
                    break
                yield from self.extrapolate(active)

    def _at_once(self, active, most):
        """How many sweeps over `active` may be between two yields, at least 1, at most so many."""
        return int(min(max(self.between / max(quadratic_descent.reads(self.H, active), 1), 1), most))

    def sweep(self, which, times=1):
        """Minimize Q over each coordinate of `which` in turn, so many times; returns the last greatest potential."""
        potential, read = quadratic_descent.sweeps(
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
        self.read += read
        return potential

    def extrapolate(self, active):
        """A generator: conjugate gradients on `active` (a,) after a sweep, as if every psi_j were affine, if Q falls.

        There are more steps the next time if they went all the way, fewer if a kink of some psi_j was in between.
        """
        w, state = self.w.copy(), self.state.copy()
        r, p = self.residuals(active), np.zeros(active.size)
        reads = quadratic_descent.reads(self.H, active)
        self.read += reads // 2
        yield
        now, first, left, times = 0.0, 0.0, self._length, self._at_once(active, self._length)
        known = ENOUGH, self.H, self.s, self.curvatures, active, r, p
        while left:
            first, now, steps = quadratic_descent.conjugate_steps(min(times, left), *known, first, now, w, state)
            self.read += steps * reads
            yield
            left -= steps
            if now <= ENOUGH * first:
                break
        least, halvings = self.value(self.w, self.state), 0
        while halvings <= HALVINGS and not self.value(w, state) < least:
            w, state = 0.5 * (self.w + w), 0.5 * (self.state + state)
            halvings += 1
        if halvings <= HALVINGS:
            self.w[:], self.state[:] = w, state
        self._length = max(SHORTEST, self._length // 2) if halvings else min(LONGEST, 2 * self._length)

    def residuals(self, active):
        """Minus the derivatives of Q by the coordinates `active` (a,), as if every psi_j were affine, after a sweep."""
        r = np.empty(active.size)
        quadratic_descent.residuals(self.H, self.s, self.linear, self.g, self._tilts, active, self.w, self.state, r)
        return r

    def value(self, w, state):
        """Q(w) for the `state` of w."""
        return quadratic_descent.value(self.H, self.regularizer, self.s, self.linear, self.g, self.w0, w, state)
