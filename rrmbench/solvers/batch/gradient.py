"""Proximal gradient methods on the primal: plain, accelerated, and FISTA.

    w = prox_{eta Psi}(y - eta grad f(y)),  y = w + beta (w - w_old),  eta = step_scale / L,  f = the mean loss

The parameter `step` says what L is.

    bound          smoothness * mean ||x_i||^2, a true bound that costs nothing; the exact constant has the spectral
                   norm of X in it and may be smaller by a factor of up to the rank of X
    backtracking   the least of L_0, GROWTH L_0, GROWTH^2 L_0, ... for which f(w) <= f(y) + grad f(y).(w - y)
                   + (L/2) ||w - y||^2 has held so far; the bound where it is less. L_0 is the curvature of f along its
                   gradient at the start, smoothness ||X g||^2 / (n ||g||^2), half a pass, or bound / n where that is
                   more: both are below the exact constant.

Psi is in the prox as a whole. A gradient at y and the product X w of the new point cost half a pass each, a rejected
trial of L half a pass; X y is a combination of known products. The dual candidate b of an iterate holds the
derivatives at the y from which the step to w was made.
"""

from math import ceil, inf, log, log1p, sqrt
from typing import Literal

import numpy as np

from rrmbench.parameters import Positive
from rrmbench.problem.constants import NoTheorem
from rrmbench.registry import solver
from rrmbench.solvers.batch.line_search import curvature, search_passes, searched_steps

Step = Literal["bound", "backtracking"]


def proven_L(method, theorem, constants, step_scale):
    """L/step_scale: with it a theorem about the step length 1/L covers step_scale/L; for step_scale <= 1."""
    if step_scale > 1.0:
        raise NoTheorem(method, f"{theorem} needs step_scale <= 1", step_scale=step_scale)
    return constants.L / step_scale


def searching(rank, step):
    """The passes that finding L takes at most: the `search_passes`, none for the bound."""
    return search_passes(rank) if step == "backtracking" else 0.0


def beside_steps(problem, step):
    """The passes beside the steps: half a one for X w0, and those of `searching`."""
    return 0.5 + searching(problem.rank, step)


def gd_bound(constants, passes, *, step, step_scale):
    """min(L ||w0 - w*||^2 / (2k), (1 + s/L)^-k (P(w0) - P(w*))) after k steps, L the bound over step_scale <= 1.

    [Beck and Teboulle 2009, Theorem 3.1] For the second, take what a step minimizes at w + t (w* - w), t = s/(s + L):
    (L/2) t^2 - (s/2) t (1 - t) = 0, so that 1 - t = (1 + s/L)^-1 of the distance is left.
    """
    c, L = constants, proven_L("gd", "Theorem 3.1", constants, step_scale)
    k = c.steps(passes, searching(c.n, step))
    with np.errstate(divide="ignore", invalid="ignore"):
        sublinear = L * c.distance / (2.0 * k)
    return np.fmin(sublinear, (1.0 + c.s / L) ** -k * c.suboptimality_bound)


def gd_quartering(problem, *, step, step_scale):
    """The least k with (1 + s step_scale/L)^-k <= 1/4, step_scale <= 1, and the passes beside the steps.

    [`gd_bound`]
    """
    k = ceil(log(4.0) / log1p(problem.strong_convexity * min(step_scale, 1.0) / problem.L))
    return k + beside_steps(problem, step)


def agd_bound(constants, passes, *, step, step_scale):
    """2 (1 - q)^k (P(w0) - P(w*)) after k steps of length 1/L, L the bound over step_scale <= 1, q = sqrt(s / (s + L)).

    [Nesterov 2004, Theorem 2.2.3, with s ||w0 - w*||^2 / 2 <= P(w0) - P(w*)]
    """
    if step != "bound":
        raise NoTheorem("agd", "Theorem 2.2.3 is for a constant L, step: bound", step=step)
    c, L = constants, proven_L("agd", "Theorem 2.2.3", constants, step_scale)
    k = c.steps(passes)
    return 2.0 * (1.0 - sqrt(c.s / (c.s + L))) ** k * c.suboptimality_bound


