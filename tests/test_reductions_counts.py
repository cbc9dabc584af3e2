"""Reductions around losses that are neither smooth nor Lipschitz, as that of log-linear models of counts."""

from itertools import islice
from math import exp, inf, log
from typing import NamedTuple

import numpy as np
import pytest

import rrmbench
from rrmbench import registry
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.stages.starting_values import starting_values

pytestmark = pytest.mark.usefixtures("own_bounds")


class Counts(NamedTuple):
    """phi(z) = exp(z) - y z,  phi*(b) = u log u - u for u = b + y >= 0."""

    conjugate_convexity: float = 0.0
    lipschitz: float = inf

    def value(self, z, y):
        return exp(min(z, 700.0)) - y * z

    def conjugate(self, b, y):
        u = b + y
        if u <= 0.0:
            return inf if u < 0.0 else 0.0
        return u * log(u) - u

    def dual_point(self, z, y, mu):
        """b = exp(s) - y where s + mu exp(s) = z + mu y, by Newton's method from above."""
        c = z + mu * y
        s = c if mu == 0.0 or c < 0.0 else min(c, log(1.0 + c / mu))
        for _ in range(60 if mu > 0.0 else 0):
            e = mu * exp(min(s, 700.0))
            s -= (s + e - c) / (1.0 + e)
        return exp(min(s, 700.0)) - y


def problem_of_counts(regularizer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) / 3.0
    y = rng.poisson(np.exp(X @ rng.normal(size=8))).astype(float)
    return rrmbench.Problem(X, y, Counts(), regularizer)


@pytest.mark.parametrize(
    "solver, reduction, regularizer",
    [
        ("fista", "auto", {"name": "l1", "strength": 0.02}),
        ("prox_sdca", "auto", {"name": "l1", "strength": 0.02}),
        ("apcg", "joint_adapt", {"name": "l1", "strength": 0.02}),
        ("agd", "adapt_smooth", {"name": "l2", "strength": 0.05}),
        ("lbfgs", "joint_proximal_point", {"name": "l2", "strength": 0.05}),
    ],
)
def test_they_come_near_the_optimum(solver, reduction, regularizer):
    p = problem_of_counts(regularizer)
    found = rrmbench.solve(p, solver, reduction=reduction, passes=400)
    assert found.status == "done"
    start = p.primal(np.zeros(p.shape)) - p.dual_value(found.b)
    assert p.gap(found.w, found.b) <= 1e-2 * start


def test_the_first_smoothing_is_of_the_slopes_at_the_start():
    p = problem_of_counts({"name": "l2", "strength": 0.05})
    state = Iterate(np.zeros(p.shape))
    steps = starting_values(registry.build_solver("gd"), p, state, None, "auto")
    with pytest.raises(StopIteration) as end:
        next(steps)
    (_, mu), passes = end.value.value
    gap = p.primal(state.w) - p.dual_value(np.zeros(p.n))
    assert mu == pytest.approx(gap / np.mean(p.loss_dual(np.zeros(p.n)) ** 2)) and passes == 0.0


def test_an_epoch_that_the_diameter_ends_needs_one():
    p = problem_of_counts({"name": "l2", "strength": 0.05})
    solve = registry.build_solver("prox_sdca", {"name": "adapt_smooth", "inner": "diameter"})
    with pytest.raises(RrmbenchError, match="inner: diameter needs losses with a Lipschitz constant, found Counts"):
        list(islice(solve(p, None, Rng(0)), 5))
