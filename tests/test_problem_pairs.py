"""Fenchel's inequality at random points, for components from outside of the package."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import oracles
import pytest

from rrmbench import solve
from rrmbench.errors import RrmbenchError
from rrmbench.losses.hinge import Hinge
from rrmbench.losses.squared import Squared
from rrmbench.problem import pairs
from rrmbench.problem.domain import within
from rrmbench.problem.pairs import held_to_pairs
from rrmbench.problem.problem import Problem
from rrmbench.regularizers.l1 import L1
from rrmbench.regularizers.norms import L1Norm, scale_into

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
    """A norm like l1, restricted to no dual ball or to one that is too large.

    Its proximal step may be too short, and its scaling into the dual ball may end outside.
    """

    strength: float = 0.1
    wider: float = 1.0
    shorter: float = 1.0
    outside: float = 1.0
    homogeneous = True

    def value(self, w):
        return self.strength * abs(w)

    def conjugate(self, v):
        return 0.0 if abs(v) <= self.wider * self.strength * (1.0 + 1e-12) else np.inf

    def prox(self, w, t):
        return np.sign(w) * max(abs(w) - self.shorter * self.strength * t, 0.0)

    def dual_scaling(self, v):
        most = np.abs(v).max() / (self.wider * self.outside * self.strength)
        return 1.0 if most <= 1.0 else 1.0 / most


class Lower:
    """A loss over all samples, its conjugate less by a number; it may leave its dual variables unbalanced."""

    def __init__(self, inner, below=0.0, balanced=True):
        self._inner, self._below, self._balanced = inner, below, balanced

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def conjugate(self, b, y):
        return self._inner.conjugate(b, y) - self._below

    def balanced(self, b, y):
        return self._inner.balanced(b, y) if self._balanced else b


def over_all_samples(name, **numbers):
    """A small problem of a loss that is no sum over samples, with a last column of ones."""
    if name in ("crf", "m3n"):
        return oracles.words(name, RIDGE)
    A, y = oracles.data(30, 6, seed=1, loss=name)
    A[:, -1] = 1.0
    return Problem(A, y, {"name": "hinge", "budget": 9.5} if name == "hinge" else name, RIDGE, **numbers)


@pytest.mark.exhaustive
@pytest.mark.parametrize("bias", ["none", "free"])
def test_pairs_are_none_whatever_the_problem(bias, monkeypatch):
    monkeypatch.setattr(pairs, "_is_foreign", lambda component: True)
    A = X if bias == "none" else np.column_stack([X, np.ones(30)])
    for name in oracles.scalar_losses():
        y = oracles.labels(name, Y)
        for regularizer in ({"name": "l1", "strength": 0.1}, RIDGE):
            problem = Problem(A, y, oracles.example("loss", name), regularizer, free_bias=bias == "free")
            assert held_to_pairs(problem, "f", "g") == (None, None), name
    for name in oracles.vector_losses():
        problem = Problem(X, np.arange(30) % 3, oracles.example("loss", name), RIDGE)
        if problem.y.ndim == 1:
            assert held_to_pairs(problem, "f", "g") == (None, None), name


REGULARIZERS = [oracles.example("regularizer", name) for name in oracles.names("regularizer")]
DOMAINS = [{"name": "l1", "strength": 0.1, "domain": domain} for domain in ({"box": [-0.2, 0.3]}, {"ball": 0.5})]


def with_regularizer(mapping, **numbers):
    """A small problem on a vector or, where the regularizer needs one, on a matrix."""
    try:
        return Problem(X, Y, "squared", mapping, **numbers)
    except RrmbenchError:
        return Problem(X, np.arange(30) % 3, "smoothed_max_of_hinge", mapping, **numbers)


@pytest.mark.parametrize("mapping", REGULARIZERS + DOMAINS, ids=str)
def test_regularizers_are_pairs(mapping, monkeypatch):
    monkeypatch.setattr(pairs, "_is_foreign", lambda component: True)
    assert held_to_pairs(with_regularizer(mapping), "f", "g") == (None, None)
    assert held_to_pairs(with_regularizer(mapping, l2=0.1), "f", "g") == (None, None)


WRONG_SCALINGS = {
    "all but the last": lambda v: np.concatenate([v[:-1], 0.0 * v[-1:]]),
    "all but the first": lambda v: np.concatenate([0.0 * v[:1], v[1:]]),
    "a mean": lambda v: np.full_like(v, np.mean(v)),
    "positive ones": lambda v: np.maximum(v, 0.0),
    "negative ones": lambda v: np.minimum(v, 0.0),
    "too small": lambda v: 0.99 * v,
}


@pytest.mark.parametrize("wrong", WRONG_SCALINGS)
@pytest.mark.parametrize("name", ["l1", "l2_norm", "linf_norm", "l21", "l1inf", "trace_norm"])
def test_a_scaling_that_leaves_v_outside_the_dual_domain_is_named(name, wrong, monkeypatch):
    problem, seen = with_regularizer(oracles.example("regularizer", name)), WRONG_SCALINGS[wrong]
    kind = type(problem.regularizer)
    right = kind.dual_scaling
    monkeypatch.setattr(pairs, "_is_foreign", lambda component: True)
    monkeypatch.setattr(kind, "dual_scaling", lambda psi, v: right(psi, seen(v)))
    assert held_to_pairs(problem, "f", "mine").broken.startswith("the regularizer 'mine' is no conjugate pair")


@pytest.mark.parametrize("loss", [Plain(scale=0.98), Plain(below=1e-3), Plain(below=1e-9)])
def test_a_loss_whose_conjugate_or_value_is_too_small_is_named(loss):
    assert held_to_pairs(Problem(X, Y, Plain(), RIDGE), "mine", "l2") == (None, None)
    looser = Plain(scale=1.02)  # its bounds are true ones
    assert held_to_pairs(Problem(X, Y, looser, RIDGE), "mine", "l2") == (None, None)
    found = held_to_pairs(Problem(X, Y, loss, RIDGE), "mine", "l2").broken
    assert found.startswith("the loss 'mine' is no conjugate pair")


@pytest.mark.core(2)
@pytest.mark.parametrize("name", ["f1", "crf", "m3n", "max_row", "hinge"])
def test_a_loss_over_all_samples_whose_conjugate_is_too_small_is_named(name):
    problem = over_all_samples(name)
    for below in (0.0, -1e-3):
        assert held_to_pairs(replace(problem, loss=Lower(problem.loss, below)), "mine", "f") == (None, None)
    for below in (1e-3, 1e-6):
        found = held_to_pairs(replace(problem, loss=Lower(problem.loss, below)), "mine", "f").broken
        assert found.startswith("the loss 'mine' is no conjugate pair")


@pytest.mark.core(1)
@pytest.mark.parametrize("sizes", [(1, 1, 200), (20,) * 10])
def test_rare_classes_and_many_are_balanced_to_the_rounding_of_all(sizes, monkeypatch):
    monkeypatch.setattr(pairs, "_is_foreign", lambda component: True)
    y = np.repeat(np.arange(len(sizes)), sizes)
    A = np.column_stack([np.random.default_rng(0).normal(size=(y.size, 5)), np.ones(y.size)])
    for loss in oracles.vector_losses():
        problem = Problem(A, y, oracles.example("loss", loss), RIDGE, free_bias=True)
        assert held_to_pairs(problem, "f", "g") == (None, None), loss


def test_a_loss_whose_dual_variables_are_unbalanced_is_named_where_a_bias_is_free():
    for free in (False, True):
        problem = over_all_samples("f1", free_bias=free)
        assert held_to_pairs(replace(problem, loss=Lower(problem.loss)), "mine", "f") == (None, None)
        found = held_to_pairs(replace(problem, loss=Lower(problem.loss, balanced=False)), "mine", "f").broken
        assert found.startswith("the loss 'mine' has a method `balanced` whose dual variables") if free else not found


@pytest.mark.core(1)
@pytest.mark.parametrize("how", ["smoothed", "weighted", "minimized bias", "smoothed, minimized bias"])
def test_a_loss_is_named_whatever_its_smoothing_and_its_bias(how):
    weights = np.linspace(0.5, 1.5, 30) if how == "weighted" else None
    mu = 0.0 if how == "minimized bias" else 0.5
    for loss in (Plain(), Plain(scale=1.02), Plain(scale=0.98), Plain(below=1e-3)):
        problem = Problem(X, Y, loss, RIDGE, mu=mu, weights=weights, minimized_bias=how.endswith("bias"))
        is_broken = loss.scale < 1.0 or loss.below > 0.0
        assert (held_to_pairs(problem, "mine", "l2").broken is not None) == is_broken, loss


@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("ball", [0.3, 1.0, 100.0])
def test_a_regularizer_is_named_whatever_ball_it_is_restricted_to(ball, l2):
    for shorter in (0.5, 0.98, 1.0, 1.02, 2.0):
        problem = Problem(X, Y, "squared", within(Sparse(shorter=shorter), {"ball": ball}), l2=l2)
        # the conjugate of a norm in a ball is computed by the step alone: too great for a step that is too short
        is_broken = shorter > 1.0 or (shorter < 1.0 and l2 > 0.0)
        found = held_to_pairs(problem, "squared", "mine").broken
        assert found.startswith("the regularizer 'mine' is no conjugate pair") if is_broken else found is None, shorter


@pytest.mark.parametrize(
    ("psi", "l2"),
    [
        (Sparse(wider=np.inf), 0.0),
        (Sparse(wider=1.5), 0.0),
        (Sparse(outside=1.5), 0.0),
        (Sparse(shorter=0.5), 0.1),
    ],
)
def test_a_regularizer_whose_conjugate_or_step_is_too_small_is_named(psi, l2):
    assert held_to_pairs(Problem(X, Y, "squared", Sparse(), l2=l2), "squared", "mine") == (None, None)
    found = held_to_pairs(Problem(X, Y, "squared", psi, l2=l2), "squared", "mine").broken
    assert found.startswith("the regularizer 'mine' is no conjugate pair")


class Short(L1Norm):
    """It raises at slopes that no run may come to; on arrays, for which nothing is compiled."""

    wider = 1.0

    def conjugate(self, v):
        return 0.0 if self.dual_norm(v) <= self.wider * self.strength * (1.0 + 1e-12) else np.inf

    def dual_scaling(self, v):
        if np.abs(v).max() > 50.0:
            raise OverflowError("too steep")
        return scale_into(self.dual_norm(v), self.wider * self.strength)


class Wide(Short):
    """Of a dual ball that is too large, too."""

    wider = 1.5


def test_what_cannot_be_looked_at_is_told():
    found = held_to_pairs(Problem(X, Y, "squared", Short(0.1)), "squared", "mine")
    assert found == (None, "the regularizer 'mine' raised OverflowError: too steep")
    assert held_to_pairs(Problem(X, Y, "squared", Wide(0.1)), "squared", "mine").broken
    with pytest.warns(UserWarning, match="'Short' raised OverflowError: too steep"):
        solve(Problem(X, Y, "squared", Short(0.1)), "fobos", passes=2)


def test_components_of_the_package_are_left_alone(monkeypatch):
    monkeypatch.setattr(Squared, "conjugate", lambda self, b, y: -1.0)
    monkeypatch.setattr(L1, "conjugate", lambda self, v: -1.0)
    assert held_to_pairs(Problem(X, Y, "squared", {"name": "l1", "strength": 0.1}), "f", "g") == (None, None)


@pytest.mark.parametrize(
    ("loss", "psi", "found"),
    [(Plain(scale=0.98), RIDGE, "the loss 'Plain'"), ("squared", Sparse(wider=1.5), "the regularizer 'Sparse'")],
)
def test_solve_refuses_what_is_no_pair_before_anything_runs(loss, psi, found, monkeypatch):
    monkeypatch.setattr("rrmbench.notebook.warming.warm_up", lambda *_: pytest.fail("it ran"))
    with pytest.raises(RrmbenchError, match=f"^{found} is no conjugate pair: [^\n]*, so that no gap means anything$"):
        solve(Problem(X, Y, loss, psi), "fista", passes=3)


@dataclass(frozen=True)
class HuberNorm:
    """strength (w^2/2 for |w| <= 1, |w| - 1/2 beyond): psi* is v^2/(2 strength) for |v| <= strength, no indicator.

    On arrays, for which nothing is compiled.
    """

    strength: float
    coordinate_separable = False

    def value(self, w):
        size = np.abs(w)
        return self.strength * float(np.sum(np.where(size <= 1.0, 0.5 * w * w, size - 0.5)))

    def conjugate(self, v):
        return float(v @ v) / (2.0 * self.strength) if np.abs(v).max() <= self.strength else np.inf

    def prox(self, w, t):
        c = t * self.strength
        return np.where(np.abs(w) <= 1.0 + c, w / (1.0 + c), w - np.copysign(c, w))

    def dual_scaling(self, v):
        return min(1.0, self.strength / max(np.max(np.abs(v)), 1e-300))

    def radius(self, value, shape):
        return np.inf


def test_a_conjugate_that_is_finite_in_a_bounded_domain_makes_certificates():
    """Where v is scaled into the domain, D has psi* there, and not 0."""
    p = Problem(X, 3.0 * Y, "squared", HuberNorm(0.3))
    assert held_to_pairs(p, "squared", "own") == (None, None)
    found = solve(p, "fista", passes=2000, gap=1e-9)
    assert found.reason == "gap"
    b = 5.0 * RNG.normal(size=30)
    t, conjugate = p.regularization.scaled_conjugate(p.v(b))
    dual, scaled = p.certificate(b)
    assert t < 1.0 and conjugate > 0.0 and np.array_equal(scaled, t * b)
    assert dual == pytest.approx(-p.mean_conjugate(t * b) - conjugate)
    assert dual <= found.trace["primal"].iloc[-1]


class Multinomial(NamedTuple):
    """The multinomial logistic loss in a plug-in's words, with methods on several rows that may be wrong."""

    of_values: float = 1.0
    of_duals: float = 1.0
    conjugate_convexity: float = 2.0
    lipschitz: float = 2.0**0.5
    outputs = "vector"

    def spread(self, k):
        return 1.0

    def value_row(self, z, y):
        return np.log(np.sum(np.exp(z))) - z[int(y)]

    def conjugate_row(self, b, y):
        total = 0.0
        for j in range(b.shape[0]):
            p = b[j] + (1.0 if j == int(y) else 0.0)
            if p < 0.0:
                return np.inf
            total += p * np.log(p) if p > 0.0 else 0.0
        return total

    def penalty_row(self, b, y):
        return np.sum(b * b)

    def dual_point_row(self, z, y, mu, q, b):
        b[:] = np.exp(z) / np.sum(np.exp(z))
        b[int(y)] -= 1.0

    def value_rows(self, z, y, values):
        for i in range(z.shape[0]):
            values[i] = self.of_values * self.value_row(z[i], y[i])

    def dual_point_rows(self, z, y, b):
        for i in range(z.shape[0]):
            self.dual_point_row(z[i], y[i], 0.0, 0.0, b[i])
            b[i, 0] *= self.of_duals


