"""The logistic loss."""

import math
from typing import NamedTuple

from numba.extending import register_jitable

from rrmbench.registry import loss


@register_jitable
def sigmoid(t):
    """1 / (1 + e^-t) without overflow."""
    if t >= 0.0:
        return 1.0 / (1.0 + math.exp(-t))
    e = math.exp(t)
    return e / (1.0 + e)


@register_jitable
def shifted_logit(m, mu):
    """The root t of F(t) = t + m + mu sigmoid(t), for mu > -4: Newton's method kept inside a bracket.

    F increases (its slope is 1 + mu s (1 - s) > 0) and the root lies between -m - mu and -m.
    """
    low, high = -m - max(mu, 0.0), -m - min(mu, 0.0)
    t = -m - mu * sigmoid(-m - 0.5 * mu)
    for _ in range(100):
        s = sigmoid(t)
        f = t + m + mu * s
        if f > 0.0:
            high = t
        else:
            low = t
        step = f / (1.0 + mu * s * (1.0 - s))
        new = t - step
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - t) <= 2e-16 * abs(t):
            return new
        t = new
    return t


class Logistic(NamedTuple):
    """phi(z) = log(1 + e^-m), m = y z;  phi*(b) = s log s + (1-s) log(1-s) for s = -y b in [0, 1];  y = -1 or +1."""

    convexity: float = 4.0
    lipschitz: float = 1.0

    def value(self, z, y):
        m = y * z
        return math.log1p(math.exp(-m)) if m > 0.0 else math.log1p(math.exp(m)) - m

    def conjugate(self, b, y):
        s = -y * b
        if s == 0.0 or s == 1.0:
            return 0.0
        if not 0.0 < s < 1.0:
            return float("inf")
        return s * math.log(s) + (1.0 - s) * math.log1p(-s)

    def dual(self, z, y, mu):
        """s solves s = sigmoid(-m - mu s), found through t = logit s, where nothing overflows."""
        m = y * z
        return -y * (sigmoid(-m) if mu == 0.0 else sigmoid(shifted_logit(m, mu)))


@loss(needs={"binary"})
def logistic():
    """log(1 + exp(-y z))"""
    return Logistic()
