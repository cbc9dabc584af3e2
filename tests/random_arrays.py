"""Random arrays."""

import numpy as np
from hypothesis import strategies as st

seeds = st.integers(0, 10**6)


def normal(seed, shape):
    """A random array with entries of very different sizes, some of them 0."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(shape) * 10.0 ** rng.uniform(-2.0, 1.0, shape)
    return w * (rng.random(shape) < rng.choice([0.3, 1.0]))
