"""Whether components of plug-ins are what certificates rest on: functions, value and conjugate a pair.

A conjugate that is too small makes bounds that are too great, and a run may end with a gap of 0 before any objective
lies below them. Fenchel's inequality f(z) + f*(b) >= b.z tells at the first pair of points that it fails at.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np

from rrmbench import crashes
from rrmbench.components import is_shipped
from rrmbench.numerics import whole_arrays
from rrmbench.problem import calls, claims
from rrmbench.problem.problem import Problem
from rrmbench.problem.samples import outputs_of

SOME = 1000  # samples of which slopes are asked for many times, which may cost more than a pass each
FEW = 4  # samples, and numbers, at which compiled methods are compared with those in Python
SCALES = 1e-2, 1.0, 1e2  # of random points
SMOOTHINGS = 0.1, 1.0, 10.0  # mu, whose b are derivatives of phi at its kinks too
FAR = 1e6
BEYOND = -1.0, 1.001, 1.1, 2.0  # times a derivative of phi: of b outside of the domain of phi*
STEPS = (-1.0, -0.1, -0.01, -0.001, 0.001, 0.01, 0.1, 1.0)  # over the norm of where they begin
TOLERANCE = 1e-8  # relative to the terms
PAIR_TOLERANCE = 1e-10  # the same of the inequality, by which a bound may be too great: below the 1e-9 of P < D
UNFIT = "has a method that no gap can be computed with:"
FAULT = "is no conjugate pair: value + conjugate is below the product at random points, so that no gap means anything"
FROZEN = (
    "gives other numbers where it is compiled than in Python: kernels keep the globals that methods refer to as they "
    "were at the first call; make fields of them"
)
UNEQUAL = "gives other numbers for several samples at once than for each alone: see `value_rows` and `dual_point_rows`"
UNBALANCED = "has a method `balanced` whose dual variables do not sum to 0, so that no gap with a bias means anything"


class Held(NamedTuple):
    """What Fenchel's inequality says of the components of a problem.

    broken : which component fails it, or None
    unchecked : which raised an exception before all points were looked at, and what, or None
    """

    broken: str | None
    unchecked: str | None


def held_to_pairs(problem: Problem, loss: str, regularizer: str) -> Held:
    """Hold components from outside of this package to Fenchel's inequality; they are told by the names given.

    The points are random, the same in every call. Beside a free bias, Psi with a square is not looked at where the
    regularizer takes so many coordinates and no other number.
    """
    rng = np.random.default_rng(0)
    asked: tuple[tuple[str, Callable[..., str | None]], ...] = (
        ("loss", _fault_of_loss_calls),
        ("regularizer", _fault_of_regularizer_calls),
        ("loss", partial(_said, UNEQUAL, _is_unequal_in_rows)),
        ("loss", partial(_said, FROZEN, _is_frozen_loss)),
        ("regularizer", partial(_said, FROZEN, _is_frozen_regularizer)),
        ("loss", partial(_said, FAULT, _is_broken_loss)),
        ("loss", partial(_said, UNBALANCED, _is_unbalanced)),
        ("regularizer", partial(_said, FAULT, _is_broken_regularizer)),
        ("loss", _fault_of_loss_claims),
        ("regularizer", _fault_of_regularizer_claims),
    )
    names, unchecked = {"loss": f"the loss '{loss}'", "regularizer": f"the regularizer '{regularizer}'"}, None
    for kind, fault_of in asked:
        if not _is_foreign(getattr(problem, kind)):
            continue
        name = names[kind]
        try:
            with np.errstate(all="ignore"):
                if fault := fault_of(problem, rng):
                    return Held(f"{name} {fault}", unchecked)
        except Exception as error:  # of points that no run may come to
            unchecked = unchecked or f"{name} raised {crashes.text_of(error)}"
    return Held(None, unchecked)


def _said(fault: str, is_broken: Callable[..., bool], problem: Problem, rng: np.random.Generator) -> str | None:
    return fault if is_broken(problem, rng) else None


def _on_some(problem: Problem) -> Problem:
    """The problem without smoothing and minimized bias, on SOME of its samples where it has more."""
    plain = _plain(problem)
    if plain.n <= SOME or not {"rows", "separable"} <= plain.traits:
        return plain
    return plain.on(np.linspace(0, plain.n - 1, SOME).astype(np.int64))


def _plain(problem: Problem) -> Problem:
    return replace(problem, mu=0.0, weights=None, minimized_bias=False)


def _fault_of_loss_claims(problem: Problem, rng: np.random.Generator) -> str | None:
    return claims.fault_of_loss(_on_some(problem), rng)


def _fault_of_loss_calls(problem: Problem, rng: np.random.Generator) -> str | None:
    problem = _on_some(problem)
    for scale in SCALES:
        z = _outputs(problem, scale, rng)
        b = problem.losses.dual_point(1.0, z.copy())
        asked = [*calls.of_loss(problem.loss, problem.y, z, b, FEW)]
        if _is_balanced_by_loss(problem):
            asked.append(calls.Call("balanced", problem.losses.balanced, (b,), (0.5 * b,)))
        if fault := calls.first_fault(asked):
            return f"{UNFIT} {fault}"
    return None


def _is_balanced_by_loss(problem: Problem) -> bool:
    return problem.free_bias and hasattr(problem.loss, "balanced")


def _fault_of_regularizer_calls(problem: Problem, rng: np.random.Generator) -> str | None:
    for scale in SCALES:
        w, v = (scale * rng.normal(size=_body(problem)) for _ in range(2))
        if fault := calls.first_fault(calls.of_regularizer(problem.regularizer, w, v)):
            return f"{UNFIT} {fault}"
    return None


def _fault_of_regularizer_claims(problem: Problem, rng: np.random.Generator) -> str | None:
    psi = problem.regularization
    for scale in SCALES:
        w, other = (psi.prox(scale * rng.normal(size=_body(problem)), 0.0) for _ in range(2))
        if fault := claims.fault_of_regularizer(psi, w, other):
            return fault
    return None


def _body(problem: Problem) -> tuple[int, ...]:
    """The shape of what the regularizer sees: all but a free bias."""
    rows, *more = problem.shape
    return (rows - 1 if problem.free_bias else rows, *more)


def _is_foreign(component: object) -> bool:
    inside = getattr(component, "psi", None)  # of a regularizer restricted to a ball, through its form on arrays
    return not is_shipped(type(component)) or (inside is not None and _is_foreign(inside))


def _outputs(problem: Problem, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Random outputs; of a loss with an operator those of a random model, since it is a function of these alone."""
    if hasattr(problem.loss, "operator"):
        return problem.X.forward(scale * rng.normal(size=problem.shape))
    return scale * rng.normal(size=problem.output_shape)


