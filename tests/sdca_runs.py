"""Problems and runs for the tests of Prox-SDCA."""

import numpy as np
import oracles
import pytest

from rrmbench.problem.problem import Problem
from rrmbench.solvers.sdca.steps import option_of, sdca_steps

REGULARIZERS = {m["name"]: m for m in oracles.coordinate_regularizers()}
SMOOTH = ["squared", "logistic", "squared_hinge", "smoothed_hinge"]
MULTICLASS = ["max_of_hinge", "smoothed_max_of_hinge", "soft_max_of_hinge"]
OPTIONS = ["I", "II", "III", "IV", "V"]
each_option = pytest.mark.parametrize("option", OPTIONS)


def multiclass(loss, l2=0.05, n=30, d=6, classes=4, psi=None):
    X, z = oracles.data(n, d, density=0.7)
    y = np.floor(4.0 * np.argsort(np.argsort(z)) / n) % classes
    return Problem(X, y, loss, psi or "none", l2=l2)


def one_step(p, b, i, option="I"):
    """The b after the solver's step on sample i."""
    s, b = p.strong_convexity, b.copy()
    u = p.v(b) / s + p.shift()
    sdca_steps(p.X.rows, p.y, option_of(p, option), p.regularizer, s, np.array([i], np.int32), b, u)
    np.testing.assert_allclose(u, p.v(b) / s + p.shift(), atol=1e-13)
    return b
