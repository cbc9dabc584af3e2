"""Accelerated proximal gradient with an adaptive step, for any loss: the baseline "agd" of Pdprox."""

from itertools import count
from math import ceil, inf, isfinite, log
from typing import Literal

from rrmbench.parameters import Positive
from rrmbench.registry import solver
from rrmbench.solvers.batch.line_search import GROWTH, curvature, searched_steps, steepest


@solver(deterministic=True)
def agd_adaptive(problem, start, rng, *, step_scale: Positive = 1.0, cap: Literal["none", "rate"] = "none"):
    """Accelerated proximal steps with subgradients and an adaptive step length.

    w = prox_{Psi/L}(y - g/L), y = w + (k - 1)/(k + 2) (w - w_old) after step k, g a subgradient at y.
    L grows by GROWTH whenever f(w) <= f(y) + g.(w - y) + (L/2) ||w - y||^2 fails, f the mean loss, and never falls.
    [Chen, Pan, Kwok and Carbonell 2009, Algorithm 1, with a_k = 2/(k + 1)]

    cap : at a kink of f no L passes the test. With "none", the paper's own method, L then grows until w moves by
        rounding errors only, where the test holds. With "rate", which is often far better, a step is taken untested
        where L is at least

            G R k^(3/2)/step_scale, rounded up to a power of GROWTH.

        These L alone give the rate O(G R/sqrt(k)) at distance 1 from the optimum [Hu, Kwok and Pan 2009; Lan 2012]. A
        step that passes the test adds no error, and k steps have O(log k) rejected trials. Smooth phi has the cap L of
        the Problem, for which the test always holds.
    step_scale : divides the first L, the curvature along the first gradient of the losses, smoothed by 1 where they
        are not smooth, for half a pass. Pdprox gives "an appropriate initial step size".

    A rejected trial costs half a pass, a step one.
    """
    smooth = isfinite(problem.smoothness)
    greatest = problem.L if smooth else steepest(problem)
    floor = greatest / problem.n

    def first(problem, v):
        return max(curvature(problem if smooth else problem.smoothed(1.0), v), floor) / step_scale

    def limit(k):
        if smooth:
            return greatest
        return greatest * GROWTH ** ceil(1.5 * log(k, GROWTH)) / step_scale if cap == "rate" else inf

    steps = count(1)

    def momentum(eta, y, w, old):
        k = next(steps)
        return (k - 1.0) / (k + 2.0)

    return searched_steps(problem, start, first, limit, momentum)
