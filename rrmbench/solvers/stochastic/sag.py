"""Stochastic average gradient [Schmidt, Le Roux and Bach 2017]."""

from rrmbench.parameters import Positive
from rrmbench.registry import solver
from rrmbench.solvers.stochastic.gradient_table import with_gradient_table


@solver(needs={"smooth", "scalar", "coordinate", "rows"})
def sag(problem, start, rng, *, step_scale: Positive = 1.0 / 16.0):
    """SAG: a step along the mean of the derivatives last seen, one of which is renewed first.

    theta_i = phi'(x_i.w) for a uniform random i, then w = prox_{eta Psi}(w - (eta/n) X^T theta);
    eta = step_scale / L_max, L_max = smoothness * max ||x_i||^2. The theory has step_scale = 1/16 [Schmidt,
    Le Roux and Bach 2017, Theorem 1] for smooth Psi in the gradient, while here all of Psi is in the prox. The
    authors advise 1 in practice [Schmidt, Le Roux and Bach 2017, section 4.5], which diverges on some squared losses.
    The table starts with the derivatives at the start: one pass.
    """
    return with_gradient_table(problem, start, rng, step_scale, 1.0 / problem.n)
