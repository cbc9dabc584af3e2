"""Weights omega_i of the prox-function (1/2) sum omega_i b_i^2, by which losses are smoothed [AGM, section 5.6].

With mean 1 they leave its maximum over |b_i| <= c at n c^2/2. The mean loss smoothed by mu omega_i is L-smooth with
L = lambda_max((1/n) sum x_i x_i^T / omega_i) / mu, which equal weights do not minimize.
"""

import numpy as np

GUARD = 0.5  # the least |x_i.v| that counts, relative to the mean: a row orthogonal to v would make L infinite
STEPS = 6  # of the power method, of which the paper finds 5 or 6 enough


def by_norms(sqnorms):
    """omega_i = ||x_i|| / mean ||x||, at least GUARD before it is scaled to the mean 1; sqnorms and omega are (n,).

    Without the guard the bound (1/n) sum ||x_i||^2 / omega_i is least, (mean ||x||)^2 in place of mean ||x||^2.
    """
    return _guarded(np.sqrt(sqnorms))


def by_direction(X):
    """omega_i = |x_i.v| / its mean, guarded likewise, where v maximizes ||X v|| over ||v|| = 1; (n,).

    v is what so many steps of the power method make of the mean of the rows; each is a product with X and one with
    X^T, and one of each comes before them.
    """
    v = X.adjoint(np.ones(X.shape[0]))
    if not v.any():
        v = X.adjoint(np.random.default_rng(0).standard_normal(X.shape[0]))
    z = X.forward(v)
    for _ in range(STEPS):
        size = np.linalg.norm(z)
        if size == 0.0:
            break
        z = X.forward(X.adjoint(z / size))
    return _guarded(np.abs(z))


def _guarded(size):
    mean = np.mean(size)
    if mean == 0.0:
        return np.ones(size.shape)
    size = np.maximum(size / mean, GUARD)
    return size / np.mean(size)
