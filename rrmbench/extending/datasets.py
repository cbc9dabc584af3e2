"""The checks of a data set that a function makes."""

import random
import warnings
from functools import partial
from unittest import SkipTest

import numpy as np

from rrmbench.data import arrays
from rrmbench.extending import variants
from rrmbench.extending.solvers import states_of_all
from rrmbench.extending.verdicts import Broken, Doubt, located

SEED = "draw all random numbers from np.random.default_rng(seed) with a parameter 'seed'"


def named_checks(component):
    """(name, function) of each check of a data set."""
    yield "its form", lambda: variants.tell_refused(component, partial(_made, component))
    yield "shapes, and finite numbers", lambda: each_variant(component, shapes)
    yield "the same parameters make the same data", lambda: each_variant(component, deterministic)
    yield "the seed", lambda: seeded(component)
    yield "labels", lambda: each_variant(component, labels)


def each_variant(component, check):
    """check(function of no arguments) for the variants of the parameters; those that are refused are left out."""
    for values, _ in variants.built(component, partial(_made, component)):
        with located(f"{component.name}{variants.shown(values)}"):
            check(partial(_made, component, values))


def _made(component, values):
    read = {key: component.parameters[key].read(value) for key, value in values.items()}
    return arrays.checked(component.build(**read), f"data set '{component.name}'")


def shapes(make):
    """What the harness asks of the arrays; rows, and rows with entries."""
    for part in make():
        n, d = part.X.shape
        if n < 2 or d < 1:
            raise Broken(f"X has the shape {(n, d)}, needed are two rows and a column at least")
        if part.X.nnz == 0:
            raise Broken("X is 0 everywhere")
        empty = int(np.sum(np.diff(part.X.indptr) == 0))
        if empty > n // 2:
            warnings.warn(Doubt(f"{empty} of {n} rows have no entries"), stacklevel=2)


def deterministic(make):
    """The same arrays each time, and nobody else's random numbers used."""
    random.random(), np.random.random()  # noqa: NPY002 - they are elsewhere than a call that seeds them has left them
    before = states_of_all()
    one, again = _bytes(make()), _bytes(make())
    if one != again:
        raise Broken("it made other arrays the second time", SEED)
    if before != states_of_all():
        raise Broken("it uses the global random numbers of numpy or of Python", SEED)


def seeded(component):
    """Another seed makes other data."""
    if "seed" not in component.parameters:
        raise SkipTest("it has no parameter 'seed'")
    values = variants.defaults(component)
    if _bytes(_made(component, values | {"seed": 1})) == _bytes(_made(component, values | {"seed": 2})):
        raise Broken("the seeds 1 and 2 make the same data", "use the parameter seed")


def labels(make):
    """More than one value."""
    for part in make():
        values = {str(label) for label in part.labels}
        if len(values) == 1:
            raise Broken(f"all labels are {values.pop()}", "a data set of one label has nothing to learn")


def _bytes(parts):
    return [
        (
            *(array.tobytes() for array in (part.X.data, part.X.indices, part.X.indptr)),
            str(list(part.labels)),
            None if part.qid is None else part.qid.tobytes(),
        )
        for part in parts
    ]
