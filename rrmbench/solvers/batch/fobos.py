"""Forward-backward splitting with subgradients, the baseline "fobos" of Pdprox [Duchi and Singer 2009]."""

from itertools import count
from math import isfinite, sqrt

import numpy as np

from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.batch.line_search import steepest


@solver(deterministic=True)
def fobos(problem, start, rng, *, step_scale: Positive = 1.0):
    """Forward-backward splitting with subgradients of the mean loss.

    w = prox_{eta Psi}(w - eta g), g = (1/n) X^T phi'(X w) with all samples, the least-norm phi' at a kink;
    eta in step k = 1, 2, ... is step_scale times

        1/L               for smooth phi, where this is the proximal gradient method
        1/(s k)           for s > 0: the regret is O((G R)^2 log(k) / s)
        1/(G R sqrt(k))   else, the best at distance 1 from the optimum, G R being a bound of ||g||

    Pdprox, section 5, tunes step_scale over 2^[-10..10]. [Duchi and Singer 2009, (2) and (3), the theorems of its
    section 4 on regret are with 1/sqrt(k), and with 1/(s k) for strong convexity, here that of Psi]

    b is the average of all phi'(X w); the theorems bound the gap of this b and the average of w.
    """
    problem = problem.counted()
    w = problem.start(start)
    average = np.zeros(problem.output_shape)
    length = lengths(problem)
    yield Iterate(w)
    for k in count(1):
        b = problem.loss_dual(problem.X.forward(w))
        average += (b - average) / k
        eta = step_scale * length(k)
        w = problem.prox(w + eta * problem.v(b), eta)
        yield Iterate(w, average, problem.X.passes)


def lengths(problem):
    """The function from k to the length of step k with step_scale 1."""
    if isfinite(problem.smoothness):
        return lambda k: 1.0 / problem.L
    if problem.strong_convexity > 0.0:
        return lambda k: 1.0 / (problem.strong_convexity * k)
    steep = steepest(problem)
    return lambda k: 1.0 / (steep * sqrt(k))
