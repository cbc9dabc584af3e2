"""Better lower bounds of P where the data are rows of numbers, for every regularizer: ADMM by passes of Prox-SDCA.

Prox-SDCA needs a regularizer that is a sum over coordinates. The alternating direction method of multipliers splits
others off,

    min over w, x   (1/n) sum phi^mu(x_i.w) + Psi(x)    where  w = x

with a multiplier u and the square (rho/2) ||w - x||^2 [Boyd et al. 2011, section 3]. Its steps are here

    b, w   a pass of Prox-SDCA on (1/n) sum phi^mu(x_i.w) + (rho/2) ||w - c||^2,  c = x - u/rho,  so  v(b) = rho (w - c)
    x      prox_{Psi/rho}(w + u/rho)
    u      u + rho (w - x), in the subdifferential of Psi at x

so u is in the domain of Psi*, and v(b) - u = rho (w - x) of the step before vanishes with w - x: b needs little scaling
then. rho grows where w is far from x beside the way of x, and falls where it is near
[Boyd et al. 2011, section 3.4.1].
Tasks and entries of a matrix are rows of the model laid out as a vector. A minimized bias becomes a free one, of a
column of ones.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rrmbench.data.layout import with_ones
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.regularizers.zero import Zero
from rrmbench.solvers.sdca.steps import option_of, sdca_steps

STRENGTH = 0.2  # the first rho over L/n, L the mean smoothness of a sample
BIASED = 2.0  # the same with a minimized bias
FAR, CHANGE = 3.0, 1.5  # rho changes by this factor where ||w - x|| and the way of x differ by more than that one
COPY = 1.0  # passes that a copy of X takes
BETWEEN = 2  # passes from one b to the next, as its bound costs half a pass


def fits(problem: Problem) -> bool:
    """Whether the losses are a sum over rows of numbers, each with a step of Prox-SDCA, a minimized bias aside.

    With a minimized bias and a strongly convex Psi, or a smooth loss, `rrmbench.bench.dual_ascent` comes nearer in as
    many passes, but where psi does not grow in all directions, as with bounds on one side: 0 lies on the edge of the
    domain of psi* then, so that no scaling mends a v that is outside by a little.
    """
    plain = problem.weights is None and not hasattr(problem.loss, "operator")
    split = "separable" in problem.traits or (
        problem.minimized_bias
        and hasattr(problem.X, "columns")  # the bias gets one
        and "strongly_convex" not in problem.traits
        and ("smooth" not in problem.traits or problem.regularization.radius(1.0, problem.shape) == math.inf)
    )
    return plain and split and hasattr(_flat(problem), "rows")


def ascend(
    problem: Problem, w: np.ndarray, b: np.ndarray, passes: float
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield (b, x, the passes of Prox-SDCA since the last b), from the model w and the dual variable b, which stay.

    The problem is one that `fits`. Nothing is yielded where L is not positive and finite.
    """
    z, b = problem.outputs(w), problem.certificate(b)[1].copy()
    u, spent, added, strength, size = problem.v(b), 1.5, 0.0, STRENGTH, len(w)
    if problem.minimized_bias:
        beta, added, strength = problem.beta(z), COPY, BIASED
        problem, w, u, z = with_free_bias(problem), np.append(w, beta), np.append(u, 0.0), z + beta
    rho = strength * mean_smoothness(problem, w, z) / problem.n
    if not 0.0 < rho < math.inf:
        return
    rng, x, v = Rng(0), w, u
    stage = Problem(_flat(problem), problem.y, problem.loss, Zero(), mu=problem.mu, kappa=rho)
    fixed = stage.X.rows, stage.y, option_of(stage, "I"), stage.regularizer
    while spent + added < passes:
        for _ in range(BETWEEN):
            center = x - u / rho
            w = v / rho + center
            sdca_steps(*fixed, rho, rng.epoch(problem.n), b, w.reshape(stage.shape))
            v, before = rho * (w - center), x
            x = problem.prox(w + u / rho, 1.0 / rho)
            u = u + rho * (w - x)
            apart, way = float(np.linalg.norm(w - x)), float(np.linalg.norm(x - before))
            rho *= CHANGE if apart > FAR * way else 1.0 / CHANGE if way > FAR * apart else 1.0
        yield b, x[:size], BETWEEN + added
        spent, added = spent + BETWEEN + added + 0.5, 0.0  # the half is of the product with which b is made a bound


def with_free_bias(problem: Problem) -> Problem:
    """The problem whose minimized bias is the last entry of the model: of a last column of ones, and free."""
    return replace(problem, X=with_ones(problem.X.columns()), free_bias=True, minimized_bias=False)


def mean_smoothness(problem: Problem, w: np.ndarray, z: np.ndarray) -> float:
    """The mean smoothness of phi(x_i.w) in w; of a loss with kinks, as smoothed by P(w)/G^2."""
    smoothness = problem.smoothness
    if not math.isfinite(smoothness):
        smoothness = problem.lipschitz**2 / problem.primal(w, z)
    return smoothness * float(problem.X.sqnorms.mean())


def _flat(problem: Problem) -> Any:
    """The operator whose rows make the outputs of the model, laid out as a vector where there is one for a matrix."""
    return getattr(problem.X, "flat", problem.X)
