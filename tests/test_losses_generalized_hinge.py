"""The generalized hinge with two dual variables per sample (Pdprox, section 4.1) and with one: the same loss.

phi(z) = max over alpha1, alpha2 >= 0, alpha1 + alpha2 <= 1, of alpha1 (1 - a y z) + alpha2 (1 - y z).
"""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss

SLOPES = [1.5, 2.0, 7.0]
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def one_variable(a):
    return build_loss({"name": "generalized_hinge", "a": a})[0]


@pytest.mark.parametrize("a", SLOPES)
@given(z=st.floats(-5.0, 5.0), y=st.sampled_from([-1.0, 1.0]))
def test_the_values_agree(a, z, y):
    m = y * z
    value = one_variable(a).value(z, y)
    # a linear function of (alpha1, alpha2) is greatest at a corner of the triangle
    assert value == max(CORNERS @ [1.0 - a * m, 1.0 - m])
    assert value == (1.0 - a * m if m <= 0.0 else 1.0 - m if m < 1.0 else 0.0)


@pytest.mark.parametrize("a", SLOPES)
@given(share=st.floats(0.0, 1.0), y=st.sampled_from([-1.0, 1.0]))
def test_the_conjugate_is_the_least_over_both_variables(a, share, y):
    # the two variables meet z only through b = -y (a alpha1 + alpha2): phi*(b) = min -(alpha1 + alpha2) over those
    b = -y * a * share
    best = linprog([-1.0, -1.0], [[1.0, 1.0]], [1.0], [[-y * a, -y]], [b])
    assert one_variable(a).conjugate(b, y) == pytest.approx(best.fun, abs=1e-6)


def project_on_triangle(alpha):
    """The projection of rows on alpha1, alpha2 >= 0, alpha1 + alpha2 <= 1."""
    inside = np.maximum(alpha, 0.0)
    first = np.clip((1.0 + alpha[:, 0] - alpha[:, 1]) / 2.0, 0.0, 1.0)
    edge = np.stack([first, 1.0 - first], axis=1)
    return np.where(inside.sum(axis=1, keepdims=True) <= 1.0, inside, edge)


def test_the_projection_on_the_triangle():
    rng = np.random.default_rng(0)
    points = 2.0 * rng.standard_normal((200, 2))
    found = project_on_triangle(points)
    for point, projection in zip(points, found, strict=True):
        assert ((CORNERS - projection) @ (point - projection)).max() <= 1e-14


def pdprox_dual(p, X, step, b_of, start, gamma, most):
    """Algorithm 1 as printed; step(beta, z, gamma) is the dual update. Return (w, b) once the gap is below 1e-7."""
    w, beta = np.zeros(p.shape), start
    for t in range(most):
        alpha = step(beta, X @ w, gamma)
        w = p.prox(w - gamma / p.n * X.T @ b_of(alpha), gamma)
        beta = step(beta, X @ w, gamma)
        if t % 200 == 0 and p.gap(w, b_of(alpha)) < 1e-7:
            break
    return w, b_of(alpha)


@pytest.mark.core(2)
@pytest.mark.parametrize("a", [1.5, 4.0])
@pytest.mark.parametrize("regularizer", [{"name": "l1", "strength": 0.05}, {"name": "l2", "strength": 0.05}])
def test_pdprox_finds_the_same_optimum_with_two_variables_and_with_one(a, regularizer):
    X, y = oracles.data(25, 4, loss="hinge", seed=2)
    p = Problem(X, y, {"name": "generalized_hinge", "a": a}, regularizer)
    n, R = p.n, np.linalg.norm(X, axis=1).max()
    slopes = np.array([a, 1.0])

    def two_step(beta, z, gamma):
        return project_on_triangle(beta + gamma / n * (1.0 - np.outer(y * z, slopes)))

    def one_step(beta, z, gamma):
        return p.loss_prox(beta + gamma / n * z, gamma / n)

    c = max(a * a + 1.0, 2.0 * a * a) * R * R / n  # Appendix A
    w2, b2 = pdprox_dual(
        p, X, two_step, lambda alpha: -y * (alpha @ slopes), np.zeros((n, 2)), (2.0 * c) ** -0.5, 60000
    )
    w1, b1 = pdprox_dual(p, X, one_step, lambda b: b, np.zeros(n), (2.0 * R * R / n) ** -0.5, 60000)
    for w in (w1, w2):
        for b in (b1, b2):
            assert -1e-12 <= p.gap(w, b) < 1e-6
    np.testing.assert_allclose(p.primal(w1), p.primal(w2), atol=1e-6)
