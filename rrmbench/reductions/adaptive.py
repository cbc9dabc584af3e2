"""AdaptReg, AdaptSmooth and their joint form (Allen-Zhu and Hazan 2016), and the choice among them."""

from itertools import count

import numpy as np

from rrmbench.api import Iterate
from rrmbench.parameters import Auto, Positive
from rrmbench.registry import lacking, reduction

HALVINGS = 50  # after which the added terms are below rounding


@reduction(gives={"strongly_convex"})
def adapt_reg(solve, *, sigma: Positive | Auto = "auto"):
    """add (sigma_t/2) ||w - w0||^2 and halve sigma_t whenever the solver has made its progress [Reductions, Algorithm 1]

    sigma : sigma_0; "auto" is Theorem 3.1's Delta/Theta, Theta estimated by `squared_distance` (one counted pass).
    """
    return _adaptive(solve, sigma, None)


@reduction(gives={"smooth"})
def adapt_smooth(solve, *, mu: Positive | Auto = "auto"):
    """smooth every loss by mu_t and halve mu_t whenever the solver has made its progress [Reductions, Algorithm 2]

    mu : the paper's lambda_0; "auto" is Theorem 4.2's Delta/G^2.
    """
    return _adaptive(solve, None, mu)


@reduction(gives={"strongly_convex", "smooth"})
def joint_adapt(solve, *, sigma: Positive | Auto = "auto", mu: Positive | Auto = "auto"):
    """AdaptReg and AdaptSmooth at once, both halved together [Reductions, Algorithm 3]"""
    return _adaptive(solve, sigma, mu)


@reduction(gives={"strongly_convex", "smooth"})
def auto(solve):
    """what the solver needs and the problem lacks: nothing, AdaptReg, AdaptSmooth or both"""

    def reduced(problem, start, rng):
        missing = lacking(solve.needs, problem.traits)
        sigma = "auto" if "strongly_convex" in missing else None
        mu = "auto" if "smooth" in missing else None
        chosen = solve if sigma is mu is None else _adaptive(solve, sigma, mu)
        return chosen(problem, start, rng)

    return reduced


def _adaptive(solve, sigma, mu):
    """The solver that halves sigma and mu (None: not used) from epoch to epoch, warm-started, for ever."""

    def reduced(problem, start, rng):
        state = Iterate(np.zeros(problem.shape)) if start is None else _kept(start)._replace(passes=0.0, checks=0.0)
        yield state
        first, spent = _starting_values(problem, state.w, sigma, mu)
        measure, goal = _progress_of(solve)
        center, passes, checks, closed = state.w, spent, 0.0, None
        for epoch in count():
            sigma_t, mu_t = (0.5 ** min(epoch, HALVINGS) * value for value in first)
            stage = problem.smoothed(mu_t).regularized(sigma_t, center)
            for x in solve(stage, start, rng):
                distance, floor, cost = measure(stage, x) if x.passes > 0.0 or closed is None else (None, 0.0, 0.0)
                checks += cost
                yield x._replace(passes=passes + x.passes, checks=checks + x.checks, gradient_norm=None)
                if closed is None:
                    closed = distance
                elif distance is not None and distance <= max(goal * closed, floor):
                    closed = distance
                    break
            passes, checks = passes + x.passes, checks + x.checks
            start = _kept(x)

    return reduced


def _kept(x):
    """A copy of an iterate, which is a live view."""
    return x._replace(w=x.w.copy(), b=None if x.b is None else x.b.copy())


def _starting_values(problem, w0, sigma, mu):
    """The pair (sigma_0, mu_0), "auto" replaced by the theory's values and None by 0, and the passes spent on it."""
    if "auto" not in (sigma, mu):
        return (sigma or 0.0, mu or 0.0), 0.0
    delta = bound_of_suboptimality(problem, w0)
    if mu == "auto":
        mu = delta / problem.lipschitz**2
    if sigma != "auto":
        return (sigma or 0.0, mu), 0.0
    theta, spent = squared_distance(problem.smoothed(mu or 0.0), w0)
    return (delta / theta, mu or 0.0), spent


def bound_of_suboptimality(problem, w0):
    """Delta = P(w0) - D(0) >= P(w0) - P(w*)."""
    return problem.primal(w0) - problem.dual_at(np.zeros(problem.shape), np.zeros(problem.output_shape))[0]


def squared_distance(problem, w0):
    """Return (Theta, passes spent), Theta an estimate of ||w0 - w*||^2.

    It is the squared length of Cauchy's step: along the prox-gradient map p at w0 to the minimum of the quadratic
    model of the loss, t = ||p||^2 / (smoothness ||X p||^2 / n). w* is as a rule farther away, so sigma_0 is chosen
    too large rather than too small, which costs a few short epochs.
    """
    p = problem.prox_gradient(w0, problem.X.forward(w0))
    size = float(np.vdot(p, p))
    curvature = problem.smoothness * float(np.sum(problem.X.forward(p) ** 2)) / problem.n
    spent = 1.5 if w0.any() else 1.0
    if size == 0.0 or curvature == 0.0:
        return 1.0, spent
    return (size / curvature) ** 2 * size, spent


def _progress_of(solve):
    """How far an iterate is from the optimum of a stage, and the fraction of it that ends an epoch.

    The measure f(stage, iterate) returns (distance or None, its rounding level, its cost in passes). The distance is the
    duality gap, to be quartered, for a solver with a dual iterate: one product X w. It is the norm of the prox-gradient
    map, to be brought to a third, for others: free at the snapshots of a solver that gives it, else a full gradient for
    every iterate. [Reductions, sections 6.1 and 6.2]
    """
    if "dual" in solve.gives:
        return _gap, 0.25
    if "gradient_norm" in solve.gives:
        return lambda stage, x: (x.gradient_norm, 0.0, 0.0), 1.0 / 3.0
    return _gradient_norm, 1.0 / 3.0


def _gap(stage, x):
    z = stage.X.forward(x.w)
    floor = 4.0 * np.finfo(float).eps * abs(stage.primal(x.w, z))
    return max(stage.consistent_gap(z, x.b), floor), floor, 0.5


def _gradient_norm(stage, x):
    return float(np.linalg.norm(stage.prox_gradient(x.w, stage.X.forward(x.w)))), 0.0, 1.0
