"""Certificates of multiclass problems with a free bias: dual variables whose rows and columns sum to zero."""

from functools import cache
from itertools import islice

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrmbench import registry
from rrmbench.numerics.circulation import remove_acyclic
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.problem.samples import over_samples
from rrmbench.problem.traits import build_loss

LOSSES = ["max_of_hinge", "soft_max_of_hinge"]


def dual_variables(rng, n, k, y):
    """Random points of the domain of the conjugates, some entries zero, some rows full."""
    b = rng.random((n, k)) * (rng.random((n, k)) < rng.uniform(0.2, 1.0))
    b[np.arange(n), y] = 0.0
    b /= np.maximum(b.sum(axis=1, keepdims=True), 1.0)
    b[np.arange(n), y] = -b.sum(axis=1)
    return b


def flows_of(b, y, k):
    return np.array([[b[y == c, j].sum() if c != j else 0.0 for j in range(k)] for c in range(k)])


@given(seed=st.integers(0, 10**6), k=st.integers(2, 7), n=st.integers(1, 30), name=st.sampled_from(LOSSES))
def test_balanced_is_in_the_domain_sums_to_zero_and_is_below(seed, k, n, name):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    b, (loss, _) = dual_variables(rng, n, k, y), build_loss(name)
    X = np.zeros((n, 1, k))
    less = over_samples(loss, X, y.astype(float)).balanced(b)
    np.testing.assert_allclose(less.sum(axis=0), 0.0, atol=1e-12 * max(np.abs(less).sum(), 1e-300))
    assert np.all(np.abs(less) <= np.abs(b) * (1 + 1e-12)) and np.all(less * b >= 0.0)
    assert all(np.isfinite(loss.conjugate_row(row, float(c))) for row, c in zip(less, y, strict=True))
    imbalance = np.abs(b.sum(axis=0)).sum() / 2
    assert np.abs(b).sum() - np.abs(less).sum() <= 2 * (k - 1) * imbalance + 1e-9


@given(seed=st.integers(0, 10**6), k=st.integers(2, 6))
@settings(max_examples=50)
def test_nothing_is_lost_of_a_circulation_and_no_cycle_is_left(seed, k):
    rng = np.random.default_rng(seed)
    cycles = np.zeros((k, k))
    for _ in range(rng.integers(1, 6)):
        along = rng.permutation(k)[: rng.integers(2, k + 1)]
        cycles[along, np.roll(along, -1)] += rng.random()
    kept = cycles.copy()
    remove_acyclic(kept)
    np.testing.assert_allclose(kept, cycles, atol=1e-14)
    flows = rng.random((k, k)) * (rng.random((k, k)) < 0.5)
    np.fill_diagonal(flows, 0.0)
    kept = flows.copy()
    remove_acyclic(kept)
    np.testing.assert_allclose(kept.sum(axis=0), kept.sum(axis=1), atol=1e-14)
    rest = flows - kept > 1e-14
    paths = np.linalg.matrix_power(rest + np.eye(k), k)  # its own class on a way of length >= 1: a cycle
    assert not np.any(np.diag(rest @ paths)) and np.all(flows - kept >= 0.0)


K = 5


@cache
def problem(n):
    """Classes that overlap, half of the samples in one of them."""
    rng = np.random.default_rng(1)
    y = np.concatenate([np.arange(K), rng.choice(K, n - K, p=[0.5, *[0.5 / (K - 1)] * (K - 1)])])
    X = np.hstack([rng.standard_normal((K, 6))[y] + rng.standard_normal((n, 6)), np.ones((n, 1))])
    return Problem(X, y.astype(float), "max_of_hinge", {"name": "l21", "strength": 0.02}, free_bias=True)


@cache
def optimum(n):
    p = problem(n)
    W, y = cp.Variable(p.shape), p.y.astype(int)
    Z = p.X.forward(np.eye(p.shape[0])) @ W
    losses = [cp.max(Z[i] - Z[i, y[i]] + (np.arange(K) != y[i])) for i in range(n)]
    task = cp.Problem(cp.Minimize(sum(losses) / n + 0.02 * cp.sum(cp.norm2(W[:-1], axis=1))))
    return task.solve(solver=cp.CLARABEL)


def test_the_gap_of_the_multiclass_hinge_with_a_free_bias_closes():
    p, least, best = problem(100), np.inf, -np.inf
    for it in islice(registry.build_solver("pdprox_restarted")(p, None, Rng(0)), 0, 20_000, 20):
        least, best = min(least, p.primal(it.w)), max(best, p.dual_value(it.b))
        if least - best <= 1e-6:
            break
    assert least - best <= 1e-6
    assert best <= optimum(100) + 1e-7 and least == pytest.approx(optimum(100), abs=2e-6)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_no_dual_value_is_above_the_optimum(seed):
    p = problem(20)
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(p.shape) * 10.0 ** rng.uniform(-2, 1)
    value, b = p.certificate(p.loss_dual(p.X.forward(w), rng.choice([0.0, 0.1, 1.0])))
    assert value <= optimum(20) + 1e-7
    np.testing.assert_allclose(b.sum(axis=0), 0.0, atol=1e-12 * max(1.0, np.abs(b).sum()))
