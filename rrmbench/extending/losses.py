"""The checks of a loss: of single outputs by `scalar_losses`, of any kind as a loss over samples."""

import math
import warnings

import numpy as np

from rrmbench.extending import classes, points, programs, scalar_losses, variants
from rrmbench.extending.problems import DATA, L2, NET
from rrmbench.extending.runs import solved
from rrmbench.extending.verdicts import Broken, Doubt, located
from rrmbench.numerics import whole_arrays
from rrmbench.problem.labels import mode_of
from rrmbench.problem.pairs import SCALES
from rrmbench.problem.problem import Problem
from rrmbench.problem.samples import outputs_of
from rrmbench.problem.traits import build_loss

METHODS = {
    "scalar": ("value", "conjugate", "dual_point"),
    "vector": ("value_row", "conjugate_row", "penalty_row", "dual_point_row", "spread"),
    "whole": ("shape", "value", "conjugate", "d2", "dual_point"),
}
SMOOTHINGS = (0.0, 1e-3, 0.3, 1.0, 1e3)
SIZES = (0.0, 0.3, 2.0, 10.0, max(SCALES))  # of random outputs, up to those at which `run` refuses what is no pair


def named_checks(component):
    """(name, function) of each check of a loss."""
    yield "its form", lambda: form(component)
    loss, _ = build_loss({"name": component.name, **variants.defaults(component)})
    kind = outputs_of(loss)
    if kind == "scalar":
        for name, check in SCALAR.items():
            yield name, lambda check=check: each_label(component, check)
        if hasattr(loss, "kinks"):
            yield "linear between its kinks", lambda: each_label(component, _pieces)
        yield "declared constants are reached", lambda: each_label(component, _reached)
        yield "compiled as in Python", lambda: compiled(component)
    for name, check in OVER_SAMPLES.items():
        yield name, lambda check=check: over_samples(component, check)
    if any(hasattr(loss, "parts") for _, loss in _built(component)):
        yield "programs", lambda: over_samples(component, programs.parts_give_the_conjugate)
    if kind != "whole":
        yield "solvers reach a certified gap", lambda: reaches_a_gap(component)


def _built(component, kind=None):
    """(values, loss) of the component with each of its `variants`; of one kind of outputs, or of any."""
    return [one for one in variants.built(component, _made(component)) if kind in (None, outputs_of(one[1]))]


def _made(component):
    return lambda values: build_loss({"name": component.name, **values})[0]


def form(component):
    """A NamedTuple of floats with the methods and fields of its kind."""
    variants.tell_refused(component, _made(component))
    for values, loss in _built(component):
        name, kind = f"{component.name}{variants.shown(values)}", outputs_of(loss)
        if kind not in METHODS:
            raise Broken(f"{name}: outputs = {kind!r}, allowed is {', '.join(METHODS)}")
        classes.has_methods(name, loss, METHODS[kind], "`rrmbench new loss NAME` has all")
        if kind != "whole":
            classes.is_named_tuple(name, loss, "kernels are compiled for NamedTuples of floats")
        for field in ("conjugate_convexity",) + (("lipschitz",) if kind != "whole" else ()):
            value = getattr(loss, field, None)
            if not isinstance(value, float | int) or not value >= 0.0:
                raise Broken(
                    f"{name}: {field} = {value!r}, needed is a number >= 0", "0 if phi is not smooth, inf for no bound"
                )
        if kind == "scalar":
            classes.is_of_floats(name, loss)


class AsInKernels:
    """A loss of one output with the numbers that kernels compute where Python overflows: exp(1e3) is inf."""

    def __init__(self, loss):
        self.loss = loss

    def __getattr__(self, name):
        return getattr(self.loss, name)

    def value(self, z, y):
        """phi(z)."""
        return self._try("value", (z, y), lambda: whole_arrays.mean_loss(self.loss, 0.0, *_arrays(z, y)))

    def conjugate(self, b, y):
        """phi*(b)."""
        return self._try("conjugate", (b, y), lambda: whole_arrays.mean_conjugate(self.loss, 0.0, *_arrays(b, y)))

    def dual_point(self, z, y, mu):
        """argmax_b b z - phi*(b) - (mu/2) b^2."""
        b = np.empty(1)

        def compiled():
            whole_arrays.loss_dual(self.loss, float(mu), *_arrays(z, y), b)
            return float(b[0])

        return self._try("dual_point", (z, y, mu), compiled)

    def _try(self, method, given, compiled):
        try:
            return getattr(self.loss, method)(*given)
        except OverflowError:
            return compiled()


def _arrays(*numbers):
    return [np.array([number], dtype=np.float64) for number in numbers]


