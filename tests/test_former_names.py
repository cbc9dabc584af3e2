"""Plug-ins written with the former names of methods and fields go on working, and say what the names are now."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest

from rrmbench import registry
from rrmbench.former_names import FORMER_NAMES, renamed
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.random import Rng
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss, build_regularizer, traits
from rrmbench.registry import build_solver, lookup
from rrmbench.regularizers.norms import Norm

X = np.array([[1.0, 0.5], [0.0, -1.0], [2.0, 0.0], [-0.5, 1.0]])
Y = np.array([1.0, -1.0, 0.5, 2.0])
B = np.array([0.5, -1.0, 0.0, 2.0])


def old_classes():
    """New classes on every call, so that each test sees the first use."""

    class OldSquared(NamedTuple):
        convexity: float = 1.0
        lipschitz: float = float("inf")

        def value(self, z, y):
            return 0.5 * (z - y) * (z - y)

        def conjugate(self, b, y):
            return y * b + 0.5 * b * b

        def dual(self, z, y, mu):
            return (z - y) / (1.0 + mu)

    class OldL1(NamedTuple):
        strength: float = 0.1

        def value(self, w):
            return self.strength * abs(w)

        def conjugate(self, v):
            return 0.0 if abs(v) <= self.strength else float("inf")

        def prox(self, w, t):
            return np.sign(w) * max(abs(w) - t * self.strength, 0.0)

        def feasible(self, v):
            greatest = float(np.max(np.abs(v)))
            return 1.0 if greatest <= self.strength else self.strength / greatest

        def radius(self, value, shape):
            return value / self.strength

    return OldSquared, OldL1


def solved(problem, solver, passes):
    """The iterate after so many passes from 0."""
    return next(it for it in build_solver(solver)(problem, None, Rng(0)) if it.passes >= passes)


@pytest.mark.core(1)
@pytest.mark.parametrize("solver", ["apcg", "prox_sdca", "fista", "pdprox_dual", "saga"])
def test_components_with_former_names_give_the_same_iterates(solver):
    OldSquared, OldL1 = old_classes()
    with pytest.warns(DeprecationWarning) as seen:
        old = Problem(X, Y, OldSquared(), OldL1(), l2=0.2)
    said = {str(w.message) for w in seen}
    assert said == {
        "loss: OldSquared.dual is now called dual_point",
        "loss: OldSquared.convexity is now called conjugate_convexity",
        "regularizer: OldL1.feasible is now called dual_scaling",
    }
    new = Problem(X, Y, "squared", {"name": "l1", "strength": 0.1}, l2=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        a, b = solved(old, solver, 5), solved(new, solver, 5)
    np.testing.assert_array_equal(a.w, b.w)
    assert old.certificate(B)[0] == new.certificate(B)[0]
    old, new = Problem(X, Y, OldSquared(), OldL1()), Problem(X, Y, "squared", {"name": "l1", "strength": 0.1})
    assert old.certificate(B)[0] == pytest.approx(new.certificate(B)[0], rel=1e-14)  # b is scaled into the domain


def test_registered_plugins_with_former_names_are_renamed():
    OldSquared, OldL1 = old_classes()

    @registry.loss
    def old_squared(mu: float = 0.5):
        return OldSquared(), mu

    @registry.regularizer
    def old_l1(strength: float = 0.1):
        return OldL1(strength)

    with pytest.warns(DeprecationWarning, match="now called (dual_point|conjugate_convexity)"):
        loss, mu = build_loss("old_squared")
    with pytest.warns(DeprecationWarning, match="now called dual_scaling"):
        psi, _ = build_regularizer("old_l1")
    assert (loss.dual_point(2.0, 1.0, mu), loss.conjugate_convexity) == (1.0 / 1.5, 1.0)
    assert psi.dual_scaling(np.array([0.2])) == 0.5
    assert {"smooth", "coordinate"} <= traits("old_squared", "old_l1")


def test_what_a_plugin_redefines_under_a_former_name_replaces_the_inherited_method():
    class Halved(Norm):
        strength = 0.1

        def norm(self, w):
            return float(np.abs(w).sum())

        def dual_norm(self, v):
            return float(np.abs(v).max())

        def feasible(self, v):
            return 0.5

    with pytest.warns(DeprecationWarning, match=r"Halved\.feasible is now called dual_scaling"):
        problem = Problem(X, Y, "squared", Halved())
    assert problem.regularization.dual_scaling(np.ones(2)) == 0.5
    assert not problem.regularization.coordinate_separable


def test_an_attribute_of_the_instance_is_renamed():
    class Own:
        def __init__(self):
            self.separable = False

    with pytest.warns(DeprecationWarning, match="now called coordinate_separable"):
        psi = renamed("regularizer", Own())
    assert not over_coordinates(psi).coordinate_separable


def test_the_former_names_of_the_package_stay_readable():
    """For solvers that are plug-ins: of the problem, its loss and its regularizer."""
    problem = Problem(X, Y, "squared", {"name": "group_lasso", "strength": 0.1, "groups": 2}, l2=0.2)
    rows, _ = build_loss("l2_multi")
    met = set()
    for kind, of, arguments in [
        ("problem", problem, {"dual": (B,)}),
        ("losses", problem.losses, {"dual": (0.5, Y)}),
        ("loss", problem.loss, {"dual": (2.0, 1.0, 0.5), "convexity": None}),
        ("loss", rows, {"dual_row": None, "convexity": None}),
        ("regularization", problem.regularization, {"feasible": (np.ones(2),), "separable": None}),
        ("regularizer", problem.regularizer, {"feasible": (np.ones(2),), "separable": None}),
    ]:
        for former, given in arguments.items():
            name = FORMER_NAMES[kind][former]
            with pytest.warns(DeprecationWarning, match=f"{kind}: {former} is now called {name}"):
                found = getattr(of, former)
            if given is None:
                assert found == getattr(of, name)
            else:
                np.testing.assert_array_equal(found(*given), getattr(of, name)(*given))
            met.add((kind, former))
    assert met == {(kind, former) for kind, names in FORMER_NAMES.items() for former in names}


@kernel
def former_kernel(loss, z, y):
    """loss.dual, and the field under both of its names."""
    return loss.dual(z, y, 0.5) + loss.convexity + loss.conjugate_convexity


def test_kernels_of_plugins_call_former_names():
    shipped, _ = build_loss("squared")
    assert former_kernel(shipped, 2.0, 1.0) == 1.0 / 1.5 + 2.0
    OldSquared, _ = old_classes()
    with pytest.warns(DeprecationWarning):
        problem = Problem(X, Y, OldSquared(), "none", l2=0.2)
    assert former_kernel(problem.loss, 2.0, 1.0) == 1.0 / 1.5 + 2.0


def test_shipped_components_have_present_names_only():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lookup("loss", "hinge").build()
        Problem(X, Y, "squared", "none", l2=0.1)
