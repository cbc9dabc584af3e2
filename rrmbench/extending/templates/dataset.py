"""NAME: say in one line what the data are."""

import numpy as np

from rrmbench.toolbox import Fraction, PositiveInt, dataset


@dataset
def NAME(*, n: PositiveInt = 200, d: PositiveInt = 20, noise: Fraction = 0.1, seed: int = 0):
    """n rows of d normal numbers; y = 1 where x.w > 0 for a random w, else -1, a fraction of the labels flipped"""
    rng = np.random.default_rng(seed)  # all random numbers come from here: the same parameters make the same data
    X = rng.standard_normal((n, d))  # dense, or a scipy sparse matrix
    y = np.where(X @ rng.standard_normal(d) > 0.0, 1.0, -1.0)
    y[rng.random(n) < noise] *= -1.0
    return X, y  # or a mapping with X_test and y_test, too: docs/data.md
