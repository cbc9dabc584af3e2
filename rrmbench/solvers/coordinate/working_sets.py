"""Coordinate descent on working sets, with extrapolation by conjugate gradients."""

from operator import itemgetter

import numpy as np

from rrmbench.numerics import restricted
from rrmbench.numerics.jit import WARM_UP_ROWS
from rrmbench.numerics.quadratic_descent import is_matrix
from rrmbench.numerics.tolerances import SUM_ROUNDING
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.coordinate.chosen import Chosen
from rrmbench.solvers.coordinate.early_sweeps import EarlySweeps
from rrmbench.solvers.coordinate.rehearsal import rehearse
from rrmbench.solvers.coordinate.weights import AGREES, BACK, Weights
from rrmbench.subproblems.quadratic import ROUNDING
from rrmbench.subproblems.units import units_of

FEW = 300  # coordinates, which all join the working set at once
SUPPORT = 2  # times the coordinates of units that are not 0 stay in a working set that had twice as many
NEAR = 1.5  # times their gradients, the units that stay move the most
SMALLEST = 100  # of many coordinates that join it in one go; more, as many as it has, where it is larger
ACCURACY = 1e-2  # of a model: the greatest potential left, over the greatest of all units before
LOOSE = 0.3  # the same where the model is not P itself and sweeps by columns cost passes, unlike those by a matrix
DISAGREES = 0.5  # of the fall of a model, by which P falls less where a model by columns ends early
EXACT = 1e-11  # of P: smaller falls are too near to rounding to be compared
HALVINGS = 30  # of a step, at most
SLOW = 0.01  # of the fall of a model, by which it falls between two looks where others are to join the set
OFTEN = 0.25  # passes between iterates, at least
BETWEEN = 0.1  # passes that kernels may read in one go, or a sweep: calls of them take as long as small sweeps
MOST = 16.0  # sweeps over the columns, or as long, for a model that is no bound: P is then modelled anew
DEAR = 2.0  # passes, from which on a matrix is not made new for each model
LEAST_SHARE = 0.05  # of a pass, which a sweep counts as there


