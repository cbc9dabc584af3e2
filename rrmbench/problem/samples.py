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
    S                       (1/n) sum phi^mu(x_i.w) is S/(conjugate_convexity + mu)-smooth in w; (1/n) sum ||x_i||^2
                            or less
    S1                      the same in ||w||_1; S where nothing less is known
    diameter                D: smoothing by mu lowers the mean loss by at most mu D
"""

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.former_names import with_former_names
from rrmbench.numerics import whole_arrays
from rrmbench.numerics.weighted import weighted_dual_points, weighted_mean_conjugate, weighted_mean_loss


def over_samples(loss, X, y, weights=None):
    """The loss of a Problem with the data operator X and the labels y; `weights` as of the Problem."""
    if weights is not None:
        return Weighted(loss, X, y, weights)
    kind = {"scalar": Scalar, "vector": Vector, "whole": Whole}[outputs_of(loss)]
    return kind(loss, X, y)


def outputs_of(loss):
    """What a loss is of: one number per sample ("scalar"), a row of them ("vector"), or all of them ("whole")."""
    return getattr(loss, "outputs", "scalar")


def is_entropic(loss):
    """Whether mu multiplies an entropy of b in place of its square."""
    return getattr(loss, "entropic", not getattr(loss, "conjugate_prox", True))


def takes_bias(loss):
    """Whether the last entry of the model may be a free bias.

    A loss with an operator, so a model of its own, says so by a method `balanced` for its b.
    """
    return hasattr(loss, "balanced") or not hasattr(loss, "operator")


class _Outputs:
    """What is known of a loss unless it says otherwise: mu multiplies squares of at most lipschitz^2/2 in the mean."""

    def __init__(self, loss, X, y):
        self.loss, self.X, self.y = loss, X, y

    @property
    def S(self):
        return float(self.X.sqnorms.mean())

    S1 = S

    @property
    def diameter(self):
        return 0.5 * self.loss.lipschitz**2

    @property
    def dual_radius(self):
        return getattr(self.loss, "lipschitz", np.inf)

    def balanced(self, b):
        return self.loss.balanced(b, self.y) if hasattr(self.loss, "balanced") else balanced(b)


@with_former_names("losses")
class Scalar(_Outputs):
    """One output per sample, scalar methods (see `rrmbench.losses`)."""

    spread = 1.0

    def __init__(self, loss, X, y):
        super().__init__(loss, X, y)
        self.shape = y.shape

    def mean_loss(self, mu, z):
        return whole_arrays.mean_loss(self.loss, mu, z, self.y)

    def mean_conjugate(self, mu, b):
        return whole_arrays.mean_conjugate(self.loss, mu, b, self.y)

    def dual_point(self, mu, z, q=0.0):
        b = np.empty(self.shape)
        whole_arrays.loss_dual(self.loss, mu + q, z, self.y, b)
        return b


class Weighted(Scalar):
    """One output per sample, smoothed by mu omega_i; omega (n,) is positive and has the mean 1. [AGM, section 5.6]

    The spread is 1/min omega, since mu penalizes omega_i b_i^2.
    """

    def __init__(self, loss, X, y, omega):
        if outputs_of(loss) != "scalar":
            raise RrmbenchError(f"weights of the smoothing: found {type(loss).__name__}, needed is a scalar loss")
        super().__init__(loss, X, y)
        self.omega, self.spread = omega, 1.0 / float(omega.min())

    @property
    def S(self):
        """(1/n) sum ||x_i||^2 / omega_i, over the spread; for smooth losses the bound without weights."""
        if self.loss.conjugate_convexity > 0.0:
            return float(self.X.sqnorms.mean())
        return float(np.mean(self.X.sqnorms / self.omega)) / self.spread

    S1 = S

    def mean_loss(self, mu, z):
        if mu == 0.0:
            return super().mean_loss(mu, z)
        return weighted_mean_loss(self.loss, mu, self.omega, z, self.y)

    def mean_conjugate(self, mu, b):
        return weighted_mean_conjugate(self.loss, mu, self.omega, b, self.y)

    def dual_point(self, mu, z, q=0.0):
        b = np.empty(self.shape)
        weighted_dual_points(self.loss, mu, self.omega, q, z, self.y, b)
        return b


@with_former_names("losses")
class Vector(_Outputs):
    """k outputs per sample and methods on rows of length k."""

    def __init__(self, loss, X, y):
        super().__init__(loss, X, y)
        self.shape = (X.shape[0], X.shape[-1])
        self.spread = loss.spread(X.shape[-1])

    @property
    def dual_radius(self):
        return getattr(self.loss, "dual_radius", super().dual_radius * float(np.sqrt(self.spread)))

    def mean_loss(self, mu, z):
        return whole_arrays.mean_loss_rows(self.loss, mu, z, self.y)

    def mean_conjugate(self, mu, b):
        return whole_arrays.mean_conjugate_rows(self.loss, mu, b, self.y)

    def dual_point(self, mu, z, q=0.0):
        b = np.empty(self.shape)
        whole_arrays.loss_dual_rows(self.loss, mu, q, z, self.y, b)
        return b


@with_former_names("losses")
class Whole(_Outputs):
    """A loss Phi that is not a sum over samples: methods on whole arrays, means over the n samples of X included.

    See `rrmbench.losses`. Phi^mu(z) = max_b b.z/n - Phi*(b) - mu d2(b); where d2 is an entropy, q > 0 is refused, or is
    an argument of its own of the loss.
    """

    spread = 1.0

    def __init__(self, loss, X, y):
        super().__init__(loss, X, y)
        self.n, self.shape = X.shape[0], loss.shape(X, y)

    @property
    def S(self):
        return float(self.loss.S(self.X, self.y) if hasattr(self.loss, "S") else self.X.sqnorms.mean())

    @property
    def S1(self):
        return float(self.loss.S1(self.X, self.y)) if hasattr(self.loss, "S1") else self.S

    @property
    def diameter(self):
        return float(self.loss.diameter(self.X, self.y)) if hasattr(self.loss, "diameter") else super().diameter

    def mean_loss(self, mu, z):
        if mu == 0.0:
            return self.loss.value(z, self.y)
        if hasattr(self.loss, "smooth_value"):
            return self.loss.smooth_value(z, self.y, mu)
        b = self.loss.dual_point(z, self.y, mu)
        return float(np.vdot(b, z)) / self.n - self.mean_conjugate(mu, b)

    def mean_conjugate(self, mu, b):
        value = self.loss.conjugate(b, self.y)
        return value + mu * self.d2(b) if mu > 0.0 else value

    def d2(self, b):
        return self.loss.d2(b, self.y)

    def dual_point(self, mu, z, q=0.0):
        if q > 0.0 and not getattr(self.loss, "conjugate_prox", True):
            raise RrmbenchError(f"{type(self.loss).__name__}: its conjugate has no Euclidean proximal step")
        if q > 0.0 and is_entropic(self.loss):
            return self.loss.dual_point(z, self.y, mu, q)
        return self.loss.dual_point(z, self.y, mu + q)


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
