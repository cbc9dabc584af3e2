"""The optimized prox-function of AGM, section 5.6."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench.numerics.prox_weights import GUARD, by_direction, by_norms
from rrmbench.problem.operators import CSR


def rows(kind, seed=0, n=300, d=12):
    """Rows that have a direction in common, or lengths of very different sizes, or neither, or zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if kind == "one direction":
        X += 5.0 * rng.random((n, 1)) * rng.standard_normal(d)
    if kind == "lengths":
        X *= 10.0 ** rng.uniform(-2.0, 1.0, (n, 1))
    if kind == "zeros":
        X[rng.random(n) < 0.5] = 0.0
    return X


def smoothness(X, omega):
    """lambda_max of (1/n) sum x_i x_i^T / omega_i."""
    return np.linalg.norm(X / np.sqrt(omega)[:, None], 2) ** 2 / len(X)


def row_bound(X, omega):
    return np.mean(np.sum(X**2, axis=1) / omega)


@given(
    kind=st.sampled_from(["one direction", "lengths", "gauss", "zeros"]), seed=st.integers(0, 100), norms=st.booleans()
)
def test_mean_one_and_guarded(kind, seed, norms):
    X = rows(kind, seed)
    omega = by_norms(np.sum(X**2, axis=1)) if norms else by_direction(CSR.of(X))
    assert np.mean(omega) == pytest.approx(1.0, rel=1e-14)
    assert omega.min() >= GUARD / (1.0 + GUARD)  # the guard adds at most GUARD to the mean
    # so no weights are worse than equal ones by more than
    assert smoothness(X, omega) <= (1.0 + GUARD) / GUARD * smoothness(X, np.ones(len(X))) * (1.0 + 1e-12)


@pytest.mark.parametrize("kind", ["one direction", "lengths"])
def test_smoothness_falls(kind):
    X = rows(kind)
    equal = np.ones(len(X))
    omega = by_direction(CSR.of(X))
    assert smoothness(X, omega) < 0.95 * smoothness(X, equal)
    assert np.mean(np.abs(X @ np.linalg.svd(X)[2][0])) ** 2 <= smoothness(X, omega)  # (72), the least that may be


@given(kind=st.sampled_from(["one direction", "lengths", "gauss", "zeros"]), seed=st.integers(0, 100))
def test_norms_lower_the_row_bound(kind, seed):
    X = rows(kind, seed)
    equal = row_bound(X, np.ones(len(X)))
    assert row_bound(X, by_norms(np.sum(X**2, axis=1))) <= equal * (1.0 + 1e-12)


def test_direction_is_the_first_singular_vector():
    X = rows("one direction")
    z = np.abs(X @ np.linalg.svd(X)[2][0])
    wanted = np.maximum(z / z.mean(), GUARD)
    np.testing.assert_allclose(by_direction(CSR.of(X)), wanted / wanted.mean(), rtol=1e-4)


def test_zero_data_and_rows_that_cancel():
    np.testing.assert_array_equal(by_norms(np.zeros(3)), np.ones(3))
    np.testing.assert_array_equal(by_direction(CSR.of(np.zeros((3, 2)))), np.ones(3))
    np.testing.assert_allclose(by_direction(CSR.of(np.array([[1.0, 2.0], [-1.0, -2.0]]))), [1.0, 1.0])
