"""Coordinate descent on P itself, with which working sets begin."""

import numpy as np

from rrmbench.numerics import loss_descent
from rrmbench.numerics.tolerances import SUM_ROUNDING

SWEEPS = 3  # over a working set, before it may grow
SLOW = 3e-3  # of P: where a sweep lowers P by less, models are better
LONGEST = 25.0  # passes, from which on models are better
PART = 0.375  # of a pass, between iterates, but for the steps of one coordinate, which kernels make in one go


class EarlySweeps:
    """Sweeps over the working set, in another random order each time, while P falls fast.

    Far from w*, phi' changes so much that a model of P is good for short ways alone: on images with weak l1, models
    take three times as many passes to 1e-3 P(0). A random order, since neighbours may be alike; the same in all runs.

    units : the `CoordinateUnits` of the problem
    is_over : whether models are better from now on
    """

    def __init__(self, problem, units):
        self.problem, self.units, self.is_over = problem, units, False
        self._curvatures, self._orders = units.curvatures.copy(), np.random.default_rng(0)

    def lower(self, state):
        """A generator of iterates: a few sweeps over the working set of a `State`, all of which is new but for g.

        Returns whether there were any: where most coordinates have a matrix at once, models are better from the start.
        """
        chosen = state.chosen
        if not chosen.nnz or (2 * chosen.numbers.size > state.flat.size and chosen.is_worth_matrix):
            self.is_over = True
            return False
        at, a_pass, columns = state.passes, 2 * chosen.entries, chosen.unweighted()
        if state.passes > at:
            yield state.iterate()
        self._keep(state)
        z, at = self._lowest[1], state.passes
        for _ in range(SWEEPS):
            fall, order, first = 0.0, self._orders.permutation(chosen.numbers), 0
            while first < order.size:
                most = (at + PART - state.passes) * a_pass
                here, read, done = self.sweep(columns, order[first:], most, state.flat, state.z, state.b)
                fall, first = fall + here, first + done
                chosen.swept(read)
                if state.passes - at >= PART:
                    self._measure(state)
                    yield state.iterate()
                    at = state.passes
            self.is_over = self.is_over or not fall >= SLOW * abs(state.P) or state.passes > LONGEST
            if self.is_over:
                break
        self._measure(state)
        state.weights.change = state.z - z
        return True

    def _measure(self, state):
        """Know P, or go back to where it was known if it rose: a step may raise it, but the first on a coordinate."""
        P = self.problem.primal(state.w, state.z)
        if P <= state.P + SUM_ROUNDING * abs(state.P):
            state.P = P
            self._keep(state)
        else:
            state.flat[:], state.z[:], state.b[:] = self._lowest
            self.is_over = True

    def _keep(self, state):
        self._lowest = state.flat.copy(), state.z.copy(), state.b.copy()

    def sweep(self, columns, which, most, w, z, b):
        """As `loss_descent.sweep`, over the coordinates `which` (m,), until `most` numbers are read."""
        problem, units = self.problem, self.units
        return loss_descent.sweep(
            columns,
            problem.loss,
            problem.mu,
            problem.y,
            units.regularizer,
            units.s,
            units.linear,
            units.curvatures,
            self._curvatures,
            which,
            most,
            w,
            z,
            b,
        )