@solver(needs={"smooth", "scalar or SquaredMulti and row_norms", "coordinate or blocks", "rows"}, deterministic=True)
def working_sets(problem, start, rng):
    """Coordinate descent on those coordinates that can move, with conjugate gradients between the sweeps.

    As in celer and skglm [Massias, Gramfort and Salmon 2018; Bertrand et al. 2022], for every smooth loss and sum over
    coordinates, or over the norms of blocks of them; of several outputs for the squared loss and the norms of the rows
    of W. The potential of coordinate j is (L_j + s) (w_j - u_j)^2, u_j = prox(w_j - grad_j/(L_j + s)): a step on j
    lowers P by half of it or more; likewise that of a block, L_j the trace of its part of (1/n) X^T X times the
    smoothness. Those of greatest potential join the working set, as many as it has, and all where there are no more
    than 300 coordinates; the rest stay where they are. A set that is four times the support of w is cut to twice the
    support.

    Where phi' bends, coordinate descent on P itself comes first, as in [Yuan et al. 2010]: sweeps over the working set
    in random order, three before it may grow, with the curvature that each coordinate had on the way of its last step,
    until one lowers P by less than 0.3 %, for 25 passes or so at most.

    Then, P is modelled on the set by g.(u - w) + (1/2n) sum_i h_i (x_i.(u - w))^2 + Psi(u), h_i a slope of phi' near
    z_i. If every h_i is the smoothness of phi, as of the squared loss, the model bounds P from above, and its
    minimization lowers P; else the best of the steps 1, 1/2, 1/4 ... to its minimizer does. A model that is P itself in
    all coordinates is minimized to the end. After a step cut to t the weights h_i are at least a part c of the greatest
    slope of phi' as far as that step would have gone, c grows by 1/t, and it falls again where P falls as the model
    does: where most samples lie on flat parts of phi', as with Huber's loss, steps else go a thousand times too far. A
    model by columns ends early where P falls by less than half of what it says, which is looked at after 1, 3, 7 ...
    times the reading of its columns; and, if coordinates have just joined the working set and others may, where a sweep
    lowers it by less than 1 % of its whole fall: the last digits are worth their passes once the set is found. Sweeps
    take one coordinate after the other to its minimizer, or one block, by columns or by the matrix of their inner
    products (the covariance updates of [Friedman, Hastie and Tibshirani 2010]) where that takes less time; where it
    takes several passes to make that new, a few models keep it. Between sweeps, conjugate gradients go on as if psi
    were affine, and the norms of blocks quadratic. Coordinates that passed a kink of psi go back to it by a proximal
    step, all of them at once, and the whole step is made as far as the model falls.

    P never rises beyond rounding from one working set to the next: close to w*, where no step makes a difference to P,
    they are made all the same. What is read of X, or of copies of its columns, is counted, and so is every product of
    two entries in an inner product; matrices of inner products cost nothing once they are made. Of dense data all
    entries count, those that are 0 too, and a pass is 2 n d of them.
    """
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    if problem.n <= WARM_UP_ROWS:  # on more, which kernels are called depends on the data
        rehearse(problem)
    state = State(problem, w)
    yield state.iterate()
    while True:
        yield from state.grow()
        if (yield from state.lower()):
            continue
        model, is_bound = yield from state.model()
        at, read, compared, wait, fall = state.passes, 0, 0, 1, 0.0
        turn = 2 * max(state.chosen.nnz, LEAST_SHARE * state.chosen.entries)
        is_exact = is_bound and state.weights.is_quadratic
        accuracy = ACCURACY if is_exact or is_matrix(model.H) else LOOSE
        if is_exact and state.has_all:
            accuracy = 0.0  # this model is P
        if not is_exact:
            model.turns = model.loose_turns
        for _ in model.descend(max(accuracy * state.greatest, ROUNDING * abs(state.P))):
            state.chosen.spent(model.H, model.read - read)
            read = model.read
            # one more sweep may not make it more than a pass; sweeps by a matrix are none
            if state.passes > at and state.passes - at >= min(OFTEN, 1.0 - state.share):
                yield state.halfway(model) if is_bound else state.iterate()
                at = state.passes
            if (not is_bound and read > MOST * turn) or state.chosen.has_paid_for_matrix(model.H):
                break
            if state.chosen.is_growing and not is_matrix(model.H):
                before, fall = fall, model.fall
                if before < fall <= before + SLOW * fall:  # where it stays, conjugate gradients are under way
                    break
            if not is_bound and not is_matrix(model.H) and read - compared >= wait * turn:
                compared, wait = read, 2 * wait  # a look at P takes as long as a sweep where columns are short
                if state.agreement(model) < DISAGREES:
                    break
        state.move(model, is_bound)
        yield state.iterate()


