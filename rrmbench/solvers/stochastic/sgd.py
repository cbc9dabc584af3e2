"""Proximal stochastic gradient descent."""

from itertools import count
from math import isinf, sqrt
from typing import Literal

import numpy as np

from rrmbench.numerics.lazy import Snapshot, StochasticSteps
from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver


@solver(needs={"scalar", "coordinate", "rows"})
def sgd(
    problem,
    start,
    rng,
    *,
    step_scale: Positive = 1.0,
    sampling: Literal["permutation", "uniform"] = "uniform",
):
    """w = prox_{eta Psi}(w - eta phi'(x_i.w) x_i), the least-norm subgradient where phi has a kink.

    eta is constant within a pass; in pass k = 1, 2, ... it is step_scale times

        1/(s (k n + t0)), t0 = L_max/s (0 if phi is not smooth)    for s > 0, as in Pegasos
        1/(L_max sqrt(k))                                          for smooth phi
        1/(G R sqrt(k n))                                          else, best at distance 1 from the optimum

    with L_max = smoothness * R^2, R = max ||x_i||, G the Lipschitz constant. [Shalev-Shwartz et al.
    2011; Nemirovski et al. 2009]
    """
    n = problem.n
    w = problem.start(start)
    none, zeros = np.zeros(problem.shape), np.zeros(n)
    draw = rng.drawing(sampling)
    yield Iterate(w)
    for k in count(1):
        steps = StochasticSteps(problem, step_scale * step(problem, k))
        steps.run(draw(n), w, Snapshot(steps.linear(none), zeros))
        yield Iterate(w, passes=k)


def step(problem, k):
    """The step length of pass k with step_scale 1."""
    n, s = problem.n, problem.strong_convexity
    # Without data (R = 0) every step is right.
    R = problem.R or 1.0
    steepest = problem.smoothness * R**2
    if s > 0.0:
        return 1.0 / (s * k * n + (0.0 if isinf(steepest) else steepest))
    return 1.0 / (problem.lipschitz * R * sqrt(k * n) if isinf(steepest) else steepest * sqrt(k))
