"""Methods of multipliers by semismooth Newton steps: the weights of their stages, and the search along a step."""

import numpy as np

DECAY = 0.5  # of the weight of the proximal term, from one stage to the next
LEAST = 0.5**20  # of the automatic weight, below which it is not lowered: b is known to 2^20 times the rounding of z
ROUNDING = 1e-15  # of P, relative: a step with less slope ends a stage
STEEP, FLAT = 0.5, 1e-3  # of the slope at w: the search along p ends at a slope not below -STEEP nor above FLAT of it
INSIDE = 0.1  # of the interval, how far from its ends the search tries
SECANTS, TRIES = 20, 200  # of the search, which bisects after so many secants


def next_weight(weight, scale, stands):
    """The weight of the next stage: half of it, or twice where b stands still but for rounding; scale : the first."""
    return min(weight / DECAY, scale) if stands else max(DECAY * weight, LEAST * scale)


def flat_step(slope_at, slope, longest=np.inf):
    """A step t along which a convex function has got flat: STEEP slope <= slope_at(t) <= FLAT |slope|.

    slope_at : the derivative of the function along the step, a function of t that rises from `slope` < 0 at 0
    longest : the t beyond which no step is tried; it is taken where the function still falls

    t is the first of 1, 2, 4, ... up to the first positive slope, then found by secants between the last two signs; 0
    where rounding leaves none.
    """
    low, slope_low, high, slope_high, t = 0.0, slope, np.inf, 0.0, min(1.0, longest)
    for tries in range(TRIES):
        here = slope_at(t)
        if STEEP * slope <= here <= -FLAT * slope or (here < 0.0 and t == longest):
            return t
        if here < 0.0:
            low, slope_low = t, here
        else:
            high, slope_high = t, here
        if high == np.inf:
            t = min(2.0 * t, longest)
        else:
            share = -slope_low / (slope_high - slope_low) if tries < SECANTS else 0.5
            t = low + min(max(share, INSIDE), 1.0 - INSIDE) * (high - low)
    return low
