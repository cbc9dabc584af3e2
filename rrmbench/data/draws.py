"""Random numbers of data preparation: the same on every machine and in every numpy version.

numpy promises a fixed stream for the raw bits of PCG64, not for the distributions on top of it.
"""

import hashlib

import numpy as np


def uniforms(seed, purpose, n):
    """n float64 in [0, 1). Different purposes give independent streams of one seed."""
    stream = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "little")
    raw = np.random.PCG64([seed, stream]).random_raw(n)
    return (raw >> np.uint64(11)) * 2.0**-53


def normals(seed, purpose, n):
    """n float64 from the standard normal distribution, multiples of 2^-20.

    The last bits of the inverse distribution function differ between machines; of multiples they are cut off.
    """
    from scipy.special import ndtri

    return np.round(ndtri(uniforms(seed, purpose, n) + 2.0**-54) * 2.0**20) * 2.0**-20


def ordering(seed, purpose, n):
    """A random permutation of 0..n-1."""
    return np.argsort(uniforms(seed, purpose, n), kind="stable")
