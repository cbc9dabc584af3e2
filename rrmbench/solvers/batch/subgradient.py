"""The deterministic subgradient method, the baseline "gd" of Pdprox."""

from itertools import count
from math import sqrt

import numpy as np

from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver


@solver(deterministic=True)
def subgradient(problem, start, rng, *, step_scale: Positive = 1.0):
    """The plain subgradient method on all of P, projected where psi has a domain.

    w = Pi(w - eta g), eta = step_scale / (||g|| sqrt(k)) in step k, g = (1/n) X^T phi'(X w) + a subgradient
    of Psi. This is the optimal step if step_scale is the distance of the start from the optimum; Pdprox,
    section 5, tunes it over 2^[-10..10]. Psi has its prox only, so its subgradient is (w - prox_{t
    Psi}(w))/t with t a millionth of eta: the least-norm one in the limit, exact at a point that is a
    millionth of a step away. [Nesterov 2004, section 3.2.3]
    """
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    eta = step_scale
    for k in count(1):
        b = problem.loss_dual(problem.X.forward(w))
        t = 1e-6 * eta
        g = (w - problem.prox(w, t)) / t - problem.v(b)
        norm = float(np.linalg.norm(g))
        if norm > 0.0:
            eta = step_scale / (norm * sqrt(k))
            w = problem.prox(w - eta * g, 0.0)
        yield Iterate(w, b, problem.X.passes)
