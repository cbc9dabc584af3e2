"""What a regularizer promises, on whole models: statements about one array each, and the checks made of them.

`psi` of the statements is a regularizer on whole models, as of `rrmbench.problem.coordinates.over_coordinates`. Each
raises Broken where its statement does not hold.
"""

import math
import warnings

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.extending import points, variants
from rrmbench.extending.problems import DATA
from rrmbench.extending.runs import solved
from rrmbench.extending.verdicts import Broken, Doubt
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_regularizer

TOLERANCE = 1e-10
STEPS = (1e-3, 0.1, 1.0, 7.0, 1e3)
METHODS = ("value", "conjugate", "prox", "dual_scaling", "radius")
PROX = "prox(w, t) = argmin_u t psi(u) + ||u - w||^2 / 2"
PAIR = "value and conjugate must be a pair: psi*(v) = max_w v.w - psi(w)"


def prox_minimizes(psi, w, t, others, tolerance=TOLERANCE):
    """t psi(u) + ||u - w||^2 / 2 at every u of `others` and around p = prox(w, t) is that at p plus ||u - p||^2 / 2."""
    p = psi.prox(w, t)
    least = t * psi.value(p) + 0.5 * float(np.sum((p - w) ** 2))
    if not (np.isfinite(p).all() and math.isfinite(least)):
        raise Broken(f"prox({_text(w)}, t={t:g}) = {_text(p)}, where psi is {psi.value(p)}", PROX)
    for u in (*others, *_around(psi, p), w):
        value = t * psi.value(u) + 0.5 * float(np.sum((u - w) ** 2))
        if value < least + 0.5 * float(np.sum((u - p) ** 2)) - tolerance * (1.0 + abs(least) + float(np.sum(w * w))):
            worse = "has a smaller" if value < least else "has a strangely small"
            raise Broken(
                f"prox({_text(w)}, t={t:g}) = {_text(p)} is not the minimizer: u = {_text(u)} {worse} "
                f"t psi(u) + ||u - w||^2/2, {value:.8g}, than {least:.8g}",
                f"{PROX}; the threshold of a prox is t times the strength",
            )


def _around(psi, p):
    """Points of the domain around p: moved in single entries, all at once, and scaled."""
    moved = [1.01 * p, 0.99 * p, 0.5 * p, np.zeros(p.shape)]
    for size in (1e-3, 0.1, 1.0):
        moved += [p + size, p - size]
        for at in list(np.ndindex(p.shape))[:6]:
            for sign in (-size, size):
                u = p.copy()
                u[at] += sign
                moved.append(u)
    return [u for u in moved if math.isfinite(psi.value(u))]


def fenchel_equality(psi, w, t, tolerance=TOLERANCE):
    """psi(p) + psi*(v) = p.v for p = prox(w, t) and v = (w - p)/t, up to the rounding of v."""
    p = psi.prox(w, t)
    v = (w - p) / t
    rounding = 1e-14 * (1.0 + float(np.linalg.norm(w)) / t)
    scale, size = psi.dual_scaling(v), float(np.linalg.norm(v))
    if not 1.0 - 1e-12 - 1e3 * rounding / max(min(size, 1.0), 1e-300) <= scale <= 1.0:
        raise Broken(
            f"dual_scaling({_text(v)}) = {scale:.12g} for v = (w - prox(w, t))/t, w = {_text(w)}, t={t:g}; psi* is finite "
            "there, so expected 1",
            "a dual norm that is too great, or a prox with another threshold than psi",
        )
    conjugate = psi.conjugate(v) if scale == 1.0 else 0.0
    inner, value = float(np.vdot(p, v)), psi.value(p)
    if math.isinf(conjugate) and psi.dual_scaling(v * (1.0 - 1e3 * rounding / max(size, 1e-300))) == 1.0:
        conjugate = psi.conjugate(v * (1.0 - 1e-9))  # on the edge of the domain, to rounding
    slack = tolerance * (1.0 + abs(value) + abs(inner)) + 1e2 * rounding * (1.0 + float(np.linalg.norm(p)) + size)
    if not abs(value + conjugate - inner) <= slack:
        raise Broken(
            f"psi(p) + psi*(v) - p.v = {value + conjugate - inner:.6g} for p = prox(w, t) = {_text(p)} and v = (w - p)/t = "
            f"{_text(v)}, t={t:g}; expected 0",
            f"{PAIR}; or prox belongs to another psi",
        )


