"""The greatest edge: entropy-regularized LPBoost [AGM, section 5, Example 5]."""

import math

import cvxpy as cp
import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from random_arrays import normal, seeds

import rrmbench
from rrmbench import Problem, RrmbenchError
from rrmbench.losses.max_row import MaxRow
from rrmbench.solvers.batch.geometry import Simplex

SIMPLEX = {"name": "entropy_simplex", "strength": 0.1, "cap": 0.2}
T = 9
phi = MaxRow()
strengths = st.one_of(st.just(0.0), st.floats(-5.0, 4.0).map(lambda e: 10.0**e))


def boosting(n=30, d=6, regularizer=SIMPLEX, **numbers):
    """(problem, U): LPBoost on random data, and its edges as a dense matrix."""
    X, y = oracles.data(n, d, loss="hinge")
    return Problem(X, y, "max_row", regularizer, **numbers), np.vstack([X.T * y, -X.T * y])


def optimum(U, strength, cap):
    w = cp.Variable(U.shape[1])
    entropy = np.log(w.size) - cp.sum(cp.entr(w))
    task = cp.Problem(cp.Minimize(cp.max(U @ w) + strength * entropy), [w >= 0, w <= cap, cp.sum(w) == 1])
    return task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


def in_domain(seed, t=T):
    return t * np.random.default_rng(seed).dirichlet(np.full(t, 0.3)) - 1.0


@given(seed=seeds, mu=strengths, q=strengths)
def test_dual_point_maximizes(seed, mu, q):
    z = normal(seed, T)
    b = phi.dual_point(z, None, mu, q)
    assert phi.conjugate(b, None) == 0.0

    def objective(b):
        return b @ z / T - mu * phi.d2(b, None) - 0.5 * q / T * (b @ b)

    for other in range(seed + 1, seed + 9):
        for share in (1.0, 1e-3):
            there = b + share * (in_domain(other) - b)
            assert objective(b) >= objective(there) - 1e-12 * (1.0 + np.abs(z).max() + mu + q)


@given(seed=seeds, mu=strengths)
def test_fenchel_young(seed, mu):
    z = normal(seed, T)
    b = phi.dual_point(z, None, mu)
    value = phi.smooth_value(z, None, mu) if mu > 0.0 else phi.value(z, None)
    scale = 1.0 + np.abs(z).max() + mu
    assert value == pytest.approx(b @ z / T - mu * phi.d2(b, None), abs=1e-13 * scale)
    other = in_domain(seed)
    assert phi.value(z, None) >= other @ z / T - 1e-13 * scale
    assert 0.0 <= phi.d2(other, None) <= math.log(T)


@given(seed=seeds, size=st.floats(-3.0, 300.0).map(lambda e: 10.0**e))
def test_smoothing_lies_within_mu_D_of_the_maximum(seed, size):
    z, mu = size * normal(seed, T), 0.3
    top, smoothed = phi.value(z, None), phi.smooth_value(z, None, mu)
    rounding = 1e-13 * np.abs(z).max()
    assert top - mu * math.log(T) - rounding <= smoothed <= top + rounding


def test_least_norm_at_ties():
    np.testing.assert_allclose(phi.dual_point(np.array([1.0, 3.0, 3.0, 0.0]), None, 0.0), [-1.0, 1.0, 1.0, -1.0])
    assert not phi.dual_point(np.zeros(5), None, 0.0).any()


def test_conjugate_is_infinite_outside():
    b = in_domain(0)
    assert phi.conjugate(b + 1e-6, None) == math.inf
    assert phi.conjugate(3.0 * phi.dual_point(np.arange(9.0), None, 0.0), None) == math.inf
    assert phi.conjugate(0.3 * b, None) == 0.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array])
def test_edges(form):
    X, y = oracles.data(12, 5, 0.5, loss="hinge")
    p = Problem(form(X), y, "max_row", SIMPLEX)
    U = np.vstack([X.T * y, -X.T * y])
    w, b = np.random.default_rng(0).standard_normal(12), np.random.default_rng(1).standard_normal(10)
    assert (p.shape, p.output_shape, p.n) == ((12,), (10,), 10)
    np.testing.assert_allclose(p.X.forward(w), U @ w, atol=1e-14)
    np.testing.assert_allclose(p.X.adjoint(b), U.T @ b, atol=1e-14)
    np.testing.assert_allclose(p.X.sqnorms, np.sum(U**2, axis=1), rtol=1e-14)
    assert p.X.greatest == np.abs(U).max()
    head = p.X.head(4)
    assert head.shape == (4, 12)
    np.testing.assert_allclose(head.forward(w), U[[0, 1, 5, 6]] @ w, atol=1e-14)
    assert p.X.head(1).shape == (2, 12)


@given(seed=seeds, mu=st.floats(-2.0, 2.0).map(lambda e: 10.0**e))
def test_smoothness_in_both_norms(seed, mu):
    p, U = boosting()
    x, y = np.random.default_rng(seed).standard_normal((2, 30))

    def gradient(w):
        return U.T @ p.losses.dual_point(mu, U @ w) / p.n

    change = gradient(x) - gradient(y)
    assert np.linalg.norm(change) <= p.losses.S / mu * np.linalg.norm(x - y) * (1.0 + 1e-12)
    assert np.abs(change).max() <= p.losses.S1 / mu * np.abs(x - y).sum() * (1.0 + 1e-12)


