"""The logistic loss."""

import math
from typing import NamedTuple

from numba.extending import register_jitable

from rrmbench.numerics.exponentials import exp_of_minus, log1p_of
from rrmbench.registry import loss

GREAT = 1e6  # of mu, from where on Newton's method is given a start of its own


@register_jitable(forceinline=True)
def sigmoid(t):
    """1 / (1 + e^-t) without overflow."""
    e = exp_of_minus(abs(t))
    return (1.0 if t >= 0.0 else e) / (1.0 + e)


@register_jitable
def sigmoid_in_turn(t):
    """As `sigmoid`, quicker where each value waits for the one before."""
    if t >= 0.0:
        return 1.0 / (1.0 + math.exp(-t))
    e = math.exp(t)
    return e / (1.0 + e)


@register_jitable
def shifted_logit(m, mu):
    """The root t of F(t) = t + m + mu sigmoid(t), for mu > -4, by Newton's method.

    F increases (its slope is 1 + mu s (1 - s) > 0) and is convex on one side of 0 and concave on the other. From 0,
    or from the end of [-m - mu+, -m - mu-] that lies nearer, all iterates stay on the root's side of 0 and
    approach it from one side (for mu < 0 after the first). As |F''| <= F' for mu >= 0, a step below 1e-8 is the
    last one.

    While mu sigmoid(t) is far from -t - m a step is about 1 long. For a great mu and t < 0, sigmoid(t) >= e^t/2 gives
    A e^A >= e^l for A = -t - m and l = log(mu/2) - m, so A >= l - log l where l >= 1: iterates begin there. The root
    is -t for -m - mu in place of m.
    """
    is_negative = m + 0.5 * mu > 0.0
    t = min(0.0, -m - min(mu, 0.0)) if is_negative else max(0.0, -m - max(mu, 0.0))
    if mu > GREAT:
        half = math.log(0.5 * mu)
        rest = half - m if is_negative else half + (m + mu)
        if rest > 1.0:
            nearest = math.log(rest) - half
            t = min(t, nearest) if is_negative else max(t, -nearest)
    for _ in range(100):
        s = sigmoid_in_turn(t)
        step = (t + m + mu * s) / (1.0 + mu * s * (1.0 - s))
        t -= step
        if abs(step) < 1e-8:
            break
    return t


class Logistic(NamedTuple):
    """phi(z) = log(1 + e^-m), m = y z;  phi*(b) = s log s + (1-s) log(1-s) for s = -y b in [0, 1];  y = -1 or +1.

    The step of SDCA, option I, has no closed form: the new s solves s = 1/(1 + e^(y p - q s_old + (mu + q) s)) with
    p = x_i.w, q = ||x_i||^2/(s' n), s' the strong convexity of Psi; Newton's method finds it.
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
        """s solves s = sigmoid(-m - mu s), found through t = logit s, where nothing overflows."""
        m = y * z
        return -y * (sigmoid(-m) if mu == 0.0 else sigmoid(shifted_logit(m, mu)))


@loss(needs={"binary"})
def logistic():
    """log(1 + exp(-y z))"""
    return Logistic()
