"""The hinge with a budget: apcg_shrinking in proximal point stages of the threshold above which losses count."""

from dataclasses import replace

import numpy as np

from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.sdca.apcg_bias import bordered, rehearse, root_mean_square, stage
from rrmbench.solvers.sdca.apcg_shrinking import apcg_shrinking


def is_best_for(traits):
    """Whether a problem of these traits is the hinge with a budget and a squared norm, on rows."""
    return {"Zero", "strongly_convex", "BudgetHinge", "rows"} <= traits and "kernel" not in traits


@solver(needs={"Zero", "strongly_convex", "Hinge or BudgetHinge", "rows"})
def apcg_budget(problem, start, rng):
    """Squared norms and the m largest hinge losses: stages of the threshold t, each by apcg_shrinking.

    The sum of the m largest of n numbers h_i >= 0 is the least m t + sum max(0, h_i - t) over t >= 0 [Rockafellar and
    Uryasev 2000], so the problem is one in (w, t) that has no budget. As in `apcg_bias` a stage is

        min  (1/n) sum max(0, 1 - y_i x_i.w - t) + m t/n + Psi(w) + (kappa/2) (t - c)^2

    with one more column of X, y_i times the root of the mean ||x_i||^2, so kappa is s over that mean. The next c is t,
    or 0 if t < 0; at first it is 1, or the m-th largest loss of the start. If a stage from c = 0 ends with t < 0, 0 is
    the best t: its gap puts the minimizer of the stage below 0, and the minimum over w is convex in t. From then on,
    and where there is no budget below n, `apcg_shrinking` solves the problem without t.

    Where the b of a stage exceeds the budget it is scaled. Passes count the entries of the rows visited, with that of
    t, over all. The copy of X is a check of half a pass, as are the outputs of a start that is not zero; a look at the
    gap of a stage is one of a pass.
    """
    if not hasattr(problem.loss, "budget"):
        yield from apcg_shrinking(problem, start, rng)
        return
    problem, m, hinge = problem.counted(), problem.loss.budget, problem.loss.without_budget()
    w, center, spent, looks = problem.start(start), 1.0, 0.0, 0.0
    at = None if start is None or start.b is None else Iterate(w, start.b)
    yield Iterate(w, None if at is None else at.b)
    rehearse(replace(problem, loss=hinge))
    if m < problem.n:
        length = root_mean_square(problem)
        X, cost = bordered(problem, problem.y * length), m * length / (problem.n * problem.strong_convexity)
        if start is not None:
            center = threshold(1.0 - problem.y * problem.outputs(w), m)
            at = at and at._replace(w=np.append(w, center / length))
        looks = 0.5 + problem.X.passes
    while m < problem.n:
        for x in stage(problem, X, hinge, center / length - cost, center / length, at, rng, spent, looks):
            total = float(np.abs(x.b).sum())
            yield x._replace(w=x.w[:-1], b=x.b if total <= m else (m / total) * x.b)
        at, spent, looks, t = Iterate(x.w.copy(), x.b.copy()), x.passes, x.checks, length * x.w[-1]
        if center == 0.0 and t < 0.0:
            at = at._replace(w=at.w[:-1])
            break
        center = max(t, 0.0)
    for x in apcg_shrinking(replace(problem, loss=hinge), at, rng):
        yield x._replace(passes=spent + x.passes, checks=looks + x.checks)


def threshold(losses, m):
    """The m-th largest of the losses (n,), m < n, rounded up if m is no whole number; 0 if it is negative."""
    place = losses.size - int(np.ceil(m))
    return max(float(np.partition(losses, place)[place]), 0.0)
