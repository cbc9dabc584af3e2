"""The checks of a loss: of single outputs by `single_outputs`, of any kind as a loss over samples."""

import numpy as np

from rrmbench.extending import classes, points, programs, scalar_losses, single_outputs, variants
from rrmbench.extending.problems import DATA, L2, NET
from rrmbench.extending.runs import solved
from rrmbench.extending.verdicts import Broken, located
from rrmbench.problem import calls, claims
from rrmbench.problem.labels import mode_of
from rrmbench.problem.pairs import SCALES
from rrmbench.problem.problem import Problem
from rrmbench.problem.samples import outputs_of
from rrmbench.problem.traits import build_loss

SMOOTHINGS = (0.0, 1e-3, 0.3, 1.0, 1e3)
FEW = 2  # samples whose methods are called again
SIZES = (0.0, 0.3, 2.0, 10.0, max(SCALES))  # of random outputs, up to those at which `run` refuses what is no pair


def named_checks(component):
    """(name, function) of each check of a loss."""
    yield "its form", lambda: form(component)
    loss, _ = build_loss({"name": component.name, **variants.defaults(component)})
    kind = outputs_of(loss)
    if kind == "scalar":
        yield from single_outputs.named_checks(component, loss, lambda: _built(component, "scalar"))
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
    """A NamedTuple of floats with the methods and fields of its kind, without most of which nothing is built."""
    variants.tell_refused(component, _made(component))
    for values, loss in _built(component):
        name, kind = f"{component.name}{variants.shown(values)}", outputs_of(loss)
        value = getattr(loss, "lipschitz", None)
        if kind != "whole" and not (isinstance(value, float | int) and value >= 0.0):
            raise Broken(f"{name}: lipschitz = {value!r}, needed is a number >= 0", "inf for no bound")
        if kind == "scalar":
            classes.is_of_floats(name, loss)


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
    """Phi^mu(z) + Phi^mu*(b) = b.z/n at the dual point, and >= at others."""
    b, n = p.losses.dual_point(mu, z), p.n
    if not np.isfinite(b).all():
        raise Broken(f"the dual point is not finite: {b.ravel()[~np.isfinite(b.ravel())][0]}")
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


def _proximal(p, mu, z, rng):
    """b = dual_point(mu, z, q) is a dual point of Phi^mu at z - q b, of a loss whose conjugate has such steps."""
    if not getattr(p.loss, "conjugate_prox", True) or hasattr(p.loss, "operator"):
        return
    for q in (0.1, 1.0, 30.0):
        b = p.losses.dual_point(mu, z, q)
        at = z - q * b
        value, conjugate, product = p.losses.mean_loss(mu, at), p.losses.mean_conjugate(mu, b), float(np.vdot(b, at))
        scale = 1.0 + abs(value) + abs(conjugate) + float(np.sum(np.abs(b) * (np.abs(z) + q * np.abs(b)))) / p.n
        left = value + conjugate - product / p.n
        if not abs(left) <= 1e-9 * scale:
            raise Broken(
                f"Phi^mu(u) + Phi^mu*(b) - b.u/n = {left:.6g} at u = z - q b for the dual point b of z and q={q:g}, "
                "expected 0",
                "the dual point is the argmax with (q/2) ||b||^2 subtracted too, of each sample",
            )


def _constants(p, mu, z, rng):
    """No row of b is longer than is said, and none changes more."""
    if hasattr(p.loss, "operator"):
        return
    for move in (*claims.MOVES, 10.0):
        if fault := claims.fault_of_constants(p, z, z + move * rng.standard_normal(z.shape)):
            raise Broken(f"it {fault}", "where dual_radius is left out, it is lipschitz sqrt(spread(k))")


def _functions(p, mu, z, rng):
    """Methods leave what they are given, and give the same again."""
    if fault := calls.first_fault(calls.of_loss(p.loss, p.y, z, p.losses.dual_point(mu + 1.0, z.copy()), FEW)):
        raise Broken(fault)


OVER_SAMPLES = {
    "over samples: a conjugate pair": _pair,
    "over samples: the dual point is a slope": _slopes,
    "over samples: proximal steps of the conjugate": _proximal,
    "over samples: declared constants hold": _constants,
    "methods leave their arguments, and give the same again": _functions,
}


def reaches_a_gap(component):
    """Shipped solvers close the certified gap on a small problem with this loss."""
    for values, _ in _built(component)[:2]:
        for psi in (L2, NET) if not values else (L2,):
            X = DATA["dense rows"]()
            p = Problem(X, points.labels(component.needs, X.shape[0]), {"name": component.name, **values}, psi)
            solved(p, f"{component.name}{variants.shown(values)} with {psi['name']}", (component.name, psi["name"]))
