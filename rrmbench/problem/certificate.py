"""Lower bounds of P on the original problem, for iterates with and without a dual variable."""

import math

import numpy as np

from rrmbench.numerics.tolerances import TERMS_ROUNDING

SLACK, ROUNDING = 1e-9, 1e-13
BELOW = "is below the dual bound"  # in the reason of each run that failed by a P below a D
GRID = 4.0 ** np.arange(-2, 3)  # of mu, over the best one of the point before


def contradict(primal, dual, size, rounding=0.0):
    """Whether a value of P lies below one of D by more than rounding: 1e-9 (|P| + |D|) + 1e-13 size + rounding.

    size : that of the terms that P and D are made of, `size_of_terms`; near P = 0 they are much greater than P
    rounding : `rounding_of` a w and a b near theirs
    """
    if not (math.isfinite(primal) and math.isfinite(dual)):
        return False
    return primal < dual - SLACK * (abs(primal) + abs(dual)) - ROUNDING * size - rounding


def size_of_terms(start):
    """|P| at the start of a run; 1 where that is 0, since a bias may take equal labels of any size; 0 for no number."""
    return abs(start) or 1.0 if math.isfinite(start) else 0.0


def rounding_of(X, w, b):
    """4 eps ||w|| ||b|| (sum ||x_i||^2)^(1/2) / n: what P(w) and D(b) may be off by, where X w and X^T b cancel.

    ||w|| ||b|| (sum ||x_i||^2)^(1/2) is at least sum_ij |b_i x_ij w_j|, by Cauchy and Schwarz. Columns of entries that
    are far from 0 and differ little have such sums. 0 where there is no b, or no number.
    """
    if b is None:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        terms = float(np.linalg.norm(w) * np.linalg.norm(b) * np.sqrt(np.sum(X.sqnorms)) / X.shape[0])
    return TERMS_ROUNDING * terms if math.isfinite(terms) else 0.0


def suspects(loss, regularizer):
    """Why P can lie below D, for components of these names."""
    return (
        f"the loss '{loss}' or the regularizer '{regularizer}' is not a conjugate pair (value, conjugate), or X is not "
        "finite"
    )


class Certifier:
    """Keeps the greatest dual value seen, and the b that attains it.

    The first candidate of a regularized problem is b = 0, with D(0) = min phi + min Psi. The others are the solver's
    own b where there is one. Where the problem is not strongly convex, they are also the losses' derivatives at X w,
    which need less scaling than the b of a regularized problem. For solvers without b they are the losses' derivatives
    at X w, smoothed by a geometric grid of mu around the best mu so far, and the average of past candidates, weighted
    by passes, which converges for subgradient methods.
    """

    def __init__(self, problem):
        self.problem = problem
        self.dual = -np.inf
        self.b = None
        self._mu = max(problem.mu, 1.0)
        self._average = None
        self._passes = 0.0

    def update(self, x, z):
        """Take the Iterate `x` with z = X w into account."""
        if self.b is None and not self.problem.is_unregularized:
            self.offer(np.zeros(self.problem.output_shape))
        if x.b is None:
            self._construct(x, z)
        else:
            self.offer(x.b)
            if self.problem.strong_convexity == 0.0:
                self.offer(self.problem.loss_dual(z))

    def offer(self, b, problem=None):
        """Keep b if it bounds P better; `problem` is a view of the problem that counts what this costs."""
        self._keep(*(problem or self.problem).certificate(b))

    def _keep(self, value, b):
        if math.isfinite(value) and value > self.dual:  # an overflow proves nothing
            self.dual, self.b = value, b.copy()

    def _construct(self, x, z):
        problem = self.problem
        subgradient = problem.loss_dual(z)
        self.offer(subgradient)
        if "smooth" in problem.traits:
            return
        grid = self._mu * GRID
        certificates = [problem.certificate(problem.loss_dual(z, mu)) for mu in grid]
        best = int(np.argmax([value if math.isfinite(value) else -math.inf for value, _ in certificates]))
        self._mu = grid[best]
        self._keep(*certificates[best])
        weight = x.passes - self._passes
        self._passes = x.passes
        if self._average is None:
            self._average = subgradient
        elif weight > 0.0:
            self._average += (weight / x.passes) * (subgradient - self._average)
            self.offer(self._average)
