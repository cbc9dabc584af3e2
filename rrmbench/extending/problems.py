"""Tiny problems on which components are run."""

from functools import cache
from itertools import chain, islice

import numpy as np

from rrmbench import registry
from rrmbench.components import alternatives, is_shipped
from rrmbench.errors import RrmbenchError
from rrmbench.extending.points import labels
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem

N = 24
L1, L2 = {"name": "l1", "strength": 0.02}, {"name": "l2", "strength": 0.05}
NET = {"name": "elastic_net", "l1": 0.01, "l2": 0.05}
# (loss, regularizer), from what most solvers take to what few do
PROBLEMS = (
    ("logistic", NET),
    ("squared", L1),
    ("hinge", L2),
    ("hinge", L1),
    ("smoothed_max_of_hinge", L2),
)
# for solvers that take none of those: they know certain formulas only
RARE = (
    ("squared", L2),
    ("squared", NET),
    ("logistic", L2),
    ("logistic", L1),
    ("squared_hinge", L2),
    ("absolute", {"name": "l2_norm", "strength": 0.02}),
    ("squared", {"name": "trace_norm", "strength": 0.02}),
    ("max_row", {"name": "entropy_simplex", "strength": 0.05}),
)


def dense():
    """(N, 5), no zeros."""
    return np.random.default_rng(0).standard_normal((N, 5))


def sparse():
    """(N, 40), four entries in each row, so that a step on one row reads as much as on any other."""
    rng, X = np.random.default_rng(1), np.zeros((N, 40))
    for row in X:
        row[rng.permutation(40)[:4]] = rng.standard_normal(4)
    return X


def with_empty_rows():
    """(5, 3), rows and a column without entries."""
    return np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 0.5, 0.0], [0.0, 1.0, 0.0]])


DATA = {"dense rows": dense, "sparse rows": sparse, "rows without entries": with_empty_rows}


def problem_of(kind, loss, mapping):
    """The Problem on the data of a kind, with the mapping of a regularizer."""
    return _problem(kind, loss, tuple(mapping.items()))


@cache
def _problem(kind, loss, regularizer):
    X = DATA[kind]()
    return Problem(X, labels(registry.lookup("loss", loss).needs, X.shape[0]), loss, dict(regularizer))


def taken_by(needs, kind="dense rows", most=None):
    """(loss, mapping of the regularizer) of the problems that have what `needs` says; of rare ones only the first."""
    found = [(loss, psi) for loss, psi in PROBLEMS if not registry.lacking(needs, problem_of(kind, loss, psi).traits)]
    return (found or list(_rare(needs, kind)))[:most]


def _rare(needs, kind):
    for loss, psi in RARE:
        try:
            lacking = registry.lacking(needs, problem_of(kind, loss, psi).traits)
        except RrmbenchError:  # a model that the regularizer is not about
            continue
        if not lacking:
            yield loss, psi


def known_traits():
    """All traits that a solver may need: of the problems here, and those that shipped solvers need."""
    shipped = [component.needs for component in registry.components("solver") if is_shipped(component.build)]
    words = {word for needs in shipped for need in needs for word in chain.from_iterable(alternatives(need))}
    return sorted(words.union(*(problem_of("dense rows", *one).traits for one in PROBLEMS)))


# solver, passes: who finds the optimum of a problem, in this order
ORACLES = (("agm_ef", 3000), ("prox_sdca", 2000), ("pdprox_dual", 3000))


def bounds_of(kind, loss, mapping):
    """(least P, greatest D) of `problem_of`, by a shipped solver that takes it."""
    return _bounds(kind, loss, tuple(mapping.items()))


@cache
def _bounds(kind, loss, regularizer):
    p = _problem(kind, loss, regularizer)
    for name, passes in ORACLES:
        if not registry.lacking(registry.lookup("solver", name).needs, p.traits):
            return _solved(p, name, passes)
    return np.inf, -np.inf


def _solved(p, name, passes):
    least, greatest = np.inf, -np.inf
    iterates = registry.build_solver(name)(p, None, Rng(0))
    for number, x in enumerate(islice(iterates, 4 * passes)):
        if number % 50 == 0 or x.passes >= passes:
            z = p.X.forward(x.w)
            least = min(least, p.primal(x.w, z))
            greatest = max(greatest, p.dual_value(p.loss_dual(z)), -np.inf if x.b is None else p.dual_value(x.b))
        if x.passes >= passes or least - greatest <= 1e-10 * (1.0 + abs(least)):
            break
    return least, greatest
