"""The theorems of AdaptReg, AdaptSmooth and their joint form [Reductions], and the epochs that they are about."""

import math

import numpy as np

from rrmbench.problem.constants import NoTheorem, check_given, constants

LONGEST = 1000  # epochs that a theorem looks at


def adapt_reg_bound(constants, T, *, sigma):
    """4^-T (P(w0) - P(w*)) + 4.5 sigma_T ||w0 - w*||^2 after T epochs that quarter the distance.

    [Reductions, (3.3), in the proof of Theorem 3.1]
    """
    return 0.25**T * constants.suboptimality_bound + 4.5 * 0.5**T * sigma * constants.distance


def adapt_smooth_bound(constants, T, *, mu):
    """4^-T (P(w0) - P(w*)) + 5 mu_T D after T epochs that quarter the distance.

    [Reductions, (A.2), in the proof of Theorem 4.2, with 2 D for G^2]
    """
    return 0.25**T * constants.suboptimality_bound + 5.0 * 0.5**T * mu * constants.D


def joint_adapt_bound(constants, T, *, sigma, mu):
    """4^-T (P(w0) - P(w*)) + 9 mu_T D + 4.5 sigma_T ||w0 - w*||^2 after T epochs that quarter the distance.

    [Reductions, (C.1), in the proof of Theorem B.2]
    """
    added = 2.0 * mu * constants.D + sigma * constants.distance
    return 0.25**T * constants.suboptimality_bound + 4.5 * 0.5**T * added


def epochs_by_theory(reduction, solve, problem, trace, *, inner, output, sigma=None, mu=None):
    """The epochs of `inner: theory` with given values, around a solver that quarters P(w) - P(w*), the paper's HOOD.

    For `output: epoch`: the theorems are about the models that close epochs, and inside of one P may rise again.
    """
    if inner != "theory":
        raise NoTheorem(reduction, "the theorem is about inner: theory", inner=inner)
    if output != "epoch":
        raise NoTheorem(reduction, "the theorem is about output: epoch", output=output)
    first = {key: value for key, value in (("sigma", sigma), ("mu", mu)) if value is not None}
    check_given(reduction, **first)
    if "dual" in solve.gives:
        reason = f"the theorem needs a solver that quarters P(w) - P(w*) (HOOD), {solve.name} quarters D(b*) - D(b)"
        raise NoTheorem(reduction, reason)
    ends = _ends_by_theory(solve, problem, trace["passes"].max(initial=0.0), **first)
    return ends, np.arange(1, len(ends) + 1)


def _ends_by_theory(solve, problem, last, sigma=0.0, mu=0.0):
    """The passes at which the epochs end by theory, up to `last` and to the first that the solver's theorem leaves out.

    NoTheorem where it leaves out the first of all.
    """
    center, total, ends = problem.start(), 0.0, []
    for epoch in range(LONGEST):
        stage = problem.smoothed(0.5**epoch * mu).regularized(0.5**epoch * sigma, center)
        if stage.strong_convexity == 0.0:
            raise NoTheorem(solve.name, "what it takes to quarter P(w) - P(w*) is known under strong convexity")
        try:
            if solve.bound is not None:
                solve.bound(constants(stage), np.zeros(1))
            # the solver ends it at an iterate: after whole passes, or half a pass more where it starts with X^T b
            total += math.ceil(solve.passes_to_quarter(stage) + 0.5)
        except NoTheorem:
            if epoch == 0:
                raise
            break
        if total > last:
            break
        ends.append(total)
    return np.array(ends)
