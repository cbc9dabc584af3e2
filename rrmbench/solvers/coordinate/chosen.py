"""The columns of a working set, and the inner products between them."""

import math

import numpy as np

from rrmbench.numerics import restricted
from rrmbench.numerics.quadratic_descent import ByMatrix, OfOutputs, is_matrix
from rrmbench.solvers.coordinate.copies import columns_of

CHEAP = 8  # sweeps whose price is paid for a matrix of inner products at once
LAG = 0.2  # of a weight in a form, by which it may differ from the one that is asked for


class Chosen:
    """Chosen columns of X (n, d); `numbers` (m,) says which, ascending.

    The quadratic form (1/n) sum_i h_i (x_i.v)^2 in these columns is had by columns, or by the matrix of their inner
    products. A sweep by the matrix must not read more numbers than one by columns. The matrix is made when it had
    spared as much time as it takes, or at once where it will in CHEAP sweeps; then it is made new in some rows. Of an
    array it is not made at once while others are to join: such a model takes few sweeps, and an inner product counts
    as half a step.

    Of k outputs the form is that of each, see `OfOutputs`, and a sweep by columns takes k times as long.

    X : a data operator with rows
    counts, sqnorms : (d,), the numbers of entries of the columns, which of an array nobody asks for, and squared norms
    entries : those of X, half of what a pass reads; of an array all of them, zeros too
    is_growing : whether columns have just been chosen, and others may be
    """

    def __init__(self, X, counts, sqnorms):
        self.outputs_of_each = X.shape[2] if len(X.shape) == 3 else None
        self._times = self.outputs_of_each or 1
        self.n, self.entries = X.shape[0], max(X.nnz if X.array is None else X.array.size, 1)
        self.numbers, self.nnz = np.zeros(0, dtype=np.int64), 0
        self._columns, self._swept, self._sqnorms = columns_of(X, counts), 0, sqnorms
        self._paid, self._is_dear, self.is_growing = 0, False, False
        self._by_columns = self._matrix = self._weights = None  # the weights are those of either

    @property
    def read(self):
        """The entries of X, or of copies of its columns, that were read so far."""
        return self._columns.read + self._swept

    def grow(self, numbers):
        """Choose the columns `numbers` (m,), ascending, the present ones among them."""
        fresh = np.ones(numbers.size, dtype=np.bool_)
        present = np.searchsorted(numbers, self.numbers)
        fresh[present] = False
        before = 0 if self._matrix is None else self._price
        self._choose(numbers)
        self.is_growing = numbers.size < self._sqnorms.size
        if self._matrix is not None and self._fits and self._is_worth(self._price - before):
            matrix = np.zeros((numbers.size, numbers.size))
            restricted.spread(self._matrix, present, matrix)
            self._matrix, self._fresh = matrix, fresh
        else:
            self._matrix = None

    def prune(self, numbers):
        """Choose the columns `numbers` (m,), ascending, of the present ones; there must be no matrix.

        What sweeps have paid for a matrix is from here on what they would have, over these columns alone.
        """
        before = self.nnz
        self._choose(numbers)
        self._paid *= self.nnz / max(before, 1)

    def _choose(self, numbers):
        self._columns.choose(numbers)
        self.numbers, self.nnz, self._by_columns = numbers, self._columns.nnz, None

    @property
    def has_matrix(self):
        return self._matrix is not None

    def make_dear(self):
        """Have the matrix of the present columns cost more than they will ever have been read."""
        self._is_dear = True

    @property
    def _price(self):
        """What the matrix takes, in numbers that a sweep reads; to know it may take a copy of the columns by rows."""
        return math.inf if self._is_dear else self.nnz + self._columns.time_of_pair * self._columns.pairs

    @property
    def _fits(self):
        return self.numbers.size**2 <= 2 * self.nnz

    @property
    def _spared(self):
        """The part of the time of a sweep by columns that one by the matrix does not take."""
        return 1.0 - self._columns.time_of_product * self.numbers.size**2 / max(2 * self.nnz, 1)

    def _is_worth(self, price):
        at_once = 0 if self.is_growing and self._columns.are_whole else 2 * CHEAP * self.nnz
        return price <= self._times * self._spared * max(at_once, self._paid)

    def has_paid_for_matrix(self, form):
        """Whether a matrix had spared sweeps by columns as long as it takes to make it; the next form will be one."""
        return not is_matrix(form) and self._fits and self._price <= self._times * self._spared * self._paid

    @property
    def is_worth_matrix(self):
        """Whether the next form will be a matrix."""
        return self._matrix is not None or (self._fits and self._is_worth(self._price))

    def price_of_renewal(self, h):
        """The products, or so, that make the matrix new for the weights h (n,); 0 where there is none."""
        return 0 if self._matrix is None else self._changed(h / self.n).size / self.n * self._columns.pairs

    def form(self, h, is_bound, keeps=False):
        """A generator that yields while it reads; returns (form, its diagonal, its state at 0) for the weights h (n,).

        The weights of the form may differ from h by a part LAG, so that a matrix is made new in the rows that changed
        alone, but are not below h where the form is a bound; of a form that `keeps` its matrix they may be any above.
        """
        h, lag = h / self.n, (0.0 if keeps else 1.0 - LAG, 1.0 if is_bound else 1.0 + LAG)
        if self.is_worth_matrix:
            yield from self._make_matrix(h, lag)
            return self._of_outputs(ByMatrix(self._matrix), np.diag(self._matrix).copy(), self.numbers.size)
        if self._by_columns is None or self._changed(h, lag).size:
            self._weights = h
            if np.all(h == h[0]):
                self._by_columns, self._state_over_outputs = self._columns.even(h[0]), 1.0
                self._diagonal = h[0] * self._sqnorms[self.numbers]
            else:
                self._by_columns, self._diagonal, self._state_over_outputs = self._columns.weighted(h)
            yield
        return self._of_outputs(self._by_columns, self._diagonal, self.n)

    def _changed(self, h, lag=(1.0 - LAG, 1.0 + LAG)):
        """The rows where h is not between these parts of the weights of the form."""
        least, most = lag
        return np.flatnonzero((h < least * self._weights) | (h > most * self._weights))

    def _make_matrix(self, h, lag):
        """A generator: know the matrix for the weights h, but for their `lag`."""
        every = np.ones(self.numbers.size, dtype=np.bool_)
        changed = np.arange(self.n) if self._matrix is None else self._changed(h, lag)
        if 10 * changed.size >= 9 * self.n:
            self._matrix, self._weights = np.zeros((self.numbers.size, self.numbers.size)), h
            self._fresh, changed = every, changed[:0]
        if self._fresh.any():
            yield from self._multiply(np.arange(self.n), self._weights, self._fresh)
            self._fresh = np.zeros(self.numbers.size, dtype=np.bool_)
        if changed.size:
            yield from self._multiply(changed, h - self._weights, every)
            self._weights = self._weights.copy()
            self._weights[changed] = h[changed]

    def _multiply(self, which, weights, fresh):
        return self._columns.multiply(which, weights, fresh, self._matrix, most=self.entries)  # half a pass

    def _of_outputs(self, form, diagonal, size):
        form = form if self.outputs_of_each is None else OfOutputs(form, self.outputs_of_each)
        return form, diagonal, np.zeros(self._times * size)

    def spent(self, form, read):
        """Count what was read of a form: of columns, entries of X."""
        if not is_matrix(form):
            self.swept(read)
            self._paid += read

    def unweighted(self):
        """The columns for steps on P itself, whose reads are counted by `swept`."""
        return self._columns.unweighted()

    def swept(self, read):
        """Count the entries of columns that steps on P itself read."""
        self._swept += read

    def outputs(self, model):
        """X (w - w0), (n,) or (n, k), at the present point of the Quadratic `model`."""
        k, v = self.outputs_of_each, model.w - model.w0
        if not is_matrix(model.H):
            of_each = model.state.reshape(self._times, self.n) / self._state_over_outputs
            return of_each[0] if k is None else np.ascontiguousarray(of_each.T)
        return np.ascontiguousarray(self._columns.outputs(v if k is None else v.reshape(-1, k)))
