"""Stochastic average gradient, amélioré [Defazio, Bach and Lacoste-Julien 2014]."""

from rrmbench.parameters import Positive
from rrmbench.registry import solver
from rrmbench.solvers.stochastic.gradient_table import with_gradient_table


@solver(needs={"smooth", "scalar", "coordinate", "rows"})
def saga(problem, start, rng, *, step_scale: Positive = 1.0 / 3.0):
    """Proximal SAGA: a table of the derivatives last seen makes stochastic gradients of vanishing variance.

    w = prox_{eta Psi}(w - eta (g + (phi'(x_i.w) - theta_i) x_i)), then theta_i = phi'(x_i.w) and g = (1/n) X^T theta,
    with independent uniform draws; eta = step_scale / L_max, L_max = smoothness * max ||x_i||^2. The theory has
    step_scale = 1/3 [Defazio, Bach and Lacoste-Julien 2014, section 2]. The table starts with the derivatives at the
    start, which costs one pass.
    """
    return with_gradient_table(problem, start, rng, step_scale, 1.0)
