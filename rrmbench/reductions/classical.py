"""The classical reductions: one fixed smoothing or regularization, which leaves a bias."""

from rrmbench.parameters import Positive
from rrmbench.registry import reduction


@reduction
def none(solve):
    """the problem as it is"""
    return solve


@reduction(gives={"strongly_convex"})
def regularize(solve, *, sigma: Positive):
    """P(w) + (sigma/2) ||w - w0||^2, w0 the start [Reductions, section 1]"""

    def reduced(problem, start, rng):
        center = problem.start(start)
        return solve(problem.regularized(sigma, center if center.any() else None), start, rng)

    return reduced


@reduction(gives={"smooth"})
def smooth(solve, *, mu: Positive):
    """every loss replaced by max_b b z - phi*(b) - (mu/2) b^2 [Reductions, Definition 4.1]"""

    def reduced(problem, start, rng):
        return solve(problem.smoothed(mu), start, rng)

    return reduced
