"""The prox-functions d of accelerated gradient methods: what a step of one minimizes, and how far apart points are.

A geometry has, d being 1-strongly convex in its norm with min d = 0,

    start(given)              x0, the point of the Iterate `given` or where d is least, and d'(x0)
    ground(g, A, c)           x = argmin A Psi(x) + c d(x) - g.x, and d'(x)
    divergence(x, dx, y, dy)  Delta(x, y) = d(x) - d(y) - d'(y).(x - y), dx = d'(x) and dy = d'(y)
    L                         the smoothness of the mean loss in the norm of d
"""

import numpy as np


class Euclidean:
    """d(x) = ||x||^2 / 2, so d'(x) = x."""

    def __init__(self, problem):
        self.problem, self.L = problem, problem.L

    def start(self, given):
        x = self.problem.start(given)
        return x, x

    def ground(self, g, A, c):
        x = self.problem.primal_point(g / A, c / A)
        return x, x

    def divergence(self, x, dx, y, dy):
        away = x - y
        return 0.5 * float(np.vdot(away, away))


class Simplex:
    """d(x) = sum x_j log(n x_j), the relative entropy to the uniform point, and d'(x) = log x up to a constant.

    The logarithms go along with the points, which may underflow.
    """

    def __init__(self, problem):
        self.regularizer, self.shape = problem.regularizer, problem.shape
        self.L = problem.smoothness * (problem.losses.S1 or 1.0)  # S1 = 0 for X = 0

    def start(self, given):
        if given is None:
            return self.ground(np.zeros(self.shape), 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return given.w.copy(), np.maximum(np.log(given.w), -1e4)

    def ground(self, g, A, c):
        logs = self.regularizer.entropy_step(g, A, c)
        return np.exp(logs), logs

    def divergence(self, x, dx, y, dy):
        return float(np.vdot(x, dx - dy)) - float(x.sum() - np.exp(dy).sum())


class OfDuals:
    """d = d2, the entropy of the dual variable of losses that have one; x0 is where d2 is least, and d'(x0) = 0.

    d2 is known at the points of ground steps and bounded at their averages, d' is not known: a method starts at x0,
    and averages all of its gradients.
    """

    def __init__(self, problem):
        self.regularizer, self.shape, self.L = problem.regularizer, problem.shape, problem.L

    def start(self, given):
        return self.regularizer.entropy_start(self.shape), 0.0

    def ground(self, g, A, c):
        return self.regularizer.entropy_step(g, A, c), None

    def divergence(self, x, dx, y, dy):
        return self.regularizer.entropy(x)
