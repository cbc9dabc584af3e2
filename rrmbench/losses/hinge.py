"""The hinge loss of support vector machines, its smoothing, and its m largest values (a budget of the dual)."""

from typing import NamedTuple

import numpy as np

from rrmbench.numerics.clipping import clipped_ratio
from rrmbench.numerics.pieces import Parts
from rrmbench.numerics.projection import project
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.parameters import Positive
from rrmbench.registry import loss


class Hinge(NamedTuple):
    """phi(z) = max(0, 1 - y z),  phi*(b) = -s for s = -y b in [0, 1];  y = -1 or +1.

    The step of SDCA, option I, is s = clip(s + (1 - y p - mu s)/(mu + q), 0, 1) with p = x_i.w, q = ||x_i||^2/(s' n),
    s' the strong convexity of Psi.
    """

    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0

    def value(self, z, y):
        return max(0.0, 1.0 - y * z)

    def conjugate(self, b, y):
        s = -y * b
        return -s if 0.0 <= s <= 1.0 else float("inf")

    def dual_point(self, z, y, mu):
        return -y * clipped_ratio(1.0 - y * z, mu, 0.0, 1.0)

    def kinks(self, y):
        return y.reshape(-1, 1)  # 1/y


class BudgetHinge(NamedTuple):
    """max over alpha in [0, 1]^n, sum alpha <= m, of (1/n) sum alpha_i (1 - y_i z_i); b = -y alpha [Pdprox, (19)].

    Phi(z) is (1/n) times the sum of the m largest hinge losses; the next loss counts by the fraction of m. z, y and b
    are arrays (n,); sums of alpha are compared to rounding, 1e-12 m. No step of SDCA: Phi is no sum over samples.
    """

    budget: float
    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0
    outputs = "whole"

    def shape(self, X, y):
        return y.shape

    def value(self, z, y):
        losses = np.maximum(1.0 - y * z, 0.0)
        n, whole = losses.size, int(min(self.budget, losses.size))
        if whole == n:
            return float(losses.mean())
        losses.partition(n - whole - 1)  # the largest `whole`, preceded by the next one
        return float(losses[n - whole :].sum() + (self.budget - whole) * losses[n - whole - 1]) / n

    def conjugate(self, b, y):
        alpha = -y * b
        total = float(alpha.sum())
        if alpha.min() < 0.0 or alpha.max() > 1.0 or not total <= self.budget * (1.0 + DOMAIN_ROUNDING):
            return float("inf")
        return -total / alpha.size

    def d2(self, b, y):
        return 0.5 * float(np.vdot(b, b)) / y.size

    def diameter(self, X, y):
        return 0.5 * self.dual_squares(X, y) / y.size

    def dual_squares(self, X, y):
        """max ||b||^2, at most m: as many alpha_i = 1 as the budget has, and one for the rest of it."""
        whole = int(min(self.budget, y.size))
        return whole + (min(self.budget, y.size) - whole) ** 2

    def dual_point(self, z, y, mu):
        """The projection of (1 - y z)/mu [Pdprox, Lemma 13]; for mu = 0 the subgradient of least norm."""
        slack = 1.0 - y * z
        if mu > 0.0:
            with np.errstate(over="ignore"):
                point = slack / mu
            if point.max() < np.inf:
                return -y * project(point, 1.0, np.ones(y.shape), self.budget)
        return -y * self._least_norm(slack)

    def _least_norm(self, slack):
        """alpha_i = 1 where the slack is one of the m largest and positive; ties for the last place share it."""
        if np.count_nonzero(slack > 0.0) <= self.budget:
            return (slack > 0.0).astype(float)
        place = slack.size - int(self.budget) - 1
        last = np.partition(slack, place)[place]
        above, ties = slack > last, slack == last
        return above + ties * ((self.budget - np.count_nonzero(above)) / np.count_nonzero(ties))

    def without_budget(self):
        """The hinge loss of each sample."""
        return Hinge()

    def parts(self, y, k):
        """u = alpha, all in one group."""
        from scipy.sparse import diags_array

        return Parts(np.full(y.size, -1.0), diags_array(-y), np.zeros(y.size, dtype=int), self.budget)


@loss(needs={"binary"})
def hinge(budget: Positive | None = None):
    """max(0, 1 - y z); with a budget m the m largest of them, so that the dual has sum |b_i| <= m"""
    return Hinge() if budget is None else BudgetHinge(budget)


@loss(needs={"binary"})
def smoothed_hinge(gamma: Positive = 1.0):
    """the hinge smoothed by gamma [Acc-SDCA, section 5.1]

    phi(z) = 0 for m = y z >= 1, 1 - m - gamma/2 for m <= 1 - gamma, (1 - m)^2/(2 gamma) between [Acc-SDCA, (9)]; the
    step of SDCA is that of `Hinge` with mu = gamma.
    """
    return Hinge(), gamma
