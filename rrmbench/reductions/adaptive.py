"""AdaptReg, AdaptSmooth and their joint form [Reductions].

In epoch t = 0, 1, 2, ... the solver works on the problem plus (sigma_t/2) ||w - w0||^2, its losses smoothed by mu_t,
from where the epoch before ended; sigma_t = 2^-t sigma_0 and mu_t = 2^-t mu_0.

    inner    practice   an epoch ends when the duality gap has fallen to a quarter of the gap that closed the epoch
                        before, or the norm of the prox-gradient map, where psi = 0 that of the gradient, to a third
                        [Reductions, sections 6.1 and 6.2]
             diameter   of adapt_smooth, for solvers that give their gap: an epoch ends when it is at most
                        FRACTION of mu_t D, the most by which the smoothing errs [AGM, (54)]
             theory     an epoch has the solver's `passes_to_quarter`, in which its theorem quarters P(w) - P(w*), as
                        the theorems of `adaptive_theorems` assume; that of `prox_sdca` and `apcg` quarters D(b*) - D(b)
    epochs   T: the solver ends with the T-th epoch, as Algorithms 1 to 3 do; endless: it goes on, at sigma_50 for ever
    output   running: the solver's iterates as they are; epoch: the model that closed the last epoch, which is what the
             theorems are about, while passes go on counting
"""

from functools import partial
from itertools import count
from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.parameters import Auto, Positive, PositiveInt
from rrmbench.reductions.adaptive_theorems import (
    adapt_reg_bound,
    adapt_smooth_bound,
    epochs_by_theory,
    joint_adapt_bound,
)
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

FRACTION = 0.03  # at mu D itself, Nesterov's methods take 3.6 to 4 times the steps

Epochs = PositiveInt | Literal["endless"]
Inner = Literal["practice", "theory"]
InnerOfSmoothing = Literal["practice", "theory", "diameter"]


@reduction(
    needs={"warm_start"},
    gives={"strongly_convex", "square"},
    bound=adapt_reg_bound,
    epochs_over=partial(epochs_by_theory, "adapt_reg"),
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
    epochs_over=partial(epochs_by_theory, "adapt_smooth"),
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
    epochs_over=partial(epochs_by_theory, "joint_adapt"),
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
