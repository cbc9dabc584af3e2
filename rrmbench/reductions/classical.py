"""The classical reductions: one fixed smoothing or regularization, which leaves a bias."""

from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.prox_weights import by_direction, by_norms
from rrmbench.parameters import Positive
from rrmbench.registry import reduction

Weights = Literal["equal", "norms", "direction"]


@reduction(deterministic=True)
def none(solve):
    """the problem as it is"""
    return solve


@reduction(gives={"strongly_convex", "square"}, deterministic=True)
def regularize(solve, *, sigma: Positive | None = None, eps: Positive | None = None):
    """P(w) + (sigma/2) ||w - w0||^2, w0 the start [Reductions, section 1]

    Exactly one of the two is given. With eps, sigma = eps/r^2 for an r >= ||w* - w0||, so that at w* the problem
    changes by at most eps/2. r is ||w0|| and the bound of ||w*|| that psi gives; from w0 = 0, for the lasso, it is P(0)
    over its strength, the paper's lambda = eps (sigma/ybar)^2 [Acc-SDCA, section 5.5]. X w0 of a start that is not zero
    is half a check.
    """
    if (sigma is None) == (eps is None):
        raise RrmbenchError(f"reduction regularize: found sigma = {sigma}, eps = {eps}, needed is exactly one of them")

    def reduced(problem, start, rng):
        center = problem.start(start)
        added, cost = (sigma, 0.0) if eps is None else strength_for(problem, center, eps)
        for x in solve(problem.regularized(added, center if center.any() else None), start, rng):
            yield x._replace(checks=x.checks + cost)

    return reduced


def strength_for(problem, w0, eps):
    """(eps/r^2 with r >= ||w* - w0||, its passes); RrmbenchError where psi bounds no w."""
    problem = problem.counted()
    r = problem.reach(w0)
    if not r < np.inf:
        raise RrmbenchError(
            f"reduction regularize: eps = {eps:g} needs a regularizer that bounds ||w*||, as a norm does; found is "
            f"{type(problem.regularizer).__name__}{' with a free bias' * problem.free_bias} (give sigma instead)"
        )
    return eps / (r or 1.0) ** 2, problem.X.passes


@reduction(gives={"smooth", "smoothing"}, deterministic=True)
def smooth(solve, *, mu: Positive, weights: Weights = "equal"):
    """every loss replaced by max_b b z - phi*(b) - (mu/2) b^2 [Reductions, Definition 4.1]

    weights : mu omega_i in place of mu, for scalar losses and full gradients, omega with the mean 1: `norms`, by
        ||x_i||; `direction`, by |x_i.v| for the first singular vector v of X, which takes 7 checks [AGM, section 5.6]
    """
    if weights == "equal":
        return lambda problem, start, rng: solve(problem.smoothed(mu), start, rng)
    if "rows" in solve.needs:
        raise RrmbenchError(
            f"reduction smooth: weights = {weights} needs a method for full gradients, {solve.name} takes single rows"
        )

    def weighted(problem, start, rng):
        problem = problem.counted()
        omega = by_norms(problem.X.sqnorms) if weights == "norms" else by_direction(problem.X)
        checks = problem.X.passes
        for x in solve(problem.smoothed(mu, omega), start, rng):
            yield x._replace(checks=x.checks + checks)

    return solve.inside("smooth", weighted, {"scalar", "separable"})  # no bias is minimized beside weights