def fenchel_inequality(psi, u, v, tolerance=TOLERANCE):
    """psi(u) + psi*(t v) >= u.(t v) for t = dual_scaling(v), in the domain of psi*."""
    t = psi.dual_scaling(v)
    if not 0.0 <= t <= 1.0:
        raise Broken(f"dual_scaling({_text(v)}) = {t}, allowed is a number in [0, 1]")
    conjugate, value = psi.conjugate(v) if t == 1.0 else 0.0, psi.value(u)
    left = value + conjugate - float(np.vdot(u, t * v))
    if not left >= -tolerance * (1.0 + abs(value) + abs(conjugate)):
        what = "conjugate" if t == 1.0 else f"dual_scaling = {t:.6g} is too great:"
        raise Broken(
            f"{what} psi(u) + psi*(t v) - u.(t v) = {left:.6g} for u = {_text(u)}, v = {_text(v)}; expected >= 0",
            f"{PAIR}; where psi* is an indicator, dual_scaling is 1 / (dual norm / strength), never more",
        )


def scaling_is_no_smaller_than_needed(psi, v):
    """Where dual_scaling(v) = t < 1, psi* is infinite a little beyond t v."""
    t = psi.dual_scaling(v)
    if 1e-9 < t < 1.0 and math.isfinite(psi.conjugate(1.001 * t * v)):
        warnings.warn(
            Doubt(
                f"dual_scaling({_text(v)}) = {t:.6g}, but psi* is finite at 1.001 t v: certificates are weaker than needed"
            ),
            stacklevel=2,
        )
    if t == 1.0 and math.isinf(psi.conjugate(v)) and math.isfinite(psi.conjugate(1e-9 * v)):
        raise Broken(
            f"dual_scaling({_text(v)}) = 1, but conjugate is {psi.conjugate(v)} there",
            "scale v into the domain of psi*",
        )


def projects(psi, w):
    """prox(w, 0) is in the domain, w itself where w is, and no point of the domain is nearer."""
    p = psi.prox(w, 0.0)
    if not math.isfinite(psi.value(p)):
        raise Broken(
            f"prox({_text(w)}, 0) = {_text(p)}, where psi is {psi.value(p)}", "prox(w, 0) projects on the domain"
        )
    if math.isfinite(psi.value(w)) and not np.allclose(p, w, rtol=1e-13, atol=1e-300):
        raise Broken(f"prox(w, 0) = {_text(p)} for w = {_text(w)}, where psi is finite; expected w")


def radius_bounds(psi, w):
    """||w||_2 <= radius(psi(w), shape)."""
    w = psi.prox(w, 0.0)
    value = psi.value(w)
    radius = psi.radius(value, w.shape)
    if not np.linalg.norm(w) <= radius * (1.0 + 1e-10) + 1e-12:
        raise Broken(
            f"radius({value:.6g}, {w.shape}) = {radius:.6g}, but ||w|| = {np.linalg.norm(w):.6g} for w = {_text(w)} with "
            f"psi(w) = {value:.6g}",
            "radius(value, shape) = max ||w||_2 over psi(w) <= value, inf where there is none",
        )


def flags_are_true(psi, w, other):
    """homogeneous, isotropic, soft_threshold and convexity say what is so."""
    w, other = psi.prox(w, 0.0), psi.prox(other, 0.0)
    value = psi.value(w)
    for c in (0.0, 0.3, 5.0) if psi.homogeneous else ():
        if not math.isclose(psi.value(c * w), c * value, rel_tol=1e-9, abs_tol=1e-12):
            raise Broken(
                f"homogeneous = True, but psi({c:g} w) = {psi.value(c * w):.8g} and {c:g} psi(w) = {c * value:.8g}"
            )
    if psi.isotropic and w.size > 1:
        turned = np.zeros(w.shape)
        turned.flat[0] = np.linalg.norm(w)
        if not math.isclose(psi.value(turned), value, rel_tol=1e-9, abs_tol=1e-12):
            raise Broken(
                f"isotropic = True, but psi is {value:.8g} at w and {psi.value(turned):.8g} at another w as long"
            )
    if psi.soft_threshold:
        expected = psi.psi.strength * float(np.abs(w).sum())
        if not math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12):
            raise Broken(
                f"soft_threshold = True, but psi({_text(w)}) = {value:.8g} and strength ||w||_1 = {expected:.8g}"
            )
    if psi.convexity > 0.0:
        middle = 0.5 * (psi.value(w) + psi.value(other)) - psi.value(0.5 * (w + other))
        if middle < psi.convexity / 8.0 * float(np.sum((w - other) ** 2)) - 1e-10 * (1.0 + abs(value)):
            raise Broken(f"convexity = {psi.convexity:g} is more than psi has between two points")


def new_array(psi, w):
    """prox returns a new array and leaves w as it is."""
    kept = w.copy()
    p = psi.psi.prox(w, 0.5) if not psi.coordinate_separable else psi.prox(w, 0.5)
    if not np.array_equal(w, kept):
        raise Broken("prox changes its argument", "work on a copy")
    if np.shape(p) != w.shape:
        raise Broken(f"prox returns the shape {np.shape(p)} for w of the shape {w.shape}")


