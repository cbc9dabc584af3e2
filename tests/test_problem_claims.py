"""What somebody's own losses and regularizers say of themselves and is not so."""

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from over_all_samples import OfAll

from rrmbench import registry
from rrmbench.errors import RrmbenchError
from rrmbench.losses.absolute import Absolute
from rrmbench.losses.squared import Squared
from rrmbench.losses.squared_multi import SquaredMulti
from rrmbench.problem import claims, pairs
from rrmbench.problem.claims import fault_of_convexity
from rrmbench.problem.domain import within
from rrmbench.problem.pairs import held_to_pairs
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss
from rrmbench.regularizers.norms import L1Norm

RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=(30, 6)), RNG.normal(size=30)
RIDGE = {"name": "l2", "strength": 0.1}


class OfOne(NamedTuple):
    """The squared loss, which says of itself what it is told to."""

    conjugate_convexity: float = 1.0
    lipschitz: float = np.inf
    value, conjugate, dual_point = Squared.value, Squared.conjugate, Squared.dual_point


class Bent(NamedTuple):
    """The absolute loss, which may say that it is smooth."""

    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0
    value, conjugate, dual_point = Absolute.value, Absolute.conjugate, Absolute.dual_point


class OfRows(SquaredMulti):
    """Not of the package."""


CLAIMS = {
    "smoother": (OfOne, (1.001,), Y, "that its slopes change by"),
    "slopes of 3 at most": (OfOne, (1.0, 3.0), Y, "that its slopes are of length 3 at most"),
    "a kink": (Bent, (1e-2,), 1e5 + Y, "that its slopes change by"),
    "smoother, of rows": (OfRows, (1.001,), RNG.normal(size=(30, 3)), "that its slopes change by"),
    "slopes of 3 at most, of rows": (OfRows, (1.0, 3.0), RNG.normal(size=(30, 3)), "that its slopes are of length 3"),
    "smoother, of all samples": (OfAll, (1.001,), Y, "that its slopes change by"),
}


@pytest.mark.parametrize("case", CLAIMS)
def test_a_loss_whose_constants_do_not_hold_is_named(case):
    cls, constants, y, claim = CLAIMS[case]
    shipped = Problem(X, y, "squared" if y.ndim == 1 else "squared_multi", RIDGE)
    assert held_to_pairs(replace(shipped, loss=cls()), "mine", "l2") == (None, None)
    found = held_to_pairs(replace(shipped, loss=cls(*constants)), "mine", "l2").broken
    assert found.startswith(f"the loss 'mine' says {claim}")


class Curved(L1Norm):
    """A norm, said to be strongly convex."""

    convexity = 0.5

    def conjugate_point(self, v):
        return 0.0 * v


def test_a_regularizer_that_is_less_convex_than_it_says_is_named():
    assert held_to_pairs(Problem(X, Y, "squared", type("Flat", (L1Norm,), {})(0.1)), "squared", "mine").broken is None
    found = held_to_pairs(Problem(X, Y, "squared", Curved(0.1)), "squared", "mine").broken
    assert found.startswith("the regularizer 'mine' says that it is 0.5-strongly convex (convexity)")


@pytest.mark.parametrize(("claimed", "holds"), [(0.7, True), (0.7 * (1.0 + 1e-4), False), (0.0, True)])
def test_the_convexity_of_a_square_is_its_factor(claimed, holds):
    psi = SimpleNamespace(convexity=claimed, value=lambda w: 0.35 * float(np.vdot(w, w)) + float(np.sum(w)))
    fault = fault_of_convexity(psi, np.array([1.0, -2.0, 0.5]), np.array([-3.0, 0.0, 1.0]))
    assert (fault is None) == holds


class Net(NamedTuple):
    """An elastic net, said to be a multiple of |w|."""

    strength: float
    square: float
    soft_threshold = True

    def value(self, w):
        return self.strength * abs(w) + 0.5 * self.square * w * w

    def conjugate(self, v):
        return 0.5 * max(0.0, abs(v) - self.strength) ** 2 / self.square if self.square > 0.0 else np.inf

    def prox(self, w, t):
        return np.sign(w) * max(0.0, abs(w) - t * self.strength) / (1.0 + t * self.square)

    def dual_scaling(self, v):
        return 1.0

    def radius(self, value, shape):
        return np.inf


def test_a_regularizer_that_is_more_than_its_threshold_is_named():
    found = held_to_pairs(Problem(X, Y, "squared", Net(0.1, 0.1)), "squared", "mine").broken
    assert found.startswith("the regularizer 'mine' says that it is strength |w| (soft_threshold), found ")


def test_a_box_is_not_made_of_a_threshold_that_leaves_something_out():
    """The problem would be that of l1 in the box, and P less by the square."""
    assert within(Net(0.1, 0.0), {"box": [-0.8, 0.8]}).strength == 0.1
    with pytest.raises(RrmbenchError, match=r"^regularizer.domain.box: Net says that it is strength \|w\| \(soft_"):
        within(Net(0.1, 0.1), {"box": [-0.8, 0.8]})


@pytest.mark.parametrize("y", [Y, np.append(np.arange(29) % 2, 2)], ids=["numbers", "classes"])
def test_claims_are_looked_at_on_some_of_many_samples(y, monkeypatch):
    """As slopes may cost more than a pass; the classes of the others keep their outputs."""
    asked = []
    monkeypatch.setattr(pairs, "SOME", 8)
    monkeypatch.setattr(claims, "fault_of_constants", lambda problem, z, other: asked.append(z.shape))
    named, shape = ("squared", (8,)) if y is Y else ("soft_max_of_hinge", (8, 3))
    monkeypatch.setattr(pairs, "_is_foreign", lambda component: True)
    assert held_to_pairs(Problem(X, y, named, RIDGE), "mine", "l2") == (None, None)
    assert set(asked) == {shape}


def form_of(**changes):
    """An object like the squared loss of a class with these attributes, None for none."""
    methods = {"value": Squared.value, "conjugate": Squared.conjugate, "dual_point": Squared.dual_point}
    attributes = {"conjugate_convexity": 1.0, "lipschitz": np.inf} | methods | changes
    return type("Own", (), {name: value for name, value in attributes.items() if value is not None})()


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        (form_of(), r"found an object of Own\w*, which is no NamedTuple"),
        (
            form_of(conjugate=None),
            r"found an object of Own\w* with no method conjugate; needed are value, conjugate, dual_",
        ),
        (form_of(outputs="row"), r"found an object of Own\w* with outputs = 'row', allowed is scalar, vector or whole"),
        (OfOne(np.nan), "found an object of OfOne with conjugate_convexity = nan, needed is a number of at least 0"),
    ],
)
def test_a_loss_of_another_form_is_one_message(loss, found):
    """Kernels had a page of a compiler to say of it, and a configuration a traceback."""
    with pytest.raises(RrmbenchError, match=f"^loss: {found}"):
        Problem(X, Y, loss, RIDGE)

    @registry.loss
    def own():
        return loss

    with pytest.raises(RrmbenchError, match=f"test_problem_claims.py: loss 'own': {found}"):
        build_loss("own")


def test_a_regularizer_of_another_form_is_one_message():
    with pytest.raises(
        RrmbenchError, match=r"^regularizer: found an object of Own\w* with no method prox, dual_scaling; "
    ):
        Problem(X, Y, "squared", form_of())
    with pytest.raises(RrmbenchError, match=r"no NamedTuple: .* or say coordinate_separable = False$"):
        Problem(X, Y, "squared", form_of(prox=len, dual_scaling=len))
