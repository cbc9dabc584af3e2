"""The hinge with a budget, by stages in which the threshold of the losses that count is penalized."""

from itertools import islice

import numpy as np
import pytest

import rrmbench
from rrmbench import registry
from rrmbench.bench import ascents, reference
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.solvers.sdca.apcg_budget import threshold

pytestmark = pytest.mark.usefixtures("own_bounds")

L2 = {"name": "l2", "strength": 0.01}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 6))
Y = np.sign(X @ RNG.standard_normal(6) + 0.7 * RNG.standard_normal(60))  # w = 0 is not the optimum


def problem(budget, psi=L2, **other):
    return Problem(X, Y, {"name": "hinge", "budget": budget}, psi, **other)


@pytest.mark.parametrize("budget", [0.4, 3, 7.5, 30, 59.5, 200])
@pytest.mark.parametrize("around", [{}, {"kappa": 0.02, "center": np.linspace(-1.0, 1.0, 6)}])
def test_the_gap_of_the_problem_closes_whether_or_not_the_budget_binds(budget, around):
    """30 and more of the 60 do not bind: the best threshold is 0, and the last stages are without one."""
    p = problem(budget, **around)
    found = rrmbench.solve(p, "apcg_budget", gap=1e-11, passes=20000, every=20)
    assert found.reason == "gap"
    assert p.gap(found.w, found.b) >= -1e-14
    slack = 1.0 - Y * p.X.forward(found.w)
    assert (np.count_nonzero(slack > 1e-6) <= budget) == (budget >= 30)


def test_the_optimum_is_that_of_the_method_of_the_paper():
    p = problem(7.5)
    found = rrmbench.solve(p, "apcg_budget", gap=1e-11, passes=20000)
    papers = rrmbench.solve(p, "pdprox_restarted", gap=1e-9, passes=20000)
    assert p.primal(found.w) == pytest.approx(p.primal(papers.w), abs=1e-9)


def test_without_a_budget_below_n_it_is_apcg_shrinking():
    plain, bits = Problem(X, Y, "hinge", L2), {}
    for name, p in ("apcg_budget", problem(60.0)), ("apcg_budget", plain), ("apcg_shrinking", plain):
        its = [x.w.tobytes() for x in islice(registry.build_solver(name)(p, None, Rng(3)), 41)]
        bits[name, p.loss] = its[-40:]
    assert bits["apcg_budget", plain.loss] == bits["apcg_shrinking", plain.loss]
    assert bits["apcg_budget", problem(60.0).loss][1:] == bits["apcg_shrinking", plain.loss][:-1]


def test_a_start_is_gone_on_from_and_its_outputs_are_counted():
    p, solve = problem(7.5), registry.build_solver("apcg_budget")
    *_, end = islice(solve(p, None, Rng(0)), 300)
    end = end.copied()
    first, second, *_, last = islice(solve(p, end, Rng(1)), 20)
    assert np.array_equal(first.w, end.w) and np.array_equal(first.b, end.b)
    assert second.checks == 1.5  # the copy of X, X w and X^T b
    assert p.gap(last.w, last.b) <= max(p.gap(end.w, end.b), 1e-6)
    _, second = islice(solve(p, Iterate(np.zeros(6)), Rng(1)), 2)
    assert second.checks == 0.5


def test_b_is_never_beyond_the_budget():
    p = problem(3.0)
    for x in islice(registry.build_solver("apcg_budget")(p, None, Rng(0)), 200):
        assert x.b is None or np.isfinite(p.dual_value(x.b))


@pytest.mark.parametrize(("m", "expected"), [(0.5, 3.0), (1, 3.0), (1.5, 2.0), (3, 1.0), (4, 0.0), (5, 0.0)])
def test_the_threshold_is_the_loss_from_which_on_more_than_m_count(m, expected):
    assert threshold(np.array([1.0, 3.0, -2.0, 2.0, 0.0, -1.0]), m) == expected


def test_it_gives_references_and_bounds_of_such_problems():
    parts = {"dataset": {"name": "a9a"}, "loss": {"name": "hinge", "budget": 9.0}, "regularizer": L2}
    names = [spec["solver"]["name"] for spec in reference.specs(parts, 1.0)]
    assert names[0] == "apcg_budget"
    kernelized = parts | {"dataset": parts["dataset"] | {"kernel": {"name": "rbf", "gamma": 1.0}}}
    assert reference.specs(kernelized, 1.0)[0]["solver"]["name"] == "pdprox_restarted"
    p = problem(7.5)
    assert ascents.ascend_by_threshold in ascents.methods_for(p, 100.0)
    *_, start = islice(registry.build_solver("pdprox_dual")(p, None, Rng(0)), 50)
    *_, (b, _, _) = ascents.ascend_by_threshold(p.counted(), start.w, start.b, 60.0)
    assert p.certificate(b)[0] > p.certificate(start.b)[0]
