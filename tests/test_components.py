"""Every registered component has an example and an independent oracle in the table of oracles.py, and they agree."""

from itertools import takewhile

import cvxpy as cp
import numpy as np
import oracles
import pytest

from rrmbench import registry
from rrmbench.components import Solver
from rrmbench.kinds import KINDS
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem

N, K = 6, 3


def shipped(kind):
    """The names of the components of the package, without those of plug-ins that other tests register."""
    return [n for n in registry.names(kind) if registry.lookup(kind, n).build.__module__.startswith("rrmbench.")]


def test_every_component_has_an_example_and_an_oracle():
    missing = [f"{kind} {name}" for kind in KINDS for name in shipped(kind) if name not in oracles.TABLE[kind]]
    assert not missing, "add to the table in tests/oracles.py: " + ", ".join(missing)
    for kind, table in oracles.TABLE.items():
        assert set(table) <= set(shipped(kind))
        for name in table:
            registry.from_mapping(kind, oracles.example(kind, name))  # every value that it requires, of its type
            assert callable(table[name].oracle) or isinstance(table[name].oracle, oracles.Reaches)


def value_of(expression, constraints=()):
    return cp.Problem(cp.Minimize(expression), list(constraints)).solve(solver=cp.CLARABEL)


# names: values other than the examples
OTHER = {
    "loss": {
        "hinge": {"budget": 2.5},
        "smoothed_hinge": {"gamma": 0.3},
        "smoothed_max_of_hinge": {"gamma": 0.3},
        "soft_max_of_hinge": {"gamma": 0.3},
        "generalized_hinge": {"a": 3.5},
        "huber": {"mu": 0.4},
        "epsilon_insensitive": {"epsilon": 0.5},
        "quantile": {"a": 0.8},
        "ordinal_hinge": {"theta_1": -1.0, "theta_2": -0.5, "theta_3": 0.1, "theta_4": 2.0},
    },
    "regularizer": {
        "group_lasso": {"strength": 0.3, "groups": 4},
        "squared_group": {"strength": 0.3, "groups": 2},
        "norm_power": {"strength": 0.3, "norm": "l1", "power": 3},
    },
}


def cases(kind):
    for name in oracles.names(kind):
        yield oracles.example(kind, name)
        if name in OTHER[kind]:
            yield {"name": name, **OTHER[kind][name]}


def outputs_and_labels(name, rng):
    needs = registry.lookup("loss", name).needs
    if "classes" in needs:
        return 2.0 * rng.standard_normal((N, K)), np.arange(N) % float(K)
    if "sequences" in needs:
        outputs = 2.0 * rng.standard_normal((N + K + 2, K))
        outputs[-2:] = 0.0  # the lift of b has no outputs
        return outputs, np.column_stack([np.arange(N) % float(K), [0.0, 0.0, 0.0, 1.0, 2.0, 2.0]])
    if "targets" in needs:
        return rng.standard_normal((2, N, K))
    ratings = rng.integers(1, 6, N).astype(float) if name == "ordinal_hinge" else rng.standard_normal(N)
    count = 2 * N if name == "max_row" else N  # an output for each feature and its negative
    return 2.0 * rng.standard_normal(count), oracles.labels(name, ratings)


@pytest.mark.parametrize("mapping", list(cases("loss")), ids=str)
def test_the_value_of_a_loss_is_that_of_its_oracle(mapping):
    for seed in range(3):
        z, y = outputs_and_labels(mapping["name"], np.random.default_rng(seed))
        p = Problem(np.eye(N), y, mapping, {"name": "none"})
        assert p.mean_loss(z) * p.n == pytest.approx(value_of(oracles.cvxpy_loss(mapping, cp.Constant(z), y)), abs=1e-6)


@pytest.mark.parametrize("mapping", list(cases("regularizer")), ids=str)
def test_the_value_of_a_regularizer_is_that_of_its_oracle(mapping):
    matrix = "matrix" in registry.lookup("regularizer", mapping["name"]).needs or mapping["name"] == "squared_group"
    shape, loss = ((4, K), "max_of_hinge") if matrix else (4, "squared")
    rng = np.random.default_rng(0)
    p = Problem(rng.standard_normal((N, 4)), np.arange(N) % float(K), loss, mapping)
    for _ in range(3):
        w = p.prox(rng.standard_normal(shape), 0.0)  # where psi is finite
        value = p.primal(w) - p.mean_loss(p.X.forward(w))
        assert value == pytest.approx(value_of(*oracles.cvxpy_regularizer(mapping, cp.Constant(w))), abs=1e-6)


@pytest.mark.parametrize("name", oracles.names("reduction"))
def test_a_reduction_reaches_the_minimum_of_its_oracle(name):
    goal = oracles.REDUCTIONS[name].oracle
    loss, mapping = goal.problems[0]
    mapping = oracles.example("regularizer", mapping) if isinstance(mapping, str) else mapping
    solve = registry.build_solver(goal.solver, oracles.example("reduction", name))
    running = solve(oracles.problem(loss, mapping), None, Rng(0))
    *_, last = (x.w.copy() for x in takewhile(lambda x: x.passes + x.checks <= goal.passes, running))
    minimum, _ = oracles.cvxpy_optimum(*goal.instead)
    minimized = oracles.problem(goal.instead[0], oracles.example("regularizer", goal.instead[1]))
    first = minimized.primal(np.zeros(minimized.shape)) - minimum
    assert -1e-8 <= minimized.primal(last) - minimum <= goal.accuracy * first


def test_nothing_of_a_solver_runs_before_its_first_iterate_is_asked_for():
    """The clock runs while an iterate is asked for: a function that works and then returns a generator is seen too."""
    called = []

    def eager(problem, start, rng):
        called.append(problem)
        return iter(["iterate"])

    iterates = Solver(eager, "eager")("problem", None, None)
    assert called == []
    assert next(iterates) == "iterate" and called == ["problem"]
