"""Bounds that evaluation makes by itself: which candidates it takes, and what it takes for rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_arrays import seeds

from rrmbench import Iterate, Problem
from rrmbench.problem.certificate import Certifier, contradict, rounding_of

RNG = np.random.default_rng(3)
X = RNG.normal(size=(12, 3))
SIGNS = np.where(X[:, 0] + 0.3 * RNG.normal(size=12) > 0.0, 1.0, -1.0)
L2 = {"name": "l2", "strength": 0.1}


class Recorded(Certifier):
    """A Certifier that keeps all candidates that it is offered, as they were given."""

    def __init__(self, problem):
        super().__init__(problem)
        self.offered = []

    def offer(self, b, problem=None):
        self.offered.append(b.copy())
        super().offer(b, problem)


@given(seed=seeds, steps=st.lists(st.sampled_from([0.0, 0.25, 1.0, 7.5]), min_size=2, max_size=6))
def test_without_a_dual_variable_the_mean_of_subgradients_is_weighted_by_passes(seed, steps):
    """A point stands for the passes since the one before, the first for those from the start on."""
    p, rng = Problem(X, SIGNS, "hinge", L2), np.random.default_rng(seed)
    certifier, passes, weights, subgradients = Recorded(p), 1.0, [1.0], []
    for step in steps:
        w = rng.normal(size=3)
        certifier.update(Iterate(w, passes=passes), p.X.forward(w))
        subgradients.append(p.loss_dual(p.X.forward(w)))
        mean = np.average(subgradients, axis=0, weights=weights)
        if len(subgradients) > 1 and weights[-1] > 0.0:
            np.testing.assert_allclose(certifier.offered[-1], mean, atol=1e-14)
        passes += step
        weights.append(step)


def test_smoothed_derivatives_are_tried_around_the_best_strength_so_far():
    """Over a factor of 256 about mu = 1 at first; where the best is at an end, the next point goes on from there."""
    A, b = np.random.default_rng(0).normal(size=(12, 12)), np.logspace(-4.0, -0.1, 12)  # clipped one by one
    w = -A.T @ b / 12 / 0.1
    p = Problem(A, A @ w, "absolute", L2)  # w and b are optimal
    w += np.linalg.solve(A, 4.0**5 * b)  # where the loss smoothed by 4^5 has the derivative b
    z, certifier = p.X.forward(w), Certifier(p)
    of = {k: p.dual_value(p.loss_dual(z, 4.0**k)) for k in range(-2, 11)}
    assert max(of, key=of.get) == 5 and of[0] < of[1] < of[2] < of[3] < of[4]
    for point in range(1, 4):
        certifier.update(Iterate(w, passes=1.0), z)  # no passes: no mean of several points
        assert certifier.dual == max(0.0, *(of[k] for k in of if k <= 2 * point))


@pytest.mark.parametrize(("regularizer", "has_slopes"), [(L2, False), ({"name": "l1", "strength": 0.1}, True)])
def test_the_b_of_a_solver_is_a_candidate(regularizer, has_slopes):
    """The slopes at X w are one more where Psi is not strongly convex; b = 0 is the first alone."""
    p, w = Problem(X, SIGNS, "logistic", regularizer), np.array([0.3, 0.0, -0.1])
    certifier, z, b = Recorded(p), p.X.forward(w), -0.01 * SIGNS
    slopes = [p.loss_dual(z)] if has_slopes else []
    certifier.update(Iterate(w, b), z)
    certifier.update(Iterate(w, 2.0 * b), z)
    np.testing.assert_array_equal(certifier.offered, [np.zeros(12), b, *slopes, 2.0 * b, *slopes])
    assert certifier.dual == max(p.dual_value(candidate) for candidate in certifier.offered)


def test_the_rounding_of_sums_that_cancel_is_that_of_their_terms():
    """4 eps of sum |b_i x_ij w_j| / n, or more, whatever the sums are; nothing where it is no number."""
    A, w, b = 1e8 + RNG.normal(size=(12, 2)), np.array([1.0, -1.0]), RNG.normal(size=12)
    p = Problem(A, SIGNS, "squared", L2)
    terms = np.abs(b) @ np.abs(A) @ np.abs(w) / 12
    assert 4.0 * np.finfo(float).eps * terms <= rounding_of(p.X, w, b) <= 20.0 * np.finfo(float).eps * terms
    assert rounding_of(p.X, w, None) == rounding_of(p.X, 1e300 * w, 1e300 * b) == 0.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_P_below_D_is_a_contradiction_beyond_a_billionth(sign):
    """1e-9 (|P| + |D|) + 1e-13 of the terms; more would hide a wrong certificate, less would tell of rounding."""
    assert not contradict(sign * 3.0, sign * 3.0 + 5.9e-9, 0.0)
    assert contradict(sign * 3.0, sign * 3.0 + 6.1e-9, 0.0)
    assert not contradict(sign * 3.0, sign * 3.0 + 1.9e-8, 0.0, 1.4e-8)
    assert contradict(sign * 3.0, sign * 3.0 + 2.1e-8, 0.0, 1.4e-8)
    assert not contradict(0.0, 0.9e-13 * 1e4, 1e4)
    assert contradict(0.0, 1.2e-13 * 1e4, 1e4)
    assert not contradict(np.inf, 1.0, 1.0) and not contradict(1.0, -np.inf, 1.0) and not contradict(np.nan, 1.0, 1.0)


def test_an_entry_of_v_that_rounding_alone_has_made_positive_counts_as_0():
    """With w >= 0, psi*(v) is infinite for v > 0: 0.1 + 0.2 - 0.3 is 6e-17 and not 0."""
    p = Problem(np.array([[0.1, 1.0], [0.2, 1.0], [-0.3, 1.0]]), np.zeros(3), "squared", "nonneg")
    b = np.array([-1.0, -1.0, -1.0])
    assert 0.0 < p.v(b)[0] < 1e-16 < p.v(b)[1]
    assert p.certificate(b)[0] == -np.inf  # of v_1 = 1
    p = Problem(np.array([[0.1, -1.0], [0.2, -1.0], [-0.3, -1.0]]), np.zeros(3), "squared", "nonneg")
    assert p.v(b)[0] > 0.0
    value, same = p.certificate(b)
    assert value == -0.5 and np.array_equal(same, b)
    view = p.counted()
    view.certificate(b)
    assert view.X.passes == 1.0  # X^T b, and the magnitudes of its terms
    assert p.certificate(np.array([-1.0, -1.0, -1.0 + 1e-11]))[0] == -np.inf  # beyond the edge, and not by rounding


@given(seed=seeds)
def test_a_square_bounds_a_free_bias_so_that_b_need_not_sum_to_0(seed):
    """D(b) = min over w of P's Lagrangian at this very b: that of a balanced one is another, mostly lower, bound."""
    rng = np.random.default_rng(seed)
    center = rng.normal(size=4)
    p = Problem(np.hstack([X, np.ones((12, 1))]), SIGNS, "hinge", L2, free_bias=True).regularized(0.2, center)
    b = p.loss_dual(rng.normal(size=12), 0.5)
    value, same = p.certificate(b)
    assert np.array_equal(same, b)
    v = -np.append(X.T @ b, b.sum()) / 12
    w = np.append((v[:3] + 0.2 * center[:3]) / 0.3, v[3] / 0.2 + center[3])
    least = 0.05 * w[:3] @ w[:3] + 0.1 * np.sum((w - center) ** 2) - v @ w
    assert value == pytest.approx(least - p.mean_conjugate(b), abs=1e-12)
