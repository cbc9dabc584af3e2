"""Products of sparse matrices with several columns: those of dense arrays, whatever the numbers of columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.matrix_products import sum_soft_rows, times, transposed_times
from rrmbench.problem.operators import CSR
from rrmbench.regularizers.l1 import L1


@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    k=st.integers(1, 40),
    density=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_products_are_those_of_dense_arrays(shape, k, density, seed):
    rng = np.random.default_rng(seed)
    n, d = shape
    dense = rng.normal(size=shape) * (rng.random(shape) < density)
    rows = CSR.of(csr_array(dense), k).rows
    W, B = rng.normal(size=(d, k)), rng.normal(size=(n, k))
    found, transposed = times(rows, d, W), transposed_times(rows, d, B)
    np.testing.assert_allclose(found, dense @ W, rtol=0, atol=1e-14 * (1 + np.abs(dense) @ np.abs(W)).max())
    np.testing.assert_allclose(transposed, dense.T @ B, rtol=0, atol=1e-14 * (1 + np.abs(dense.T) @ np.abs(B)).max())
    for product in found, transposed:
        assert product.flags.carray


@kernel
def soft_sums(indptr, indices, data, W, t, Z):
    for i in range(Z.shape[0]):
        sum_soft_rows(indices, data, indptr[i], indptr[i + 1], W, t, Z, i)


@given(k=st.integers(1, 40), t=st.sampled_from([0.0, 0.4, 1.0, 100.0]), seed=st.integers(0, 10**6))
def test_sums_of_proximal_points_of_the_l1_norm(k, t, seed):
    """To the last bit those of the numbers one by one, ties and what is not finite too."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(5, 8)) * (rng.random((5, 8)) < 0.6)
    rows, W, found = CSR.of(csr_array(dense), k).rows, np.round(rng.normal(size=(8, k)), 1), np.empty((5, k))
    W[rng.integers(8), rng.integers(k)] = rng.choice([np.inf, -np.inf, np.nan])
    soft_sums(rows.indptr, rows.indices, rows.data, W, t, found)
    near = np.array([[L1(1.0).prox(w, t) for w in row] for row in W])
    np.testing.assert_array_equal(found, times(rows, 8, near))


@pytest.mark.parametrize("k", [3, 4])
def test_any_array_of_numbers_may_be_multiplied(k):
    """Read-only ones, integers, views: kernels read memory as it is, so these are copied."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.4)
    rows = CSR.of(csr_array(dense), k).rows
    whole = rng.integers(-9, 9, size=(5, k))
    read_only = whole.astype(float)
    read_only.flags.writeable = False
    for W in whole, read_only, np.asfortranarray(whole.astype(float)), np.repeat(whole, 2, axis=1)[:, ::2]:
        np.testing.assert_allclose(times(rows, 5, W), dense @ whole, rtol=1e-13)


def test_matrices_of_another_number_of_rows_are_refused():
    """Kernels would read beyond their ends."""
    rows = CSR.of(csr_array(np.eye(3, 5)), 2).rows
    for product in times, transposed_times:
        with pytest.raises(ValueError, match=r"found a matrix of the shape \(4, 2\), needed are [35] rows"):
            product(rows, 5, np.ones((4, 2)))


def test_numbers_that_are_not_finite_stay_so():
    X = csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    W = np.array([[np.inf, 1.0, np.nan], [1.0, -np.inf, 0.0]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(times(CSR.of(X, 3).rows, 2, W), X @ W)
