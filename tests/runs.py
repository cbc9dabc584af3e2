"""Runs of a solver by hand."""

from itertools import islice

import numpy as np
import oracles

from rrmbench import registry
from rrmbench.numerics.random import Rng

REGULARIZERS = {m["name"]: m for m in oracles.coordinate_regularizers()}


def dense(p):
    return p.X.forward(np.eye(p.shape[0]))


def iterates(solver, p, count, start=None, seed=0):
    """Copies of the first iterates of a solver (a mapping or a name)."""
    solve = registry.build_solver(solver)
    found = [it.copied() for it in islice(solve(p, start, Rng(seed)), count)]
    assert len(found) == count, "the solver ended"
    return found


def until(solver, p, passes, start=None):
    """Its iterates, as it yields them, to the first one beyond so many passes; at most 3,000."""
    for it in islice(registry.build_solver(solver)(p, start, Rng(0)), 3000):
        yield it
        if it.passes > passes:
            return


def after(solver, p, passes, start=None, seed=0, reduction="none"):
    """The first iterate at or after `passes`, without what `rrmbench.solve` evaluates on the way."""
    for it in registry.build_solver(solver, reduction)(p, start, Rng(seed)):
        if it.passes >= passes:
            return it
    raise AssertionError("the solver ended")
