"""The inexact proximal point method around any solver: the added square of AdaptReg, around the last point.

`proximal_point` is for problems without strong convexity, `joint_proximal_point` for those without smooth losses too.
"""

from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from rrmbench.parameters import Auto, Positive
from rrmbench.problem.constants import NoTheorem, check_given
from rrmbench.registry import reduction
from rrmbench.stages.epochs import HALVINGS, Output
from rrmbench.stages.progress import StandStill, accuracy_of, first_iterate, needed_to_show
from rrmbench.stages.starting_values import starting_values

QUICK = {True: 1.0, False: 30.0}  # passes of an epoch that asks for less sigma; of solvers of single samples, of others
SLOW = 10.0  # times that: an epoch that is not over by then asks for more
FIRST = 1.1  # times the passes that the first step of a solver takes: as quick, of solvers whose steps take that long
SLOPE = 0.5  # times that at the last time: where the smoothing is halved
LEAST = 0.5**HALVINGS  # of sigma_0 and mu_0, below which they are not lowered

Share = Annotated[float, Gt(0), Le(1)]


def proximal_point_bound(constants, T, *, sigma, decay):
    """||w0 - w*||^2 / (2 sum_t 1/sigma_t), t = 0 .. T - 1, after T epochs with sigma_t = decay^t sigma.

    Holds for every accuracy <= 1, up to rounding, around solvers whose w is the primal point of their b, for the
    models that close epochs. Then sigma_t (c_t - w) is an e-subgradient of P at w = c_(t+1), e being the duality gap of
    the epoch, so that with e <= (sigma_t/2) ||w - c_t||^2

        P(w) - P(w*) <= e + sigma_t (c_t - w).(w - w*) <= (sigma_t/2) (||c_t - w*||^2 - ||w - w*||^2)

    which is divided by sigma_t and summed; P(c_t) never rises. The exact minimizers have the same bound [Guler 1991,
    Theorem 2.1]; the relative error is that of [Monteiro and Svaiter 2010].
    """
    inverses = np.maximum(decay ** np.arange(np.max(T), dtype=float), LEAST) ** -1.0
    return constants.distance * sigma / (2.0 * np.cumsum(inverses)[np.asarray(T) - 1])


def _epochs_seen(solve, problem, trace, *, sigma, decay, output):
    """With `output: epoch`, an epoch is over when the objective has changed.

    One that no point of the trace shows is not counted, so that the bound is at least that of the theorem.
    """
    if "dual" not in solve.gives:
        raise NoTheorem("proximal_point", f"the theorem needs a solver whose w belongs to its b, {solve.name} is none")
    if output != "epoch":
        raise NoTheorem("proximal_point", "the theorem is about output: epoch", output=output)
    check_given("proximal_point", sigma=sigma, decay=decay)
    T = np.cumsum(np.diff(trace["primal"], prepend=trace["primal"][:1]) != 0.0)
    return trace["passes"][T > 0], T[T > 0]


@reduction(
    needs={"warm_start"},
    gives={"strongly_convex", "square"},
    bound=proximal_point_bound,
    epochs_over=_epochs_seen,
    deterministic=True,
)
def proximal_point(
    solve,
    *,
    sigma: Positive | Auto = "auto",
    decay: Share | Auto = "auto",
    accuracy: Share = 1.0,
    output: Output = "running",
):
    """minimize P(w) + (sigma_t/2) ||w - c_t||^2 again and again, c_t the point that closed the epoch before

    Epoch t ends at the first w whose distance to its minimum is at most accuracy (sigma_t/2) ||w - c_t||^2, by the
    duality gap or the bound by the gradient's norm, looked at once per pass; this w is c_(t+1). As the minimized
    function is sigma_t-strongly convex, for every x

        P(c_(t+1)) + (1 - accuracy) (sigma_t/2) ||c_(t+1) - c_t||^2 <= P(x) + (sigma_t/2) ||x - c_t||^2

    so P never rises; with x on the way from c_t to w*, P(c_T) - P(w*) <= 2 sigma D^2/T for sigma_t <= sigma, where D is
    the greatest distance to w* of a w with P(w) <= P(c_0). `proximal_point_bound` is better, for solvers whose w is the
    primal point of their b. The square vanishes around c_t, so the dual variables of the epochs certify P itself better
    and better.

    sigma : sigma_0; "auto" is that of `adapt_reg`, L_max/n for solvers that need rows
    decay : sigma_t = decay^t sigma_0, at least 2^-50 sigma_0; "auto" halves sigma after an epoch of at most one pass
        (30 for solvers whose steps are of many samples, more where the first step takes more), and doubles it, around
        the same c_t, after ten times as many in one epoch, up to the smoothness of the losses. Of losses with kinks it
        is not doubled: stochastic dual ascent takes n + (G R)^2/(sigma_t e) steps to a gap e, and where the subgradient
        g = sigma_t (c_t - w) stays, the accuracy asked for is e = ||g||^2/(2 sigma_t), so that sigma_t makes no
        difference
    accuracy : 1 is the greatest with a theorem, and the best of those measured: docs/reproduction.md
    output : running, the solver's iterates as they are; epoch, the model that closed the last epoch
    """
    reduced = _around_the_last_point(solve, sigma, decay, None, accuracy, output)
    return solve.inside("proximal_point", reduced, needed_to_show(solve))


