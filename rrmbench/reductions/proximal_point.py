"""The inexact proximal point method around any solver: the added square of AdaptReg, around the last point."""

import numpy as np

from rrmbench.parameters import Auto, Fraction, Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import reduction
from rrmbench.stages.progress import accuracy_of, copy_of
from rrmbench.stages.starting_values import starting_values


@reduction(gives={"strongly_convex", "square"}, deterministic=True)
def proximal_point(solve, *, sigma: Positive | Auto = "auto", decay: Fraction = 1.0, accuracy: Fraction = 0.3):
    """minimize P(w) + (sigma_t/2) ||w - c_t||^2 again and again, c_t the point that closed the epoch before

    Epoch t ends at the first w whose distance to its minimum is at most accuracy (sigma_t/2) ||w - c_t||^2, by the
    duality gap or the bound by the gradient's norm; this w is c_(t+1). As the minimized function is sigma_t-strongly
    convex, for every x

        P(c_(t+1)) + (1 - accuracy) (sigma_t/2) ||c_(t+1) - c_t||^2 <= P(x) + (sigma_t/2) ||x - c_t||^2

    so P decreases; with x on the way from c_t to w*, P(c_T) - P(w*) <= 2 sigma D^2/T for a constant sigma, D being the
    greatest distance to w* where P <= P(c_0) [Guler 1991]. The square vanishes around c_t, so the dual variables of
    the epochs certify P itself better and better.

    sigma : sigma_0; "auto" is that of `adapt_reg`, L_max/n for solvers of single samples
    decay : sigma_t = decay^t sigma_0
    """
    measure = accuracy_of(solve)

    def reduced(problem, start, rng):
        state = Iterate(problem.start()) if start is None else copy_of(start)
        state = state._replace(passes=0.0, checks=0.0)
        yield state
        (added, _), passes = yield from starting_values(solve, problem, state, sigma, None)
        center, checks = state.w, 0.0
        while True:
            stage = problem.regularized(added, center)
            for x in solve(stage, start, rng):
                distance, floor, cost = measure(stage, x) if x.passes > 0.0 else (None, 0.0, 0.0)
                checks += cost
                yield x._replace(passes=passes + x.passes, checks=checks + x.checks, gradient_norm=None)
                allowed = 0.5 * accuracy * added * float(np.sum((x.w - center) ** 2))
                if distance is not None and distance <= max(allowed, floor):
                    break
            passes, checks = passes + x.passes, checks + x.checks
            start = copy_of(x)
            center, added = start.w, decay * added

    return reduced
