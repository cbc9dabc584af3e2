"""The outer loop of acceleration [Acc-SDCA; "Catalyst", Lin, Mairal and Harchaoui 2015].

Outer iteration t minimizes P(w) + (kappa/2) ||w - y||^2, y = w_(t-1) + beta_(t-1) (w_(t-1) - w_(t-2)), from where the
one before ended, up to the accuracy eps_t. A schedule (`StronglyConvex` or `Convex`) says what beta_t and eps_t are.
"""

from itertools import count
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.tolerances import TERMS_ROUNDING
from rrmbench.parameters import PositiveInt
from rrmbench.stages.progress import accuracy_of, bound_of_suboptimality, first_iterate

ENOUGH = 10.0  # R^2/(gamma s) <= 10 n: nothing to accelerate

Inner = Literal["theory"] | PositiveInt


def around(solve, kappa, inner):
    """The solver f(problem, start, rng) that accelerates `solve`, see the reduction `accelerate`."""

    def reduced(problem, start, rng):
        if kappa != "auto":
            return accelerated(solve, problem, start, rng, kappa, inner)
        chosen = theoretical_kappa(problem)
        return solve(problem, start, rng) if chosen is None else accelerated(solve, problem, start, rng, chosen, inner)

    return reduced


def theoretical_kappa(problem):
    """R^2/(gamma n) - s, or None where R^2/(gamma s) <= 10 n, both of [Acc-SDCA, Figure 2].

    Raises RrmbenchError for a loss that is not smooth.
    """
    if "smooth" not in problem.traits:
        raise RrmbenchError(
            f"reduction accelerate: kappa: auto needs a smooth loss, found {type(problem.loss).__name__} "
            "(give a number for kappa, or put the reduction smooth or adapt_smooth around this one)"
        )
    L_max, s = problem.L_max, problem.strong_convexity
    if s > 0.0 and L_max <= ENOUGH * problem.n * s:
        return None
    return L_max / problem.n - s or 1.0  # X = 0 without strong convexity: any will do


class StronglyConvex(NamedTuple):
    """Figure 2 for P strongly convex with s, from a point with P(w_1) - P(w*) <= gap.

    mu = s/2, rho = mu + kappa, eta = sqrt(mu/rho); P(w_t) - P(w*) <= xi_t = (1 - eta/2)^(t-1) (1 + eta^-2) gap for t =
    1, 2, ... [Acc-SDCA, Theorem 3]
    """

    s: float
    kappa: float
    gap: float

    @property
    def eta(self):
        return sqrt(0.5 * self.s / (0.5 * self.s + self.kappa))

    def xi(self, t):
        """Theorem 3's bound of P(w_t) - P(w*); t may be an array."""
        return (1.0 - 0.5 * self.eta) ** (t - 1) * (1.0 + self.eta**-2) * self.gap

    def accuracy(self, t):
        """eta xi_(t-1) / (2 (1 + eta^-2)), the accuracy of outer iteration t = 2, 3, ..."""
        return self.eta * self.xi(t - 1) / (2.0 * (1.0 + self.eta**-2))

    def momentum(self, t):
        """beta = (1 - eta)/(1 + eta)."""
        return (1.0 - self.eta) / (1.0 + self.eta)


class Convex(NamedTuple):
    """Catalyst for P that is not strongly convex, from a point with P(w_1) - P(w*) <= gap.

    a_1 = (sqrt 5 - 1)/2, a_t^2 = (1 - a_t) a_(t-1)^2, beta_t = a_(t-1) (1 - a_(t-1)) / (a_(t-1)^2 + a_t), and
    eps_t = 2 gap / (9 (t + 1)^4.1) [Lin, Mairal and Harchaoui 2015, Algorithm 1 and Theorem 3.3, with their eta = 0.1
    and k = t - 1].
    """

    gap: float

    def accuracy(self, t):
        return 2.0 * self.gap / (9.0 * (t + 1) ** 4.1)

    def momentum(self, t):
        """beta_t; t counts from 2, after the first outer iteration."""
        a = 0.5 * (sqrt(5.0) - 1.0)
        for _ in range(t - 1):
            old, a = a, 0.5 * (sqrt(a**4 + 4.0 * a**2) - a**2)
        return old * (1.0 - old) / (old**2 + a)


def schedule(problem, kappa, gap):
    """The schedule for a problem: Convex also where s is so small beside kappa that (1 - eta/2) is 1 in rounding."""
    plan = StronglyConvex(problem.strong_convexity, kappa, gap)
    return plan if 1.0 - 0.5 * plan.eta < 1.0 else Convex(gap)


def accelerated(solve, problem, start, rng, kappa, inner):
    """The iterates of the outer loop around `solve`: those of its inner iterations."""
    state = first_iterate(problem, start)
    yield state
    gap, floor, checks = first_gap(problem, state)
    plan, passes = schedule(problem, kappa, gap), 0.0
    w = y = state.w
    for t in count(2):
        stage = problem.regularized(kappa, y)
        is_over = Accuracy(solve, plan.accuracy(t), floor, w) if inner == "theory" else Passes(inner)
        for place, x in enumerate(solve(stage, state, rng)):
            over, cost = is_over(stage, x)
            checks += cost
            if place > 0:  # where no pass is counted either, as products with 0 are free
                yield x._replace(passes=passes + x.passes, checks=checks + x.checks)
            if over:
                break
        state, passes, checks = x.copied(), passes + x.passes, checks + x.checks
        w, old = state.w, w
        y = w + plan.momentum(t) * (w - old)


def first_gap(problem, state):
    """P(w) - max(D(0), D(b)), the rounding level of P(w), and the passes that they take."""
    problem = problem.counted()
    z = problem.outputs(state.w)
    primal, gap = problem.primal(state.w, z), bound_of_suboptimality(problem, state.w, z)
    if state.b is not None and state.b.any():
        gap = min(gap, primal - problem.dual_value(state.b))
    return gap, TERMS_ROUNDING * abs(primal), problem.X.passes


class Accuracy:
    """An outer iteration is over when a bound of its suboptimality, looked at after each pass, is small enough.

    Not where w is still the one that it began with, unless that is optimal to rounding: eps_t may be far above the
    distance that is left, and iteration after iteration would end before its first step.
    """

    def __init__(self, solve, enough, floor, w):
        self.measure, self.enough, self.floor, self.due = accuracy_of(solve), enough, floor, 1.0
        self.w = w

    def __call__(self, stage, x):
        """Whether it is over, and the passes spent on knowing it."""
        if x.passes < self.due - 1e-9:
            return False, 0.0
        self.due = x.passes + 1.0
        distance, floor, cost = self.measure(stage, x)
        floor = max(floor, self.floor)
        enough = floor if np.array_equal(x.w, self.w) else max(self.enough, floor)
        return distance is not None and distance <= enough, cost


class Passes:
    """An outer iteration is over after so many passes."""

    def __init__(self, passes):
        self.passes = passes

    def __call__(self, stage, x):
        """As `Accuracy`."""
        return x.passes >= self.passes - 1e-9, 0.0
