"""What a loss over single outputs promises: statements about one label and one point each.

Every function raises Broken where its statement does not hold; `tolerance` is relative to the terms of the statement.
"""

import math
from itertools import pairwise

import numpy as np

from rrmbench.extending.verdicts import Broken

TOLERANCE = 1e-10
PAIR = "value and conjugate must be a pair: phi*(b) = max_z b z - phi(z)"
ARGMAX = "dual_point(z, y, mu) = argmax_b b z - phi*(b) - (mu/2) b^2, for every mu > -conjugate_convexity"


def smoothings(loss):
    """mu from just above -conjugate_convexity to 1e6."""
    gamma = loss.conjugate_convexity
    negative = [-0.999 * gamma, -0.5 * gamma] if gamma > 0.0 else []
    return [*negative, 0.0, 1e-3, 0.3, 1.0, 1e3, 1e6]


def finite_dual_point(loss, y, z, mu):
    """b = dual_point(z, y, mu), a finite number in the domain of phi*."""
    b = loss.dual_point(z, y, mu)
    where = f"dual_point(z={z:.6g}, y={y:g}, mu={mu:g})"
    if not math.isfinite(b):
        raise Broken(f"{where} = {b}", "a method of Newton needs a bracket, an exponential an argument of one sign")
    if not math.isfinite(loss.conjugate(b, y)):
        raise Broken(f"{where} = {b:.12g}, where conjugate is {loss.conjugate(b, y)}", f"{ARGMAX}; {PAIR}")
    return b


def fenchel_young(loss, y, z, other, tolerance=TOLERANCE):
    """phi(z) + phi*(b) = b z for b = dual_point(z, y, 0), and phi(other) + phi*(b) >= b other."""
    b = finite_dual_point(loss, y, z, 0.0)
    for point, equal in (z, True), (other, False):
        value, conjugate = loss.value(point, y), loss.conjugate(b, y)
        left, slack = value + conjugate - b * point, tolerance * (1.0 + abs(value) + abs(conjugate) + abs(b * point))
        if not (left >= -slack and (left <= slack or not equal)):
            relation = "=" if equal else ">="
            raise Broken(
                f"value + conjugate - b z = {left:.6g} for z={point:.6g}, y={y:g}, "
                f"b = dual_point({z:.6g}, {y:g}, 0) = {b:.6g}; expected {relation} 0",
                PAIR if not equal or left > 0 else f"{PAIR}; a conjugate that is too small makes certificates that lie",
            )


def conjugate_is_supremum(loss, y, b, inside=1e-9, near=1e-4):
    """phi*(b) = max_z b z - phi(z) over a fine grid, and infinite where this has no bound."""

    def supremum(radius):
        coarse = np.linspace(-radius, radius, 1001)
        best = max(coarse, key=lambda z: b * z - loss.value(z, y))
        fine = best + np.linspace(-radius, radius, 1001) / 500.0  # the maximizer of a concave function is next to it
        return max(b * z - loss.value(z, y) for z in [*fine, y])

    value = loss.conjugate(b, y)
    if math.isinf(value) and value > 0.0:
        far = supremum(1e9)
        if not far > 1e6:
            raise Broken(f"conjugate(b={b:g}, y={y:g}) = inf, found max_z b z - phi(z) = {far:.6g}", PAIR)
        return
    found = supremum(20.0)
    if not found - inside * (1.0 + abs(found)) <= value <= found + near * (1.0 + abs(found)):
        far = supremum(200.0)
        if not (found < value <= far + near * (1.0 + abs(far))):  # its maximizer lies beyond the grid
            raise Broken(f"conjugate(b={b:g}, y={y:g}) = {value:.8g}, expected max_z b z - phi(z) = {found:.8g}", PAIR)


def dual_point_maximizes(loss, y, z, mu, tolerance=1e-12):
    """b z - phi*(b) - (mu/2) b^2 is greatest at b = dual_point(z, y, mu), also next to it."""

    def lost(b):
        value = loss.conjugate(b, y) + 0.5 * mu * b * b - b * z
        return value if math.isfinite(value) else 1e9 * (1.0 + abs(b))

    b = finite_dual_point(loss, y, z, mu)
    scale = 1.0 + abs(b * z) + abs(b * y) + abs(loss.conjugate(b, y)) + abs(mu) * b * b
    probes = [b + sign * 10.0**e for sign in (-1, 1) for e in range(-9, 3)]
    probes += [b + share * (1.0 + abs(b)) for share in np.linspace(-1.0, 1.0, 41)]
    best = min(probes, key=lost)
    if lost(best) < lost(b) - tolerance * scale:
        raise Broken(
            f"dual_point(z={z:.6g}, y={y:g}, mu={mu:g}) = {b:.8g}, but b={best:.8g} is better by "
            f"{lost(b) - lost(best):.3g}",
            ARGMAX,
        )
    # b is the derivative of phi at z - mu b, which a maximizer that is off by e would miss by e
    if loss.conjugate_convexity > 0.0:
        inner = loss.dual_point(z - mu * b, y, 0.0)
        if abs(inner - b) > 1e5 * tolerance * abs(b) + 1e2 * tolerance * (1.0 + abs(z) + abs(mu * b)):
            raise Broken(
                f"dual_point(z={z:.6g}, y={y:g}, mu={mu:g}) = {b:.10g}, but the derivative of phi at z - mu b is "
                f"{inner:.10g}; they must be equal",
                ARGMAX,
            )


