"""The support vector machine with a minimized bias, by stages in which the bias is penalized."""

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import oracles
import pytest

import rrmbench
from rrmbench import registry
from rrmbench.bench import reference
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.solvers.sdca import apcg_bias

L2 = {"name": "l2", "strength": 0.01}


def problem(loss="hinge", **other):
    X, y = oracles.data(30, 4, loss=loss)
    return Problem(X + 1.0, y, loss, L2, minimized_bias=True, **other)


@pytest.mark.parametrize(
    ("loss", "center"),
    [
        ("hinge", False),
        ("hinge", True),
        pytest.param("absolute", False, marks=pytest.mark.exhaustive),
        pytest.param("logistic", False, marks=pytest.mark.exhaustive),
    ],
)
def test_the_gap_of_the_problem_with_the_best_bias_closes(loss, center):
    p = problem(loss, kappa=0.02, center=np.ones(4)) if center else problem(loss)
    found = rrmbench.solve(p, "apcg_bias", gap=1e-10, passes=4000, every=20)
    assert found.reason == "gap"
    assert p.gap(found.w, found.b) >= -1e-13


def test_the_bias_of_a_start_is_half_a_pass_unless_it_is_zero():
    solve, p = registry.build_solver("apcg_bias"), problem()
    for w, checks in ((np.zeros(4), 0.5), (np.ones(4), 1.0)):
        _, first = islice(solve(p, Iterate(w), Rng(0)), 2)
        assert first.checks == checks


def test_a_look_at_a_stage_is_a_pass_and_moves_the_centre_by_its_rule(monkeypatch):
    """Where its gap is at most 0.1 of (s/2) (beta - c)^2. The copy of X and X^T b of a start are halves."""
    looks = []

    class Seen(Problem):
        def gap(self, w, b):
            looks.append((self.center[-1], w[-1], gap := super().gap(w, b)))
            return gap

    monkeypatch.setattr(apcg_bias, "Problem", Seen)
    p = replace(problem("logistic"), l2=0.1)
    x = next(x for x in registry.build_solver("apcg_bias")(p, None, Rng(0)) if len(looks) > 14)
    centers = [center for center, _, _ in looks]
    assert x.checks == 0.5 + len(looks) + 0.5 * (len(set(centers)) - 1)
    assert centers[0] == 0.0 and 3 < len(set(centers)) < len(looks)
    for (center, beta, gap), (following, _, _) in pairwise(looks):
        is_near = gap <= 0.1 * p.l2 / 2 * (beta - center) ** 2
        assert following == (beta if is_near else center)


def test_a_start_is_gone_on_from():
    p, solve = problem(), registry.build_solver("apcg_bias")
    *_, end = islice(solve(p, None, Rng(0)), 200)
    first, *_, last = islice(solve(p, end, Rng(1)), 20)
    assert np.array_equal(first.w, end.w)
    assert p.gap(last.w, last.b) <= max(p.gap(end.w, end.b), 1e-6)


def test_the_reference_of_a_problem_with_a_minimized_bias():
    parts = {"dataset": {"name": "a9a", "bias": "minimized"}, "loss": {"name": "hinge"}, "regularizer": L2}
    assert reference.specs(parts, 1.0)[0]["solver"]["name"] == "apcg_bias"
    kernelized = parts | {"dataset": parts["dataset"] | {"kernel": {"name": "rbf", "gamma": 1.0}}}
    assert reference.specs(kernelized, 1.0)[0]["solver"]["name"] == "pdprox_restarted"


def test_data_without_rows_are_refused():
    p = problem()

    class Products:
        shape, sqnorms = p.X.shape, p.X.sqnorms
        forward, adjoint = staticmethod(p.X.forward), staticmethod(p.X.adjoint)

    other = Problem(Products(), p.y, "hinge", L2, minimized_bias=True)
    with pytest.raises(RrmbenchError, match="apcg_bias: found no matrix X of rows"):
        next(iter(registry.build_solver("apcg_bias")(other, None, Rng(0))))
