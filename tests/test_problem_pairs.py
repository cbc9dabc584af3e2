"""Fenchel's inequality at random points, for components from outside of the package."""

from typing import NamedTuple

import numpy as np
import oracles
import pytest

from rrmbench.losses.squared import Squared
from rrmbench.problem import pairs
from rrmbench.problem.pairs import broken_pair
from rrmbench.problem.problem import Problem
from rrmbench.regularizers.l1 import L1

RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=(30, 6)), RNG.normal(size=30)
RIDGE = {"name": "l2", "strength": 0.1}


class Plain(NamedTuple):
    """The squared loss, its conjugate or its derivative changed by factors."""

    conjugate_convexity: float = 1.0
    lipschitz: float = float("inf")
    scale: float = 1.0
    below: float = 0.0

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y) - self.below

    def conjugate(self, b, y):
        return self.scale * 0.5 * b * b + y * b

    def dual_point(self, z, y, mu):
        return (z - y) / (1.0 + mu)


class Sparse(NamedTuple):
    """A norm like l1, restricted to no dual ball or to one that is too large; its proximal step may be too short."""

    strength: float = 0.1
    wider: float = 1.0
    shorter: float = 1.0

    def value(self, w):
        return self.strength * abs(w)

    def conjugate(self, v):
        return 0.0 if abs(v) <= self.wider * self.strength * (1.0 + 1e-12) else np.inf

    def prox(self, w, t):
        return np.sign(w) * max(abs(w) - self.shorter * self.strength * t, 0.0)

    def dual_scaling(self, v):
        most = np.abs(v).max()
        return 1.0 if most <= self.wider * self.strength else self.wider * self.strength / most


@pytest.mark.parametrize("bias", ["none", "free"])
def test_pairs_are_none_whatever_the_problem(bias, monkeypatch):
    monkeypatch.setattr(pairs, "_is_foreign", lambda component: True)
    A = X if bias == "none" else np.column_stack([X, np.ones(30)])
    for name in oracles.scalar_losses():
        y = oracles.labels(name, Y)
        for regularizer in ({"name": "l1", "strength": 0.1}, RIDGE):
            problem = Problem(A, y, oracles.example("loss", name), regularizer, free_bias=bias == "free")
            assert broken_pair(problem, "f", "g") is None, name
    for name in oracles.vector_losses():
        problem = Problem(X, np.arange(30) % 3, oracles.example("loss", name), RIDGE)
        if problem.y.ndim == 1:
            assert broken_pair(problem, "f", "g") is None, name


@pytest.mark.parametrize("mapping", oracles.coordinate_regularizers(), ids=lambda mapping: mapping["name"])
def test_regularizers_over_coordinates_are_pairs(mapping, monkeypatch):
    monkeypatch.setattr(pairs, "_is_foreign", lambda component: True)
    assert broken_pair(Problem(X, Y, "squared", mapping), "f", "g") is None
    assert broken_pair(Problem(X, Y, "squared", mapping, l2=0.1), "f", "g") is None


@pytest.mark.parametrize("loss", [Plain(scale=0.98), Plain(below=1e-3)])
def test_a_loss_whose_conjugate_or_value_is_too_small_is_named(loss):
    assert broken_pair(Problem(X, Y, Plain(), RIDGE), "mine", "l2") is None
    assert broken_pair(Problem(X, Y, Plain(scale=1.02), RIDGE), "mine", "l2") is None  # looser bounds, true ones
    assert broken_pair(Problem(X, Y, loss, RIDGE), "mine", "l2").startswith("the loss 'mine' is no conjugate pair")


@pytest.mark.parametrize(
    ("psi", "l2"), [(Sparse(wider=np.inf), 0.0), (Sparse(wider=1.5), 0.0), (Sparse(shorter=0.5), 0.1)]
)
def test_a_regularizer_whose_conjugate_or_step_is_too_small_is_named(psi, l2):
    assert broken_pair(Problem(X, Y, "squared", Sparse(), l2=l2), "squared", "mine") is None
    found = broken_pair(Problem(X, Y, "squared", psi, l2=l2), "squared", "mine")
    assert found.startswith("the regularizer 'mine' is no conjugate pair")


def test_components_of_the_package_are_left_alone(monkeypatch):
    monkeypatch.setattr(Squared, "conjugate", lambda self, b, y: -1.0)
    monkeypatch.setattr(L1, "conjugate", lambda self, v: -1.0)
    assert broken_pair(Problem(X, Y, "squared", {"name": "l1", "strength": 0.1}), "f", "g") is None
