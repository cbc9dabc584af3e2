"""The logistic loss."""

import math
from typing import NamedTuple

from numba.extending import register_jitable

from rrmbench.numerics.exponentials import exp_of_minus, log1p_of
from rrmbench.registry import loss

GREAT = 1e2  # of mu, from where on the root is sought from a start of its own
LAST = 1e-5  # a step of Halley's method, after which the rest is rounding


@register_jitable(forceinline=True)
def sigmoid(t):
    """1 / (1 + e^-t) without overflow."""
    e = exp_of_minus(abs(t))
    return (1.0 if t >= 0.0 else e) / (1.0 + e)


@register_jitable
def sigmoid_of_root(m, mu):
    """s = sigmoid(t) at the root t of F(t) = t + m + mu sigmoid(t), for mu > -4, by Halley's method.

    F increases, as F' = 1 + mu s (1 - s) > 0. Its root is -t for -m - mu in place of m, so one with t <= 0 is sought,
    in [-m - mu+, -m - mu-]. With e = e^t, q = 1 + e, B = q^2 + mu e, F = A/q, F' = B/q^2 and F'' = mu e (1 - e)/q^3, so
    that a step, 2 F F'/(2 F'^2 - F F''), is (A q/B) / (1 - (A/B) (mu e (1 - e)/B) / 2), of one exponential. Where it
    leaves the interval, which the signs of F make smaller, its middle is next. As F'' and the derivative of F'' are at
    most F' for mu >= 0, a step d leaves an error of about d^3/2: after one below 1e-5, e^t e^-d is e to rounding.

    While mu sigmoid(t) is far from -t - m a step is about 2 long. For a great mu, sigmoid(t) >= e^t/2 gives
    A e^A >= e^l for A = -t - m and l = log(mu/2) - m, so A >= l - log l where l >= 1: iterates begin there.
    """
    is_negative = m + 0.5 * mu > 0.0
    if not is_negative:
        m = -m - mu
    low, high = -m - max(mu, 0.0), min(0.0, -m - min(mu, 0.0))
    t, e = high, 1.0
    if mu > GREAT:
        half = math.log(0.5 * mu)
        if half - m > 1.0:
            t = min(t, math.log(half - m) - half)
    if t < 0.0:
        e = math.exp(t)
    for _ in range(100):
        q, share = 1.0 + e, mu * e
        B = q * q + share
        a = ((t + m) * q + share) / B
        step = a * q / (1.0 - 0.5 * a * (share * (1.0 - e) / B))
        if abs(step) < LAST:
            e *= 1.0 - step * (1.0 - 0.5 * step)
            break
        if step > 0.0:
            high = t
        else:
            low = t
        t -= step
        if not low < t < high:
            t = 0.5 * low + 0.5 * high
        e = math.exp(t)
    return (e if is_negative else 1.0) / (1.0 + e)


class Logistic(NamedTuple):
    """phi(z) = log(1 + e^-m), m = y z;  phi*(b) = s log s + (1-s) log(1-s) for s = -y b in [0, 1];  y = -1 or +1.

    The step of SDCA, option I, has no closed form: the new s solves s = 1/(1 + e^(y p - q s_old + (mu + q) s)) with
    p = x_i.w, q = ||x_i||^2/(s' n), s' the strong convexity of Psi; Halley's method finds it.
    """

    conjugate_convexity: float = 4.0
    lipschitz: float = 1.0

    def value(self, z, y):
        m = y * z
        return log1p_of(exp_of_minus(abs(m))) + (0.0 if m > 0.0 else -m)

    def conjugate(self, b, y):
        s = -y * b
        if s == 0.0 or s == 1.0:
            return 0.0
        if not 0.0 < s < 1.0:
            return float("inf")
        return s * math.log(s) + (1.0 - s) * math.log1p(-s)

    def dual_point(self, z, y, mu):
        """s solves s = sigmoid(-m - mu s), s = sigmoid(t) with t + m + mu s = 0."""
        m = y * z
        return -y * (sigmoid(-m) if mu == 0.0 else sigmoid_of_root(m, mu))


@loss(needs={"binary"})
def logistic():
    """log(1 + exp(-y z))"""
    return Logistic()
