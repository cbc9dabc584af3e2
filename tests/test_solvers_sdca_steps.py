"""The steps of Prox-SDCA: option I against brute force, options II to V against the paper's formulas."""

from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from runs import after, dense, iterates
from scipy.optimize import LinearConstraint, minimize, minimize_scalar
from sdca_runs import MULTICLASS, REGULARIZERS, SMOOTH, each_option, multiclass, one_step

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng

LOSSES = oracles.scalar_losses()


# option I against brute force


def centred_and_started(loss, regularizer):
    p = oracles.problem(loss, REGULARIZERS[regularizer]).regularized(0.1, np.linspace(-1.0, 1.0, 12))
    return p, after("prox_sdca", p, 0.3).b.copy()


def assert_minimizes(function, t):
    """No point near t, and none found by search, has a smaller value."""

    def finite(u):
        value = function(u)
        return value if np.isfinite(value) else 1e9 * (1.0 + abs(u))

    found = minimize_scalar(finite, bounds=(t - 2.0, t + 1.5), method="bounded", options={"xatol": 1e-11})
    probes = [t + sign * 10.0**e for sign in (-1, 1) for e in range(-7, 1)]
    assert function(t) <= min(found.fun, *map(finite, probes)) + 1e-14


@pytest.mark.core(4)
@pytest.mark.parametrize("loss", LOSSES)
def test_option_1_maximizes_the_dual_for_l2(loss):
    p, b = centred_and_started(loss, "l2")
    for i in range(10):
        new = one_step(p, b, i)
        assert np.array_equal(np.delete(new, i), np.delete(b, i))
        assert_minimizes(lambda t, i=i: -p.dual_value(np.concatenate((b[:i], [t], b[i + 1 :]))), new[i])


