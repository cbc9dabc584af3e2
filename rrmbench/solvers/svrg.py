"""Proximal stochastic variance reduced gradient (Johnson and Zhang 2013; Xiao and Zhang 2014)."""

import numpy as np

from rrmbench.api import Iterate
from rrmbench.lazy import StochasticSteps
from rrmbench.parameters import Positive
from rrmbench.registry import solver


@solver(needs={"smooth", "scalar", "coordinate", "rows"}, gives={"gradient_norm"})
def svrg(problem, start, rng, *, step_scale: Positive = 0.1):
    """Prox-SVRG with Option I: a snapshot at the last of every 2n inner steps, independent uniform draws.

    w = prox_{eta Psi}(w - eta (g + (phi'(x_i.w) - theta_i) x_i)), theta the derivatives at the snapshot and
    g = (1/n) X^T theta; eta = step_scale / L_max, L_max = smoothness * max ||x_i||^2. The theory has
    step_scale = 0.1 [Xiao and Zhang, section 3]; larger ones are often faster.

    Yields the snapshot with its gradient (one pass) and the iterate after each n inner steps (one pass each).
    """
    w = np.zeros(problem.shape) if start is None else start.w.copy()
    steps = StochasticSteps(problem, step_scale / (problem.smoothness * problem.R**2 or 1.0))
    yield Iterate(w)
    passes = 0
    while True:
        theta = problem.loss_dual(problem.X.forward(w))
        g = -problem.v(theta)
        passes += 1
        norm = float(np.linalg.norm(problem.prox_gradient_from(w, g)))
        yield Iterate(w, theta, passes, gradient_norm=norm)
        for _ in range(2):
            steps.run(rng.integers(problem.n, problem.n), w, g, theta)
            passes += 1
            yield Iterate(w, passes=passes)
