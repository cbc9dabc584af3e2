"""The derivative of a smoothed kink: a slope that is cut off at both ends."""

import sys

from numba.extending import register_jitable

SMALLEST = sys.float_info.min  # of the numbers whose reciprocal is finite


@register_jitable
def clipped_ratio(t, mu, low, high):
    """clip(t / mu, low, high), for mu = 0 its limit: the least-norm subgradient of the kink at t = 0."""
    if not mu < SMALLEST:  # selections and no jumps, which a processor could not foresee; 1/mu does not wait for t
        ratio = t * (1.0 / mu)
        ratio = low if ratio < low else ratio
        return high if ratio > high else ratio
    if t == 0.0:
        return min(max(0.0, low), high)
    return low if t < 0.0 else high if t > 0.0 else t
