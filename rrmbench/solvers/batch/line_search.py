"""Step lengths of methods with full gradients: backtracking on L, and what L begins with and ends at."""

from itertools import count
from math import ceil, isfinite, log, sqrt

import numpy as np

from rrmbench.numerics.tolerances import SUM_ROUNDING
from rrmbench.problem.iterate import Iterate

GROWTH = 1.5  # of L, where a step fails


def search_passes(n):
    """The passes that backtracking spends beside one per step, at most: for L_0 and for rejected trials."""
    return 0.5 + 0.5 * ceil(log(n) / log(GROWTH))


def searched_steps(problem, start, first, limit, momentum, step_scale=1.0):
    """Yield Iterates: w = prox_{eta Psi}(y + eta v), eta = step_scale/L, v = -grad f(y), y = w + beta (w - w_old).

    first(problem, v) is L_0, with its products through this `problem`; limit(k) bounds L, and a step k = 1, 2, ... with
    L = limit(k) or more is taken untested; momentum(eta, y, w, w_old) is beta.
    """
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    z = problem.outputs(w)
    y, z_y, b = w, z, problem.loss_dual(z)
    v = problem.v(b)
    yield Iterate(w, b, problem.X.passes)
    L = first(problem, v)
    for k in count(1):
        bound = limit(k)
        L = min(L, bound)
        while True:
            eta = step_scale / L
            new = problem.prox(y + eta * v, eta)
            z_new = problem.X.forward(new)
            if L >= bound or is_smooth(problem, L, y, z_y, v, new, z_new):
                break
            L = min(GROWTH * L, bound)
            yield Iterate(w, passes=problem.X.passes)
        yield Iterate(new, b, problem.X.passes)
        beta = momentum(eta, y, new, w)
        y, z_y = (new + beta * (new - w), z_new + beta * (z_new - z)) if beta > 0.0 else (new, z_new)
        w, z = new, z_new
        b = problem.loss_dual(z_y)
        v = problem.v(b)


def curvature(problem, v):
    """smoothness ||X v||^2 / (n ||v||^2), or 0 for v = 0."""
    size = float(np.vdot(v, v))
    if size == 0.0:
        return 0.0
    return problem.smoothness * float(np.sum(problem.X.forward(v) ** 2)) / (problem.n * size)


def is_smooth(problem, L, y, z_y, v, w, z):
    """Whether f(w) <= f(y) - v.(w - y) + (L/2) ||w - y||^2 up to rounding; z = X w and z_y = X y."""
    at_y, move = problem.mean_loss(z_y), w - y
    allowed = 0.5 * L * float(np.vdot(move, move)) - float(np.vdot(v, move)) + SUM_ROUNDING * abs(at_y)
    return problem.mean_loss(z) - at_y <= allowed


def steepest(problem):
    """G R, a bound of the norm of every subgradient of the mean loss; G without data, where every step is right.

    For losses on all samples that bound no single b_i it is 2 sqrt(2 D S'), S' = mu L of the losses smoothed by mu: b
    lies within sqrt(2 D), in the norm of the smoothing, of the b where that is least, and so does b = 0.
    """
    G = problem.dual_radius
    if isfinite(G):
        return G * (problem.R or 1.0)
    return 2.0 * sqrt(2.0 * problem.diameter * problem.smoothed(1.0).L)