def each_label(component, check):
    """check(loss, y, seed) for the variants of a loss and a few labels."""
    for number, (values, plain) in enumerate(_built(component, "scalar")):
        loss = AsInKernels(plain)
        ys = (
            np.unique(points.labels(component.needs, 6))[:4] if number else np.unique(points.labels(component.needs, 8))
        )
        for seed, y in enumerate(ys):
            with located(f"{component.name}{variants.shown(values)}"):
                check(loss, float(y), seed)


def _fenchel_young(loss, y, seed):
    zs = points.outputs(y, 12, seed)
    for k, z in enumerate(zs):
        for other in (zs[k - 1], zs[k - 4], z + 1e-3):
            scalar_losses.fenchel_young(loss, y, z, other)


def _supremum(loss, y, seed):
    for b in points.duals(seed):
        scalar_losses.conjugate_is_supremum(loss, y, b)


def _argmax(loss, y, seed):
    for z in points.outputs(y, 8, seed):
        for mu in scalar_losses.smoothings(loss):
            scalar_losses.dual_point_maximizes(loss, y, z, mu)


def _derivative(loss, y, seed):
    for z in points.outputs(y, 20, seed):
        scalar_losses.derivative(loss, y, z)


def _constants(loss, y, seed):
    zs = points.outputs(y, 20, seed)
    for k, z in enumerate(zs):
        for other in (zs[k - 1], zs[k - 5], z + 1e-2):
            scalar_losses.constants_hold(loss, y, z, other)


def _kinks(loss, y, seed):
    for z in (0.0, y, y - 1.0, y + 1.0, 1.0, -1.0):
        scalar_losses.least_norm_at_kink(loss, y, z)


def _pieces(loss, y, seed):
    scalar_losses.linear_between_kinks(loss, y)


def _far(loss, y, seed):
    for z in points.FAR:
        for mu in (0.0, 1.0, 1e6):
            try:
                found = scalar_losses.finite_dual_point(loss, y, z, mu)
            except (ArithmeticError, ValueError, Broken) as error:
                warnings.warn(Doubt(f"dual_point(z={z:g}, y={y:g}, mu={mu:g}) fails: {error}"), stacklevel=2)
                return
            if not math.isfinite(loss.value(z, y) + found):
                warnings.warn(Doubt(f"value(z={z:g}, y={y:g}) = {loss.value(z, y)}"), stacklevel=2)
                return


SCALAR = {
    "value and conjugate: Fenchel and Young": _fenchel_young,
    "conjugate is the supremum": _supremum,
    "dual_point is the argmax for every mu": _argmax,
    "dual_point is the derivative": _derivative,
    "declared constants hold": _constants,
    "least subgradient at kinks": _kinks,
    "far outputs": _far,
}


def _reached(loss, y, seed):
    slope, change = scalar_losses.reached_constants(loss, y)
    far = max(abs(loss.dual_point(z, y, 0.0)) for z in (-1e6, 1e6))
    if math.isinf(loss.lipschitz) and far <= 2.0 * slope:
        warnings.warn(
            Doubt(f"lipschitz = inf, but no slope above {slope:.4g} was found; methods for it need it"), stacklevel=2
        )
    if loss.conjugate_convexity > 0.0 and change * loss.conjugate_convexity < 0.5:
        warnings.warn(
            Doubt(
                f"conjugate_convexity = {loss.conjugate_convexity:.4g}, but slopes change by at most {change:.4g}: "
                f"{1.0 / change:.4g} would allow longer steps"
            ),
            stacklevel=2,
        )
    if loss.conjugate_convexity == 0.0 and 0.0 < change < 50.0:
        warnings.warn(
            Doubt(
                f"conjugate_convexity = 0 says that phi is not smooth, but it seems to be: {1.0 / change:.4g} may hold"
            ),
            stacklevel=2,
        )


def compiled(component):
    """Kernels give what the methods give in Python."""
    for values, loss in _built(component, "scalar"):
        y, as_python = points.labels(component.needs, 8), AsInKernels(loss)
        z = np.concatenate([points.OUTPUTS[:6], np.random.default_rng(0).uniform(-4.0, 4.0, 2)])
        b = np.empty(8)
        for mu in (0.0, 0.7):
            whole_arrays.loss_dual(loss, mu, z, y, b)
            plain = [as_python.dual_point(float(s), float(t), mu) for s, t in zip(z, y, strict=True)]
            _same(component, values, f"dual_point for mu={mu:g}", b, plain)
        value = np.mean([as_python.value(float(s), float(t)) for s, t in zip(z, y, strict=True)])
        _same(component, values, "value", whole_arrays.mean_loss(loss, 0.0, z, y), value)
        conjugate = np.mean([as_python.conjugate(float(s), float(t)) for s, t in zip(b, y, strict=True)])
        _same(component, values, "conjugate", whole_arrays.mean_conjugate(loss, 0.0, b, y), conjugate)


