"""Solvers beside plain steps on dense arrays."""

from itertools import islice
from math import sqrt

import numpy as np
import oracles
import pytest

from rrmbench import registry
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate

L1 = {"name": "l1", "strength": 0.05}
L2 = {"name": "l2", "strength": 0.1}
ELASTIC = {"name": "elastic_net", "l1": 0.03, "l2": 0.1}
CENTER = np.linspace(-1.0, 1.0, 12)
RATE = {"name": "agd_adaptive", "cap": "rate"}


def together(*iterables, most):
    """The first `most` of several endless iterables, side by side."""
    return islice(zip(*iterables, strict=False), most)


def steps(solver, p, start=None, seed=0):
    """The iterates after the first."""
    return islice(registry.build_solver(solver)(p, start, Rng(seed)), 1, None)


def subgradient(p, X, w):
    return X.T @ oracles.derivatives(p, X @ w) / p.n


def mean_square(X):
    return np.mean(np.sum(X**2, axis=1))


def greatest_norm(X):
    return sqrt(np.max(np.sum(X**2, axis=1)))


each_start = pytest.mark.parametrize("start", [None, Iterate(CENTER)], ids=["zero", "started"])


def at(solver, p, passes, start=None):
    return next(it for it in steps(solver, p, start) if it.passes >= passes)
