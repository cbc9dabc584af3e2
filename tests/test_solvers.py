"""All solvers: they reach the optimum, start where they are told, and coincide where they must."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import oracles
import pytest
from runs import REGULARIZERS, after, iterates

from rrmbench import registry
from rrmbench.components import lacking
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem

LOSSES = oracles.scalar_losses()
SOLVERS = oracles.OWN_SOLVERS
ONE_PASS = ["subgradient", "svrg", "saga", "sag", "adagrad", "sgd"]


def valid_pairs():
    """(solver, loss, regularizer name) for every combination that the traits allow."""
    problems = {(loss, name): oracles.problem(loss, psi) for loss in LOSSES for name, psi in REGULARIZERS.items()}
    for solver in SOLVERS:
        yield from ((solver, *names) for names, p in problems.items() if takes(solver, p))


def takes(solver, p):
    return not lacking(registry.lookup("solver", solver).needs, p.traits)


def easy(solver):
    """A problem that the solver takes: as rich a one as most do, a support vector machine, words, or classes."""
    problems = (
        oracles.problem("smoothed_hinge", REGULARIZERS["elastic_net"]),
        oracles.problem("hinge", REGULARIZERS["l2"]),
        oracles.words("m3n", REGULARIZERS["l2"]),
        oracles.problem("multinomial_logistic", REGULARIZERS["elastic_net"]),
        oracles.problem("max_of_hinge", REGULARIZERS["l2"]),
    )
    return next((p for p in problems if takes(solver, p)), problems[1])


each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_stochastic = pytest.mark.parametrize("solver", ["prox_sdca", "apcg", "svrg", "saga", "sag", "adagrad", "sgd"])


@pytest.mark.core(45)
@pytest.mark.parametrize(("solver", "loss", "regularizer"), list(valid_pairs()))
def test_reaches_the_optimum(solver, loss, regularizer):
    p = oracles.problem(loss, REGULARIZERS[regularizer])
    optimum, _ = oracles.cvxpy_optimum(loss, regularizer)
    accuracy, passes, *_ = oracles.SOLVERS[solver].oracle
    it = after(solver, p, passes)
    first = p.primal(np.zeros(p.shape)) - optimum
    assert -1e-7 <= p.primal(it.w) - optimum <= accuracy * first + 1e-7
    if "dual" in registry.lookup("solver", solver).gives:
        assert -1e-10 <= p.gap(it.w, it.b) <= 10 * accuracy * first


@pytest.mark.core(12)
@each_solver
def test_start_is_not_modified_and_continued(solver):
    p = easy(solver)
    start = after(solver, p, 20).copied()
    kept = start.copied()
    first, *_, last = iterates(solver, p, 10, start)
    assert np.array_equal(start.w, kept.w)
    assert start.b is None or np.array_equal(start.b, kept.b)
    np.testing.assert_allclose(first.w, kept.w, atol=1e-12)
    assert p.primal(last.w) <= p.primal(np.zeros(p.shape))
    if "dual" in registry.lookup("solver", solver).gives:
        assert np.array_equal(first.b, kept.b)


@each_solver
def test_first_iterate_costs_nothing_and_passes_grow(solver):
    its = iterates(solver, easy(solver), 20)
    passes = [it.passes for it in its]
    assert passes[0] == 0.0
    assert min(np.diff(passes)) >= 0.0
    assert max(np.diff(passes)) <= 1.0 + 1e-12
    thirds = (13 / 40, 13 / 40, 14 / 40)
    exact = {"prox_sdca": thirds, "apcg": thirds} | dict.fromkeys(ONE_PASS, (1.0,))
    if solver in exact:
        np.testing.assert_allclose(np.diff(passes), np.resize(exact[solver], 19), atol=1e-12)
        assert {it.checks for it in its} == {0.0}


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in ("apcg_bias", "apcg_budget")])
def test_no_more_than_a_pass_lies_between_iterates_from_a_start(solver):
    """X w, which costs nothing for w = 0, comes with a gradient, norms of columns or a sweep there."""
    p = easy(solver)
    start = after(solver, p, 20).copied()
    start = start if start.w.any() else Iterate(np.full(p.shape, 0.1))
    assert max(np.diff([it.passes for it in iterates(solver, p, 20, start)])) <= 1.0 + 1e-12


def fingerprint():
    """A digest of the first iterates of all solvers."""
    sha = hashlib.sha256()
    for solver in SOLVERS:
        for it in iterates(solver, easy(solver), 8, seed=5):
            sha.update(it.w.tobytes() + (b"" if it.b is None else it.b.tobytes()))
    return sha.hexdigest()


def test_same_seed_same_bits_in_every_process():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_solvers; print(test_solvers.fingerprint())"
    other = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True, check=True
    )
    assert fingerprint() == fingerprint() == other.stdout.strip()


@each_stochastic
def test_another_seed_is_another_run(solver):
    one, two = (iterates(solver, easy(solver), 5, seed=s)[-1] for s in (0, 1))
    assert not np.array_equal(one.w, two.w)


# algorithms that must coincide


@pytest.mark.parametrize(("solver", "count"), [("prox_sdca", 10), ("apcg", 10), ("fista", 10)])
def test_a_smoothed_loss_is_the_loss_and_the_reduction(solver, count):
    X, y = oracles.data(30, 8, loss="hinge")
    psi = {"name": "l2", "strength": 0.1}
    named = iterates(solver, Problem(X, y, {"name": "smoothed_hinge", "gamma": 0.3}, psi), count)
    solve = registry.build_solver(solver, {"name": "smooth", "mu": 0.3})
    reduced = [it.w.copy() for it in islice(solve(Problem(X, y, "hinge", psi), None, Rng(0)), count)]
    assert all(np.array_equal(a.w, b) for a, b in zip(named, reduced, strict=True))


@each_solver
def test_l2_is_the_same_as_regularizing_around_the_origin(solver):
    p = easy(solver)
    around = replace(p, l2=0.0).regularized(p.l2, np.zeros(p.shape))
    for a, b in zip(iterates(solver, p, 8), iterates(solver, around, 8), strict=True):
        np.testing.assert_allclose(a.w, b.w, atol=1e-12)


def test_svrg_starts_with_a_gradient_step():
    # with one sample the stochastic gradient is the gradient
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"], n=1)
    eta = 1.0 / (p.smoothness * p.R**2)
    assert eta == pytest.approx(1.0 / p.L)
    svrg = iterates({"name": "svrg", "step_scale": 1.0}, p, 7)
    gd = iterates({"name": "gd", "step": "bound"}, p, 6)
    for a, b in zip([svrg[2], svrg[3], svrg[5], svrg[6]], gd[2:], strict=True):
        np.testing.assert_allclose(a.w, b.w, atol=1e-13)


def test_rows_without_entries_and_single_samples():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    for rows in X, X[:1], X[1:2]:
        p = Problem(rows, np.ones(len(rows)), "smoothed_hinge", {"name": "elastic_net", "l1": 0.01, "l2": 0.1})
        for solver in [name for name in SOLVERS if takes(name, p)]:
            for it in iterates(solver, p, 30):
                assert np.isfinite(p.primal(it.w))
                assert it.b is None or np.isfinite(p.dual_value(it.b))
