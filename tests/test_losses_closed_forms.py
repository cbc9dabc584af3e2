"""The closed forms of SDCA's exact step that the losses print, beside the step itself."""

import numpy as np
import oracles
import pytest
from scipy.special import lambertw

from rrmbench.solvers.sdca.steps import Exact


def sign_clipped(t, epsilon, m):
    return np.sign(t) * np.clip((abs(t) - epsilon) / m, 0.0, 1.0)


def generalized(t, a, m):
    s = np.clip((t + 1.0) / m, 0.0, 1.0)
    return s if s < 1.0 else np.clip(t / m, 1.0, a)


def rating(loss, t, y, m):
    """The kinks theta_r + T_r, and the slope -g on their left."""
    sides = [1.0 if y > r else -1.0 for r in (1, 2, 3, 4)]
    g = sides.count(1.0)
    kinks = sorted(theta + side for theta, side in zip(loss[:4], sides, strict=True))
    return -g + sum(np.clip((t - k) / m + g + 1 - r, 0.0, 1.0) for r, k in enumerate(kinks, 1))


CLOSED_FORMS = {  # the new b, of (loss, p, b, y, mu, q), for s = -y b of binary losses
    "squared": lambda loss, p, b, y, mu, q: b + (p - y - (1 + mu) * b) / (1 + mu + q),
    "squared_hinge": lambda loss, p, b, y, mu, q: -y * max(0, -y * b + (1 - y * p + (1 + mu) * y * b) / (1 + mu + q)),
    "absolute": lambda loss, p, b, y, mu, q: np.clip(b + (p - y - mu * b) / (mu + q), -1, 1),
    "quantile": lambda loss, p, b, y, mu, q: np.clip(b + (p - y - mu * b) / (mu + q), -loss.a, 1 - loss.a),
    "epsilon_insensitive": lambda loss, p, b, y, mu, q: sign_clipped(p - y + q * b, loss.epsilon, mu + q),
    "hinge": lambda loss, p, b, y, mu, q: -y * np.clip(-y * b + (1 - y * p + mu * y * b) / (mu + q), 0, 1),
    "generalized_hinge": lambda loss, p, b, y, mu, q: -y * generalized(-q * y * b - y * p, loss.a, mu + q),
    "ordinal_hinge": lambda loss, p, b, y, mu, q: rating(loss, p + q * b, y, mu + q),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_the_closed_forms_of_option_1(name):
    """From b in the domain of phi*, with and without smoothing."""
    loss, rng = oracles.loss_of(name), np.random.default_rng(0)
    for mu in 0.0, 0.3:
        for label in oracles.labels(name, rng.standard_normal(200)):
            y, q = float(label), rng.exponential() + 1e-3
            b = loss.dual_point(3.0 * rng.standard_normal(), y, 0.0)
            p = y + 3.0 * rng.standard_normal()
            new = CLOSED_FORMS[name](loss, p, b, y, mu, q)
            assert Exact(loss, mu).step(p, b, y, q) == pytest.approx(new, abs=1e-12)


def test_the_step_of_the_logistic_loss_solves_its_equation():
    loss, rng = oracles.loss_of("logistic"), np.random.default_rng(1)
    for y in -1.0, 1.0:
        for p, old, q, mu in zip(
            3 * rng.standard_normal(50), rng.random(50), rng.random(50), rng.random(50), strict=True
        ):
            s = -y * Exact(loss, mu).step(p, -y * old, y, q)
            assert s == pytest.approx(1.0 / (1.0 + np.exp(y * p - q * old + (mu + q) * s)), abs=1e-12)


def test_the_step_of_the_euclidean_distance_has_its_closed_form():
    loss, rng = oracles.loss_of("l2_multi"), np.random.default_rng(2)
    for mu in 0.0, 0.4:
        for _ in range(50):
            p, y, b, new, q = *rng.standard_normal((3, 4)), np.empty(4), rng.exponential()
            b /= 2.0 * np.linalg.norm(b)
            t = p - y + q * b
            Exact(loss, mu).step_row(p, b, y, q, new)
            np.testing.assert_allclose(new, t / max(np.linalg.norm(t), mu + q), atol=1e-14)


@pytest.mark.parametrize("mu", 10.0 ** np.array([5.0, 7.0, 20.0, 43.0, 50.0, 150.0]))
@pytest.mark.parametrize("m", [0.0, 3.0, 300.0])
def test_the_dual_point_of_the_logistic_loss_under_great_smoothing(m, mu):
    """s = sigmoid(-m - mu s) is e^(-m - mu s) where s is small, so mu s = W(mu e^-m); 1 - s is that of -m - mu."""
    loss, small = oracles.loss_of("logistic"), lambertw(mu * np.exp(-m)).real / mu
    assert -loss.dual_point(m, 1.0, mu) == pytest.approx(small, rel=1e-3 if mu < 1e6 else 1e-4, abs=0.0)
    if mu < 1e8:  # beyond, m + mu has no digits of m
        assert 1.0 + loss.dual_point(-m - mu, 1.0, mu) == pytest.approx(small, rel=1e-3, abs=1e-14)
