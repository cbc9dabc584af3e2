"""Proximal stochastic variance reduced gradient [Johnson and Zhang 2013; Xiao and Zhang 2014]."""

from math import ceil, log
from typing import Literal

import numpy as np

from rrmbench.numerics.lazy import Snapshot, StochasticSteps
from rrmbench.parameters import Positive
from rrmbench.problem.constants import NoTheorem
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver

STEP_SCALE = 0.1  # the step over 1/L
STAGE = 3.0  # passes at most: one for the gradient of the snapshot, two for 2n steps


def rate(condition, steps, step_scale):
    """The factor by which a stage reduces E[P(w) - P(w*)]; condition = L_max / s. [Xiao and Zhang 2014, Theorem 1]"""
    falling, limit = parts(condition, step_scale)
    return falling / steps + limit


def parts(condition, step_scale):
    """(a, c) of the rate a/steps + c of a stage, c = 4 step_scale / (1 - 4 step_scale)."""
    free = 1.0 - 4.0 * step_scale
    limit = 4.0 * step_scale / free
    return condition / (step_scale * free) + limit, limit


def svrg_bound(constants, passes, *, step_scale, snapshot):
    """rate^stages times the first distance, for `snapshot: random`; a stage takes three passes at most.

    It is of the snapshots, one after each stage; the theorem says nothing of the iterates inside of a stage. [Xiao and
    Zhang 2014, Theorem 1]
    """
    if snapshot != "random":
        raise NoTheorem("svrg", "Theorem 1 is about snapshot: random", snapshot=snapshot)
    if step_scale >= 0.25:
        raise NoTheorem("svrg", "Theorem 1 needs step_scale < 1/4", step_scale=step_scale)
    if constants.gamma == 0.0 or constants.s == 0.0:
        raise NoTheorem("svrg", "Theorem 1 needs a smooth loss and strong convexity")
    factor = rate(constants.R**2 / (constants.gamma * constants.s), 2 * constants.n, step_scale)
    if factor >= 1.0:
        raise NoTheorem("svrg", "Theorem 1 needs stages of more than 2n steps on this problem", step_scale=step_scale)
    stages = np.floor(np.asarray(passes, dtype=float) / STAGE)
    return factor**stages * constants.suboptimality_bound


def svrg_snapshots(constants, last):
    """The passes of `svrg_bound`, a stage's three after one another."""
    return np.arange(0.0, last + 1e-9, STAGE)


def svrg_quartering(problem, *, step_scale):
    """The passes in which [Xiao and Zhang 2014, Theorem 1] quarters P(w) - P(w*), O(1 + L_max/(s n)).

    The stages have 2n steps where this gives a rate < 1, else the theorem's own M steps.

    The rate is a/steps + c, c = 4 step_scale/(1 - 4 step_scale), and M = 2 a/(1 - c), where a/M is (1 - c)/2: for
    step_scale = 0.1, M = 100 L_max/s + 4 and the rate is 5/6. Raises NoTheorem where c >= 1, so for step_scale >= 1/8.
    """
    if step_scale >= 0.125:
        raise NoTheorem("svrg", "inner: theory needs step_scale < 1/8", step_scale=step_scale)
    condition = problem.L_max / problem.strong_convexity
    steps = 2.0 * problem.n
    if rate(condition, steps, step_scale) >= 1.0:
        falling, limit = parts(condition, step_scale)
        steps = 2.0 * falling / (1.0 - limit)
    return ceil(log(4.0) / -log(rate(condition, steps, step_scale))) * (1.0 + steps / problem.n)


@solver(
    needs={"smooth", "scalar", "coordinate", "rows"},
    gives={"gradient_norm"},
    bound=svrg_bound,
    bound_at=svrg_snapshots,
    passes_to_quarter=svrg_quartering,
)
def svrg(
    problem,
    start,
    rng,
    *,
    step_scale: Positive = STEP_SCALE,
    snapshot: Literal["last", "random"] = "last",
):
    """Prox-SVRG with a new snapshot after 2n inner steps, independent uniform draws.

    w = prox_{eta Psi}(w - eta (g + (phi'(x_i.w) - theta_i) x_i)), theta the derivatives at the snapshot and
    g = (1/n) X^T theta; eta = step_scale / L_max, L_max = smoothness * max ||x_i||^2.

    step_scale : 0.1 is the theory's example [Xiao and Zhang 2014, section 3], which asks for less than 1/4; greater
        ones, up to 1/2, are as a rule several times faster.
    snapshot : the last of the 2n inner iterates (Option I of Johnson and Zhang, as in the reductions paper), or a
        random one of them (Option II), which the theorem covers; the steps after it are not taken.

    Yields the snapshot with its gradient (one pass) and the iterate after each n inner steps (one pass each).
    """
    n = problem.n
    w = problem.start(start)
    steps = StochasticSteps(problem, step_scale / (problem.L_max or 1.0))
    yield Iterate(w)
    passes = 0.0
    while True:
        theta = problem.loss_dual(problem.X.forward(w))
        g = -problem.v(theta)
        memory = Snapshot(steps.linear(g), theta)
        passes += 1.0
        norm = float(np.linalg.norm(problem.prox_gradient_from(w, g)))
        yield Iterate(w, theta, passes, gradient_norm=norm)
        left = 2 * n if snapshot == "last" else 1 + int(rng.integers(2 * n, 1)[0])
        while left > 0:
            order = rng.integers(n, min(n, left))
            steps.run(order, w, memory)
            left -= order.size
            passes += order.size / n
            yield Iterate(w, passes=passes)