def _is_frozen_loss(problem: Problem, rng: np.random.Generator) -> bool:
    loss, kind = problem.loss, outputs_of(problem.loss)
    for i in range(min(FEW, problem.y.shape[0]) if kind in ("scalar", "vector") else 0):
        z, y, b = rng.normal(size=(1, *problem.output_shape[1:])), problem.y[i : i + 1], np.empty(1)
        if kind == "vector":
            pairs = [(whole_arrays.mean_loss_rows(loss, 0.0, z, y), partial(loss.value_row, z[0], y[0]))]
        else:
            whole_arrays.loss_dual(loss, 1.0, z, y, b)
            at, label = float(z[0]), float(y[0])
            pairs = [
                (whole_arrays.mean_loss(loss, 0.0, z, y), partial(loss.value, at, label)),
                (whole_arrays.mean_conjugate(loss, 0.0, b, y), partial(loss.conjugate, float(b[0]), label)),
                (b[0], partial(loss.dual_point, at, label, 1.0)),
            ]
        if any(_differ(compiled, plain) for compiled, plain in pairs):
            return True
    return False


def _is_unequal_in_rows(problem: Problem, rng: np.random.Generator) -> bool:
    """Whether the methods on several rows of outputs, where there are any, differ from those on one."""
    loss, y = problem.loss, problem.y[:FEW]
    if not (hasattr(loss, "value_rows") or hasattr(loss, "dual_point_rows")):
        return False
    z = rng.normal(size=(len(y), *problem.output_shape[1:]))
    b, alone = np.empty(z.shape), np.empty(z.shape)
    whole_arrays.loss_dual_rows(loss, 0.0, 0.0, z, y, b)
    for i in range(len(y)):
        loss.dual_point_row(z[i], y[i], 0.0, 0.0, alone[i])
    value = np.mean([loss.value_row(z[i], y[i]) for i in range(len(y))])
    return _differ(whole_arrays.mean_loss_rows(loss, 0.0, z, y), lambda: value) or not np.allclose(b, alone)


