"""Stochastic steps with a table of the derivatives last seen, which SAGA and SAG share."""

from itertools import count

from rrmbench.numerics.lazy import GradientTable, StochasticSteps
from rrmbench.problem.iterate import Iterate


def with_gradient_table(problem, start, rng, step_scale, weight):
    """w = prox_{eta Psi}(w - eta (g + weight (phi'(x_i.w) - theta_i) x_i)), then theta_i = phi'(x_i.w).

    g = (1/n) X^T theta, theta (n,), i uniform, eta = step_scale / L_max; yields after each n steps.
    """
    w = problem.start(start)
    steps = StochasticSteps(problem, step_scale / (problem.L_max or 1.0))
    yield Iterate(w)
    theta = problem.loss_dual(problem.X.forward(w))
    table = GradientTable(steps.linear(-problem.v(theta)), theta, weight)
    yield Iterate(w, theta, passes=1)
    for passes in count(2):
        steps.run(rng.integers(problem.n, problem.n), w, table)
        yield Iterate(w, passes=passes)
