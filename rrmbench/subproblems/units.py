"""What joins a working set at a time: coordinates of w, or blocks of them where Psi is a sum of norms of blocks.

Of a matrix W (d, k), whose rows are the blocks, w is W row by row; a column of X belongs to k coordinates then.

A unit u has a curvature L_u, at least the greatest eigenvalue of the second derivative of the mean loss in it. Half of
its potential (L_u + s) ||x_u - w_u||^2, x_u = prox(w_u - grad_u/(L_u + s)), is what a step on it lowers P by, or less.
"""

import numpy as np

from rrmbench.numerics import block_descent, restricted
from rrmbench.numerics.quadratic_descent import is_matrix
from rrmbench.subproblems.quadratic import BlockQuadratic, Quadratic, positive

KNOWN = 16  # coordinates of a block whose part of H each model knows, which takes as long as 5 sweeps over the block
KNOWN_ONCE = 64  # where weights stay; this takes as long as 17


def units_of(problem, sqnorms):
    """`CoordinateUnits`, `BlockUnits` or `RowUnits`; sqnorms (d,) are those of the columns."""
    square = problem.strong_convexity, problem.center_term()
    curvatures = problem.smoothness / problem.n * sqnorms
    if "coordinate" in problem.traits:
        return CoordinateUnits(problem.regularizer, *square, curvatures)
    units = RowUnits if "row_norms" in problem.traits else BlockUnits
    return units(problem.regularizer.dual_balls(problem.shape), *square, curvatures)


class CoordinateUnits:
    """Every coordinate is a unit; chosen ones are their numbers, ascending.

    s, linear : (s/2) ||w||^2 - linear.w is in P; curvatures : (d,), made positive
    sizes : (units,), the numbers of their columns
    """

    def __init__(self, regularizer, s, linear, curvatures):
        self.regularizer, self.s, self.linear = regularizer, s, linear
        self.curvatures, self.sizes = positive(curvatures), np.ones(curvatures.size, dtype=np.int64)

    def potentials(self, w, g):
        """The potentials of all units, for the gradient g of the mean loss at w."""
        totals, u = self.curvatures + self.s, np.empty(w.size)
        x = (self.curvatures * w - g + self.linear) / totals
        restricted.proximal_steps(self.regularizer, x, 1.0 / totals, u)
        return totals * (u - w) ** 2

    def are_nonzero(self, w):
        """Which units of w are not 0, (units,) of bool."""
        return w != 0.0

    def columns(self, chosen):
        """The columns of X of the chosen units, ascending."""
        return chosen

    def coordinates(self, columns):
        """The coordinates of w of these columns."""
        return columns

    def model(self, form, chosen, columns, w, g, is_constant, between):
        """A generator of the numbers that it reads; returns the `Quadratic` of P on the chosen units, w that of P.

        form : what `Chosen.form` returned; is_constant : as there
        """
        H, curvatures, state = form
        yield from ()
        rest = (self.regularizer, self.s, self.linear[columns], g[columns], w[columns])
        return Quadratic(H, positive(curvatures), state, *rest, between=between)