def test_smoothness_is_attained():
    p, U = boosting()
    i = int(np.argmax(p.X.sqnorms)) % 6
    x = 1e-5 * U[i] / np.linalg.norm(U[i])
    outputs = np.where(np.arange(12) % 6 == i, U @ x, -1e3)  # as if the other rows had no weight
    slope = phi.dual_point(outputs, None, 1e-3)
    assert U.T @ (1.0 + slope) @ x / 12 / 1e-10 == pytest.approx(p.losses.S / 1e-3, rel=0.01)


def test_smoothness_in_the_norm_1_is_attained():
    """Along the weight of one sample, between an edge and its negative that have all of the weight in equal parts."""
    p, U = boosting()
    i, q = np.unravel_index(np.argmax(np.abs(U[:6])), (6, 30))
    x = 1e-7 * np.eye(30)[q]
    outputs = np.where(np.arange(12) % 6 == i, U @ x, -1e3)
    slope = U.T @ phi.dual_point(outputs, None, 1e-3) - U.T @ phi.dual_point(
        np.where(outputs > -1.0, 0.0, -1e3), None, 1e-3
    )
    assert slope[q] / 12 / 1e-7 == pytest.approx(p.losses.S1 / 1e-3, rel=1e-6)
    assert Simplex(p.smoothed(0.2)).L == pytest.approx(np.max(np.abs(U)) ** 2 / 0.2)  # the norm that its entropy is of


def test_the_diameter_is_attained_at_a_vertex():
    p, _ = boosting()
    assert (
        p.diameter == pytest.approx(phi.d2(12.0 * np.eye(12)[3] - 1.0, None), rel=1e-14) == pytest.approx(np.log(12.0))
    )


@pytest.mark.parametrize(("strength", "cap"), [(0.1, 0.2), (0.1, 1.0), (1e-3, 0.05)])
def test_certificates_never_exceed_the_truth(strength, cap):
    regularizer = {"name": "entropy_simplex", "strength": strength, "cap": cap}
    p, U = boosting(regularizer=regularizer)
    truth = optimum(U, strength, cap)
    best = -math.inf
    for seed in range(200):
        w = p.prox(np.random.default_rng(seed).standard_normal(30), 1.0)
        assert p.primal(w) >= truth - 1e-8
        best = max(best, p.dual_value(p.smoothed(0.03).loss_dual(U @ w)), p.dual_value(in_domain(seed, p.n)))
        assert best <= truth + 1e-8
    assert p.dual_value(np.zeros(12)) <= truth
    assert math.isfinite(best)


@pytest.mark.core(3)
@pytest.mark.parametrize(
    ("solver", "reduction", "accuracy"),
    [
        ("fista", "adapt_smooth", 3e-3),
        ("agm_ef", "adapt_smooth", 1e-3),
        ({"name": "agm_ef", "prox": "euclidean"}, "adapt_smooth", 3e-3),
        ("agm_ef_1", {"name": "smooth", "mu": 1e-3}, 2.5e-3),
        ("agm_ef", "solve_dual", 1e-3),
        ("rda", "none", 0.1),
        ("subgradient", "none", 0.5),
        ("pdprox_dual", "none", 2.0),
    ],
)
def test_solvers_approach_the_optimum(solver, reduction, accuracy):
    p, U = boosting()
    truth = optimum(U, 0.1, 0.2)
    found = rrmbench.solve(p, solver, reduction=reduction, passes=300)
    assert truth - 1e-8 <= p.primal(found.w) <= truth + accuracy
    assert p.primal(found.w) - found.gap <= truth + 1e-8


def test_pdprox_needs_the_projection_on_the_simplex():
    """[AGM, section 5.3]: its step on the conjugate, of the losses as they are and smoothed by the entropy."""
    for p in boosting()[0], boosting(mu=0.1)[0]:
        u = np.random.default_rng(0).standard_normal(12)
        b, t = p.loss_prox(u, 0.7), 0.7
        x = cp.Variable(12)
        weights = (1 + x) / 12
        entropy = np.log(12) - cp.sum(cp.entr(weights))
        task = cp.Problem(cp.Minimize(t * 12 * p.mu * entropy + cp.sum_squares(x - u) / 2), [x >= -1, cp.sum(x) == 0])
        task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
        np.testing.assert_allclose(b, x.value, atol=1e-5)


def test_other_models_are_refused():
    X, y = oracles.data(8, 4, loss="hinge")
    with pytest.raises(RrmbenchError, match="MaxRow: found a free bias"):
        Problem(X, y, "max_row", SIMPLEX, free_bias=True)
    from rrmbench.problem.operators import Flattened

    matrix = sp.csr_array(X)
    flattened = Flattened(matrix.data, matrix.indices.astype(np.uint32), matrix.indptr, X.shape, (2, 2))
    with pytest.raises(
        RrmbenchError, match=r"max_row: found a model of the shape \(2, 2\), needed are data in the rows"
    ):
        Problem(flattened, y, "max_row", "none")
