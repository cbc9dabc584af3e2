"""What a regularizer promises: statements about one array each.

`psi` is a regularizer on whole models, as of `rrmbench.problem.coordinates.over_coordinates`. Every function raises
Broken where its statement does not hold.
"""

import math
import warnings

import numpy as np

from rrmbench.extending.verdicts import Broken, Doubt
from rrmbench.problem import calls, claims

TOLERANCE = 1e-10
PROX = "prox(w, t) = argmin_u t psi(u) + ||u - w||^2 / 2"
PAIR = "value and conjugate must be a pair: psi*(v) = max_w v.w - psi(w)"


def prox_minimizes(psi, w, t, others, tolerance=TOLERANCE):
    """t psi(u) + ||u - w||^2 / 2 at every u of `others` and around p = prox(w, t) is that at p plus ||u - p||^2 / 2."""
    p = psi.prox(w, t)
    least = t * psi.value(p) + 0.5 * float(np.sum((p - w) ** 2))
    if not (np.isfinite(p).all() and math.isfinite(least)):
        raise Broken(f"prox({text_of(w)}, t={t:g}) = {text_of(p)}, where psi is {psi.value(p)}", PROX)
    for u in (*others, *_around(psi, p), w):
        value = t * psi.value(u) + 0.5 * float(np.sum((u - w) ** 2))
        if value < least + 0.5 * float(np.sum((u - p) ** 2)) - tolerance * (1.0 + abs(least) + float(np.sum(w * w))):
            of = "a smaller one" if value < least else "less above it than ||u - p||^2/2"
            raise Broken(
                f"prox({text_of(w)}, t={t:g}) = p = {text_of(p)} is not the minimizer of t psi(u) + ||u - w||^2/2, "
                f"which is {least:.8g} there: u = {text_of(u)} has {of}, {value:.8g}",
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
            f"dual_scaling({text_of(v)}) = {scale:.12g} for v = (w - prox(w, t))/t, w = {text_of(w)}, t={t:g}; psi* is "
            "finite there, so expected 1",
            "a dual norm that is too great, or a prox with another threshold than psi; where the domain of psi* has no "
            "interior, a test of it that allows for no rounding of v: 1e-11 ||v|| is little enough",
        )
    conjugate = psi.scaled_conjugate(v)[1]
    inner, value = float(np.vdot(p, v)), psi.value(p)
    if math.isinf(conjugate) and psi.dual_scaling(v * (1.0 - 1e3 * rounding / max(size, 1e-300))) == 1.0:
        conjugate = psi.conjugate(v * (1.0 - 1e-9))  # on the edge of the domain, to rounding
    slack = tolerance * (1.0 + abs(value) + abs(inner)) + 1e2 * rounding * (1.0 + float(np.linalg.norm(p)) + size)
    if not abs(value + conjugate - inner) <= slack:
        raise Broken(
            f"psi(p) + psi*(v) - p.v = {value + conjugate - inner:.6g} for p = prox(w, t) = {text_of(p)}, "
            f"v = (w - p)/t = {text_of(v)}, t={t:g}; expected 0",
            f"{PAIR}; or prox belongs to another psi",
        )


def fenchel_inequality(psi, u, v):
    """psi(u) + psi*(t v) >= u.(t v) for t = dual_scaling(v), in the domain of psi*."""
    t, conjugate = psi.scaled_conjugate(v)
    if not 0.0 <= t <= 1.0:
        raise Broken(f"dual_scaling({text_of(v)}) = {t}, allowed is a number in [0, 1]")
    value = psi.value(u)
    left = value + conjugate - float(np.vdot(u, t * v))
    if not left >= -TOLERANCE * (1.0 + abs(value) + abs(conjugate)):
        what = "conjugate" if t == 1.0 else f"dual_scaling = {t:.6g} is too great:"
        raise Broken(
            f"{what} psi(u) + psi*(t v) - u.(t v) = {left:.6g} for u = {text_of(u)}, v = {text_of(v)}; expected >= 0",
            f"{PAIR}; where psi* is an indicator, dual_scaling is 1 / (dual norm / strength), never more",
        )


