"""Kernels are compiled, or loaded, before the clock starts."""

from itertools import takewhile

import numpy as np
import pytest
from scipy.sparse import csr_array

from rrmbench import registry
from rrmbench.bench import polishing
from rrmbench.bench.warming import warm_up
from rrmbench.extending import problems
from rrmbench.numerics import jit
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem

PASSES = 60.0
NAMES = [n for n in registry.names("solver") if ".peers." not in registry.lookup("solver", n).build.__module__]
OURS = [name for name in NAMES if registry.lookup("solver", name).build.__module__.startswith("rrmbench.")]


def signatures():
    return {(id(compiled), signature) for compiled in jit._kernels for signature in compiled.nopython_signatures}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(OURS, key=lambda name: name not in ("apcg_shrinking", "working_sets")))
def test_a_run_needs_no_kernel_that_the_warm_up_has_not_called(name):
    solve = registry.build_solver({"name": name}, {"name": "none"})
    for loss, psi in problems.taken_by(solve.needs, "sparse rows")[:2]:
        assert not called_after_the_warm_up(problems.problem_of("sparse rows", loss, psi), solve), (loss, psi)


def test_the_direct_solver_on_shapes_that_differ_from_those_of_its_warm_up():
    solve = registry.build_solver({"name": "direct"}, {"name": "none"})
    for n, d, density in (100, 70, 1.0), (70, 100, 1.0), (60, 12, 0.2), (12, 60, 0.2):
        X = np.random.default_rng(0).normal(size=(n, d))
        X[np.random.default_rng(1).uniform(size=X.shape) > density] = 0.0
        problem = Problem(csr_array(X), np.sign(X[:, 0] + 0.1), "squared", {"name": "l2", "strength": 0.1})
        assert not called_after_the_warm_up(problem, solve), (n, d)


def test_a_budget_that_the_few_rows_of_the_warm_up_do_not_exceed():
    X = np.random.default_rng(0).normal(size=(400, 5))
    problem = Problem(X, np.sign(X[:, 0] + 0.1), {"name": "hinge", "budget": 200}, {"name": "l2", "strength": 1e-3})
    assert not called_after_the_warm_up(problem, registry.build_solver("apcg_budget"))


@pytest.mark.parametrize(
    "name, reduction, loss, strength",
    [
        ("apcg_shrinking", "proximal_point", "hinge", 1e-3),
        ("pdprox_restarted", "joint_proximal_point", "hinge", 1e-3),
        ("newton_cg", "joint_adapt", "hinge", 1e-3),
        ("newton_pcg", "adapt_reg", "logistic", 0.0),
    ],
)
def test_a_solver_whose_first_steps_come_late(name, reduction, loss, strength):
    """A reduction takes passes to know its strengths, and ends its first stages soon; few rows need no drawn part."""
    X = np.random.default_rng(0).normal(size=(40, 6))
    y = np.sign(X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=40))
    problem = Problem(X, y, loss, {"name": "l2", "strength": strength})
    assert not called_after_the_warm_up(problem, registry.build_solver(name, reduction))


def test_a_model_that_waits_for_the_norm_of_the_data():
    """Lanczos's process takes 20 passes, of matrices whose rank does not end it before."""
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.where(np.arange(12) % 3, 1.0, -1.0)
    problem = Problem(X, y, "max_row", {"name": "entropy_simplex", "strength": 0.01, "cap": 0.125})
    assert not called_after_the_warm_up(problem, registry.build_solver("pdprox_restarted"))


def test_sequences_whose_labellings_are_visited_again_and_again():
    y = np.column_stack([[0, 1, 0, 1, 1, 0], [0, 0, 1, 1, 2, 3]])
    problem = Problem(np.arange(1.0, 7.0)[:, np.newaxis], y, "m3n", {"name": "l2", "strength": 1e-9})
    assert not called_after_the_warm_up(problem, registry.build_solver("bcfw"))


@pytest.mark.parametrize("raised, told", [(ValueError("few rows"), "ValueError: few rows"), (None, None)])
def test_what_the_warm_up_raised_is_told(raised, told):
    def solve(problem, start, rng):
        if raised:
            raise raised
        yield from registry.build_solver("gd")(problem, start, rng)

    assert warm_up(problems.problem_of("dense rows", "squared", {"name": "none"}), solve)[1] == told


def test_an_interrupt_ends_the_warm_up():
    def solve(problem, start, rng):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        warm_up(problems.problem_of("dense rows", "squared", {"name": "none"}), solve)


def test_the_warm_up_looks_for_no_bounds_but_once_by_each_method(monkeypatch):
    """They cost what the model is long, so on a million columns a multiple of a run of a few passes."""
    followed, follow = [], polishing.Polisher.follow
    monkeypatch.setattr(polishing.Polisher, "follow", lambda *given: followed.append(given[1]) or follow(*given))
    problem = problems.problem_of("sparse rows", "logistic", {"name": "l2", "strength": 0.1})
    assert warm_up(problem, registry.build_solver("fista"))[1] is None
    assert followed and len(followed) == len(set(followed))


def called_after_the_warm_up(problem, solve):
    """The kernels, by signature, that a run needs and its warm-up did not call."""
    for compiled in jit._kernels:
        compiled._reset_overloads()
    warm_up(problem, solve)
    ready = signatures()
    for _ in takewhile(lambda x: x.passes + x.checks < PASSES, solve(problem, None, Rng(0))):
        pass
    return signatures() - ready
