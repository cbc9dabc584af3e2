"""Sizes, constants and traits of a problem."""

from functools import cached_property
from typing import Any

import numpy as np

from rrmbench.problem.samples import is_entropic
from rrmbench.problem.traits import traits_of


class Sizes:
    """What is known of a Problem before any w or b; its fields are as in `rrmbench.problem.problem.Problem`."""

    X: Any
    y: np.ndarray
    loss: Any
    regularizer: Any
    l2: float
    mu: float
    kappa: float
    free_bias: bool
    minimized_bias: bool
    weights: np.ndarray | None
    losses: Any
    regularization: Any

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.X.shape[0]

    @property
    def rank(self) -> int:
        """A bound of the rank of X, so of L over the exact constant."""
        return getattr(self.X, "rank", self.n)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the model w."""
        return self.X.shape[1:]

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of z = X w and of b."""
        return self.losses.shape

    @property
    def strong_convexity(self) -> float:
        """s = l2 + kappa, and what psi has beyond; kappa alone with a free bias."""
        return self.kappa + (0.0 if self.free_bias else self.l2 + self.regularization.convexity)

    @property
    def smoothness(self) -> float:
        """The smoothness of one loss phi^mu as a function of z: 1/(conjugate_convexity + mu) for scalar z.

        It is inf where the loss is not smooth.
        """
        curvature = self.loss.conjugate_convexity + self.mu / self.losses.spread
        return 1.0 / curvature if curvature > 0.0 else np.inf

    @property
    def lipschitz(self) -> float:
        """G, so that smoothing by mu lowers a loss by at most mu G^2/2: for scalar z its Lipschitz constant."""
        return getattr(self.loss, "lipschitz", float(np.sqrt(2.0 * self.diameter)))

    @property
    def diameter(self) -> float:
        """D, so that smoothing by mu lowers P by at most mu D: max d2(b), or G^2/2 for a sum over samples."""
        return self.losses.diameter

    @property
    def has_entropic_losses(self) -> bool:
        """Whether mu multiplies an entropy of b in place of its square."""
        return is_entropic(self.loss)

    @property
    def dual_radius(self) -> float:
        """A bound of every ||b_i|| but a lift, so the Lipschitz constant of one loss as a function of z."""
        return self.losses.dual_radius

    @property
    def R(self) -> float:
        """max_i ||x_i||."""
        return float(np.sqrt(self.X.sqnorms.max(initial=0.0)))

    @property
    def dual_squares(self) -> float:
        """A bound of ||b||^2 over the domain of D, without a lift, D_2 of Pdprox; inf if there is none."""
        if hasattr(self.loss, "dual_squares"):
            return self.loss.dual_squares(self.X, self.y)
        return 2.0 * self.n * self.diameter if self.minimized_bias else self.n * self.dual_radius**2

    @property
    def S(self) -> float:
        """L of losses that are 1-smooth: (1/n) ||X||^2, or a bound of it; 1 where it is 0."""
        return self.losses.S or 1.0

    @property
    def L(self) -> float:
        """A bound of the smoothness of the mean loss in w: smoothness * S, see `problem.samples`; S = 1 for X = 0."""
        return self.smoothness * self.S

    @property
    def L_max(self) -> float:
        """The smoothness of the loss of any one sample in w, smoothness * R^2, for scalar z; 0 for X = 0."""
        return self.smoothness * self.R**2

    @cached_property
    def traits(self) -> frozenset[str]:
        """What this problem has, as in `rrmbench.problem.traits.traits`."""
        tests = {
            "rows": hasattr(self.X, "rows") and not (self.free_bias or self.minimized_bias) and self.weights is None,
            "tasks": len(self.shape) > len(self.output_shape),
            "free_bias": self.free_bias,
            "minimized_bias": self.minimized_bias,
        }
        data = frozenset(name for name, holds in tests.items() if holds)
        return traits_of(self.loss, self.mu, self.regularizer, self.l2, self.kappa, data)
