"""Regularized dual averaging, the baseline "rda" of Pdprox [Xiao 2010]."""

from itertools import count
from math import isfinite, sqrt
from typing import Literal

import numpy as np

from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.batch.line_search import steepest


@solver(deterministic=True)
def rda(problem, start, rng, *, step_scale: Positive = 1.0, output: Literal["last", "average"] = "last"):
    """Regularized dual averaging of the subgradients of the mean loss.

    w = argmin_u  g.u + Psi(u) + (beta_k/k) ||u - w0||^2/2, g the average of all k subgradients so far.
    This is prox_{t Psi}(w0 - t g) with t = k/beta_k. The subgradients are those of all samples, of least norm at a
    kink; w0 is the start. beta_k is

        L/step_scale               for smooth phi: the dual gradient method [Nesterov 2013, section 4]
        0                          else, for s > 0, so no step_scale: w = grad Psi*(-g)
        G R sqrt(k)/step_scale     else, the best at distance 1 from the optimum, G R being a bound of ||g||

    [Xiao 2010, Algorithm 1, beta_k = gamma sqrt(k) and, for strongly convex Psi, beta_k = 0 as in its section 3]

    output : the theorems are for the average of the points at which the subgradients were taken. The last point is
        the default: this point has the zeros for which the method is made, and comparisons are of this point.

    b is the average of all phi'(X w), so -(1/n) X^T b = -g; where beta_k = 0, (w, b) is a pair with w = grad Psi*(-g).
    """
    problem = problem.counted()
    w0 = problem.start(start)
    w, average = w0, np.zeros(problem.shape)
    b, v = np.zeros(problem.output_shape), np.zeros(problem.shape)
    next_point = points(problem, w0, step_scale)
    yield Iterate(w)
    for k in count(1):
        new = problem.loss_dual(problem.X.forward(w))
        b += (new - b) / k
        v += (problem.v(new) - v) / k
        if output == "average":
            average += (w - average) / k
        w = next_point(v, k)
        yield Iterate(w if output == "last" else average, b, problem.X.passes)


def points(problem, w0, step_scale):
    """The function from v = -g and k to the w above."""
    if isfinite(problem.smoothness):
        return lambda v, k: problem.prox(w0 + (t := k * step_scale / problem.L) * v, t)
    if problem.strong_convexity > 0.0:
        return lambda v, k: problem.primal_point(v)
    steep = steepest(problem)
    return lambda v, k: problem.prox(w0 + (t := sqrt(k) * step_scale / steep) * v, t)
