"""e^-t and log(1 + e) next to 60 digits, where several are computed at once and where one is."""

import math
from decimal import Decimal, localcontext

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from rrmbench.numerics.exponentials import exp_of_minus, log1p_of
from rrmbench.numerics.whole_arrays import mean_loss_rows

EPS = 2.0**-52


@njit(error_model="numpy")
def all_exp(t, out):
    for i in range(t.shape[0]):
        out[i] = exp_of_minus(t[i])


@njit(error_model="numpy")
def all_log1p(e, out):
    for i in range(e.shape[0]):
        out[i] = log1p_of(e[i])


def computed(function, values):
    """The function at each value, alone and among others, which must be the same."""
    several, alone = np.empty(len(values)), np.empty(1)
    function(np.array(values), several)
    for value, found in zip(values, several, strict=True):
        function(np.array([value]), alone)
        np.testing.assert_array_equal(alone, [found])
    return several


def digits(function, value):
    with localcontext() as context:
        context.prec = 60
        return function(Decimal(value))


def assert_close(found, wanted, units):
    for one, exact in zip(found, wanted, strict=True):
        assert abs(Decimal(one) - exact) <= Decimal(units * EPS) * abs(exact)


@given(st.lists(st.floats(0.0, 690.0) | st.floats(0.0, 1e-3) | st.floats(0.0, 40.0), min_size=1, max_size=20))
def test_exponentials_have_all_digits_but_the_last(values):
    assert_close(computed(all_exp, values), [digits(lambda t: (-t).exp(), value) for value in values], 1.0)


@given(st.lists(st.floats(1e-20, 1.0) | st.floats(1e-20, 1e-3), min_size=1, max_size=20))
def test_logarithms_have_all_digits_but_the_last(values):
    assert_close(computed(all_log1p, values), [digits(lambda e: (1 + e).ln(), value) for value in values], 2.0)


def test_ends_are_exact():
    found = computed(all_exp, [0.0, 708.0, 709.0, 1e300, math.inf, math.nan])
    assert found[0] == 1.0 and found[1] == pytest.approx(math.exp(-708.0), rel=EPS)
    np.testing.assert_array_equal(found[2:], [0.0, 0.0, 0.0, math.nan])
    np.testing.assert_array_equal(computed(all_log1p, [0.0, math.nan]), [0.0, math.nan])


@njit(fastmath=True)
def sum_of_losses(loss, z, y):
    total = 0.0
    for i in range(z.shape[0]):
        total += loss.value(z[i], y[i])
    return total


@njit(fastmath=True)
def sum_of_rows(loss, z, y):
    total = 0.0
    for i in range(z.shape[0]):
        total += loss.value_row(z[i], y[i])
    return total


@pytest.mark.parametrize("name", ["logistic", "multinomial_logistic"])
def test_a_kernel_that_reorders_its_sums_does_not_reorder_those_of_the_exponentials(name):
    """numba hands fastmath on to what a kernel calls."""
    loss, rng = oracles.loss_of(name), np.random.default_rng(0)
    if name == "logistic":
        z, y = rng.normal(size=200), np.sign(rng.normal(size=200))
        found, wanted = sum_of_losses(loss, z, y), math.fsum(map(loss.value, z, y))
    else:
        z, y = rng.normal(size=(40, 5)), rng.integers(5, size=40).astype(float)
        found, wanted = sum_of_rows(loss, z, y), math.fsum(map(loss.value_row, z, y))
    assert found == pytest.approx(wanted, rel=1e-14)


@njit(error_model="numpy")
def all_losses(loss, z, y, values, duals):
    for i in range(z.shape[0]):
        values[i], duals[i] = loss.value(z[i], y[i]), loss.dual_point(z[i], y[i], 0.0)


@given(st.lists(st.floats(-1e3, 1e3) | st.floats(-40.0, 40.0), min_size=1, max_size=20), st.sampled_from([-1.0, 1.0]))
def test_the_logistic_loss_and_its_derivative_are_the_same_in_kernels_and_in_python(z, y):
    loss, values, duals = oracles.loss_of("logistic"), np.empty(len(z)), np.empty(len(z))
    all_losses(loss, np.array(z), np.full(len(z), y), values, duals)
    np.testing.assert_allclose(values, [loss.value(one, y) for one in z], rtol=4 * EPS, atol=1e-307)
    np.testing.assert_allclose(duals, [loss.dual_point(one, y, 0.0) for one in z], rtol=4 * EPS, atol=1e-307)


@pytest.mark.parametrize("scores", [[-1e19, 900.0], [-1e20, 1e4], [1e300, 0.0], [-700.0, 800.0, 0.0]])
def test_multinomial_values_of_scores_far_apart(scores):
    loss, z = oracles.loss_of("multinomial_logistic"), np.array(scores)
    wanted = max(z.max() - z[0], 0.0) + math.log1p(sum(math.exp(x - z.max()) for x in z) - 1.0)
    assert loss.value_row(z, 0.0) == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    assert mean_loss_rows(loss, 0.0, z[None], np.zeros(1)) == pytest.approx(wanted, rel=1e-12, abs=1e-12)