def conjugate_is_no_smaller(psi, v):
    """psi*(v) >= u.v - psi(u), for u that nearly attain it: prox(c v, c) = argmax_u u.v - psi(u) - ||u||^2 / (2 c)."""
    conjugate = psi.conjugate(v)
    for c in (1.0, 1e3):
        u = psi.prox(c * v, c)
        value, inner = psi.value(u), float(np.vdot(u, v))
        if conjugate < inner - value - TOLERANCE * (1.0 + abs(value) + abs(inner)):
            raise Broken(
                f"conjugate({text_of(v)}) = {conjugate:.8g} is too small: u.v - psi(u) = {inner - value:.8g} for "
                f"u = {text_of(u)}",
                f"{PAIR}, inf where v.w - psi(w) has no bound",
            )


def scaling_is_no_smaller_than_needed(psi, v):
    """Where dual_scaling(v) = t < 1, psi* is infinite a little beyond t v."""
    t = psi.dual_scaling(v)
    if 1e-9 < t < 1.0 and math.isfinite(psi.conjugate(1.001 * t * v)):
        warnings.warn(
            Doubt(f"dual_scaling({text_of(v)}) = {t:.6g}, but psi* is finite at 1.001 t v: certificates are weak"),
            stacklevel=2,
        )
    if t == 1.0 and math.isinf(psi.conjugate(v)) and math.isfinite(psi.conjugate(1e-9 * v)):
        raise Broken(
            f"dual_scaling({text_of(v)}) = 1, but conjugate is {psi.conjugate(v)} there",
            "scale v into the domain of psi*",
        )


def dual_balls_are_where_the_conjugate_is_zero(psi, v):
    """The factor that brings v into the balls of `dual_balls`, if psi has them, is dual_scaling(v)."""
    if not hasattr(psi.psi, "dual_balls"):
        return
    blocks, radii = psi.psi.dual_balls(v.shape)
    lengths = np.sqrt(np.bincount(blocks, np.square(v).reshape(-1), len(radii)))
    least = float(np.min(np.divide(radii, lengths, out=np.ones(len(radii)), where=lengths > radii)))
    t = psi.dual_scaling(v)
    if not math.isclose(t, least, rel_tol=1e-9):
        raise Broken(
            f"dual_scaling({text_of(v)}) = {t:.10g}, but the balls of dual_balls ask for {least:.10g}",
            "dual_balls(shape) = (the block of each entry of v, row by row; the radius of each block's ball)",
        )


def projects(psi, w):
    """prox(w, 0) is in the domain, w itself where w is, and no point of the domain is nearer."""
    p = psi.prox(w, 0.0)
    if not math.isfinite(psi.value(p)):
        raise Broken(
            f"prox({text_of(w)}, 0) = {text_of(p)}, where psi is {psi.value(p)}", "prox(w, 0) projects on the domain"
        )
    if math.isfinite(psi.value(w)) and not np.allclose(p, w, rtol=1e-13, atol=1e-300):
        raise Broken(f"prox(w, 0) = {text_of(p)} for w = {text_of(w)}, where psi is finite; expected w")


def radius_bounds(psi, w):
    """||w||_2 <= radius(psi(w), shape)."""
    w = psi.prox(w, 0.0)
    value = psi.value(w)
    radius = psi.radius(value, w.shape)
    if not np.linalg.norm(w) <= radius * (1.0 + 1e-10) + 1e-12:
        raise Broken(
            f"radius({value:.6g}, {w.shape}) = {radius:.6g}, but ||w|| = {np.linalg.norm(w):.6g} for w = {text_of(w)} "
            f"with psi(w) = {value:.6g}",
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
    if fault := claims.fault_of_regularizer(psi, w, other):
        raise Broken(f"it {fault}")


def are_functions(psi, w):
    """Methods leave what they are given, and give the same again; prox that of a model of the same shape."""
    if fault := calls.first_fault(calls.of_regularizer(psi.psi, w, 3.0 * w)):
        raise Broken(fault)
    if not psi.coordinate_separable and np.shape(p := psi.psi.prox(w.copy(), 0.5)) != w.shape:
        raise Broken(f"prox returns the shape {np.shape(p)} for w of the shape {w.shape}")


def text_of(w):
    """The first entries of an array, for messages."""
    return np.array2string(np.asarray(w).ravel()[:4], precision=5, separator=", ") + ("..." if np.size(w) > 4 else "")
