"""Products with lines that have all their entries, some, or none; what is read of these."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rrmbench.numerics import restricted
from rrmbench.problem.operators import CSR
from rrmbench.solvers.coordinate.copies import ByColumn


def matrix(seed, n, d):
    """Rows of which most are whole, and columns of zeros and whole rows of zeros among the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random(n) < 0.3] *= rng.random(d) < 0.5
    X[rng.random(n) < 0.1] = 0.0
    return X


@given(seed=st.integers(0, 2**20), n=st.integers(1, 9), d=st.integers(1, 40))
def test_products_are_those_of_arrays(seed, n, d):
    X, rng = matrix(seed, n, d), np.random.default_rng(seed)
    made = CSR.of(csr_array(X))
    for w in rng.normal(size=d), rng.normal(size=2 * d)[::2], np.zeros(d):
        w.flags.writeable = False
        assert made.forward(w) == pytest.approx(X @ w, rel=1e-13, abs=1e-13 * np.abs(X).sum())
    b = rng.normal(size=n)
    assert made.adjoint(b) == pytest.approx(X.T @ b, rel=1e-13, abs=1e-13 * np.abs(X).sum())
    assert made.forward(np.eye(d)[:, : min(d, 3)]) == pytest.approx(X[:, :3])


def test_a_model_of_another_shape_is_refused_and_read_by_no_kernel():
    made = CSR.of(np.ones((3, 4)))
    for w in np.ones(5), np.ones(3), np.ones((1, 4)):
        with pytest.raises(ValueError):
            made.forward(w)
    with pytest.raises(ValueError):
        made.adjoint(np.ones(4))


@pytest.mark.parametrize("whole", [[0, 0, 1, 1], [1, 1, 0, 0, 0]])
def test_the_first_rows_call_the_kernels_of_all(whole):
    X = np.ones((len(whole), 3))
    X[np.array(whole) == 0, 1] = 0.0
    made = CSR.of(csr_array(X))
    assert made.head(2)._is_dense == made._is_dense == (2 * sum(whole) >= len(whole))


@given(seed=st.integers(0, 2**20), n=st.integers(1, 9), d=st.integers(2, 40))
def test_the_first_gradient_and_the_chosen_columns(seed, n, d):
    X, rng = matrix(seed, n, d), np.random.default_rng(seed)
    rows, b = CSR.of(csr_array(X)).rows, rng.normal(size=n)
    g, sqnorms, counts = np.zeros(d), np.zeros(d), np.zeros(d, dtype=np.int64)
    restricted.gradient_and_sqnorms(rows, b, g, sqnorms, counts)
    assert g == pytest.approx(X.T @ b, abs=1e-12) and sqnorms == pytest.approx((X**2).sum(axis=0))
    assert np.array_equal(counts, np.count_nonzero(X, axis=0))
    copy, first = ByColumn(rows, n, counts), 1 + int(rng.integers(d - 1))
    lengths = np.diff(rows.indptr)
    for numbers, fresh in (np.arange(first), first), (np.arange(0, d - 1), d - 1 - first), (np.arange(d), 1):
        read = np.where(lengths == d, fresh, lengths).sum() if fresh else None
        assert copy.grow(numbers) == read or read is None
        for weights in rng.random(n), np.full(n, 0.3):
            form, squares = copy.weighted(weights)
            assert form.scale * form.lines[form.place].T == pytest.approx(weights[:, None] * X[:, numbers])
            assert squares == pytest.approx((weights**2) @ X[:, numbers] ** 2)
        v = rng.normal(size=numbers.size)
        assert copy.outputs(v) == pytest.approx(X[:, numbers] @ v, abs=1e-12)
