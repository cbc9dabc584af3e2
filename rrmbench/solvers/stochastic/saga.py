"""Stochastic average gradient, amélioré [Defazio, Bach and Lacoste-Julien 2014]."""

from itertools import count

from rrmbench.numerics.lazy import StochasticSteps
from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver


@solver(needs={"smooth", "scalar", "coordinate", "rows"})
def saga(problem, start, rng, *, step_scale: Positive = 1.0 / 3.0):
    """Proximal SAGA: a table of the derivatives last seen makes stochastic gradients of vanishing variance.

    w = prox_{eta Psi}(w - eta (g + (phi'(x_i.w) - theta_i) x_i)), then theta_i = phi'(x_i.w) and g = (1/n) X^T theta,
    with independent uniform draws; eta = step_scale / L_max, L_max = smoothness * max ||x_i||^2. The theory has
    step_scale = 1/3 [Defazio, Bach and Lacoste-Julien 2014, section 2]. The table starts with the derivatives at the
    start, which costs one pass.
    """
    return with_table(problem, start, rng, step_scale, 1.0)


def with_table(problem, start, rng, step_scale, weight):
    """The method above with (phi'(x_i.w) - theta_i) x_i times `weight`; yields after each n steps."""
    w = problem.start(start)
    steps = StochasticSteps(problem, step_scale / (problem.smoothness * problem.R**2 or 1.0))
    yield Iterate(w)
    theta = problem.loss_dual(problem.X.forward(w))
    B = steps.linear(-problem.v(theta))
    yield Iterate(w, theta, passes=1)
    for passes in count(2):
        steps.run_table(rng.integers(problem.n, problem.n), w, B, theta, weight)
        yield Iterate(w, passes=passes)