def _text(w):
    return np.array2string(np.asarray(w).ravel()[:4], precision=5, separator=", ") + ("..." if np.size(w) > 4 else "")


# the checks


def named_checks(component):
    """(name, function) of each check of a regularizer."""
    yield "its form", lambda: form(component)
    for name, check in CHECKS.items():
        yield name, lambda check=check: each_model(component, check)
    yield "compiled as in Python", lambda: each_model(component, _compiled)
    yield "solvers reach a certified gap", lambda: reaches_a_gap(component)


def _built(component):
    """(values, psi on whole models) of the component with each of its `variants`."""
    found = []
    for values in variants.variants(component):
        try:
            found.append((values, over_coordinates(build_regularizer({"name": component.name, **values})[0])))
        except RrmbenchError:
            if not found:
                raise
    return found


def form(component):
    """The methods; of single coordinates a NamedTuple of floats."""
    for values, whole in _built(component):
        psi, name = whole.psi, f"{component.name}{variants.shown(values)}"
        missing = [method for method in METHODS if not callable(getattr(psi, method, None))]
        if missing:
            raise Broken(f"{name}: {type(psi).__name__} has no method {', '.join(missing)}")
        if whole.coordinate_separable:
            if not (isinstance(psi, tuple) and hasattr(psi, "_fields")):
                hint = "kernels are compiled for NamedTuples of floats; or say coordinate_separable = False"
                raise Broken(f"{name}: {type(psi).__name__} is no NamedTuple", hint)
            if odd := [f for f, v in zip(psi._fields, psi, strict=True) if not isinstance(v, float)]:
                raise Broken(
                    f"{name}: the fields {', '.join(odd)} are no floats", "another type compiles all kernels anew"
                )
            if whole.soft_threshold and not hasattr(psi, "strength"):
                raise Broken(f"{name}: soft_threshold = True needs the field strength")


def each_model(component, check):
    """check(psi, models, duals) for the variants of a regularizer, on every shape that it takes."""
    for values, psi in _built(component):
        for shape in _shapes(component, psi):
            models, duals = list(points.arrays(shape, 9, 0)), list(points.arrays(shape, 9, 1))
            try:
                check(psi, [np.zeros(shape), *models], [0.05 * v for v in duals] + duals)
            except Broken as broken:
                where = f"{component.name}{variants.shown(values)}, a model of the shape {shape}"
                raise Broken(f"{where}: {broken.text}", broken.hint) from None


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
            prox_minimizes(psi, w, t, domain)


def _pair(psi, models, duals):
    for w in models:
        for t in STEPS:
            fenchel_equality(psi, w, t)
    for w in models:
        u = psi.prox(w, 0.0)
        for v in duals:
            fenchel_inequality(psi, u, v)


def _scaling(psi, models, duals):
    for v in duals:
        scaling_is_no_smaller_than_needed(psi, v)


def _each(statement):
    return lambda psi, models, duals: [statement(psi, w) for w in models]


def _flags(psi, models, duals):
    for w, other in zip(models, reversed(models), strict=True):
        flags_are_true(psi, w, other)


CHECKS = {
    "prox is the minimizer": _prox,
    "value, conjugate and prox are of one psi": _pair,
    "dual_scaling": _scaling,
    "prox with step 0 projects": _each(projects),
    "radius": _each(radius_bounds),
    "attributes say what is so": _flags,
    "prox returns a new array": _each(new_array),
}


def _compiled(psi, models, duals):
    if not psi.coordinate_separable:
        return
    for w in models:
        for t in STEPS:
            plain = np.array([psi.psi.prox(float(x), t) for x in w.ravel()]).reshape(w.shape)
            if not np.allclose(psi.prox(w, t), plain, rtol=1e-12, atol=1e-300):
                raise Broken(f"prox({_text(w)}, t={t:g}) is another number where it is compiled", "write 1.0 for 1")


def reaches_a_gap(component):
    """A shipped solver closes the certified gap of least squares with this regularizer."""
    for values, psi in _built(component)[:2]:
        X, shape = DATA["dense rows"](), _shapes(component, psi)[0]
        y = X @ np.array([1.0, -2.0, 0.0, 0.5, 0.0]) + points.labels(frozenset(), X.shape[0]) / 8.0
        loss = "squared" if len(shape) == 1 else "smoothed_max_of_hinge"
        mapping = {"name": component.name, **values}
        p = Problem(X, y if len(shape) == 1 else np.arange(X.shape[0]) % 3.0, loss, mapping)
        solved(p, f"{loss} with {component.name}{variants.shown(values)}", component.name)
