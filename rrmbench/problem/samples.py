"""A loss over all samples at once, whatever it is over one: scalar, vector-valued, or not a sum at all.

Each of the three classes has

    shape              of the outputs z and of the dual variable b
    spread             ||A||^2 for the map A from outputs to what mu penalizes: phi^mu has smoothness
                       1/(conjugate_convexity + mu/spread)
    mean_loss(mu, z)        (1/n) sum phi^mu(z_i)
    mean_conjugate(mu, b)   (1/n) sum (phi^mu)*(b_i), +inf outside the domain
    dual_point(mu, z, q)    argmax_b  b.z - sum (phi^mu)*(b_i) - (q/2) ||b||^2: for q = 0 the derivatives of the
                            smoothed losses, for q > 0 the proximal step on the conjugate
    balanced(b)             b scaled down, within the domain, until the columns (outputs) sum to 0
"""

import numpy as np

from rrmbench.former_names import with_former_names
from rrmbench.numerics import jit


def over_samples(loss, X, y):
    """The loss of a Problem with the data operator X and the labels y."""
    kind = {"scalar": Scalar, "vector": Vector, "whole": Whole}[getattr(loss, "outputs", "scalar")]
    return kind(loss, X, y)


@with_former_names("losses")
class Scalar:
    """One output per sample, scalar methods (see `rrmbench.losses`)."""

    spread = 1.0

    def __init__(self, loss, X, y):
        self.loss, self.y, self.shape = loss, y, y.shape

    def mean_loss(self, mu, z):
        return jit.mean_loss(self.loss, mu, z, self.y)

    def mean_conjugate(self, mu, b):
        return jit.mean_conjugate(self.loss, mu, b, self.y)

    def dual_point(self, mu, z, q=0.0):
        b = np.empty(self.shape)
        jit.loss_dual(self.loss, mu + q, z, self.y, b)
        return b

    def balanced(self, b):
        return balanced(b)


@with_former_names("losses")
class Vector:
    """k outputs per sample and methods on rows of length k."""

    def __init__(self, loss, X, y):
        self.loss, self.y, self.shape = loss, y, (X.shape[0], X.shape[-1])
        self.spread = loss.spread(X.shape[-1])

    def mean_loss(self, mu, z):
        return jit.mean_loss_rows(self.loss, mu, z, self.y)

    def mean_conjugate(self, mu, b):
        return jit.mean_conjugate_rows(self.loss, mu, b, self.y)

    def dual_point(self, mu, z, q=0.0):
        b = np.empty(self.shape)
        jit.loss_dual_rows(self.loss, mu, q, z, self.y, b)
        return b

    def balanced(self, b):
        return self.loss.balanced(b, self.y) if hasattr(self.loss, "balanced") else balanced(b)


@with_former_names("losses")
class Whole:
    """A loss that is not a sum over samples: its methods take whole arrays, means included (see `rrmbench.losses`).

    `penalty(b, y)` is what mu/(2n) multiplies: ||b||^2; `shape(X, y)` is that of the outputs.
    """

    spread = 1.0

    def __init__(self, loss, X, y):
        self.loss, self.y, self.shape = loss, y, loss.shape(X, y)

    def mean_loss(self, mu, z):
        if mu == 0.0:
            return self.loss.value(z, self.y)
        b = self.loss.dual_point(z, self.y, mu)
        return float(np.vdot(b, z)) / self.y.shape[0] - self.mean_conjugate(mu, b)

    def mean_conjugate(self, mu, b):
        return self.loss.conjugate(b, self.y) + 0.5 * mu * self.loss.penalty(b, self.y) / self.y.shape[0]

    def dual_point(self, mu, z, q=0.0):
        return self.loss.dual_point(z, self.y, mu + q)

    def balanced(self, b):
        return balanced(b)


def balanced(b):
    """b with its positive or its negative part, per output, scaled down until they cancel.

    For domains that hold with b all arrays whose entries lie between those of b and 0.
    """
    up, down = np.maximum(b, 0.0), np.minimum(b, 0.0)
    P, N = up.sum(axis=0), -down.sum(axis=0)
    least = np.minimum(P, N)
    return up * _ratio(least, P) + down * _ratio(least, N)


def _ratio(a, b):
    return np.divide(a, b, out=np.ones_like(b), where=b > 0.0)
