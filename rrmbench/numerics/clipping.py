"""The derivative of a smoothed kink: a slope that is cut off at both ends."""

from numba.extending import register_jitable


@register_jitable
def clipped_ratio(t, mu, low, high):
    """clip(t / mu, low, high), for mu = 0 its limit: the least-norm subgradient of the kink at t = 0."""
    if t == 0.0:
        return min(max(0.0, low), high)
    if t <= low * mu:
        return low
    if t >= high * mu:
        return high
    return t / mu
