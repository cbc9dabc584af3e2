"""The checks of a loss of single outputs, made of the statements of `scalar_losses`."""

import math
import warnings

import numpy as np

from rrmbench.extending import points, scalar_losses, variants
from rrmbench.extending.verdicts import Broken, Doubt, located
from rrmbench.numerics import whole_arrays


def named_checks(component, loss, built):
    """(name, function) of each check of a loss of which `loss` is an example.

    built : () -> [(values, loss)] of the component with each of its `variants`
    """
    for name, check in CHECKS.items():
        yield name, lambda check=check: each_label(component, built(), check)
    if hasattr(loss, "kinks"):
        yield "linear between its kinks", lambda: each_label(component, built(), _pieces)
    yield "declared constants are reached", lambda: each_label(component, built(), _reached)
    yield "compiled as in Python", lambda: compiled(component, built())


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


def each_label(component, losses, check):
    """check(loss, y, seed) for the variants of a loss and a few labels."""
    for number, (values, plain) in enumerate(losses):
        loss = AsInKernels(plain)
        ys = np.unique(points.labels(component.needs, 6 if number else 8))[: 4 if number else None]
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


CHECKS = {
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


def compiled(component, losses):
    """Kernels give what the methods give in Python."""
    for values, loss in losses:
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
