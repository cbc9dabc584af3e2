"""Where solvers start: in the domain of Psi, also where 0 is not."""

from functools import cache
from itertools import islice

import numpy as np
import oracles
import pytest
from lab import make_lab  # noqa: F401

from rrmbench import registry
from rrmbench.components import Solver, lacking
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem

BOX = {"name": "elastic_net", "l1": 0.02, "l2": 0.05, "domain": {"box": [0.1, 0.6]}}
AWAY = {"name": "box", "lower": 0.1, "upper": 0.6}
REGULARIZERS = {"elastic_net": BOX, "box": AWAY}
VALUES = {"sigma": 0.02, "mu": 0.5, "kappa": 0.05}
REDUCTIONS = [
    *("none", "auto", "regularize", "smooth", "adapt_reg", "adapt_smooth", "joint_adapt", "accelerate", "solve_dual")
]
# on text, tables and images; here the way is short
STEPS = {"adagrad": {"step_scale": 0.03}, "subgradient": {"step_scale": 0.1}, "sgd": {"step_scale": 0.3}}


def small(regularizer):
    X, y = oracles.data(40, 6, seed=2)
    return Problem(X, X @ np.array([0.0, 0.2, 0.4, 0.9, -1.0, 0.5]) + 0.1 * y, "squared", regularizer)


@cache
def box_optimum(regularizer):
    """The minimum of `small`, by projected gradient steps."""
    p = small(REGULARIZERS[regularizer])
    w = np.full(p.shape, 0.3)
    for _ in range(20_000):
        w = p.prox(w + p.v(p.loss_dual(p.X.forward(w))) / p.L, 1.0 / p.L)
    return p.primal(w)


def valid(solver, p):
    for name in REDUCTIONS:
        if name not in ("none", "regularize") and not registry.lookup("solver", solver).counts_passes:
            continue  # a library does not know of smoothing, and begins anew in each epoch
        parameters = registry.lookup("reduction", name).parameters
        reduction = {"name": name} | {key: value for key, value in VALUES.items() if key in parameters}
        try:
            solve = registry.build_solver({"name": solver, **STEPS.get(solver, {})}, reduction)
        except RrmbenchError:  # the reduction is not for this solver
            continue
        if not lacking(solve.needs, p.traits):
            yield name, solve


@pytest.mark.core(1)
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("solver", registry.names("solver"))
def test_every_iterate_is_in_the_domain_and_they_converge(solver, regularizer):
    p = small(REGULARIZERS[regularizer])
    first, optimum = p.primal(p.start()), box_optimum(regularizer)
    assert np.isinf(p.primal(np.zeros(p.shape))) and optimum < 0.9 * first
    tried = 0
    for name, solve in valid(solver, p):
        values = []
        for it in islice(solve(p, None, Rng(0)), 3000):
            values.append(p.primal(it.w))
            if it.passes > 300:
                break
        assert np.isfinite(values).all(), name
        bias = {"regularize": 0.01 * np.sum((p.start() - 0.6) ** 2) + 0.01, "smooth": 0.5}.get(name, 0.0)
        assert min(values[-20:]) - optimum <= 0.05 * (first - optimum) + bias, name
        tried += 1
    assert tried or lacking(registry.lookup("solver", solver).needs, p.traits)


@pytest.mark.parametrize("regularizer", [BOX, AWAY, {"name": "l2", "strength": 1.0}], ids=lambda r: r["name"])
def test_start_projects_zero_and_copies_what_is_given(regularizer):
    p = oracles.problem("squared", regularizer)
    np.testing.assert_array_equal(p.start(), 0.0 if regularizer["name"] == "l2" else 0.1)
    given = np.linspace(0.1, 0.6, p.shape[0])
    begun = p.start(Iterate(given))
    np.testing.assert_array_equal(begun, given)
    begun += 1.0
    assert given[0] == 0.1


@pytest.mark.parametrize("solver", registry.names("solver"))
def test_every_solver_begins_at_the_start(solver):
    """But for those on the dual, which begin at grad Psi*(0)."""
    component = registry.lookup("solver", solver)
    for loss, regularizer in [("squared", BOX), ("hinge", {"name": "l2", "strength": 0.1})]:
        p = oracles.problem(loss, regularizer)
        if not lacking(component.needs, p.traits):
            first = next(registry.build_solver(solver)(p, None, Rng(0)))
            expected = p.primal_point(np.zeros(p.shape)) if "dual" in component.gives else p.start()
            np.testing.assert_array_equal(first.w, expected)


def test_the_centre_of_a_fixed_regularization_is_the_start():
    seen = []

    def spy(problem, start, rng):
        seen.append(problem)
        yield Iterate(problem.start(start))

    p = oracles.problem("squared", AWAY)
    list(registry.reduce_solver(Solver(spy, "spy"), {"name": "regularize", "sigma": 0.5})(p, None, Rng(0)))
    np.testing.assert_array_equal(seen[0].center, 0.1)


def test_on_the_command_line(lab):
    methods = ["gd", "fista", "sgd", "saga", "rda", "coordinate_descent", "excessive_gap", "prox_sdca"]
    keys = {"regularizer": BOX, "solver": methods, "reduction": ["none", "adapt_reg"], "stop": {"passes": 20}}
    ran = lab.run(lab.config(**keys))
    assert ran.code == 0, ran.out + ran.err
    assert {result.status for result in lab.results()} == {"done"}


def test_coordinate_descent_moves_what_no_sample_sees():
    """A start that is not at the minimum of Psi in an empty column of X."""
    X, y = oracles.data(20, 4)
    X[:, 2] = 0.0
    p = Problem(X, y, "squared", {"name": "l2", "strength": 0.1})
    its = registry.build_solver("coordinate_descent")(p, Iterate(np.ones(4)), Rng(0))
    assert next(it for it in its if it.passes > 2.0).w[2] == 0.0