def _same(component, values, what, found, expected):
    if not np.allclose(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True):
        raise Broken(
            f"{component.name}{variants.shown(values)}: {what} is {np.max(np.abs(found - expected)):.3g} off where it "
            "is compiled",
            "in kernels numbers are typed: write 1.0 for 1, and let every branch return a float",
        )


def over_samples(component, check):
    """check(losses, z, rng) for the variants of a loss over a few samples, at small and great outputs and labels."""
    are_numbers = mode_of(component.needs) in ("any", "targets")
    for values, loss in _built(component):
        X, y = DATA["dense rows"]()[:8], points.labels(component.needs, 8)
        rng = np.random.default_rng(0)
        for size in SIZES:
            p = Problem(X, y * max(size, 1.0) if are_numbers else y, loss, "none")
            z = p.X.forward(np.zeros(p.shape)) + size * rng.standard_normal(p.output_shape)
            z = _possible(p, z)
            for mu in SMOOTHINGS:
                with located(f"{component.name}{variants.shown(values)}, mu={mu:g}, outputs of size {size:g}"):
                    check(p, mu, z, rng)


def _possible(p, z):
    """z of an operator of the loss: with the outputs that X w can have."""
    if hasattr(p.loss, "operator"):
        return p.X.forward(p.X.adjoint(z) / max(1.0, float(p.X.sqnorms.sum())))
    return z


def _pair(p, mu, z, rng):
    """Phi^mu(z) + Phi^mu*(b) = b.z/n at the dual point, and >= at others; no row of b is longer than is said."""
    b, n = p.losses.dual_point(mu, z), p.n
    if not np.isfinite(b).all():
        raise Broken(f"the dual point is not finite: {b.ravel()[~np.isfinite(b.ravel())][0]}")
    longest = np.linalg.norm(b, axis=1).max() if outputs_of(p.loss) == "vector" else 0.0
    if longest > p.dual_radius * (1.0 + 1e-12):
        hint = "dual_radius, or lipschitz sqrt(spread(k)) where it is left out"
        raise Broken(f"||b|| = {longest:.8g} at a dual point, the greatest is said to be {p.dual_radius:.8g}", hint)
    value, conjugate = p.losses.mean_loss(mu, z), p.losses.mean_conjugate(mu, b)
    scale = 1.0 + abs(value) + abs(conjugate) + abs(float(np.vdot(b, z))) / n
    left = value + conjugate - float(np.vdot(b, z)) / n
    if not abs(left) <= 1e-9 * scale:
        raise Broken(f"value + conjugate - b.z/n = {left:.6g} at the dual point, expected 0", scalar_losses.PAIR)
    for _ in range(4):
        other = _possible(p, z + rng.standard_normal(z.shape) * 10.0 ** rng.uniform(-2.0, 1.0))
        left = p.losses.mean_loss(mu, other) + conjugate - float(np.vdot(b, other)) / n
        if not left >= -1e-9 * scale:
            raise Broken(f"value + conjugate - b.z/n = {left:.6g} at another z, expected >= 0", scalar_losses.PAIR)


def _slopes(p, mu, z, rng):
    """b is a subgradient of Phi^mu at z, and its gradient where this is smooth."""
    b, value = p.losses.dual_point(mu, z), p.losses.mean_loss(mu, z)
    other = _possible(p, z + 1e-5 * rng.standard_normal(z.shape))
    change = p.losses.mean_loss(mu, other) - value
    linear = float(np.vdot(b, other - z)) / p.n
    slack = 1e-9 * (1.0 + abs(value))
    if not change >= linear - slack:
        raise Broken(f"the loss rises by {change:.6g} along a small move, its dual point says {linear:.6g} at least")
    opposite = z - (other - z)
    fall = value - p.losses.mean_loss(mu, opposite)
    if not fall <= linear + slack:
        raise Broken(f"the loss falls by {fall:.6g} along a small move, its dual point says {linear:.6g} at most")


OVER_SAMPLES = {"over samples: a conjugate pair": _pair, "over samples: the dual point is a slope": _slopes}


def reaches_a_gap(component):
    """Shipped solvers close the certified gap on a small problem with this loss."""
    for values, _ in _built(component)[:2]:
        for psi in (L2, NET) if not values else (L2,):
            X = DATA["dense rows"]()
            p = Problem(X, points.labels(component.needs, X.shape[0]), {"name": component.name, **values}, psi)
            solved(p, f"{component.name}{variants.shown(values)} with {psi['name']}", (component.name, psi["name"]))
