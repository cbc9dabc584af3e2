"""Proximal stochastic dual coordinate ascent [Acc-SDCA]."""

from itertools import count, pairwise
from math import log
from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.parameters import Auto, NonNegative
from rrmbench.problem.constants import NoTheorem
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.sdca.output import OUTPUTS, DualState
from rrmbench.solvers.sdca.steps import option_of


def prox_sdca_bound(constants, passes, *, sampling, output):
    """Theorem 1: E[P(w) - D(b)] <= c (D(b*) - D(0)) e^(-t/c) after t = n passes uniform draws, c = n + R^2/(s gamma).

    Holds for options I to V, smooth losses and the last iterate; D(b*) - D(0) is bounded by the initial gap.
    """
    if sampling != "uniform":
        raise NoTheorem("prox_sdca", "Theorem 1 is about independent draws, sampling: uniform", sampling=sampling)
    if output != "last":
        raise NoTheorem("prox_sdca", "this rate of Theorem 1 is that of output: last", output=output)
    if constants.gamma == 0.0:
        raise NoTheorem("prox_sdca", "this rate of Theorem 1 needs a smooth loss")
    steps = np.asarray(passes, dtype=float) * constants.n
    c = constants.n + constants.R**2 / (constants.s * constants.gamma)
    return c * constants.initial_gap * np.exp(-steps / c)


def prox_sdca_quartering(problem):
    """(1 + R^2/(s gamma n)) log 4, the passes in which E[D(b*) - D(b)] falls to a quarter.

    (n + R^2/(s gamma)) steps per factor e in the proof of [Acc-SDCA, Theorem 1]; T = O(n + L/sigma_t) in [Reductions,
    section 6.1].
    """
    return (1.0 + problem.L_max / (problem.strong_convexity * problem.n)) * log(4.0)


@solver(
    needs={"strongly_convex", "separable", "coordinate or row_norms", "rows"},
    gives={"dual"},
    bound=prox_sdca_bound,
    passes_to_quarter=prox_sdca_quartering,
)
def prox_sdca(
    problem,
    start,
    rng,
    *,
    option: Literal["I", "II", "III", "IV", "V"] = "I",
    output: Literal["last", "average", "random"] = "last",
    sampling: Literal["permutation", "uniform"] = "permutation",
    T0: NonNegative | Auto = "auto",
):
    """Prox-SDCA: D is increased in one b_i per step. [Acc-SDCA, Figure 1]

    With p = x_i.w, q = ||x_i||^2 / (s n), s = l2 + kappa, u = phi'(p) and h = u - b_i, the new b_i is

        I    dual_point(p + q b_i, y_i, mu + q), the maximizer of a lower bound of D
        II   the maximizer of the same between b_i and u; where outputs are numbers this is I
        III  b_i + min(1, (phi(p) + phi*(b_i) - p b_i + (gamma/2) h^2) / (h^2 (gamma + q))) h
        IV   the same with R^2/(s n) for q
        V    b_i + gamma/(gamma + R^2/(s n)) h

    where the losses are (1/gamma)-smooth; III to V raise RrmbenchError where they are not. The share gamma/(gamma +
    R^2/(s n)) = n/(n + R^2/(s gamma)) of V is the one in the proof of [Acc-SDCA, Theorem 1]; options I to III attain
    the bound of [Acc-SDCA, Lemma 6] for every share.

    output : the pair (w, b) to report: that of the last step, that of the average of b over the tail, or that of a
        random step of the tail. The tail n + ceil(R^2/(s gamma)) is T - T_0 of [Acc-SDCA, Theorem 1];
        `rrmbench.solvers.sdca.output` says how it moves on. w is always grad Psi*(v(b)). For the average of b this is
        the paper's average of w if psi = 0; with psi, w keeps its zeros, but the theorem is not about this w.
        `stop.gap` looks at P(w) - D(b) of the reported pair.
    sampling : a fresh permutation of the samples in each pass, or the paper's independent uniform draws.
    T0 : the passes after which the tail of the average and of the random step begins, for good. Before it, the last
        pair is reported. "auto" is a tail that moves on.

    psi is a sum over the coordinates of w or, for several outputs, over the norms of the rows of W: a step reads the
    rows of u = (v(b) + kappa center)/s that x_i meets, which grad Psi* shortens one by one.

    Yields three times per pass, where the reductions look at the gap; the average once. Checks are the product X^T b of
    a start that is not zero, and one per report of the average.
    """
    state = DualState(problem, option_of(problem, option), start)
    if output == "last" and T0 != "auto":
        raise RrmbenchError(f"solver prox_sdca: T0 = {T0:g} is for output: average or random, found output: last")
    report, n = OUTPUTS[output](state, rng, T0), problem.n
    draw = rng.drawing(sampling)
    cuts = [n * k // report.per_pass for k in range(report.per_pass + 1)]
    yield Iterate(*report.point(), checks=state.checks)
    for epoch in count():
        order = draw(n)
        for first, last in pairwise(cuts):
            report.run(order[first:last])
            yield Iterate(*report.point(), passes=epoch + last / n, checks=state.checks)
