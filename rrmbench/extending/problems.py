"""Tiny problems on which components are run."""

import json
from functools import cache
from itertools import chain, islice

import numpy as np

from rrmbench import registry
from rrmbench.components import alternatives, is_shipped, lacking
from rrmbench.errors import RrmbenchError
from rrmbench.extending import variants
from rrmbench.extending.points import labels
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss, build_regularizer

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
    ("squared", {"name": "none", "domain": {"ball": 0.5}}),
    ("squared", {"name": "box", "lower": -0.2, "upper": 0.3}),
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
    return _problem(*_key(kind, loss, mapping))


def _key(kind, loss, mapping):
    """(kind, loss, the regularizer as JSON, the functions behind both names, which a plug-in may give anew)."""
    behind = registry.lookup("loss", loss).build, registry.lookup("regularizer", mapping["name"]).build
    return kind, loss, json.dumps(mapping), behind


@cache
def _problem(kind, loss, regularizer, behind):
    X = DATA[kind]()
    return Problem(X, labels(registry.lookup("loss", loss).needs, X.shape[0]), loss, json.loads(regularizer))


def taken_by(needs, kind="dense rows", most=None):
    """(loss, mapping of the regularizer) of the problems that have what `needs` says.

    Of rare ones, and of those with losses and regularizers of plug-ins whose classes `needs` names, only where there
    are no others.
    """
    for problems in PROBLEMS, RARE, _with_plug_ins(_words(needs)):
        if found := [(loss, psi) for loss, psi, p in _built(problems, kind) if not lacking(needs, p.traits)]:
            return found[:most]
    return []


def _built(problems, kind, skipped=RrmbenchError):
    """(loss, mapping of the regularizer, Problem) of those that are made without `skipped`.

    That is raised of a model that the regularizer is not about.
    """
    for loss, psi in problems:
        try:
            yield loss, psi, problem_of(kind, loss, psi)
        except skipped:
            continue


def _words(needs):
    """The traits that stand in `needs`, whether all or one of several."""
    return {word for need in needs for word in chain.from_iterable(alternatives(need))}


def _with_plug_ins(classes=None):
    """(loss, mapping of the regularizer) with the components of these classes, or of all, of the loaded plug-ins."""
    losses = [mapping["name"] for mapping in _of_plug_ins("loss", classes) if len(mapping) == 1]
    mappings = list(_of_plug_ins("regularizer", classes))
    return [
        *((loss, psi) for psi in mappings for loss in (*losses, "squared", "logistic", "hinge")),
        *((loss, psi) for loss in losses for psi in (NET, L1, L2)),
    ]


def _of_plug_ins(kind, classes):
    """The mappings of the components of plug-ins, with a value for each parameter that needs one."""
    build = {"loss": build_loss, "regularizer": build_regularizer}[kind]
    for component in registry.components(kind):
        if not is_shipped(component.build):
            try:
                mapping = {"name": component.name, **variants.defaults(component)}
                cls = type(build(mapping)[0])
            except Exception:  # no value is known; of a plug-in that is not tested, whatever it raises
                continue
            if classes is None or cls.__name__ in classes:
                yield mapping


def known_traits():
    """All traits that a solver may need: of the problems here, and those that shipped solvers need."""
    shipped = [component.needs for component in registry.components("solver") if is_shipped(component.build)]
    known = [*_built(PROBLEMS + RARE, "dense rows"), *_built(_with_plug_ins(), "dense rows", skipped=Exception)]
    return sorted(set().union(*map(_words, shipped), *(problem.traits for *_, problem in known)))


# solver, passes: who finds the optimum of a problem, in this order
ORACLES = (("agm_ef", 3000), ("prox_sdca", 2000), ("pdprox_dual", 3000))


def optimum_of(kind, loss, mapping):
    """`optimum` of `problem_of`, computed once."""
    return _optimum(*_key(kind, loss, mapping))


@cache
def _optimum(*key):
    return optimum(_problem(*key))


def optimum(p):
    """(least P, its w, greatest D) by a shipped solver that takes the problem; (inf, None, -inf) without one."""
    for name, passes in ORACLES:
        if not lacking(registry.lookup("solver", name).needs, p.traits):
            return _solved(p, name, passes)
    return np.inf, None, -np.inf


def _solved(p, name, passes):
    least, best, greatest = np.inf, None, -np.inf
    iterates = registry.build_solver(name)(p, None, Rng(0))
    for number, x in enumerate(islice(iterates, 4 * passes)):
        if number % 50 == 0 or x.passes >= passes:
            z = p.X.forward(x.w)
            if (primal := p.primal(x.w, z)) < least:
                least, best = primal, x.w.copy()
            greatest = max(greatest, p.dual_value(p.loss_dual(z)), -np.inf if x.b is None else p.dual_value(x.b))
        if x.passes >= passes or least - greatest <= 1e-10 * (1.0 + abs(least)):
            break
    return least, best, greatest
