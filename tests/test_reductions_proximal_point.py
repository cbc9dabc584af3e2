"""The inexact proximal point reduction: its epochs, its inequality, its certificate."""

from itertools import islice, pairwise

import numpy as np
import oracles
import pytest

from rrmbench import registry
from rrmbench.numerics.random import Rng

ACCURACY = 0.3


def lasso():
    return oracles.problem("squared", oracles.example("regularizer", "l1"))


class Stages:
    """A solver that keeps the problems that it was given."""

    def __init__(self, name):
        self.problems = []
        solve = registry.build_solver(name)

        def run(problem, start, rng):
            self.problems.append(problem)
            return solve(problem, start, rng)

        self.solver = registry.Solver(run, solve.name, solve.needs, solve.gives)


@pytest.mark.parametrize("name", ["prox_sdca", "apcg", "svrg", "fista", "agm_ef"])
@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_every_epoch_keeps_to_the_inequality_of_the_theorem(name, decay):
    """P(c') + (1 - a) (sigma/2) ||c' - c||^2 <= P(x) + (sigma/2) ||x - c||^2 for x = c, x = w* and points between."""
    p, stages = lasso(), Stages(name)
    spec = {"name": "proximal_point", "sigma": 0.05, "decay": decay}
    for x in registry.reduce_solver(stages.solver, spec)(p, None, Rng(0)):
        if len(stages.problems) > 12 or x.passes > 3000:
            break
    optimum, best = oracles.cvxpy_optimum("squared", "l1")
    centers = [np.zeros(p.shape) if q.center is None else q.center for q in stages.problems]
    assert len(centers) > 4
    for number, (c, after) in enumerate(pairwise(centers)):
        sigma = stages.problems[number].kappa
        assert sigma == pytest.approx(0.05 * decay**number)
        left = p.primal(after) + (1.0 - ACCURACY) * 0.5 * sigma * np.sum((after - c) ** 2)
        for s in (0.0, 0.3, 1.0):
            x = (1.0 - s) * c + s * best
            assert left <= p.primal(x) + 0.5 * sigma * np.sum((x - c) ** 2) + 1e-9
    values = [p.primal(c) for c in centers]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(values))
    assert values[-1] - optimum < values[0] - optimum


def test_its_certificate_is_tighter_than_that_of_a_fixed_centre():
    """The excess of the dual variable over the domain of psi* vanishes with the distance to the centre."""
    p, gaps = lasso(), {}
    for name in "proximal_point", "adapt_reg":
        solve = registry.build_solver("prox_sdca", {"name": name, "sigma": 0.05})
        x = next(x for x in solve(p, None, Rng(0)) if x.passes + x.checks >= 300)
        gaps[name] = p.gap(x.w, x.b)
    assert gaps["proximal_point"] < 1e-6
    assert gaps["proximal_point"] < 0.1 * gaps["adapt_reg"]


def test_without_smoothness_it_takes_a_solver_that_needs_none():
    p = oracles.problem("absolute", {"name": "l1", "strength": 0.05})
    solve = registry.build_solver("prox_sdca", {"name": "proximal_point", "sigma": 0.1})
    _first, *_, last = islice(solve(p, None, Rng(0)), 400)
    assert p.primal(last.w) < p.primal(np.zeros(p.shape))


@pytest.mark.parametrize("reduction", ["proximal_point", "adapt_reg", "smooth", "adapt_smooth"])
def test_objectives_are_of_the_problem_that_is_seen_or_not_there(reduction):
    """Those of a changed problem would end the epochs of a reduction outside too early."""
    values = {"mu": 0.5} if "smooth" in reduction else {"sigma": 0.1}
    solve = registry.build_solver("agm_ef", {"name": reduction, **values})
    assert "gap" not in solve.gives
    p = oracles.problem("smoothed_hinge", {"name": "l2", "strength": 0.1})
    assert all(x.objectives is None for x in islice(solve(p, None, Rng(0)), 50))
