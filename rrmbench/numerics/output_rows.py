"""Sums over rows (k,) of outputs, of targets and of dual variables, for the kernels of losses."""

from numba.extending import register_jitable


@register_jitable
def inner(a, b):
    """a.b."""
    total = 0.0
    for c in range(a.shape[0]):
        total += a[c] * b[c]
    return total


@register_jitable
def squares(b):
    """||b||^2."""
    return inner(b, b)


@register_jitable
def squared_distance(z, y):
    """||z - y||^2."""
    total = 0.0
    for c in range(z.shape[0]):
        total += (z[c] - y[c]) * (z[c] - y[c])
    return total
