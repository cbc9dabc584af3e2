"""Proximal gradient methods on the primal: plain, accelerated, and FISTA.

One gradient at y costs one pass, half for X y and half for X^T b. Psi is in the prox as a whole. The step is
step_scale / L with L = smoothness * mean ||x_i||^2, a true bound that costs nothing (the exact constant has
the spectral norm of X in it). The dual candidate b of an iterate holds the derivatives at the y it came from.
"""

from itertools import count
from math import sqrt

import numpy as np

from rrmbench.api import Iterate
from rrmbench.parameters import Positive
from rrmbench.registry import solver


@solver(needs={"smooth"})
def gd(problem, start, rng, *, step_scale: Positive = 1.0):
    """The proximal gradient method (ISTA), w = prox_{eta Psi}(w - eta grad f(w)), eta = step_scale / L."""
    return extrapolated(problem, start, step_scale, lambda eta: (0.0 for _ in count()))


@solver(needs={"smooth", "strongly_convex"})
def agd(problem, start, rng, *, step_scale: Positive = 1.0):
    """Nesterov's constant momentum for strongly convex Psi, eta = step_scale / L.

    y = w + (1 - q)/(1 + q) (w - w_old), q = sqrt(s / (s + 1/eta)), since Psi with its s in the prox is the
    same step as 1/(s + 1/eta) on f + (s/2) ||.||^2. [Nesterov 2004, scheme (2.2.11)]
    """

    def momenta(eta):
        q = sqrt(problem.strong_convexity / (problem.strong_convexity + 1.0 / eta))
        return ((1.0 - q) / (1.0 + q) for _ in count())

    return extrapolated(problem, start, step_scale, momenta)


@solver(needs={"smooth"})
def fista(problem, start, rng, *, step_scale: Positive = 1.0):
    """FISTA with constant step, eta = step_scale / L.

    y = w + (t_old - 1)/t (w - w_old), t = (1 + sqrt(1 + 4 t_old^2))/2, t = 1 at first.
    [Beck and Teboulle 2009]
    """

    def momenta(eta):
        t = 1.0
        while True:
            old, t = t, 0.5 + sqrt(0.25 + t * t)
            yield (old - 1.0) / t

    return extrapolated(problem, start, step_scale, momenta)


def extrapolated(problem, start, step_scale, momenta):
    """w = prox_{eta Psi}(y - eta grad f(y)), y = w + beta (w - w_old) for beta in momenta(eta)."""
    eta = step_scale / problem.L
    w = np.zeros(problem.shape) if start is None else start.w.copy()
    yield Iterate(w)
    y = w
    for passes, beta in enumerate(momenta(eta), start=1):
        b = problem.loss_dual(problem.X.forward(y))
        w, old = problem.prox(y + eta * problem.v(b), eta), w
        yield Iterate(w, b, passes=passes)
        y = w + beta * (w - old) if beta > 0.0 else w
