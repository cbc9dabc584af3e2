"""The checks of a regularizer, made of the statements of `whole_regularizers`."""

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.extending import classes, points, programs, variants
from rrmbench.extending import whole_regularizers as statements
from rrmbench.extending.problems import DATA
from rrmbench.extending.runs import solved
from rrmbench.extending.verdicts import Broken, located
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_regularizer

STEPS = (1e-3, 0.1, 1.0, 7.0, 1e3)


def named_checks(component):
    """(name, function) of each check of a regularizer."""
    yield "its form", lambda: form(component)
    for name, check in CHECKS.items():
        yield name, lambda check=check: each_model(component, check)
    if any(hasattr(whole.psi, method) for _, whole in _built(component) for method in programs.OF_REGULARIZERS):
        yield "programs", lambda: each_model(component, _programs)
    yield "compiled as in Python", lambda: each_model(component, _compiled)
    yield "solvers reach a certified gap", lambda: reaches_a_gap(component)


def _built(component):
    """(values, psi on whole models) of the component with each of its `variants`."""
    return [(values, over_coordinates(psi)) for values, psi in variants.built(component, _made(component))]


def _made(component):
    return lambda values: build_regularizer({"name": component.name, **values})[0]


def form(component):
    """The methods; of single coordinates a NamedTuple of floats."""
    variants.tell_refused(component, _made(component))
    for values, whole in _built(component):
        psi, name = whole.psi, f"{component.name}{variants.shown(values)}"
        if whole.coordinate_separable:
            classes.is_of_floats(name, psi)
            if whole.soft_threshold and not hasattr(psi, "strength"):
                raise Broken(f"{name}: soft_threshold = True needs the field strength")


def each_model(component, check):
    """check(psi, models, duals) for the variants of a regularizer, on every shape that it takes."""
    for values, psi in _built(component):
        for shape in _shapes(component, psi):
            models, duals = list(points.arrays(shape, 9, 0)), list(points.arrays(shape, 9, 1))
            with located(f"{component.name}{variants.shown(values)}, a model of the shape {shape}"):
                check(psi, [np.zeros(shape), *models], [0.05 * v for v in duals] + duals)


def _shapes(component, psi):
    found = []
    for shape in ((7,), (4, 3)):
        try:
            psi.check(shape)
        except RrmbenchError:
            continue
        if len(shape) == 2 or "matrix" not in component.needs:
            found.append(shape)
    if not found:
        raise Broken(f"{component.name}: check(shape) refuses both (7,) and (4, 3)")
    return found


def _prox(psi, models, duals):
    domain = [psi.prox(w, 0.0) for w in models]
    for w in models:
        for t in STEPS:
            statements.prox_minimizes(psi, w, t, domain)


def _pair(psi, models, duals):
    for w in models:
        for t in STEPS:
            statements.fenchel_equality(psi, w, t)
    edges = _edges(models[0].shape)
    for w in (*models, *(1e3 * edge for edge in edges)):
        u = psi.prox(w, 0.0)
        for v in (*duals, *edges):
            statements.fenchel_inequality(psi, u, v)
    for v in (*duals, *edges):
        t = psi.dual_scaling(v)
        for scale in (1.0, t, 1.001 * t, 1.5 * t):  # on the edge of the domain of psi* and beyond it
            statements.conjugate_is_no_smaller(psi, scale * v)


def _edges(shape):
    """Single entries, a row or all of them, of both signs: where dual norms differ most."""
    one, row = np.zeros(shape), np.zeros(shape)
    one.flat[-1], row[0] = 1.0, 1.0
    return [sign * part for part in (one, row, np.ones(shape)) for sign in (1.0, -1.0)]


def _scaling(psi, models, duals):
    for v in duals:
        statements.scaling_is_no_smaller_than_needed(psi, v)
        statements.dual_balls_are_where_the_conjugate_is_zero(psi, v)


def _programs(psi, models, duals):
    for v in duals:
        programs.growing_balls_give_the_conjugate(psi, v)
        programs.pieces_give_the_conjugate(psi, v)


def _each(statement):
    return lambda psi, models, duals: [statement(psi, w) for w in models]


def _flags(psi, models, duals):
    for w, other in zip(models, reversed(models), strict=True):
        statements.flags_are_true(psi, w, other)


CHECKS = {
    "prox is the minimizer": _prox,
    "value, conjugate and prox are of one psi": _pair,
    "dual_scaling": _scaling,
    "prox with step 0 projects": _each(statements.projects),
    "radius": _each(statements.radius_bounds),
    "attributes say what is so": _flags,
    "methods leave their arguments, and give the same again": _each(statements.are_functions),
}


def _compiled(psi, models, duals):
    if not psi.coordinate_separable:
        return
    for w in models:
        for t in STEPS:
            plain = np.array([psi.psi.prox(float(x), t) for x in w.ravel()]).reshape(w.shape)
            if not np.allclose(psi.prox(w, t), plain, rtol=1e-12, atol=1e-300):
                raise Broken(
                    f"prox({statements.text_of(w)}, t={t:g}) is another number where it is compiled", "write 1.0 for 1"
                )


def reaches_a_gap(component):
    """A shipped solver closes the certified gap of least squares with this regularizer."""
    for values, psi in _built(component)[:2]:
        X, shape = DATA["dense rows"](), _shapes(component, psi)[0]
        y = X @ np.array([1.0, -2.0, 0.0, 0.5, 0.0]) + points.labels(frozenset(), X.shape[0]) / 8.0
        loss = "squared" if len(shape) == 1 else "smoothed_max_of_hinge"
        mapping = {"name": component.name, **values}
        p = Problem(X, y if len(shape) == 1 else np.arange(X.shape[0]) % 3.0, loss, mapping)
        solved(p, f"{loss} with {component.name}{variants.shown(values)}", (loss, component.name))
