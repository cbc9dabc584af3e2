"""The second derivatives of the losses, and their products with models."""

from functools import partial

import numpy as np

from rrmbench.numerics import whole_arrays
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.sparse_rows import axpy, dot, entries
from rrmbench.numerics.tolerances import SUM_ROUNDING

WIDTH = 1e-6  # of the differences, over 1 + |z| + reach, for losses whose derivatives bend over lengths of 1 or more
NARROW = 1e-4  # of that width, the least for others, which rounding allows
DECREASE = 1e-4  # of Armijo's rule
CANCELLED = 1e-12  # of a sum of squares: a variance below it is the rounding of the sums
HALVINGS = 60  # of a step: 2^-60 of it changes nothing above rounding


def curvatures(problem, z, y=None):
    """(phi^mu)''(z_i) >= 0 (n,), by central differences of the derivatives b, so for every loss.

    y : the labels of the samples with the outputs z, where these are some of a problem with rows

    The error is about 1e-10, that of the quotient's rounding. Where the derivative has a kink within the width of z, it
    is a number between the curvatures of the two sides, of which semismooth Newton methods may take any. Of a problem
    that minimizes a bias, it is that at z + beta.
    """
    derivative = problem.loss_dual
    if problem.minimized_bias or y is not None:
        derivative = partial(derivatives, problem, problem.y if y is None else y)
    z = z + problem.beta(z) if problem.minimized_bias else z
    # rounding is relative to the derivatives, too, which are as large as labels where nothing bounds them
    reach = 0.0 if np.isfinite(problem.dual_radius) else np.abs(derivative(z)) / problem.smoothness
    return slopes(derivative, z, problem.smoothness, reach)


def slopes(derivative, z, most, reach=0.0):
    """The slopes of a function at z (m,), between 0 and `most`; `reach` is its size there over `most`, or less."""
    width = width_for(most) * (1.0 + np.abs(z) + reach)
    up, down = z + width, z - width
    return np.clip((derivative(up) - derivative(down)) / (up - down), 0.0, most)


def width_for(smoothness):
    """The width of differences at z = 0, for derivatives that may bend over a length of gamma = 1/smoothness."""
    return WIDTH * min(1.0, max(1.0 / smoothness, NARROW))


def derivatives(problem, y, z):
    """(phi^mu)'(z_i) (m,) for samples with the labels y (m,) and the outputs z (m,)."""
    b = np.empty(z.shape)
    whole_arrays.loss_dual(problem.loss, problem.mu, z, y, b)
    return b


def squares_of(problem):
    """The diagonal of the second derivative of the squares in Psi, l2 + kappa, kappa for a free bias; shaped like w."""
    squares = np.full(problem.shape, problem.l2 + problem.kappa)
    if problem.free_bias:
        squares[-1] = problem.kappa
    return squares


def greatest_diagonal(problem):
    """The diagonal of (1/n) X^T X times the smoothness of the losses, half a pass; L where no rows are to be read."""
    if not hasattr(problem.X, "rows"):
        return problem.L
    return mean_squares(problem, np.arange(problem.n), np.full(problem.n, problem.smoothness), 1.0)


def rehearse(problem):
    """Call on no row the kernels that the few rows of a warm-up may not call."""
    rows, none, w, z = problem.X.rows, np.zeros(0, dtype=np.int64), np.zeros(problem.shape), np.zeros(problem.n)
    add_products(rows, none, z, w, w.copy(), z.copy())
    write_outputs(rows, none, w, z)


def mean_squares(problem, samples, c, share):
    """The diagonal of (1/n) X^T diag(c) X, of the samples that hold this share of the entries; half of it in passes.

    (d,), or (d, 1) where the model is a matrix.
    """
    diagonal = np.zeros(problem.shape[0])
    add_squares(problem.X.rows, samples, c, diagonal)
    problem.X.passes += 0.5 * share
    diagonal /= problem.n
    return diagonal.reshape(-1, *[1] * (len(problem.shape) - 1))


def gradient_of(problem, g, w):
    """The gradient of P without psi at w, of the gradient g of the mean loss there."""
    return g + squares_of(problem) * w - problem.center_term()


def straight(w, p, t):
    """w + t p."""
    return w + t * p


def longest_step(primal, w, z, p, along, P, slope, place=straight):
    """(t, w + t p, z + t X p, P there) for the first t of 1, 1/2, 1/4 ... with P there <= P + 1e-4 t slope; t = 0 else.

    primal : P as a function of w and z = X w
    w, z, P : where the step begins
    p, along : the step, and X p
    slope : the derivative of P along p at w, or a bound of it from above that is below 0
    place : the function (w, p, t) -> w + t p; one that knows the step by its end gets that for p
    """
    for t in 0.5 ** np.arange(HALVINGS):
        w_new, z_new = place(w, p, t), z + t * along
        P_new = primal(w_new, z_new)
        if P_new <= P + DECREASE * t * slope + SUM_ROUNDING * abs(P):
            return t, w_new, z_new, P_new
    return 0.0, w, z, P


