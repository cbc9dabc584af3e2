"""The greatest of all outputs: the loss of entropy-regularized LPBoost [AGM, section 5, Example 5].

The weights w of the samples are the model. The outputs are the edges z = U w of 2 d hypotheses, the features and their
negatives, and the dual variable is the weights of the hypotheses, up to scale and shift.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.entropy import entropic_projection
from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.registry import loss


class Edges:
    """U w for the rows u_jq = y_q x_qj of the features j, then their negatives; shape (2 d, n) for X (n, d), y (n,).

    X : the data operator, of a vector model; products use its products alone
    y : (n,) labels -1 and +1
    """

    of_loss = True

    def __init__(self, X, y):
        n, d = X.shape
        self.X, self.y, self.shape, self.labels = X, y, (2 * d, n), n

    @property
    def nnz(self):
        return self.X.nnz

    @cached_property
    def sqnorms(self):
        """||u_i||^2 of all rows."""
        rows = self.X.rows
        squares = np.bincount(rows.indices, weights=np.square(rows.data), minlength=self.X.shape[1])
        return np.concatenate([squares, squares])

    @property
    def greatest(self):
        """max |u_jq|."""
        return float(np.max(np.abs(self.X.rows.data), initial=0.0))

    def head(self, n):
        """The operator of the first n rows or so, on the same model: half as many features, all samples."""
        return Edges(type(self.X).of(self.X.columns()[:, : max(1, n // 2)]), self.y)

    def forward(self, w):
        """z = U w."""
        edges = self.X.adjoint(self.y * w)
        return np.concatenate([edges, -edges])

    def adjoint(self, b):
        """U^T b."""
        up, down = np.split(b, 2)
        return self.y * self.X.forward(up - down)


class MaxRow(NamedTuple):
    """Phi(z) = max_i z_i - mean z over the t outputs; the mean is 0 for edges, which come with their negatives.

    Phi*(b) = 0 for b = t p - 1, p in the simplex, else +inf: p are the weights of the hypotheses, b = 0 is the uniform
    point, and sum b = 0. mu multiplies d2(b) = sum p_i log(t p_i), so Phi^mu(z) = mu log of the mean of exp(z_i/mu),
    less mean z. z, b are (t,) arrays, y is not used.
    """

    conjugate_convexity: float = 0.0
    lipschitz: float = math.inf
    outputs = "whole"
    entropic = True
    weighs_samples = True

    def operator(self, X, y):
        if len(X.shape) != 2:
            raise RrmbenchError(
                f"max_row: found a model of the shape {X.shape[1:]}, needed are data in the rows of a matrix, whose "
                "columns are the hypotheses"
            )
        return Edges(X, y)

    def shape(self, X, y):
        return (X.shape[0],)

    def value(self, z, y):
        return float(np.max(z) - np.mean(z))

    def smooth_value(self, z, y, mu):
        return mu * math.log(np.mean(_exponentials(z, mu))) + self.value(z, y)

    def conjugate(self, b, y):
        return 0.0 if np.min(b) >= -1.0 - DOMAIN_ROUNDING and abs(np.sum(b)) <= DOMAIN_ROUNDING * b.size else math.inf

    def d2(self, b, y):
        p = 1.0 + b  # times t
        positive = p[p > 0.0]
        return max(0.0, float(np.vdot(positive, np.log(positive))) / b.size)

    def dual_point(self, z, y, mu, q=0.0):
        """argmax_b  b.z/t - Phi*(b) - mu d2(b) - (q/(2t)) ||b||^2; for mu = q = 0 all maximizers have equal shares."""
        t = z.size
        if q > 0.0:
            return t * entropic_projection(z / (q * t), mu / (q * t), 1.0) - 1.0
        shares = _exponentials(z, mu) if mu > 0.0 else (z == np.max(z)).astype(float)
        return shares * (t / np.sum(shares)) - 1.0

    def predictor(self, b):
        """The boosted classifier x -> w.x, w_j = p_j - p_(j+d) for the weights p = (1 + b)/t of the hypotheses."""
        up, down = np.split(b, 2)
        return (up - down) / b.size

    def diameter(self, X, y):
        return math.log(X.shape[0])

    def dual_squares(self, X, y):
        """t (t - 1), the greatest ||t p - 1||^2: p is a vertex of the simplex."""
        return X.shape[0] * (X.shape[0] - 1.0)

    def S(self, X, y):
        """max_i ||u_i||^2: the curvature of Phi^mu along x is (1/mu) times a variance of u_i.x."""
        return float(np.max(X.sqnorms))

    def S1(self, X, y):
        """max |u_jq|^2, likewise for ||x||_1 = 1."""
        return X.greatest**2


def _exponentials(z, mu):
    """exp((z - max z)/mu)."""
    with np.errstate(over="ignore"):
        return np.exp((z - np.max(z)) / mu)


@loss(needs={"binary"})
def max_row():
    """max_i u_i.w over u_jq = +y_q x_qj and -y_q x_qj: the edges of the features under weights w of the samples"""
    return MaxRow()