@pytest.mark.core(4)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularizer", ["elastic_net", "box"])
def test_option_1_maximizes_its_bound(loss, regularizer):
    # n D >= -phi*(t) - (mu/2) t^2 + (t - b_i) x_i.w - (t - b_i)^2 ||x_i||^2 / (2 s n) + a constant
    p, b = centred_and_started(loss, regularizer)
    X, increased = dense(p), 0
    w = oracles.dual_point(p, b, X)
    for i in range(10):
        new = one_step(p, b, i)

        def lost(t, i=i):
            h = t - b[i]
            bound = h * (X[i] @ w) - h * h * (X[i] @ X[i]) / (2 * p.strong_convexity * p.n)
            return (p.loss.conjugate(t, p.y[i]) + p.mu / 2 * t * t - bound) / p.n

        assert_minimizes(lost, new[i])
        assert p.dual_value(new) >= p.dual_value(b) - 1e-14
        increased += p.dual_value(new) > p.dual_value(b) + 1e-9
    assert increased > 0


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", MULTICLASS)
def test_option_1_maximizes_the_dual_over_all_rows(loss):
    p = multiclass(loss)
    b = after("prox_sdca", p, 0.6).b.copy()
    for i in range(6):
        new = one_step(p, b, i)
        others = [j for j in range(4) if j != p.y[i]]

        def lost(row, i=i, others=others):
            trial = b.copy()
            trial[i, others], trial[i, int(p.y[i])] = row, -row.sum()
            return -p.dual_value(trial)

        found = minimize(
            lost,
            np.full(3, 0.2),
            method="SLSQP",
            bounds=[(1e-14, 1.0)] * 3,
            constraints=LinearConstraint(np.ones(3), 0.0, 1.0 - 1e-13),
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert -p.dual_value(new) <= found.fun + 1e-12
        assert p.dual_value(new) >= p.dual_value(b) - 1e-14


# options II to V against the paper's formulas in the paper's sign, alpha = -b


def loss_value(name, z, y):
    """phi itself: the smoothed hinge by equation (9)."""
    if name != "smoothed_hinge":
        return oracles.loss_of(name).value(z, y)
    a = y * z
    return 0.0 if a >= 1.0 else 0.5 - a if a <= 0.0 else 0.5 * (1.0 - a) ** 2


def paper_step(name, option, p, b, i):
    """alpha_i after Figure 1's step on sample i; scalar losses."""
    X, lam_n, gamma = dense(p), p.strong_convexity * p.n, p.loss.conjugate_convexity + p.mu
    x, y, alpha, w = X[i], p.y[i], -b[i], oracles.dual_point(p, b, X)
    square, R2 = x @ x, (X**2).sum(axis=1).max()
    u = -p.loss.dual_point(x @ w, y, p.mu)
    q = u - alpha
    if q == 0.0:
        return alpha

    def conjugate(t):
        return p.loss.conjugate(t, y) + p.mu / 2 * t * t

    if option == "II":
        found = minimize_scalar(
            lambda s: conjugate(-(alpha + s * q)) + s * (w @ x) * q + s * s / (2 * lam_n) * square * q * q,
            bounds=(0, 1),
            options={"xatol": 1e-12},
        )
        return alpha + found.x * q
    if option == "V":
        return alpha + lam_n * gamma / (R2 + lam_n * gamma) * q
    norm = square if option == "III" else R2
    above = loss_value(name, x @ w, y) + conjugate(-alpha) + (w @ x) * alpha + gamma / 2 * q * q
    return alpha + min(1.0, above / (q * q * (gamma + norm / lam_n))) * q


@pytest.mark.core(4)
@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("option", ["II", "III", "IV", "V"])
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
def test_options_are_figure_1(loss, option, regularizer):
    p, b = centred_and_started(loss, regularizer)
    for i in range(12):
        expected = -paper_step(loss, option, p, b, i)
        assert one_step(p, b, i, option)[i] == pytest.approx(expected, abs=1e-7 if option == "II" else 1e-12)


@pytest.mark.parametrize("loss", ["hinge", "absolute", "quantile"])
def test_line_search_without_smoothness(loss):
    p, b = centred_and_started(loss, "l2")
    for i in range(12):
        assert one_step(p, b, i, "II")[i] == pytest.approx(-paper_step(loss, "II", p, b, i), abs=1e-7)


@pytest.mark.exhaustive
@pytest.mark.parametrize("loss", ["smoothed_max_of_hinge", "soft_max_of_hinge"])
@pytest.mark.parametrize("option", ["II", "III", "IV", "V"])
def test_options_are_figure_1_for_rows(loss, option):
    p = multiclass(loss)
    b, X = after("prox_sdca", p, 0.6).b.copy(), dense(p)
    w, sn = p.primal_point(p.v(b)), p.strong_convexity * p.n
    for i in range(8):
        z, y, gamma = X[i] @ w, p.y[i], 1.0 / p.smoothness
        one = type(p.losses)(p.loss, SimpleNamespace(shape=(1, 1, 4)), np.array([y]))
        u = one.dual_point(p.mu, z[None])[0]
        h = u - b[i]

        def conjugate(row, one=one):
            return one.mean_conjugate(p.mu, row[None])

        value = one.mean_loss(p.mu, z[None])
        if option == "II":
            found = minimize_scalar(
                lambda s, i=i, h=h, z=z: (
                    conjugate(b[i] + s * h) - s * (h @ z) + s * s / (2 * sn) * (X[i] @ X[i]) * (h @ h)
                ),
                bounds=(0, 1),
                options={"xatol": 1e-12},
            )
            share = found.x
        elif option == "V":
            share = gamma / (gamma + p.R**2 / sn)
        else:
            norm = X[i] @ X[i] if option == "III" else p.R**2
            above = value + conjugate(b[i]) - z @ b[i] + gamma / 2 * (h @ h)
            share = min(1.0, above / ((h @ h) * (gamma + norm / sn)))
        new = one_step(p, b, i, option)[i]
        np.testing.assert_allclose(new, b[i] + share * h, atol=1e-6 if option == "II" else 1e-12)


@pytest.mark.core(4)
@each_option
@pytest.mark.parametrize("loss", [*SMOOTH, "smoothed_max_of_hinge", "soft_max_of_hinge"])
def test_no_step_lowers_the_dual(option, loss):
    net = REGULARIZERS["elastic_net"]
    p = multiclass(loss, psi=net) if "max" in loss else oracles.problem(loss, net, n=20)
    b, values = np.zeros(p.output_shape), []
    for i in Rng(1).integers(p.n, 5 * p.n):
        b = one_step(p, b, int(i), option)
        values.append(p.dual_value(b))
    assert np.diff(values).min() >= -1e-14
    assert values[-1] > values[0] + 1e-3


@pytest.mark.core(1)
@pytest.mark.parametrize("option", ["III", "IV", "V"])
def test_options_of_smooth_losses_refuse_others(option):
    p = oracles.problem("hinge", REGULARIZERS["l2"])
    with pytest.raises(RrmbenchError, match=rf"prox_sdca: option {option} needs a smooth loss, found Hinge"):
        iterates({"name": "prox_sdca", "option": option}, p, 1)
    assert len(iterates({"name": "prox_sdca", "option": option}, p.smoothed(0.1), 3)) == 3