def agd_quartering(problem, *, step, step_scale):
    """The least k with 2 (1 - q)^k <= 1/4, q = sqrt(s/(s + L/step_scale)), and the passes beside the steps.

    [`agd_bound`]
    """
    q = sqrt(problem.strong_convexity / (problem.strong_convexity + problem.L / min(step_scale, 1.0)))
    return ceil(log(8.0) / -log1p(-q)) + beside_steps(problem, step)


def fista_bound(constants, passes, *, step, restart, step_scale):
    """2 L ||w0 - w*||^2 / (k + 1)^2 after k steps, L the bound over step_scale <= 1.

    [Beck and Teboulle 2009, Theorem 4.4]
    """
    if restart != "none":
        raise NoTheorem("fista", "Theorem 4.4 is for the momentum without restarts", restart=restart)
    c, L = constants, proven_L("fista", "Theorem 4.4", constants, step_scale)
    k = c.steps(passes, searching(c.n, step))
    return np.where(k > 0.0, 2.0 * L * c.distance / (k + 1.0) ** 2, inf)


@solver(needs={"smooth"}, bound=gd_bound, passes_to_quarter=gd_quartering, deterministic=True)
def gd(problem, start, rng, *, step: Step = "backtracking", step_scale: Positive = 1.0):
    """The proximal gradient method (ISTA), w = prox_{eta Psi}(w - eta grad f(w)), eta = step_scale / L."""
    return extrapolated(problem, start, step, step_scale, lambda eta, y, w, old: 0.0)


@solver(needs={"smooth", "strongly_convex"}, bound=agd_bound, passes_to_quarter=agd_quartering, deterministic=True)
def agd(problem, start, rng, *, step: Step = "bound", step_scale: Positive = 1.0):
    """Nesterov's constant momentum for strongly convex Psi, eta = step_scale / L.

    y = w + (1 - q)/(1 + q) (w - w_old), q = sqrt(s / (s + 1/eta)), since Psi with its s in the prox is the
    same step as 1/(s + 1/eta) on f + (s/2) ||.||^2. [Nesterov 2004, scheme (2.2.11)]

    step : the theorem is for a constant L, hence the default; backtracking is often several times faster.
    """

    def momentum(eta, y, w, old):
        q = sqrt(problem.strong_convexity / (problem.strong_convexity + 1.0 / eta))
        return (1.0 - q) / (1.0 + q)

    return extrapolated(problem, start, step, step_scale, momentum)


@solver(needs={"smooth"}, bound=fista_bound, deterministic=True)
def fista(
    problem,
    start,
    rng,
    *,
    step: Step = "backtracking",
    restart: Literal["none", "gradient"] = "none",
    step_scale: Positive = 1.0,
):
    """FISTA, eta = step_scale / L; for strongly convex Psi see `agd`, which is FISTA with a constant momentum.

    y = w + (t_old - 1)/t (w - w_old), t = (1 + sqrt(1 + 4 t_old^2))/2, t = 1 at first.
    [Beck and Teboulle 2009]

    restart : with "gradient", t = 1 again whenever (y - w).(w - w_old) > 0, where the momentum points uphill; it costs
        no product. [O'Donoghue and Candes 2015, section 3.2]
    """
    t = 1.0

    def momentum(eta, y, w, old):
        nonlocal t
        if restart == "gradient" and np.vdot(y - w, w - old) > 0.0:
            t = 1.0
        before, t = t, 0.5 + sqrt(0.25 + t * t)
        return (before - 1.0) / t

    return extrapolated(problem, start, step, step_scale, momentum)


def extrapolated(problem, start, step, step_scale, momentum):
    """The method above with beta = momentum(eta, y, w, w_old)."""
    bound = problem.L

    def first(problem, v):
        return bound if step == "bound" else max(curvature(problem, v), bound / problem.rank)

    return searched_steps(problem, start, first, lambda k: bound, momentum, step_scale)