@reduction(needs={"warm_start"}, gives={"strongly_convex", "square", "smooth", "smoothing"}, deterministic=True)
def joint_proximal_point(
    solve,
    *,
    sigma: Positive | Auto = "auto",
    decay: Share | Auto = "auto",
    mu: Positive | Auto = "auto",
    accuracy: Share = 1.0,
    output: Output = "running",
):
    """`proximal_point` with losses smoothed by mu_t, which halves whenever the slope at the centres has halved

    The inequality of `proximal_point` holds of the smoothed problems, and for P with mu_t D more on the right side.
    The slope sigma_t ||c_(t+1) - c_t|| is the norm of a subgradient of the smoothed P at c_(t+1), but for the error of
    the epoch. Where mu_t fell in every epoch, epochs that move nothing, sigma_t being too great, would lower it until
    no solver can move.

    sigma, decay, accuracy, output : as in `proximal_point`; the epochs end by the gap of the smoothed problem
    mu : mu_0; mu_t is halved after the first epoch, and after each whose slope is at most half of that when it was
        halved last, or whose distance is rounding; at least 2^-50 mu_0. "auto" is Delta/(2 D), as in `adapt_smooth`
    """
    return _around_the_last_point(solve, sigma, decay, mu, accuracy, output)


def _around_the_last_point(solve, sigma, decay, mu, accuracy, output):
    """The solver whose epochs add (sigma_t/2) ||w - c_t||^2, and smooth by mu_t unless mu is None."""
    quick = QUICK[solve.takes_single_samples]

    def reduced(problem, start, rng):
        slow = SLOW * quick
        state = first_iterate(problem, start)
        yield state
        first, passes = yield from starting_values(solve, problem, state, sigma, mu)
        (strength, smoothing), closed, checks, is_near = first, state, 0.0, _IsNear(solve, accuracy)
        steep = np.inf  # the slope when the smoothing was halved last
        while True:
            center, over, lasted = closed.w, False, 0.0
            while not over:
                stage = problem.smoothed(smoothing).regularized(strength, center)
                longest = slow if decay == "auto" and "smooth" in stage.traits else np.inf
                before = center if start is None else start.w
                step, moved = 0.0, False  # the last passes at which w had not moved
                is_near.begin()
                for x in solve(stage, start, rng):
                    over, cost = is_near(stage, x, strength, center)
                    checks += cost
                    moved = moved or not np.array_equal(x.w, before)
                    step = step if moved else x.passes
                    if over:
                        closed = x.copied()
                    shown = x if output == "running" else closed
                    yield shown._replace(passes=passes + x.passes, checks=checks + x.checks)
                    if over or x.passes >= longest - 1e-9:
                        break
                else:  # the solver ended by itself
                    over, closed = True, x.copied()
                passes, checks, start = passes + x.passes, checks + x.checks, x.copied()
                lasted += x.passes
                if not over and np.array_equal(start.w, before):  # its first step takes longer, of a Hessian say
                    slow *= 2.0
                if not over and strength < min(stage.L, first[0] / LEAST):  # with more, no stage is easier
                    strength *= 2.0
            slope = strength * float(np.linalg.norm(closed.w - center))
            if is_near.solved or slope <= SLOPE * steep:
                steep, smoothing = slope, max(0.5 * smoothing, LEAST * first[1])
            is_quick = lasted <= max(quick, 0.0 if is_near.solved else FIRST * step) + 1e-9
            factor = decay if decay != "auto" else 0.5 if is_quick else 1.0
            strength = max(factor * strength, LEAST * first[0])

    return reduced


class _IsNear:
    """Whether the distance of an iterate is at most accuracy (sigma_t/2) ||w - c_t||^2, looked at once per pass.

    solved : whether the last stage was solved to rounding, which ends an epoch, too
    """

    def __init__(self, solve, accuracy):
        self.measure, self.accuracy, self.stands_still = accuracy_of(solve), accuracy, StandStill()
        self.begin()

    def begin(self):
        """A stage begins."""
        self.due, self.solved = 1.0, False
        self.stands_still.begin()

    def __call__(self, stage, x, strength, center):
        """Whether the epoch is over, and the passes spent on knowing it."""
        if x.passes < self.due - 1e-9:
            return False, 0.0
        distance, floor, cost = self.measure(stage, x)
        if distance is None:
            return False, cost
        self.due = x.passes + 1.0
        self.solved = self.stands_still(x, distance, floor) or distance <= floor
        allowed = 0.5 * self.accuracy * strength * float(np.sum((x.w - center) ** 2))
        return self.solved or distance <= allowed, cost