class State:
    """A point w with z = X w, b = phi'(z), the gradient g of the mean loss, P(w), and the working set.

    flat : w, a matrix row by row
    weights : the `Weights` of its models
    greatest : the greatest potential of all units
    _greatest_before, _kept : `greatest` before the last model, and how many models in a row kept a matrix
    """

    def __init__(self, problem, w):
        self.problem, self.w, self.z = problem, w, problem.outputs(w)
        self.flat, self.b, d = self.w.reshape(-1), problem.loss_dual(self.z), w.shape[0]
        self.g, sqnorms, counts = np.zeros(d), np.zeros(d), np.zeros(d, dtype=np.int64)
        first = self.b if w.ndim == 1 else self.b[:, 0].copy()  # of a matrix, norms and counts alone are wanted
        if problem.X.array is None:
            restricted.gradient_and_sqnorms(problem.X.rows, first, self.g, sqnorms, counts)
        else:
            restricted.whole_gradient_and_sqnorms(problem.X.array, first, self.g, sqnorms)
        problem.X.passes += 0.5
        self.g = self.g / problem.n if w.ndim == 1 else self._gradient()
        self.chosen = Chosen(problem.X, counts, sqnorms)
        self.units, self._in_set = units_of(problem, sqnorms), np.zeros(0, dtype=np.int64)
        self._greatest_before, self._kept = np.inf, 0
        self._cautious, self.weights = False, Weights(problem, self.z, self.b)
        self.P = problem.primal(w, self.z)
        has_models = self.weights.is_quadratic or "coordinate" not in problem.traits
        self._early = None if has_models else EarlySweeps(problem, self.units)

    @property
    def passes(self):
        return self.problem.X.passes + self.chosen.read / (2 * self.chosen.entries)

    @property
    def has_all(self):
        """Whether all coordinates are in the working set."""
        return self.chosen.numbers.size == self.w.shape[0]

    def iterate(self):
        return Iterate(self.w, self.b, self.passes)

    @property
    def _coordinates(self):
        return self.units.coordinates(self.chosen.numbers)

    @property
    def share(self):
        """The passes of a sweep over the working set."""
        return self.chosen.nnz / self.chosen.entries

    def grow(self):
        """A generator of iterates: add units to the working set, and know the greatest potential."""
        potential = self.units.potentials(self.flat, self.g)
        self.greatest = potential.max(initial=0.0)
        self._prune()
        present, d, sizes = self._in_set, self.w.shape[0], self.units.sizes
        potential[present] = 0.0
        more = np.flatnonzero(potential > ACCURACY * self.greatest)
        if not more.size:
            self.chosen.is_growing = False
            return
        size = int(sizes[present].sum())
        room = max(SMALLEST, size)
        if d <= FEW or (self.problem.X.array is None and size + min(int(sizes[more].sum()), room) > d // 2):
            more = np.flatnonzero(np.isin(np.arange(sizes.size), present, invert=True))
        elif sizes[more].sum() > room:
            more = self._first(more, potential, room)
        self._in_set = np.sort(np.concatenate([present, more]))
        self.chosen.grow(self.units.columns(self._in_set))
        yield self.iterate()

    def _prune(self):
        """Leave in the working set what is not 0, and as many coordinates of those that are nearest to moving.

        The set of a wide problem is many times the support of w by the time that w is near w*; a smaller one takes
        shorter sweeps, and a matrix may pay. With a matrix, sweeps cost no passes: then all stay.
        """
        if self.w.shape[0] <= FEW or self.chosen.has_matrix:
            return
        moved, present, sizes = self.units.are_nonzero(self.flat), self._in_set, self.units.sizes
        room = max(SUPPORT * int(sizes[moved].sum()), SMALLEST)
        if sizes[present].sum() <= 2 * room:
            return
        rank = self.units.potentials(self.flat, NEAR * self.g)
        rank[moved] = np.inf
        self._in_set = np.sort(self._first(present, rank, room))
        self.chosen.prune(self.units.columns(self._in_set))

    def _first(self, which, rank, room):
        """The units of `which` of greatest rank, at least one, of no more than `room` coordinates together."""
        which = which[np.argpartition(rank[which], -min(room, which.size))[-room:]]
        which = which[np.argsort(-rank[which])]
        return which[: max(1, int(np.searchsorted(np.cumsum(self.units.sizes[which]), room, side="right")))]

    def lower(self):
        """A generator of iterates: `EarlySweeps` over the working set; returns whether there were any."""
        if self._early is None or self._early.is_over or not (yield from self._early.lower(self)):
            return False
        self.g = self._gradient()
        yield self.iterate()
        return True

    def model(self):
        """A generator of iterates; returns (the `Quadratic` of P at w on the set, whether it bounds P from above)."""
        W = self.chosen.numbers
        h, is_bound = self.weights.at(self.z, self.b, self._cautious)
        form = yield from self._told(self.chosen.form(h, is_bound, self._keeps_matrix(h, is_bound)))
        between = BETWEEN * 2 * self.chosen.entries
        making = self.units.model(form, self._in_set, W, self.flat, self.g, is_bound, between)
        return (yield from self._told(making, form)), is_bound

    def _keeps_matrix(self, h, is_bound):
        """Whether the model for the weights h (n,) takes the matrix of the last one, but for rows whose weights grew.

        Lazy Hessians [Doikov, Chayti and Jaggi 2023]: a model with an older matrix takes about a pass. So many of them
        as a new matrix takes passes, but for DEAR, follow each other, while each halves the greatest potential.
        """
        halves, self._greatest_before = 2.0 * self.greatest <= self._greatest_before, self.greatest
        may_keep, a_pass = halves and not is_bound, 2 * self.chosen.entries
        keeps = may_keep and self._kept + DEAR < self.chosen.price_of_renewal(h) / a_pass
        self._kept = self._kept + 1 if keeps else 0
        return keeps

    def _told(self, making, form=None):
        """A generator of iterates: what `making` returns, which yields the numbers that it reads of a form, if any."""
        at = self.passes
        while True:
            try:
                read = next(making)
            except StopIteration as end:
                made = end.value
                break
            if form is not None:
                self.chosen.spent(form[0], read)
            if self.passes - at >= OFTEN:
                yield self.iterate()
                at = self.passes
        if self.passes > at:
            yield self.iterate()
        return made

    def agreement(self, model):
        """What P falls by from w to the present point of a model by columns, over what the model falls by."""
        w = self.w.copy()  # that of the last iterate stays
        w.reshape(-1)[self._coordinates] = model.w
        return self._over(model.fall, self.P - self.problem.primal(w, self.z + self.chosen.outputs(model)))

    def _over(self, fall, fallen):
        """fallen/fall, for the fall of a model and that of P; 1 where they are rounding."""
        return fallen / fall if fall > EXACT * abs(self.P) else 1.0

    def halfway(self, model):
        """The iterate at the present point of a model that bounds P."""
        self.flat[self._coordinates] = model.w
        return Iterate(self.w, self.problem.loss_dual(self.z + self.chosen.outputs(model)), self.passes)

    def move(self, model, is_bound):
        """Go to the minimizer of the model or, if P falls by less, to the best of the points 1/2, 1/4 ... of the way.

        P along the way costs no product; the gradient at the end is known.
        """
        problem, W, outputs = self.problem, self._coordinates, self.chosen.outputs(model)

        def place(t):  # at the end the minimizer itself: a sum may leave the domain by rounding
            self.flat[W] = model.w if t == 1.0 else model.w0 + t * (model.w - model.w0)

        def at(t):
            place(t)
            z = self.z + t * outputs
            return problem.primal(self.w, z), t, z

        best, level = at(1.0), self.P + SUM_ROUNDING * abs(self.P)
        is_whole = is_bound or (best[0] <= level and self._over(model.fall, self.P - best[0]) >= AGREES)
        for t in () if is_whole else 0.5 ** np.arange(1, HALVINGS):
            point = at(t)
            if best[0] <= level and point[0] >= best[0]:
                break
            best = min(best, point, key=itemgetter(0))
        self.weights.moved(best[1], self._over(model.fall, self.P - best[0]), outputs)
        self._cautious = not (is_bound or best[0] <= level)  # the next model bounds P from above
        self.P, t, self.z = (self.P, 0.0, self.z) if self._cautious else best
        place(t)
        self.weights.change = max(1.0 - t, BACK) * outputs
        self.b = problem.loss_dual(self.z)
        self.g = self._gradient()

    def _gradient(self):
        """That of the mean loss, of a matrix row by row; half a pass."""
        return self.problem.X.adjoint(self.b).reshape(-1) / self.problem.n
