"""AdaptReg, AdaptSmooth and their joint form [Reductions].

In epoch t = 0, 1, 2, ... the solver works on the problem plus (sigma_t/2) ||w - w0||^2, its losses smoothed by mu_t,
from where the epoch before ended; sigma_t = 2^-t sigma_0 and mu_t = 2^-t mu_0.

    inner    practice   an epoch ends when the duality gap has fallen to a quarter of the gap that closed the epoch
                        before, or the norm of the prox-gradient map to a third [Reductions, sections 6.1 and 6.2]
             diameter   of adapt_smooth, for solvers that give their gap: an epoch ends when it is at most
                        FRACTION of mu_t D, the most by which the smoothing errs [AGM, (54)]
             theory     an epoch has the solver's `passes_to_quarter`, in which its theorem quarters P(w) - P(w*), as
                        the theorems of this file assume; that of `prox_sdca` and `apcg` quarters D(b*) - D(b)
    epochs   T: the solver ends with the T-th epoch, as Algorithms 1 to 3 do; endless: it goes on, at sigma_50 for ever
    output   running: the solver's iterates as they are; epoch: the model that closed the last epoch, which is what the
             theorems are about, while passes go on counting
"""

import math
from functools import partial
from itertools import count
from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.parameters import Auto, Positive, PositiveInt
from rrmbench.problem.constants import NoTheorem, check_given, constants
from rrmbench.registry import reduction
from rrmbench.stages.epochs import HALVINGS, Output
from rrmbench.stages.progress import (
    NORM_GOAL,
    SOLVED,
    StandStill,
    first_iterate,
    gradient_norm,
    needed_to_show,
    progress_of,
)
from rrmbench.stages.starting_values import starting_values

LONGEST = 1000  # epochs that a theorem looks at
FRACTION = 0.03  # at mu D itself, Nesterov's methods take 3.6 to 4 times the steps

Epochs = PositiveInt | Literal["endless"]
Inner = Literal["practice", "theory"]
InnerOfSmoothing = Literal["practice", "theory", "diameter"]


def adapt_reg_bound(constants, T, *, sigma):
    """4^-T (P(w0) - P(w*)) + 4.5 sigma_T ||w0 - w*||^2 after T epochs that quarter the distance.

    [Reductions, (3.3), in the proof of Theorem 3.1]
    """
    return _decayed(constants, T) + 4.5 * 0.5**T * sigma * constants.distance


def adapt_smooth_bound(constants, T, *, mu):
    """4^-T (P(w0) - P(w*)) + 5 mu_T D after T epochs that quarter the distance.

    [Reductions, (A.2), in the proof of Theorem 4.2, with 2 D for G^2]
    """
    return _decayed(constants, T) + 5.0 * 0.5**T * mu * constants.D


def joint_adapt_bound(constants, T, *, sigma, mu):
    """4^-T (P(w0) - P(w*)) + 9 mu_T D + 4.5 sigma_T ||w0 - w*||^2 after T epochs that quarter the distance.

    [Reductions, (C.1), in the proof of Theorem B.2]
    """
    added = 2.0 * mu * constants.D + sigma * constants.distance
    return _decayed(constants, T) + 4.5 * 0.5**T * added


def _decayed(constants, T):
    return 0.25**T * np.fmin(constants.initial_gap, constants.initial_suboptimality)


def _epochs_by_theory(reduction, solve, problem, trace, *, inner, output, sigma=None, mu=None):
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


@reduction(
    needs={"warm_start"},
    gives={"strongly_convex", "square"},
    bound=adapt_reg_bound,
    epochs_over=partial(_epochs_by_theory, "adapt_reg"),
    deterministic=True,
)
def adapt_reg(
    solve,
    *,
    sigma: Positive | Auto = "auto",
    epochs: Epochs = "endless",
    inner: Inner = "practice",
    output: Output = "running",
):
    """add (sigma_t/2) ||w - w0||^2 and halve sigma_t whenever the solver has made progress [Reductions, Algorithm 1]

    sigma : sigma_0. For solvers that need rows "auto" is L_max/n, L_max = smoothness * max ||x_i||^2: their
        Time(L, sigma) is of the order of n + L_max/sigma steps, so that a greater sigma_0 only adds epochs of about a
        pass each. For others "auto" is Delta/Theta of [Reductions, Theorem 3.1], Theta estimated by
        `stages.starting_values` (ten passes).
    """
    more = needed_to_show(solve) if inner == "practice" else frozenset({"smooth"})
    return solve.inside("adapt_reg", _adaptive(solve, sigma, None, epochs, inner, output), more)


@reduction(
    needs={"warm_start"},
    gives={"smooth", "smoothing"},
    bound=adapt_smooth_bound,
    epochs_over=partial(_epochs_by_theory, "adapt_smooth"),
    deterministic=True,
)
def adapt_smooth(
    solve,
    *,
    mu: Positive | Auto = "auto",
    epochs: Epochs = "endless",
    inner: InnerOfSmoothing = "practice",
    output: Output = "running",
):
    """smooth every loss by mu_t and halve mu_t whenever the solver has made progress [Reductions, Algorithm 2]

    mu : mu_0, the paper's lambda_0; "auto" is Delta/(2 D), Delta/G^2 in [Reductions, Theorem 4.2]. Of losses without a
        Lipschitz constant, such as exp(z), D is that of their slopes at w0.
    """
    more = frozenset({"strongly_convex"} if inner == "theory" else ())
    return solve.inside("adapt_smooth", _adaptive(solve, None, mu, epochs, inner, output), more)


