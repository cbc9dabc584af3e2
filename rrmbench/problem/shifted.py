"""A scalar loss over all samples with a bias that is minimized exactly [AGM, section 5, Example 1].

    Phi(z) = min_beta (1/n) sum phi(z_i + beta),    Phi*(b) = (1/n) sum phi*(b_i) where sum b_i = 0, else +inf

The bias beta is in neither the model nor the regularizer, so a model of the data without a column of ones has the
problem of a free bias, and the dual variable sums to zero.
"""

from functools import cached_property

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics import whole_arrays
from rrmbench.numerics.balancing import balance
from rrmbench.problem.samples import Scalar, balanced, outputs_of

BALANCE_ROUNDING = 1e-12  # |sum b_i| <= this part of sum |b_i| counts as zero
LEAST = 1e-300  # and so does what has no digits left
NEAR = 1e-9  # minimizers of an interval shorter than this part of them are not told apart
FAR = 1e300  # beyond all kinks, where a derivative is at an end of the domain of phi*


class Shifted(Scalar):
    """The interface of `rrmbench.problem.samples`, with Phi^mu(z) = min_beta (1/n) sum phi^mu(z_i + beta).

    Raises RrmbenchError for a loss that is not one of single outputs.
    """

    def __init__(self, loss, X, y):
        if outputs_of(loss) != "scalar":
            raise RrmbenchError(f"{type(loss).__name__}: a bias is minimized for losses of one output per sample only")
        super().__init__(loss, X, y)

    @property
    def S(self):
        # an operator that does not know its variance has the bound without the mean; where all rows are nearly equal,
        # X^T b is rounding errors, which steps of length 1/S must not blow up
        squares = float(self.X.sqnorms.mean())
        return max(float(getattr(self.X, "variance", squares)), BALANCE_ROUNDING * squares)

    S1 = S

    def mean_loss(self, mu, z):
        ends = set(self._balance(mu, z)[0])
        return min(whole_arrays.mean_loss(self.loss, mu, z + beta, self.y) for beta in ends)

    def mean_conjugate(self, mu, b):
        if not sums_to_zero(b):
            return float("inf")
        return super().mean_conjugate(mu, b)

    def dual_point(self, mu, z, q=0.0):
        return self._balance(mu + q, z)[1]

    def _balance(self, mu, z, side=0.0):
        b = np.empty(self.shape)
        return balance(self.loss, mu, z, self.y, side, b), b

    def beta(self, mu, z):
        """The minimizing beta: of an interval of them the middle, of a ray its end, 0 where every beta is one."""
        (root, other), b = self._balance(mu, z)
        if root != other or not self._is_flat(mu, z, root, b):
            return float(root)
        low, high = (self._balance(mu, z, side)[0][0] for side in (-1.0, 1.0))
        if np.isinf(low) or np.isinf(high):
            return float(next((end for end in (low, high) if np.isfinite(end)), 0.0))
        return float(0.5 * low + 0.5 * high)

    def _is_flat(self, mu, z, root, b):
        """Whether b, the dual points at z + root, stay what they are to one side."""
        near, aside = np.empty(self.shape), NEAR * (1.0 + abs(root))
        for beta in (root - aside, root + aside):
            whole_arrays.loss_dual(self.loss, mu, z + beta, self.y, near)
            if np.array_equal(near, b):
                return True
        return False

    @cached_property
    def diameter(self):
        """A bound of max ||b||^2 / (2n) over the domain of Phi*.

        Positive entries of b, u or less, sum to at most U, negative ones, -v or more, to at least -V, and by sum b = 0
        both sums are at most min(U, V) in magnitude: squares sum to at most (u + v) min(U, V). For the hinge the bound
        is attained: D = min(n+, n-)/n.
        """
        n = self.y.shape[0]
        if np.isinf(self.loss.lipschitz):
            return self.loss.lipschitz
        ends = np.empty((2, n))
        for z, end in zip((-FAR, FAR), ends, strict=True):
            whole_arrays.loss_dual(self.loss, 0.0, np.full(n, z), self.y, end)
        below, above = np.maximum(-ends[0], 0.0), np.maximum(ends[1], 0.0)
        by_sums = (below.max() + above.max()) * min(below.sum(), above.sum())
        squares = np.max(ends**2, axis=0).sum()
        return float(min(by_sums, squares)) / (2.0 * n)

    def balanced(self, b):
        return balanced(b)  # also of what counts as zero: a bias of 1e3 makes a thousand times of it in D


def sums_to_zero(b):
    """Whether the entries of b sum to zero, to rounding."""
    return bool(abs(b.sum()) <= BALANCE_ROUNDING * np.abs(b).sum() + LEAST)