class BlockUnits:
    """Every block is a unit; its methods are those of `CoordinateUnits`.

    balls : (the block of each coordinate, the factors of the norms of the blocks)
    """

    def __init__(self, balls, s, linear, curvatures):
        of_entries, radii = balls
        self.s, self.linear = s, linear
        self._members = np.argsort(of_entries, kind="stable")
        lengths = np.bincount(of_entries, minlength=radii.size)
        there = np.flatnonzero(lengths)  # a block of a plug-in may have no entry
        self.sizes = self._lengths = lengths[there]
        starts = np.append(0, np.cumsum(self._lengths))
        self._blocks = block_descent.Blocks(self._members, starts, np.asarray(radii, dtype=np.float64)[there])
        self._curvatures = positive(np.bincount(of_entries, curvatures)[there])  # the traces bound them
        self._place = np.empty(curvatures.size, dtype=np.int64)
        self._last = np.zeros(0, dtype=np.int64), None  # blocks and their bends, if these may be of use again

    def potentials(self, w, g):
        totals, u = self._curvatures + self.s, np.empty(w.size)
        of_each = np.empty(w.size)
        of_each[self._members] = np.repeat(totals, self._lengths)
        x = w - (g - self.linear + self.s * w) / of_each
        block_descent.proximal_steps(self._blocks, x, totals, u)
        return np.add.reduceat((of_each * (u - w) ** 2)[self._members], self._blocks.starts[:-1])

    def are_nonzero(self, w):
        return np.logical_or.reduceat(w[self._members] != 0.0, self._blocks.starts[:-1])

    def coordinates(self, columns):
        return columns

    def columns(self, chosen):
        return np.sort(self._members[_ranges(self._blocks.starts[chosen], self.sizes[chosen])])

    def model(self, form, chosen, columns, w, g, is_constant, between):
        H, curvatures, state = form
        blocks = self._within(chosen, columns)
        whole = KNOWN_ONCE if is_constant else KNOWN
        bends, fresh = self._bends(chosen, whole, is_constant)
        rest = (self.s, self.linear[columns], g[columns], w[columns])
        model = BlockQuadratic(H, positive(curvatures), state, blocks, bends, *rest, between=between)
        if is_matrix(H):
            block_descent.curvatures_of(H, blocks, fresh, whole, state.size, bends)
        else:
            yield from self._read(model, fresh, whole, max(int(between), 1))
        bends.bounds[:] = positive(bends.bounds)
        return model

    def _within(self, chosen, columns):
        """The chosen blocks among the coordinates of the chosen columns."""
        self._place[columns] = np.arange(columns.size)
        members = self._place[self._members[_ranges(self._blocks.starts[chosen], self._lengths[chosen])]]
        starts = np.append(0, np.cumsum(self._lengths[chosen]))
        return block_descent.Blocks(members, starts, self._blocks.radii[chosen])

    def _bends(self, chosen, whole, is_constant):
        """(`Curvatures` of the chosen blocks, the numbers of those that are not known).

        Known are those of the last model if weights stay and all its blocks are still chosen.
        """
        sizes = self.sizes[chosen]
        known_sizes = np.where(sizes <= whole, sizes**2, 0)
        places = np.append(0, np.cumsum(known_sizes))
        bends = block_descent.Curvatures(np.empty(chosen.size), np.empty(places[-1]), places)
        before, old = self._last
        is_new = np.ones(chosen.size, dtype=np.bool_)
        if is_constant and old is not None and np.isin(before, chosen).all():
            kept = np.searchsorted(chosen, before)
            is_new[kept] = False
            bends.bounds[kept] = old.bounds
            bends.parts[_ranges(places[kept], known_sizes[kept])] = old.parts
        self._last = (chosen, bends) if is_constant else (chosen, None)
        return bends, np.flatnonzero(is_new)

    def _read(self, model, fresh, whole, most):
        """A generator of the numbers read, each at most `most`: know the bends of the fresh blocks."""
        blocks, costs = model.regularizer, np.empty(fresh.size, dtype=np.int64)
        block_descent.reads_of_parts(model.H, blocks, fresh, whole, costs)
        groups = np.cumsum(costs) // most
        for group in np.unique(groups):
            *ahead, last = in_parts(int(costs[groups == group].sum()), most)
            yield from ahead
            block_descent.curvatures_of(model.H, blocks, fresh[groups == group], whole, model.state.size, model.bends)
            yield last


class RowUnits(BlockUnits):
    """The rows of W (d, k) are the blocks, one for each column of X.

    The part of H in a row is a number times the identity, so that one proximal step minimizes over a row.

    linear : (d, k); curvatures : (d,), of the columns
    """

    def __init__(self, balls, s, linear, curvatures):
        self._outputs = linear.shape[1]
        super().__init__(balls, s, linear.reshape(-1), np.repeat(curvatures, self._outputs))
        self._curvatures, self.sizes = positive(curvatures), np.ones(curvatures.size, dtype=np.int64)

    def columns(self, chosen):
        return chosen

    def coordinates(self, columns):
        return (columns[:, np.newaxis] * self._outputs + np.arange(self._outputs)).reshape(-1)

    def model(self, form, chosen, columns, w, g, is_constant, between):
        H, curvatures, state = form
        yield from ()
        at, curvatures = self.coordinates(columns), positive(curvatures)
        bends = block_descent.Curvatures(curvatures, np.empty(0), np.zeros(chosen.size + 1, dtype=np.int64))
        rest = (self._within(chosen, at), bends, self.s, self.linear[at], g[at], w[at])
        return BlockQuadratic(H, np.repeat(curvatures, self._outputs), state, *rest, between=between)


def in_parts(reads, most):
    """The whole numbers that sum up to so many reads, each int(most) but for the last one, which is not more.

    Where work cannot be divided, all but the last are counted before it: a run that a budget ends counts none too few.
    """
    most = int(most)
    full = max(-(-reads // most) - 1, 0)
    return [most] * full + [reads - most * full]


def outcome(generator):
    """What a generator returns in the end."""
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value


def _ranges(starts, sizes):
    """The numbers starts[k], ..., starts[k] + sizes[k] - 1 for all k."""
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(np.sum(sizes))
