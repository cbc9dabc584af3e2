"""Coordinate descent and conjugate gradients on a quadratic model of P in the coordinates of a working set."""

import numpy as np

from rrmbench.numerics import quadratic_descent

SWEEPS = 2  # over the coordinates that move, before conjugate gradients go on from there
SHARE = 0.1  # of the potential of a sweep over all coordinates, at which that of those that move is small enough
ROUNDS = 20  # of sweeps over all coordinates, and of sweeps over those that move: near rounding no potential is small
SHORTEST, LONGEST = 4, 64  # conjugate gradient steps in a row
HALVINGS = 5  # of the way to the point that conjugate gradients found
ENOUGH = 1e-2  # of the first residual, squared, of conjugate gradients


class Quadratic:
    """Q(w) = g.(w - w0) + (1/2) (w - w0)^T H (w - w0) + (s/2) ||w||^2 - linear.w + sum_j psi(w_j).

    H : `quadratic_descent.ByColumns` or `ByMatrix`; `state` is what these keep of w - w0
    read : the numbers read so far of the columns, or of the matrix
    """

    def __init__(self, H, curvatures, state, regularizer, s, linear, g, w0):
        self.H, self.curvatures, self.state = H, curvatures, state
        self.regularizer, self.s, self.linear, self.g, self.w0, self.w = regularizer, s, linear, g, w0, w0.copy()
        self.read = 0
        self._length = 2 * SHORTEST
        self._tilts, self._moved = np.zeros(w0.size), np.zeros(w0.size, np.bool_)

    def descend(self, tolerance):
        """A generator that ends where no step has a greater potential than `tolerance`; it yields while Q falls.

        A sweep over all coordinates is followed by sweeps over those that moved in it, and by conjugate gradients.
        """
        every = np.arange(self.w.size)
        for _ in range(ROUNDS):
            potential = self._sweep(every)
            yield
            if potential <= tolerance:
                return
            active = np.flatnonzero(self._moved)
            enough = max(tolerance, SHARE * potential)
            for _ in range(ROUNDS):
                for _ in range(SWEEPS):
                    potential = self._sweep(active)
                    yield
                if potential <= enough:
                    break
                yield from self._extrapolate(active)

    def _sweep(self, which):
        potential, read = quadratic_descent.sweep(
            self.H,
            self.regularizer,
            self.s,
            self.linear,
            self.curvatures,
            self.g,
            which,
            self.w,
            self.state,
            self._moved,
            self._tilts,
        )
        self.read += read
        return potential

    def _extrapolate(self, active):
        """Conjugate gradients from w as if every psi_j were affine, as far as Q falls."""
        reads = sum(map(self.H.reads, active.tolist())) if False else self._reads(active)
        w, state = self.w.copy(), self.state.copy()
        r, p = np.empty(active.size), np.zeros(active.size)
        quadratic_descent.slopes(self.H, self.s, self.linear, self.g, self._tilts, active, w, state, r)
        self.read += reads // 2
        before = first = 0.0
        for _ in range(self._length):
            before = quadratic_descent.conjugate_step(
                self.H, self.s, self.curvatures, active, r, p, before, w, state
            )
            self.read += reads
            yield
            first = first or before
            if before <= ENOUGH * first:
                break
        least = self.value(self.w, self.state)
        for halvings in range(HALVINGS + 1):
            if self.value(w, state) < least:
                self.w[:], self.state[:] = w, state
                break
            w, state = 0.5 * (self.w + w), 0.5 * (self.state + state)
        self._length = max(SHORTEST, self._length // 2) if halvings else min(LONGEST, 2 * self._length)

    def _reads(self, active):
        if isinstance(self.H, quadratic_descent.ByMatrix):
            return active.size * self.w.size
        return 2 * int(np.sum(self.H.indptr[active + 1] - self.H.indptr[active]))

    def value(self, w, state):
        return quadratic_descent.objective(
            self.H, self.regularizer, self.s, self.linear, self.g, self.w0, w, state
        )
