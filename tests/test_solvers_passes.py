"""Passes and checks are what was touched: every product and every row that a compiled kernel reads is counted.

A pass is a product with X and one with X^T, 2 nnz entries read. Kernels count for themselves: they are given rows whose
entries are of a type that counts when it is read.
"""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from rrmbench import registry
from rrmbench.components import lacking
from rrmbench.data.layout import kernelized
from rrmbench.errors import RrmbenchError
from rrmbench.extending.problems import dense, sparse
from rrmbench.extending.touched import Touched, kernels_in_memory
from rrmbench.numerics.random import Rng
from rrmbench.problem.operators import CSR
from rrmbench.problem.problem import Problem


@pytest.fixture(autouse=True)
def _no_cache_on_disk():
    with kernels_in_memory():
        yield


N = 24


def kernel():
    return kernelized(csr_array(dense()), {"name": "rbf", "gamma": 0.3}, "here")[0]


DATA = {"dense": dense, "sparse": sparse, "kernel": kernel, "matrix": dense}
# Settings that touch other data than the defaults.
SETTINGS = {
    "gd": [{"step": "bound"}],
    "agd": [{"step": "backtracking"}],
    "fista": [{"step": "bound"}],
    "pegasos": [{"sampling": "all"}],
    "prox_sdca": [{"output": "average"}, {"output": "random"}],
    "pdprox_dual": [{"layout": "double_primal"}, {"constant": "spectral"}, {"beta": "prox"}],
    "pdprox_primal": [{"layout": "double_dual"}],
    "excessive_gap": [{"radius": 2.0}],
    "svrg": [{"snapshot": "random"}],
}
# A solver of another library reads the data out of sight, and says NaN or what the library says.
NAMES = [n for n in registry.names("solver") if ".peers." not in registry.lookup("solver", n).build.__module__]
SOLVERS = [{"name": name, **setting} for name in NAMES for setting in ({}, *SETTINGS.get(name, []))]
# A step of these that does not move, as at a bound or at the optimum, leaves out the update but is counted as one.
SHRINKING = {"prox_sdca_shrinking", "apcg_shrinking", "apcg_bias", "apcg_budget"}
SKIPPING = {"prox_sdca", "accelerated_prox_sdca", "apcg", "coordinate_descent", "pegasos"} | SHRINKING
# These read copies of columns too, which are counted and not seen here: see test_solvers_working_sets.py.
COPYING = {(solver, kind) for solver in ("working_sets", "prox_newton") for kind in DATA}
# Products of pairs of entries are counted, and here a block of rows is read once for all: see add_gram.
COPYING |= {("newton_pcg", "matrix"), ("ssnal_multiclass", "matrix")}
VALUES = {"sigma": 0.02, "mu": 0.5, "kappa": 0.05}


def problem(kind, solver, l2):
    X, classes = DATA[kind](), np.arange(N) % 3
    if kind == "matrix":
        return Problem(X, classes.astype(float), "smoothed_max_of_hinge", {"name": "l2", "strength": l2})
    own = {"pegasos": "hinge", "direct": "squared", "apcg_budget": "hinge"}
    loss = own.get(solver, "logistic")  # for which every step moves
    return Problem(X, np.where(classes > 0, 1.0, -1.0), loss, {"name": "l2", "strength": l2})


def reductions(solver):
    """Every reduction with values for its parameters, and with its defaults."""
    for name in registry.names("reduction"):
        if solver == "pegasos" and name in ("adapt_reg", "accelerate", "proximal_point"):
            continue  # on the hinge, its only loss, they cannot see its progress
        if name == "solve_dual" and registry.lookup("solver", solver).needs & {"rows", "isotropic", "Zero"}:
            continue  # refused: no method for duals
        parameters = registry.lookup("reduction", name).parameters
        yield {"name": name} | {key: value for key, value in VALUES.items() if key in parameters}
        if any(parameter.default == "auto" for parameter in parameters.values()):
            yield {"name": name}


def cases(kind, solver):
    """(Problem, reduced solver) of all valid combinations."""
    for l2 in (0.02, 0.0) if solver["name"] != "pegasos" else (0.02,):
        p = problem(kind, solver["name"], l2)
        for reduction in reductions(solver["name"]):
            try:
                solve = registry.build_solver(solver, reduction)
            except RrmbenchError as error:
                assert "it smooths losses" in str(error)  # which the solver needs as they are
                continue
            if not lacking(solve.needs, p.traits):
                yield p, solve, reduction


def after_a_pass(solve, p):
    x = next(it for it in solve(p, None, Rng(1)) if it.passes >= 1.0)
    return x._replace(w=x.w.copy(), b=None if x.b is None else x.b.copy(), passes=0.0, checks=0.0)


def grid():
    """Every solver and setting on sparse rows; on other data, for which kernels compile anew, exhaustive but one."""
    for solver in SOLVERS:
        for kind in DATA:
            name = "-".join(map(str, [*solver.values(), kind]))
            is_core = kind == "sparse" or (solver, kind) == ({"name": "prox_sdca"}, "matrix")
            marks = [] if is_core else pytest.mark.exhaustive
            yield pytest.param(solver, kind, id=name, marks=marks)


@pytest.mark.parametrize(("solver", "kind"), list(grid()))
def test_passes_and_checks_are_what_was_touched(solver, kind):
    """Never less at any iterate, from nothing and from a start; more by products with 0 alone if every step moves."""
    most = 2.0 if solver["name"] in SKIPPING else 1.0
    for p, solve, reduction in cases(kind, solver):
        for start in None, after_a_pass(solve, p):
            X = Touched(p.X)
            for it in islice(solve(replace(p, X=X), start, Rng(0)), 60):
                counted, free = it.passes + it.checks, X.zeros / 2.0
                assert counted >= X.passes - 1e-9, (reduction, start)
                assert counted <= most * X.passes + free + 1e-9 or (solver["name"], kind) in COPYING, (reduction, start)
                if counted > 9.0:
                    break
            assert counted > 5.0


def test_the_copy_by_columns_for_a_matrix_of_the_samples_is_counted():
    X = Touched(CSR.of(random_array((8, 30), density=0.3, rng=np.random.default_rng(0), format="csr")))
    p = Problem(X, np.linspace(-1.0, 1.0, 8), "squared", {"name": "l2", "strength": 0.1})
    for it in islice(registry.build_solver("direct")(p, None, Rng(0)), 9):
        assert abs(it.passes - X.passes) < 1e-9
    assert it.b is not None and it.passes > 3.0


def test_the_counting_view_of_a_problem():
    """Half a pass per product, none for X w at w = 0; the problem itself and its other views do not see it."""
    p = problem("dense", "gd", 0.02)
    view, other, w = p.counted(), p.counted(), np.linspace(-1.0, 1.0, 5)
    np.testing.assert_array_equal(view.outputs(np.zeros(5)), np.zeros(N))
    assert view.X.passes == 0.0
    z = view.outputs(w)
    np.testing.assert_array_equal(z, p.X.forward(w))
    np.testing.assert_array_equal(view.v(z), p.v(z))
    assert (view.X.passes, other.X.passes) == (1.0, 0.0)
    inner = view.smoothed(0.1).counted()  # a view of a view counts for both
    inner.primal(w)
    assert (view.X.passes, inner.X.passes) == (1.5, 0.5)
    assert view.traits == p.traits and view.X.rows is p.X.rows and not hasattr(p.X, "passes")
