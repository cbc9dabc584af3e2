import math

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench.errors import RrmbenchError
from rrmbench.extending import scalar_losses as statements
from rrmbench.problem.traits import build_loss

LOSSES = oracles.scalar_losses()
numbers = st.floats(-8.0, 8.0)
each_loss = pytest.mark.parametrize("name", LOSSES)
KINKED = [name for name in LOSSES if oracles.loss_of(name).conjugate_convexity == 0.0]


def loss_and_label(name, y):
    return oracles.loss_of(name), float(oracles.labels(name, np.float64(y)))


@each_loss
@given(z=numbers, y=numbers, other=numbers)
def test_fenchel_young(name, z, y, other):
    loss, y = loss_and_label(name, y)
    statements.fenchel_young(loss, y, z, other, tolerance=1e-13 * (1 + z * z + y * y))


@each_loss
@given(y=numbers, b=st.integers(-300, 300).map(lambda k: k / 100))
def test_conjugate_is_the_supremum(name, y, b):
    statements.conjugate_is_supremum(*loss_and_label(name, y), b)


@each_loss
@given(z=numbers, y=numbers)
def test_dual_maximizes(name, z, y):
    loss, y = loss_and_label(name, y)
    for mu in statements.smoothings(loss):
        statements.dual_point_maximizes(loss, y, z, mu, tolerance=1e-14)


@each_loss
@given(z=numbers, y=numbers)
def test_derivative(name, z, y):
    statements.derivative(*loss_and_label(name, y), z)


@each_loss
@given(z=st.floats(-100.0, 100.0), other=st.floats(-100.0, 100.0), y=numbers)
def test_declared_constants_hold(name, z, other, y):
    statements.constants_hold(*loss_and_label(name, y), z, other)


@each_loss
def test_declared_constants_are_reached(name):
    # else theoretical steps would be too short without anybody noticing
    loss, y = loss_and_label(name, 0.7)
    slope, change = statements.reached_constants(loss, y)
    if math.isfinite(loss.lipschitz):
        assert slope == pytest.approx(loss.lipschitz, rel=0.03)
    if loss.conjugate_convexity > 0.0:
        assert change == pytest.approx(1.0 / loss.conjugate_convexity, rel=1e-3)


@each_loss
def test_least_norm_subgradient_at_kinks(name):
    loss = oracles.loss_of(name)
    kinks = 0
    for y in [-1.0, 1.0] if "binary" in oracles.registry.lookup("loss", name).needs else [-0.5, 0.0, 2.0]:
        for z in [0.0, y] if y != 0.0 else [0.0, 0.1, -0.1]:  # 0.1 is the default epsilon
            kinks += statements.least_norm_at_kink(loss, y, z)
    assert (kinks > 0) == (loss.conjugate_convexity == 0.0)


@pytest.mark.parametrize("name", KINKED)
@given(u=numbers, y=numbers)
def test_dual_for_huge_mu_is_a_projection(name, u, y):
    # the step of a primal-dual method on its dual variable, in the limit of short steps
    loss, y = loss_and_label(name, y)
    low, high = loss.dual_point(-1e9, y, 0.0), loss.dual_point(1e9, y, 0.0)
    assert loss.dual_point(u * 2.0**50, y, 2.0**50) == pytest.approx(min(max(u, low), high), abs=1e-13)


def test_ordinal_hinge_by_its_formula():
    thresholds = {"theta_1": -1.5, "theta_2": 0.25, "theta_3": 0.5, "theta_4": 7.0}
    loss, _ = build_loss({"name": "ordinal_hinge", **thresholds})
    for y in range(1, 6):
        for z in np.linspace(-4.0, 10.0, 57):
            signs = [1 if y > r else -1 for r in range(1, 5)]
            hinges = [max(0.0, 1.0 - T * (z - theta)) for T, theta in zip(signs, thresholds.values(), strict=True)]
            assert loss.value(z, y) == pytest.approx(sum(hinges), rel=1e-14)
            for mu in [0.0, 0.7]:
                b = loss.dual_point(z, y, mu)
                # optimal for z iff a subgradient at z - mu b
                x = z - mu * b
                assert loss.value(x, y) + loss.conjugate(b, y) == pytest.approx(b * x, abs=1e-13)
        # the five levels are the slopes' range
        assert (loss.dual_point(-1e9, y, 0.0), loss.dual_point(1e9, y, 0.0)) == (1 - y, 5 - y)


@pytest.mark.parametrize(
    "thresholds", [{"theta_1": 3.0}, {"theta_3": 1.0}, {"theta_4": math.inf}, {"theta_2": math.nan}]
)
def test_thresholds_must_increase(thresholds):
    with pytest.raises(RrmbenchError, match=r"ordinal_hinge: found theta_1.*allowed are increasing|theta_2: found nan"):
        build_loss({"name": "ordinal_hinge", **thresholds})


@pytest.mark.parametrize("m", [-1e4, -745.5, -40.0, 0.0, 40.0, 745.5, 1e4])
@pytest.mark.parametrize("mu", [-3.999, 0.0, 1e-8, 1.0, 1e6])
def test_logistic_does_not_overflow(m, mu):
    loss = build_loss("logistic")[0]
    for y in -1.0, 1.0:
        s = -y * loss.dual_point(y * m, y, mu)
        assert 0.0 <= s <= 1.0
        assert loss.value(y * m, y) >= max(0.0, -m)
        assert math.isfinite(loss.conjugate(-y * s, y))
        # s = sigmoid(-m - mu s), compared where it is not flat
        assert s == pytest.approx(0.5 * (1.0 + math.tanh(0.5 * (-m - mu * s))), rel=1e-6, abs=1e-9)


def test_predicted_ratings_count_the_thresholds_below():
    loss, _ = build_loss("ordinal_hinge")
    assert loss.predict(np.array([-1.0, 1.0, 4.0, 8.0, 10.0])).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