def derivative(loss, y, z, tolerance=1e-6):
    """dual_point(z, y, 0) lies between the difference quotients of value at z."""
    h = 1e-6 * max(1.0, abs(z))
    left = (loss.value(z, y) - loss.value(z - h, y)) / h
    right = (loss.value(z + h, y) - loss.value(z, y)) / h
    slack = tolerance * (1.0 + abs(left) + abs(right)) + 1e-15 * abs(loss.value(z, y)) / h
    b = loss.dual_point(z, y, 0.0)
    if not min(left, right) - slack <= b <= max(left, right) + slack:
        raise Broken(
            f"dual_point(z={z:.6g}, y={y:g}, mu=0) = {b:.8g}, expected the slope of value, "
            f"{min(left, right):.8g} to {max(left, right):.8g}",
            "dual_point for mu = 0 is the derivative of phi; look at signs and at where pieces meet",
        )


def constants_hold(loss, y, z, other):
    """|phi'| <= lipschitz, and phi^mu' changes by at most |z - other| / (conjugate_convexity + mu)."""
    b = loss.dual_point(z, y, 0.0)
    if not abs(b) <= loss.lipschitz * (1.0 + 1e-12):
        raise Broken(f"the slope at z={z:.6g}, y={y:g} is {b:.8g}, declared is lipschitz = {loss.lipschitz:g}")
    for mu in (0.0, 0.1, 1.0):
        curvature = loss.conjugate_convexity + mu
        if curvature > 0.0:
            change = loss.dual_point(z, y, mu) - loss.dual_point(other, y, mu)
            if abs(change) > abs(z - other) / curvature * (1 + 1e-9) + 1e-12:
                raise Broken(
                    f"dual_point for mu={mu:g}, y={y:g} changes by {abs(change):.6g} from z={z:.6g} to {other:.6g}, at "
                    f"most |z - z'| / (conjugate_convexity + mu) = {abs(z - other) / curvature:.6g} is allowed",
                    f"conjugate_convexity = {loss.conjugate_convexity:g} is at most 1 / (greatest second derivative)",
                )


def reached_constants(loss, y):
    """What lipschitz and 1/conjugate_convexity are on a fine grid: (greatest slope, greatest change of slope)."""
    z = np.linspace(-12.0, 12.0, 6001)
    slopes = np.array([loss.dual_point(t, y, 0.0) for t in z])
    return float(np.abs(slopes).max()), float(np.diff(slopes).max() / (z[1] - z[0]))


def least_norm_at_kink(loss, y, z):
    """Whether there is a kink at z; there dual_point for mu = 0 is the subgradient that is nearest to 0."""
    left = (loss.value(z, y) - loss.value(z - 1e-6, y)) / 1e-6
    right = (loss.value(z + 1e-6, y) - loss.value(z, y)) / 1e-6
    if not right - left > 1e-3:
        return False
    expected, b = min(max(0.0, left), right), loss.dual_point(z, y, 0.0)
    if abs(b - expected) > 1e-6 * (1.0 + abs(expected)):
        raise Broken(
            f"dual_point(z={z:g}, y={y:g}, mu=0) = {b:.6g} at a kink with slopes {left:.6g} and {right:.6g}, expected "
            f"the subgradient of least norm, {expected:.6g}"
        )
    return True


def linear_between_kinks(loss, y):
    """phi is linear between its `kinks` and beyond the outer ones, and bends at each of them."""
    kinks = np.asarray(loss.kinks(np.array([y])))
    if kinks.ndim != 2 or kinks.shape[0] != 1 or np.any(np.diff(kinks[0]) < 0.0):
        raise Broken(f"kinks of y={y:g} are {kinks!r}, expected one row of ascending numbers")
    before = -math.inf
    for a, b in pairwise([kinks[0, 0] - 7.0, *np.unique(kinks), kinks[0, -1] + 7.0]):
        low, middle, high = (loss.value(z, y) for z in (a, 0.3 * a + 0.7 * b, b))
        slope, off = (high - low) / (b - a), middle - (0.3 * low + 0.7 * high)
        if abs(off) > 1e-12 * (1.0 + abs(low) + abs(high)):
            raise Broken(f"value is not linear between the kinks z={a:.6g} and {b:.6g} for y={y:g}")
        if slope <= before:
            raise Broken(f"kinks has z={a:.6g} for y={y:g}, where value does not bend")
        before = slope
