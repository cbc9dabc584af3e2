"""What components say of themselves to linear programs and cones is held to their conjugates."""

import numpy as np
import pytest

from rrmbench import registry
from rrmbench.extending.contract import checks_of
from rrmbench.losses.crammer_singer import MaxOfHinge
from rrmbench.losses.hinge import BudgetHinge
from rrmbench.numerics.pieces import Pieces
from rrmbench.regularizers.blocks import BlockNorm, Groups
from rrmbench.regularizers.box import Box
from rrmbench.regularizers.powers import Power, SquaredNorm


def verdict(kind, name):
    (found,) = [check for check in checks_of(registry.lookup(kind, name)) if check.name == "programs"]
    return found.verdict()


class Shifted(Box):
    """A box whose program has another lower bound."""

    def conjugate_pieces(self, shape):
        return Box(self.lower + 0.1, self.upper).conjugate_pieces(shape)


class Endless(Box):
    """A box with strength, of which the program takes any v for free."""

    def conjugate_pieces(self, shape):
        return Pieces((0.0,), (-np.inf,), (np.inf,))


class Faster(SquaredNorm):
    """The square of a norm, whose balls grow by half of what they should."""

    def growing_balls(self, shape):
        blocks, radii, growth = super().growing_balls(shape)
        return blocks, radii, 2.0 * growth


REGULARIZERS = {
    "shifted": (Shifted(-0.5, 1.0), "conjugate_pieces of"),
    "endless": (Endless(-0.5, 1.0, 0.2), "conjugate_pieces of"),
    "faster": (Faster(0.3, BlockNorm(1.0, Groups(2)), Power(2.0)), "growing_balls of"),
}


@pytest.mark.parametrize("name", REGULARIZERS)
def test_a_regularizer_whose_program_is_of_another_one_is_found(name):
    psi, words = REGULARIZERS[name]
    registry.regularizer(registered(name, psi))
    found = verdict("regularizer", name)
    assert found.state == "WRONG"
    assert words in found.text
    assert "the conjugate is" in found.text


def registered(name, made):
    """A function of this name that makes a component."""

    def build():
        return made

    build.__name__ = name
    build.__doc__ = name
    return build


class Unlimited(BudgetHinge):
    """The hinge with a budget, of which the program knows nothing."""

    def parts(self, y, k):
        return super().parts(y, k)._replace(limit=np.inf)


class Together(MaxOfHinge):
    """The hinge of several classes, where all samples share the limit of one."""

    def parts(self, y, k):
        parts = super().parts(y, k)
        return parts._replace(groups=np.zeros_like(parts.groups))


@pytest.mark.parametrize(
    ("name", "loss", "needs"),
    [("unlimited", Unlimited(2.0), {"binary"}), ("together", Together(), {"classes"})],
)
def test_a_loss_whose_program_is_of_another_one_is_found(name, loss, needs):
    registry.loss(needs=needs)(registered(name, loss))
    found = verdict("loss", name)
    assert found.state == "WRONG"
    assert "parts of" in found.text


@pytest.mark.parametrize(
    ("kind", "name"),
    [("regularizer", "l1inf"), ("regularizer", "box"), ("regularizer", "squared_group"), ("loss", "max_of_hinge")],
)
def test_shipped_programs_are_right(kind, name):
    assert verdict(kind, name).state == "ok"


@pytest.mark.parametrize("kind", ["loss", "regularizer"])
def test_a_component_that_cannot_be_built_has_verdicts_and_no_traceback(kind):
    def unbuilt():
        """nothing"""
        raise ValueError("boom")

    getattr(registry, kind)(unbuilt)
    found = [check.verdict() for check in checks_of(registry.lookup(kind, "unbuilt"))]
    assert {one.state for one in found} == {"WRONG"}
    assert all("ValueError: boom" in one.text for one in found)