@pytest.mark.parametrize("factors", [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5)])
def test_methods_on_several_rows_are_those_on_one(factors):
    problem = Problem(X, np.arange(len(Y)) % 3.0, Multinomial(*factors), RIDGE)
    found = held_to_pairs(problem, "mine", "l2")
    assert found.unchecked is None
    if factors == (1.0, 1.0):
        assert found.broken is None
    else:
        assert found.broken.startswith("the loss 'mine' gives other numbers for several samples at once")


class Inside(NamedTuple):
    """The hinge loss, its conjugate too small inside of the domain, where b is a derivative at the kink alone."""

    below: float
    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0
    value, dual_point = Hinge.value, Hinge.dual_point

    def conjugate(self, b, y):
        s = -y * b
        return -s - self.below * s * (1.0 - s) if 0.0 <= s <= 1.0 else np.inf


@pytest.mark.parametrize(("below", "is_broken"), [(0.2, True), (1e-3, True), (0.0, False), (-0.1, False)])
def test_a_conjugate_that_is_too_small_where_phi_has_a_kink_is_found(below, is_broken):
    """A greater one makes greater gaps, which lie about nothing."""
    found = held_to_pairs(Problem(X, np.sign(Y), Inside(below), RIDGE), "mine", "l2").broken
    assert (found is not None) == is_broken


class Steeper(NamedTuple):
    """The hinge loss, whose conjugate is finite for slopes that it does not have, up to a limit."""

    limit: float
    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0
    value, dual_point = Hinge.value, Hinge.dual_point

    def conjugate(self, b, y):
        return y * b if -self.limit <= y * b <= 0.0 else np.inf


@pytest.mark.parametrize("limit", [1.0, 1.01, np.inf])
def test_a_conjugate_that_is_finite_outside_of_its_domain_is_found(limit):
    """No derivative of phi is there, but the b of somebody's solver may be."""
    problem = Problem(X, np.sign(Y), Steeper(limit), RIDGE)
    assert (held_to_pairs(problem, "mine", "l2").broken is not None) == (limit > 1.0)