@reduction(
    needs={"warm_start"},
    gives={"strongly_convex", "square", "smooth", "smoothing"},
    bound=joint_adapt_bound,
    epochs_over=partial(_epochs_by_theory, "joint_adapt"),
    deterministic=True,
)
def joint_adapt(
    solve,
    *,
    sigma: Positive | Auto = "auto",
    mu: Positive | Auto = "auto",
    epochs: Epochs = "endless",
    inner: Inner = "practice",
    output: Output = "running",
):
    """AdaptReg and AdaptSmooth at once, both halved together [Reductions, Algorithm 3]

    sigma, mu : sigma_0 and mu_0; "auto" is as in `adapt_reg` and `adapt_smooth`, where Delta/Theta and Delta/G^2 are
        those of [Reductions, Theorem B.2].
    """
    return _adaptive(solve, sigma, mu, epochs, inner, output)


def _adaptive(solve, sigma, mu, epochs, inner, output):
    """The solver that halves sigma and mu (None: not used) from epoch to epoch, warm-started."""
    ending = {"practice": _ByProgress, "theory": _ByTime, "diameter": _ByDiameter}[inner]
    ending(solve)  # refuses before the run

    def reduced(problem, start, rng):
        state = first_iterate(problem, start)
        yield state
        first, spent = yield from starting_values(solve, problem, state, sigma, mu)
        is_over = ending(solve)
        center, closed, passes, checks = state.w, state, spent, 0.0
        for epoch in count() if epochs == "endless" else range(epochs):
            sigma_t, mu_t = (0.5 ** min(epoch, HALVINGS) * value for value in first)
            stage = problem.smoothed(mu_t).regularized(sigma_t, center)
            for x in solve(stage, start, rng):
                over, cost = is_over(stage, x)
                checks += cost
                if over:
                    closed = x.copied()
                shown = x if output == "running" else closed
                yield shown._replace(passes=passes + x.passes, checks=checks + x.checks)
                if over:
                    break
            else:  # the solver ended by itself
                closed = x.copied()
            passes, checks = passes + x.passes, checks + x.checks
            start = closed

    return reduced


class _ByProgress:
    """An epoch is over at a fraction of the distance that closed the one before (the first: of the first distance).

    It also is where rounding lets the distance fall no more: below what closed the epoch before there may be nothing.
    After an epoch that was solved to rounding the next one begins as the first did: it may be a harder problem.
    From where a gap is infinite on, the distance is the norm of the prox-gradient map.
    """

    def __init__(self, solve):
        self.measure, self.goal = progress_of(solve)
        self.closed, self.stands_still = None, StandStill()

    def __call__(self, stage, x):
        """Whether the epoch is over, and the passes spent on knowing it."""
        if x.passes == 0.0:
            self.stands_still.begin()
            if self.closed is not None:
                return False, 0.0
        distance, floor, cost = self.measure(stage, x)
        if distance == np.inf:
            if "smooth" not in stage.traits:  # where no norm tells; the next b may be in the domain again
                return False, cost
            self.measure, self.goal, self.closed, self.stands_still = gradient_norm, NORM_GOAL, None, StandStill()
            distance, floor, more = self.measure(stage, x)
            cost += more
        still = self.stands_still(x, distance, floor)
        over = still or (None not in (distance, self.closed) and distance <= max(self.goal * self.closed, floor))
        if over and (still or distance <= SOLVED * floor):
            self.closed = None
        elif over or self.closed is None:
            self.closed = distance
        return over, cost


class _ByDiameter:
    """An epoch is over when the gap of its problem is a fraction of what its smoothing may err by."""

    def __init__(self, solve):
        self.measure, _ = progress_of(solve)
        if not solve.gives & {"gap", "dual"}:
            raise RrmbenchError(f"reduction: inner: diameter needs a solver that gives its gap, {solve.name} does not")

    def __call__(self, stage, x):
        """As `_ByProgress`; no epoch is over before its first step, or all to come would be, and no pass be made."""
        if x.passes == 0.0:
            return False, 0.0
        if stage.diameter == np.inf:
            raise RrmbenchError(
                "reduction adapt_smooth: inner: diameter needs losses with a Lipschitz constant, found "
                f"{type(stage.loss).__name__}; use inner: practice"
            )
        distance, floor, cost = self.measure(stage, x)
        if distance == np.inf:
            raise RrmbenchError(
                "reduction adapt_smooth: inner: diameter needs a gap, found an infinite one, as the regularizer bounds "
                "no model; use inner: practice"
            )
        return distance is not None and distance <= max(FRACTION * stage.mu * stage.diameter, floor), cost


class _ByTime:
    """An epoch is over when the solver has had the passes of its theorem."""

    def __init__(self, solve):
        self.passes_to_quarter = solve.passes_to_quarter
        if self.passes_to_quarter is None:
            raise RrmbenchError(
                "reduction: inner: theory needs a solver with a theorem on the passes that quarter the distance to the "
                f"optimum; {solve.name} has none, use inner: practice"
            )

    def __call__(self, stage, x):
        """As `_ByProgress`; RrmbenchError where the theorems of `passes_to_quarter` are not about the problem."""
        if stage.strong_convexity == 0.0:
            raise RrmbenchError("reduction: inner: theory needs a strongly convex problem, use inner: practice")
        return x.passes >= self.passes_to_quarter(stage) - 1e-9, 0.0