class Curvature:
    """The second derivative H = (1/n) X^T D X + diag(S) of P, D that of the losses, S that of the squares.

    With a minimized bias D is diag(c) - c c^T / sum(c), c the curvatures.

    problem : with a counting view of X, whose passes grow. Where there are rows, those with no curvature are not read
    z : (n,) X w
    squares : S, shaped like w
    """

    def __init__(self, problem, z, squares):
        self.problem, self.z, self.c, self.squares = problem, z, curvatures(problem, z), squares
        self.has_rows = hasattr(problem.X, "rows")
        self.by_rows = self.has_rows and not problem.minimized_bias
        if self.has_rows:
            self.seen, self.unseen = np.flatnonzero(self.c > 0.0), np.flatnonzero(self.c == 0.0)
            lengths = np.diff(problem.X.rows.indptr)
            self.share = float(lengths[self.seen].sum()) / max(problem.X.nnz, 1)
            self.by_rows &= problem.X.array is None or self.unseen.size > 0  # the whole of an array is read faster

    @property
    def knows_outputs(self):
        """Whether the X p of `product` is that of all rows."""
        return not (self.by_rows and self.unseen.size)

    def diagonal(self):
        """The diagonal of H shaped like w, half a pass, one with a minimized bias; None where there are no rows."""
        if not self.has_rows:
            return None
        diagonal = mean_squares(self.problem, self.seen, self.c, self.share)
        if self.problem.minimized_bias and self.seen.size:
            sums = self.problem.X.adjoint(self.c) / self.problem.n
            diagonal = np.maximum(diagonal - sums**2 / self.c.mean(), CANCELLED * diagonal)
        return diagonal + self.squares

    def product(self, p):
        """(H p, X p), X p for rows with curvature; a pass or, with rows, that share of it that they hold."""
        X, n = self.problem.X, self.problem.n
        if self.by_rows:
            product, outputs = np.zeros(self.problem.shape), np.zeros(n)
            add_products(X.rows, self.seen, self.c, p, product, outputs)
            X.passes += self.share
        else:
            outputs = X.forward(p)
            bent = self.c * outputs
            if self.problem.minimized_bias and bent.any():
                bent -= self.c * (bent.sum() / self.c.sum())
            product = X.adjoint(bent)
        product /= n
        product += self.squares * p
        return product, outputs

    def complete(self, p, outputs):
        """Write X p into `outputs` for the rows that `product` has left out."""
        if not self.knows_outputs:
            write_outputs(self.problem.X.rows, self.unseen, p, outputs)
            self.problem.X.passes += 0.5 * (1.0 - self.share)


class DirectionalCurvature:
    """As `Curvature`, of losses with several outputs per sample, or over all samples at once.

    D o is the slope of the derivatives b along o: by the loss's own `slopes_row` or, where it has none, by central
    differences, for which the loss is evaluated twice more. Nothing is kept of the n matrices (k, k). In place of the
    diagonal of H is that of the greatest D.

    b : the derivatives at z
    greatest : `greatest_diagonal` of the problem
    """

    knows_outputs = True

    def __init__(self, problem, z, b, squares, greatest):
        self.problem, self.z, self.b, self.squares, self.greatest = problem, z, b, squares, greatest
        self.width = width_for(problem.smoothness) * (1.0 + float(np.max(np.abs(z), initial=0.0)))

    def diagonal(self):
        """(d, 1); None where there are no rows."""
        return self.greatest + self.squares if hasattr(self.problem.X, "rows") else None

    def product(self, p):
        """(H p, X p); a pass."""
        outputs = self.problem.X.forward(p)
        product = self.problem.X.adjoint(self.slopes(outputs))
        product /= self.problem.n
        product += self.squares * p
        return product, outputs

    def slopes(self, outputs):
        """The slopes of the derivatives b along outputs (n, k); (n, k)."""
        problem = self.problem
        if hasattr(problem.loss, "slopes_row"):
            bent = np.empty(self.b.shape)
            whole_arrays.slopes_along(problem.loss, problem.mu, self.b, problem.y, outputs, bent)
            return bent
        longest = float(np.max(np.abs(outputs), initial=0.0))
        if longest == 0.0:
            return np.zeros(self.b.shape)
        h = self.width / longest
        return (problem.loss_dual(self.z + h * outputs) - problem.loss_dual(self.z - h * outputs)) / (2.0 * h)

    def diagonals(self):
        """The diagonal of the D of each sample (n, k)."""
        problem, diagonals = self.problem, np.empty(self.b.shape)
        if hasattr(problem.loss, "slopes_row"):
            whole_arrays.slopes(problem.loss, problem.mu, self.b, problem.y, diagonals)
            return diagonals - diagonals**2 / diagonals.sum(axis=1, keepdims=True)
        for j in range(self.b.shape[1]):
            unit = np.zeros(self.b.shape)
            unit[:, j] = 1.0
            diagonals[:, j] = self.slopes(unit)[:, j]
        return diagonals

    def complete(self, p, outputs):
        """All of X p is known."""


@kernel
def add_squares(rows, seen, c, diagonal):
    """Add sum_i c_i x_ij^2 over the rows of `seen` (m,) to diagonal (d,)."""
    for i in seen:
        for k in entries(rows.indptr[i], rows.indptr[i + 1]):
            x = rows.data[k]
            diagonal[rows.indices[k]] += c[i] * x * x


@kernel
def add_products(rows, seen, c, p, product, outputs):
    """Write x_i.p to outputs (n,) and add sum_i c_i (x_i.p) x_i to product (d,) over the rows of `seen` (m,)."""
    for i in seen:
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        outputs[i] = dot(rows.indices, rows.data, begin, end, p)
        axpy(rows.indices, rows.data, begin, end, outputs[i] * c[i], product)


@kernel
def write_outputs(rows, unseen, p, outputs):
    """Write x_i.p to outputs (n,) for the rows of `unseen` (m,)."""
    for i in unseen:
        outputs[i] = dot(rows.indices, rows.data, rows.indptr[i], rows.indptr[i + 1], p)
