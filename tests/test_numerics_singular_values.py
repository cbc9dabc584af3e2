"""Singular values by every way there is."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from random_arrays import normal, seeds

from rrmbench.numerics import singular_values
from rrmbench.numerics.bidiagonalization import AllVectors, LastVector, bidiagonalization

# singular values


def with_values(values, rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    V = np.linalg.qr(rng.standard_normal((columns, rows)))[0]
    return (U * values) @ V.T


SPECTRA = {
    "decaying": np.logspace(0.0, -6.0, 40),
    "with a gap": np.concatenate((np.linspace(3.0, 2.0, 8), np.linspace(0.9, 0.0, 32))),
    "equal": np.full(40, 2.0),
    "pairs": np.repeat(np.linspace(3.0, 0.0, 20), 2),
    "low rank": np.concatenate((np.linspace(3.0, 2.0, 5), np.zeros(35))),
    "repeated of low rank": np.concatenate((np.full(5, 2.0), [1.0], np.zeros(34))),
    "zero": np.zeros(40),
    "large": 1e12 * np.linspace(3.0, 0.0, 40),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("level", [0.003, 0.4, 0.6, 2.0])
@pytest.mark.parametrize("columns", [40, 60])
def test_every_way_to_the_leading_singular_values_agrees(spectrum, level, columns):
    values = SPECTRA[spectrum]
    tau = level * max(values.max(), 1e-3)
    a = with_values(values, 40, columns)
    wanted = with_values(np.maximum(values - tau, 0.0), 40, columns)
    ways = [singular_values.by_svd(a, tau), singular_values.by_gram(a, tau), singular_values.by_lanczos(a, tau, 40)]
    count = np.count_nonzero(values > tau)
    if ways[-1] is None:
        assert count > 20, "only many singular values make Lanczos give up"
        ways.pop()
    for U, s in ways:
        assert len(s) == count
        np.testing.assert_allclose((U * (1.0 - tau / s)) @ (U.T @ a), wanted, atol=1e-12 * max(values.max(), 1e-3))


def test_fast_ways_refuse_what_they_cannot_do():
    a = with_values(SPECTRA["decaying"], 40, 60)
    assert singular_values.by_gram(a, 1e-5) is None
    assert singular_values.by_lanczos(a, 1e-4, 12) is None
    U, s = singular_values.leading(a, 1e-5)
    np.testing.assert_allclose(np.sort(s), np.sort(SPECTRA["decaying"][SPECTRA["decaying"] > 1e-5]), rtol=1e-9)
    np.testing.assert_allclose(U.T @ U, np.eye(len(s)), atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 3, 12, 60])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_truncation_finds_all_singular_values_of_a_large_matrix(count, copies):
    few = np.repeat(np.linspace(3.0, 1.1, count), copies)
    a = with_values(np.concatenate((few, np.linspace(0.95, 0.0, 300 - len(few)))), 300, 310)
    U, s = singular_values.leading(a, 1.0)
    np.testing.assert_allclose(np.sort(s), np.sort(few), rtol=1e-12)
    np.testing.assert_allclose(
        U @ (U.T @ a), with_values(np.concatenate((few, np.zeros(300 - len(few)))), 300, 310), atol=1e-10
    )


def test_truncation_is_lanczos_where_few_steps_are_enough(monkeypatch):
    monkeypatch.setattr(singular_values, "by_gram", lambda a, tau: pytest.fail("Lanczos was enough"))
    a = with_values(np.concatenate((np.linspace(3.0, 2.0, 5), np.linspace(0.9, 0.0, 295))), 300, 310)
    assert len(singular_values.leading(a, 1.2)[1]) == 5


@pytest.mark.parametrize("rank", [3, 31, 100, 150])
def test_sum_and_greatest_singular_value(rank):
    values = np.concatenate((np.linspace(3.0, 1e-6, rank), np.zeros(150 - rank)))
    a = with_values(values, 150, 160)
    assert singular_values.total(a) == pytest.approx(values.sum(), rel=1e-13)
    assert 3.0 * (1.0 - 1e-15) <= singular_values.greatest(a) <= 3.0 * (1.0 + 1e-12)


@given(seed=seeds)
def test_greatest_singular_value_is_never_underestimated(seed):
    a = normal(seed, (6, 9))
    exact = np.linalg.norm(a, 2)
    assert exact * (1.0 - 2e-16) <= singular_values.greatest(a) <= exact * (1.0 + 1e-12)


@given(seed=seeds)
def test_bidiagonalization_is_one_of_the_matrix_with_both_bases(seed):
    """X v_k = beta_(k-1) u_(k-1) + alpha_k u_k and X^T u_k = alpha_k v_k + beta_k v_(k+1) in any basis."""
    a, random = normal(seed, (6, 9)), np.random.default_rng(0)
    tiny = 1e-15 * np.linalg.norm(a)
    for left, right in [(AllVectors(6, 6, tiny, random), AllVectors(7, 9, tiny, random)), (LastVector(), LastVector())]:
        right.extend(normal(seed + 1, (9,)))
        u, v, beta = np.zeros(6), right.last, 0.0
        for alpha, after in islice(bidiagonalization(lambda v: a @ v, lambda u: u @ a, left, right), 6):
            np.testing.assert_allclose(a @ v, beta * u + alpha * left.last, atol=1e-10)
            np.testing.assert_allclose(left.last @ a, alpha * v + after * right.last, atol=1e-10)
            u, v, beta = left.last, right.last, after
        if isinstance(left, AllVectors):
            np.testing.assert_allclose(left.vectors @ left.vectors.T, np.eye(6), atol=1e-12)
            np.testing.assert_allclose(right.vectors @ right.vectors.T, np.eye(7), atol=1e-12)


def test_the_greatest_one_of_multiples_of_the_identity():
    """But for rounding: LAPACK's method for single eigenvalues gives up on some of them."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        n = rng.integers(3, 8)
        a = 0.01 * np.eye(n) + 10.0 ** rng.uniform(-19.0, -16.0) * rng.normal(size=(n, n))
        assert singular_values.greatest(a) == pytest.approx(0.01, rel=1e-9)
