"""The dual of a Problem as a problem of its own, made of two adapters.

    min over b of   Psi*(v(b)) + (1/n) sum (phi^mu)*(b_i),    v(b) = -(1/n) X^T b

is a Problem with the model b, a single sample whose outputs are v(b), the loss Psi* and the mean of the conjugates as
regularizer. Its objective is -D(b), its dual objective -P(w), its dual variable w, and b = 0 is in its domain. More
smoothing of the dual, by m, is (m/2) ||w||^2 more in Psi; more strong convexity, by k, is n k more smoothing of the
losses. Every method for full gradients runs on the dual as it is. [AGM, section 5.3]
"""

from math import prod

import numpy as np

from rrmbench.errors import RrmbenchError

NEARLY_INFINITE, NEARLY_ZERO = 1e100, 1e-30
NO_LABELS = np.zeros(0)
NO_LABELS.flags.writeable = False


class Transposed:
    """b -> v(b) = -(1/n) X^T b and its adjoint w -> -(1/n) X w, as the data operator of the dual.

    X : the data operator of the problem, of n samples
    model : the shape of b
    """

    labels = 0

    def __init__(self, X, model):
        self.X, self.shape, self.n = X, (1, *model), X.shape[0]
        self.rank = min(self.n, prod(X.shape[1:]))
        self.sqnorms = np.array([X.sqnorms.mean() / self.n])  # a bound of ||X||^2 / n^2

    @property
    def nnz(self):
        return self.X.nnz

    def head(self, n):
        """The operator itself: it has one sample."""
        return self

    def forward(self, b):
        """v(b)."""
        return self.X.adjoint(b) / -self.n

    def adjoint(self, w):
        """-(1/n) X w."""
        return self.X.forward(w) / -self.n


class ConjugateOfPsi:
    """The loss Psi*(v) of a Problem: its derivative is grad Psi*, its conjugate Psi."""

    outputs = "whole"
    lipschitz = np.inf

    def __init__(self, problem):
        self.problem, self.conjugate_convexity = problem, problem.strong_convexity

    def shape(self, X, y):
        return self.problem.shape

    def S(self, X, y):
        """||.||^2 of b -> v(b), in the norm of the prox-function of b, which weights of the smoothing do not change."""
        problem = self.problem
        if problem.weights is not None:
            return float(problem.X.sqnorms.mean()) / problem.n
        return problem.losses.S / (1.0 if problem.has_entropic_losses else problem.n)

    def value(self, v, y):
        return self.problem.conjugate_of_Psi(v)

    def conjugate(self, w, y):
        return self.problem.Psi(w)

    def d2(self, w, y):
        return 0.5 * float(np.vdot(w, w))

    def dual_point(self, v, y, mu):
        return self.problem.primal_point(v, mu)


class MeanOfConjugates:
    """The regularizer (1/n) sum (phi^mu)*(b_i) of a Problem: its conjugate at (1/n) z is the mean loss at z.

    For losses that are smoothed by an entropy of b, it has `entropy_step` in place of `prox`.
    """

    coordinate_separable = False

    def __init__(self, problem):
        self.problem, self.n = problem, problem.n
        self.convexity = (problem.loss.conjugate_convexity + problem.mu / problem.losses.spread) / self.n

    def value(self, b):
        return self.problem.mean_conjugate(b)

    def conjugate(self, u):
        return self.problem.mean_loss(self.n * u)

    def conjugate_point(self, u):
        return self.problem.loss_dual(self.n * u)

    def prox(self, b, t):
        """For t = 0, the projection on the domain: of 0 itself, else the step of a t that changes nothing else."""
        if t == 0.0 and not b.any():
            return b.copy()
        return self._step(b, max(t, NEARLY_ZERO))

    def _step(self, b, t):
        return self.problem.loss_prox(b, t / self.n)

    def dual_scaling(self, u):
        return 1.0

    def radius(self, value, shape):
        return float(np.sqrt(self.problem.dual_squares))


class EntropicMeanOfConjugates(MeanOfConjugates):
    """The same for losses whose mu multiplies an entropy d2(b), which serves as prox-function."""

    def __init__(self, problem):
        super().__init__(problem)
        self.convexity = problem.loss.conjugate_convexity + problem.mu

    def _step(self, b, t):
        raise RrmbenchError(
            f"the dual of {type(self.problem.loss).__name__} has an entropy for prox-function, and no Euclidean "
            "proximal step: allowed is a method with steps of the entropy, as agm_ef with prox: auto or entropy"
        )

    def entropy(self, b):
        """d2(b) >= 0."""
        return self.problem.losses.d2(b)

    def entropy_start(self, shape):
        """The b that minimizes d2."""
        return self.problem.losses.dual_point(NEARLY_INFINITE, np.zeros(shape))

    def entropy_step(self, g, A, c):
        """argmin_b  A (1/n) sum (phi^mu)*(b_i) + c d2(b) - g.b."""
        return self.problem.losses.dual_point(self.problem.mu + c / A, self.n * g / A)


def dual_of(problem):
    """The dual as a Problem; of a dual without further terms, and as squares and smoothing of what it came from."""
    from rrmbench.problem.problem import Problem

    if isinstance(problem.loss, ConjugateOfPsi) and problem.center is None:
        first = problem.loss.problem
        return first.regularized(problem.mu).smoothed(problem.kappa * first.n)
    regularizer = (EntropicMeanOfConjugates if problem.has_entropic_losses else MeanOfConjugates)(problem)
    return Problem(Transposed(problem.X, problem.output_shape), NO_LABELS, ConjugateOfPsi(problem), regularizer)
