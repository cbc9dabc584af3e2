"""Points at which promises are checked: fixed ones where mistakes hide, and random ones of a fixed seed."""

import numpy as np

from rrmbench.problem.labels import mode_of

OUTPUTS = (0.0, 1.0, -1.0, 0.5, -2.0, 7.5, -7.5, 40.0, -40.0)
FAR = (1e3, -1e3, 1e4, -1e4)
CLASSES = 3


def labels(needs, n):
    """n labels for a loss with these needs: signs, classes, rows of targets, sequences or numbers, of a sign."""
    rng, mode = np.random.default_rng(0), mode_of(needs)
    if mode == "binary":
        return np.where(np.arange(n) % 3 > 0, 1.0, -1.0)
    if mode == "classes":
        return np.arange(n) % float(CLASSES)
    if mode == "targets":
        return rng.standard_normal((n, CLASSES))
    if mode == "sequences":
        return np.column_stack([np.arange(n) % float(CLASSES), np.arange(n) // 4])
    y = np.concatenate([[0.0, 1.0, -0.5], rng.uniform(-8.0, 8.0, max(n - 3, 0))])[:n]
    if "positive" in needs:
        return np.abs(y) + 0.25
    return np.abs(y) if "nonnegative" in needs else y


def outputs(y, count, seed):
    """Outputs z for a label y: the fixed ones, y and its neighbours, and `count` random ones."""
    rng = np.random.default_rng(seed)
    return [*OUTPUTS, y, y - 1.0, y + 1.0, *rng.uniform(-8.0, 8.0, count)]


def duals(seed=0):
    """Values of b between -3 and 3, round ones among them."""
    return [*np.linspace(-3.0, 3.0, 13), *np.round(np.random.default_rng(seed).uniform(-3.0, 3.0, 8), 2)]


def arrays(shape, count, seed):
    """`count` random arrays of different sizes, some with zeros, of the given shape."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        w = 10.0 ** rng.uniform(-1.0, 1.0) * rng.standard_normal(shape)
        yield w * (rng.random(shape) < 0.6) if k % 3 == 2 else w
