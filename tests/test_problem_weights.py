"""Losses smoothed by mu omega_i: problems, and the reduction that chooses omega. [AGM, section 5.6]"""

from itertools import islice

import numpy as np
import oracles
import pytest
from hypothesis import given
from random_arrays import normal, seeds

import rrmbench
from rrmbench import Problem, RrmbenchError, registry
from rrmbench.numerics.random import Rng

pytestmark = pytest.mark.usefixtures("own_bounds")

L2 = {"name": "l2", "strength": 0.05}
each_loss = pytest.mark.parametrize("name", oracles.scalar_losses())
N = 25


def weighted(name, mu=0.7, seed=0, **numbers):
    """(problem without smoothing, the same smoothed by mu omega, omega)."""
    X, y = oracles.data(N, 6, loss=name)
    if "theta_1" in oracles.example("loss", name):
        y = 1.0 + np.arange(N) % 5
    p = Problem(X, y, oracles.example("loss", name), L2, **numbers)
    omega = np.random.default_rng(seed).uniform(0.2, 3.0, N)
    omega /= omega.mean()
    return p, p.smoothed(mu, omega), omega


@pytest.mark.core(3)
@each_loss
@given(seed=seeds)
def test_every_sample_is_smoothed_by_its_own_strength(name, seed):
    p, smooth, omega = weighted(name)
    z = normal(seed, N)
    alone = [p.loss.dual_point(t, u, p.mu + 0.7 * w) for t, u, w in zip(z, p.y, omega, strict=True)]
    b = smooth.loss_dual(z)
    np.testing.assert_allclose(b, alone, rtol=1e-13, atol=1e-13)
    # Fenchel and Young: equality at b, and b is the gradient
    scale = 1.0 + np.abs(z).max() ** 2
    assert smooth.mean_loss(z) + smooth.mean_conjugate(b) == pytest.approx(b @ z / N, abs=1e-12 * scale)
    strengths = p.mu + 0.7 * omega + 1.0 / 0.3
    alone = [p.loss.dual_point(t / 0.3, u, q) for t, u, q in zip(z, p.y, strengths, strict=True)]
    np.testing.assert_allclose(smooth.loss_prox(z, 0.3), alone, rtol=1e-12, atol=1e-12)


@pytest.mark.core(4)
@each_loss
@given(seed=seeds)
def test_smoothness_and_strong_convexity_of_the_conjugate(name, seed):
    _, smooth, _ = weighted(name, mu=0.05)
    x, w = np.random.default_rng(seed).standard_normal((2, 6))
    change = smooth.X.adjoint(smooth.loss_dual(smooth.X.forward(x)) - smooth.loss_dual(smooth.X.forward(w))) / N
    assert np.linalg.norm(change) <= smooth.L * np.linalg.norm(x - w) * (1.0 + 1e-9)
    a, b = smooth.loss_dual(smooth.X.forward(x)), smooth.loss_dual(smooth.X.forward(w))
    middle = smooth.mean_conjugate((a + b) / 2.0)
    bound = (smooth.mean_conjugate(a) + smooth.mean_conjugate(b)) / 2.0
    assert middle <= bound - np.sum((a - b) ** 2) / (8.0 * N * smooth.smoothness) + 1e-12 * (1.0 + abs(bound))


def test_smoothing_lowers_P_by_at_most_mu_D_and_weights_add():
    p, smooth, omega = weighted("hinge")
    z = 3.0 * np.random.default_rng(0).standard_normal(N)
    assert p.mean_loss(z) - 0.7 * p.diameter <= smooth.mean_loss(z) <= p.mean_loss(z)
    other = omega[::-1].copy()
    both, plain = smooth.smoothed(0.2, other), smooth.smoothed(0.2)
    np.testing.assert_allclose(both.mu * both.weights, 0.7 * omega + 0.2 * other)
    np.testing.assert_allclose(plain.mu * plain.weights, 0.7 * omega + 0.2)
    assert np.mean(both.weights) == pytest.approx(1.0)
    assert smooth.L == pytest.approx(np.mean(smooth.X.sqnorms / omega) / 0.7)
    assert "rows" not in smooth.traits


@pytest.mark.core(2)
@pytest.mark.parametrize("weights", ["norms", "direction"])
@pytest.mark.parametrize("solver", ["fista", "agm_ef", "pdprox_primal"])
def test_the_reduction_bounds_the_original_optimum(solver, weights):
    X, y = oracles.data(N, 6, loss="hinge")
    p = Problem(X, y, "hinge", L2)
    mu = 1e-2
    found = rrmbench.solve(p, solver, reduction={"name": "smooth", "mu": mu, "weights": weights}, passes=600)
    truth = rrmbench.solve(p, "prox_sdca", gap=1e-9, passes=5000)
    least = p.primal(truth.w)
    assert p.primal(found.w) - found.gap <= least + 1e-12
    assert least - 1e-9 <= p.primal(found.w) <= least + (2e-2 if solver == "pdprox_primal" else mu * p.diameter + 1e-4)


def test_checks_of_the_direction_and_refusals():
    X, y = oracles.data(N, 6, loss="hinge")
    p = Problem(X, y, "hinge", L2)
    for weights, checks in ("norms", 0.0), ("direction", 7.0):
        reduction = {"name": "smooth", "mu": 0.1, "weights": weights}
        solve = registry.build_solver({"name": "fista", "step": "bound"}, reduction)
        assert {"scalar", "separable"} <= solve.needs
        assert [x.checks for x in islice(solve(p, None, Rng(0)), 3)] == [checks] * 3
        inside = registry.build_solver({"name": "fista", "step": "bound"}, reduction | {"inside": "adapt_reg"})
        found = [x.checks for x in islice(inside(p, None, Rng(0)), 30)]  # which has checks of its own
        assert found[0] == checks and found[-1] > checks + 1.0
    with pytest.raises(RrmbenchError, match="weights = norms needs a method for full gradients, prox_sdca takes"):
        registry.build_solver("prox_sdca", {"name": "smooth", "mu": 0.1, "weights": "norms"})
    unfit = Problem(X, y, "hinge", L2, minimized_bias=True)
    with pytest.raises(RrmbenchError, match=r"fista.* needs a loss that is a sum over samples"):
        rrmbench.solve(unfit, "fista", reduction={"name": "smooth", "mu": 0.1, "weights": "norms"}, passes=3)
    with pytest.raises(RrmbenchError, match=r"found MaxRow, needed is a scalar loss"):
        Problem(X, y, "max_row", "none").smoothed(0.1, np.ones(12))