def _is_frozen_regularizer(problem: Problem, rng: np.random.Generator) -> bool:
    psi, over = problem.regularizer, problem.regularization
    if not over.coordinate_separable:  # its methods are not compiled
        return False
    for _ in range(FEW):
        w = over.prox(rng.normal(size=1), 1.0)  # in the domain
        pairs = [(over.value(w), partial(psi.value, float(w[0])))]
        pairs += [(over.conjugate(v), partial(psi.conjugate, float(v[0]))) for v in (w, 1e-3 * w)]
        pairs += [(over.prox(w, 0.5)[0], partial(psi.prox, float(w[0]), 0.5))]
        if any(_differ(compiled, plain) for compiled, plain in pairs):
            return True
    return False


def _differ(compiled: float, plain: Callable[[], float]) -> bool:
    """Whether a number from a kernel is not what Python computes; errors of arithmetic are numbers in kernels."""
    try:
        return not np.isclose(compiled, plain(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    except ArithmeticError:
        return False


def _is_broken_loss(problem: Problem, rng: np.random.Generator) -> bool:
    # where mu > 0, P is made of the conjugate, too, and hides what is wrong with it
    problems = (problem, replace(problem, mu=0.0)) if problem.mu > 0.0 else (problem,)
    for one, scale in product(problems, SCALES):
        z, other = (_outputs(one, scale, rng) for _ in range(2))
        b = one.loss_dual(z)
        conjugate = one.mean_conjugate(b)
        if any(_is_below(one.mean_loss(at), conjugate, float(np.vdot(b, at)) / one.n) for at in (z, other)):
            return True
    if hasattr(problem.loss, "operator"):  # other z and b are of no model
        return False
    return _is_broken_inside(problem, rng) or _is_broken_outside(problem, rng)


def _is_broken_inside(problem: Problem, rng: np.random.Generator) -> bool:
    """Whether it fails at b between the derivatives on both sides of a kink: that of mu > 0 at z is one at z - mu b.

    So it is where mu multiplies half a square of b; elsewhere the inequality holds, and says less.
    """
    plain = _plain(problem)
    for mu, scale in product(SMOOTHINGS, SCALES):
        z = _outputs(plain, scale, rng)
        b = replace(plain, mu=mu).loss_dual(z)
        at = z - mu * b
        if _is_below(plain.mean_loss(at), plain.mean_conjugate(b), float(np.vdot(b, at)) / plain.n):
            return True
    return False


def _is_broken_outside(problem: Problem, rng: np.random.Generator) -> bool:
    """Whether it fails at b that are no derivatives of phi, as a solver may yield: phi* is infinite there, or great.

    The terms of other samples may hide what fails at one, so b is a multiple of derivatives, and z one of b.
    """
    plain = _on_some(problem)
    slopes = plain.loss_dual(_outputs(plain, 1.0, rng))
    for b in (*(factor * slopes for factor in BEYOND), *(scale * rng.normal(size=slopes.shape) for scale in SCALES)):
        conjugate = plain.mean_conjugate(b)
        for at in (scale * b for scale in (*SCALES, FAR)):  # far away only what is linear there counts
            if _is_below(plain.mean_loss(at), conjugate, float(np.vdot(b, at)) / plain.n):
                return True
    return False


def _is_unbalanced(problem: Problem, rng: np.random.Generator) -> bool:
    """Whether what is to have a finite D has none: v must vanish where nothing bounds the bias."""
    if not _is_balanced_by_loss(problem):
        return False
    bias = np.zeros(problem.shape)
    bias[-1] = 1.0
    largest = np.abs(problem.X.forward(bias)).max()  # of the last column
    for scale in SCALES:
        b = problem.loss_dual(_outputs(problem, scale, rng))
        rounding = TOLERANCE * largest * np.abs(b).sum() / problem.n  # also of what is left where nearly all is taken
        if np.abs(problem.v(problem.losses.balanced(b))[-1]).max() > rounding:
            return True
    return False


def _is_broken_regularizer(problem: Problem, rng: np.random.Generator) -> bool:
    psi, shape = problem.regularization, _body(problem)
    if problem.l2 + problem.kappa > 0.0:  # a bias is left out of psi, not of the square of a problem without one
        return _is_broken_sum(replace(problem, free_bias=False), rng)
    for v in _slopes(problem, shape, rng):
        t, conjugate = psi.scaled_conjugate(v)  # as bounds are computed
        v = t * v
        sizes = np.abs(v)
        extremes = (np.where(v == at, v, 0.0) for at in (sizes.max(), -sizes.max(), v.max(), v.min()))
        points = [c * w for w in (rng.normal(size=shape), v, *extremes) for c in SCALES]
        points += [psi.prox(c * v, c) for c in SCALES]  # on the way to a greatest v.w - psi(w), where that is above 0
        for w in (_inside(psi, w) for w in points):
            if _is_below(psi.value(w), conjugate, float(np.vdot(v, w))):
                return True
    return False


def _slopes(problem: Problem, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """v of all signs, with one coordinate above the others, and as they come from the losses, in several scales."""
    drawn = rng.normal(size=shape)
    at = np.arange(drawn.size).reshape(shape)
    peaks = (np.where(at == j, 10.0, drawn) for j in (0, drawn.size // 2, drawn.size - 1))
    outputs = (np.zeros(problem.output_shape), _outputs(problem, 1.0, rng))
    met = (problem.v(problem.loss_dual(z))[: shape[0]] for z in outputs)  # but for a bias, the last coordinate
    for v in chain((drawn, np.abs(drawn)), peaks, met):
        unit = v / max(float(np.abs(v).max()), 1e-300)
        for scale, sign in product(SCALES, (1.0, -1.0)):
            yield sign * scale * unit


def _is_broken_sum(problem: Problem, rng: np.random.Generator) -> bool:
    """As of psi alone, of Psi with a square, whose conjugate is computed by the proximal step."""
    psi = problem.regularization
    for scale in SCALES:
        v, other = (scale * rng.normal(size=problem.shape) for _ in range(2))
        conjugate, at = problem.conjugate_of_Psi(v), problem.primal_point(v)
        for way in (at, np.sign(at), other):  # from the point that is to be the best one
            way = _as_long_as(at, way)
            points = [at + t * way for t in STEPS]
            if psi.value(2.0 * at) == np.inf:  # at the end of the domain, where the best point may be
                points += [_as_long_as(at, w) for w in points]
            for w in (_inside(psi, w) for w in points):
                if _is_below(problem.Psi(w), conjugate, float(np.vdot(v, w))):
                    return True
    return False


def _as_long_as(at: np.ndarray, w: np.ndarray) -> np.ndarray:
    return w * (np.linalg.norm(at) / max(float(np.linalg.norm(w)), 1e-300))


def _inside(psi: Any, w: np.ndarray) -> np.ndarray:
    """w, or where psi is infinite there its projection on the domain, as on a ball."""
    return w if psi.value(w) < np.inf else psi.prox(w, 0.0)


def _is_below(value: float, conjugate: float, product: float) -> bool:
    """Whether value + conjugate is below the product by more than rounding."""
    return value + conjugate < product - PAIR_TOLERANCE * (abs(value) + abs(conjugate) + abs(product))
