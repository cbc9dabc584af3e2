"""Data and labels in other units are the same problem, and a solver whose steps come from the problem takes the same.

For powers of 2 all products are the same to the bit. Solvers whose step lengths are numbers of the method alone, as
those of subgradients, Pdprox and AdaGrad, are not meant here; nor are other libraries, with tolerances of their own.
"""

import numpy as np
import oracles
import pytest

from rrmbench import Problem, registry, solve
from rrmbench.components import lacking

pytestmark = pytest.mark.usefixtures("own_bounds")

OF_A_UNIT = {"adagrad", "agd_adaptive", "excessive_gap", "fobos", "pegasos", "rda", "sgd", "subgradient"}
COUNTED = [name for name in registry.names("solver") if registry.lookup("solver", name).counts_passes]
UNITLESS = [name for name in COUNTED if name not in OF_A_UNIT and not name.startswith(("pdprox", "sklearn"))]
LOSSES = "squared", "hinge"
STRENGTHS = {"elastic_net": {"l1": 0.05, "l2": 0.001}, "l2": {"strength": 0.01}}  # of the norm, then of the square


def problem(loss, regularizer, of_data=1.0, of_labels=1.0):
    """A problem whose model is `of_labels` / `of_data` times, and its P `of_labels`^2 times, what they are for 1."""
    X, y = oracles.data(60, 8, loss=loss)
    units = {"l1": of_data * of_labels, "l2": of_data**2, "strength": of_data**2}
    strengths = {key: value * units[key] for key, value in STRENGTHS[regularizer].items()}
    return Problem(of_data * X, of_labels * y if loss == "squared" else y, loss, {"name": regularizer, **strengths})


def curve(solver, p):
    """P at the trace points of 25 passes or to the rounding of the gap."""
    return solve(p, solver, reduction="none", passes=25, relative_gap=1e-12).trace["primal"].to_numpy()


def taken(solver, losses):
    """The (loss, regularizer) of `losses` that a solver takes without a reduction."""
    pairs = [(loss, regularizer) for loss in losses for regularizer in STRENGTHS]
    needs = registry.build_solver(solver).needs
    return [pair for pair in pairs if not lacking(needs, problem(*pair).traits)]


@pytest.mark.core(14)
@pytest.mark.parametrize("solver", UNITLESS)
def test_units_of_the_data(solver):
    for loss, regularizer in taken(solver, LOSSES):
        at_one = curve(solver, problem(loss, regularizer))
        for unit in 2.0**-40, 2.0**27:
            np.testing.assert_allclose(curve(solver, problem(loss, regularizer, unit)), at_one, rtol=1e-11)


@pytest.mark.core(12)
@pytest.mark.parametrize("solver", [name for name in UNITLESS if taken(name, ["squared"])])
def test_units_of_the_labels(solver):
    for loss, regularizer in taken(solver, ["squared"]):
        at_one = curve(solver, problem(loss, regularizer))
        for unit in 2.0**-30, 2.0**20, 2.0**40:
            found = curve(solver, problem(loss, regularizer, of_labels=unit)) / unit**2
            np.testing.assert_allclose(found, at_one, rtol=1e-11)
