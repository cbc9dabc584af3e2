"""Products with lines that have all their entries, some, or none; what is read of these."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rrmbench.numerics import restricted
from rrmbench.problem.operators import CSR
from rrmbench.solvers.coordinate import copies
from rrmbench.solvers.coordinate.copies import DenseColumns, SparseColumns


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


@pytest.mark.parametrize("stored", [0.2, 0.6, 1.0])
def test_an_array_is_made_of_dense_data_and_for_the_first_rows_as_for_all(stored):
    X = np.arange(1.0, 81.0).reshape(8, 10)
    X[np.random.default_rng(0).random(X.shape) >= stored] = 0.0
    made = CSR.of(csr_array(X))
    assert (made.array is None) == (np.count_nonzero(X) < 40)
    assert stored < 1.0 or np.shares_memory(made.array, made.rows.data)
    for operator, n in (made, 8), *((made.head(n), n) for n in range(1, 8)):
        assert (operator.array is None) == (made.array is None)
        assert made.array is None or np.array_equal(operator.array, X[:n])


def test_entries_in_another_order_are_no_array_as_they_stand():
    data, indices = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 0, 1], dtype=np.uint32)
    made = CSR(data, indices, np.array([0, 2, 4], dtype=np.int32), (2, 2))
    assert np.array_equal(made.array, [[2.0, 1.0], [3.0, 4.0]])


@given(seed=st.integers(0, 2**20), n=st.integers(1, 9), d=st.integers(2, 40))
def test_the_first_gradient_and_the_columns_of_an_array(seed, n, d):
    X, rng = matrix(seed, n, d), np.random.default_rng(seed)
    rows, b = CSR.of(csr_array(X)).rows, rng.normal(size=n)
    g, sqnorms, counts = np.zeros(d), np.zeros(d), np.zeros(d, dtype=np.int64)
    restricted.gradient_and_sqnorms(rows, b, g, sqnorms, counts)
    of_array, of_squares = np.zeros(d), np.zeros(d)
    restricted.whole_gradient_and_sqnorms(X, b, of_array, of_squares)
    assert of_array == pytest.approx(g, abs=1e-12) and of_squares == pytest.approx(sqnorms)
    assert g == pytest.approx(X.T @ b, abs=1e-12) and sqnorms == pytest.approx((X**2).sum(axis=0))
    assert np.array_equal(counts, np.count_nonzero(X, axis=0))
    columns, first = DenseColumns(X), 1 + int(rng.integers(d - 1))
    copied = 0
    for numbers in np.arange(first), np.arange(d - 1), np.arange(d):
        columns.choose(numbers)
        for weights in rng.random(n), np.full(n, 0.3):
            columns.read = 0
            form, squares, over_outputs = columns.weighted(weights)
            assert columns.read == n * (2 * numbers.size - copied)
            copied = numbers.size
            assert np.array_equal(form.lines[form.place], X[:, numbers].T)
            assert np.array_equal(form.weights, weights) and np.array_equal(over_outputs, weights)
            assert squares == pytest.approx(weights @ X[:, numbers] ** 2)
        check_even(columns, X[:, numbers], rng)
        v = rng.normal(size=numbers.size)
        assert columns.outputs(v) == pytest.approx(X[:, numbers] @ v, abs=1e-12)


@given(seed=st.integers(0, 2**20), n=st.integers(1, 9), d=st.integers(4, 40), columns_first=st.booleans())
def test_sparse_columns_by_columns_and_by_rows_and_what_they_read(seed, n, d, columns_first):
    """X is transposed once, unless nothing but the rows of the first choice are wanted."""
    X, rng = matrix(seed, n, d), np.random.default_rng(seed)
    counts, order = np.count_nonzero(X, axis=0), rng.permutation(d)
    columns, transposed, counted = SparseColumns(CSR.of(csr_array(X)), counts), 0, 0
    for choice, size in enumerate(np.sort(rng.choice(np.arange(1, d), size=3, replace=False))):
        numbers = np.sort(order[:size])
        part, nnz, columns.read = X[:, numbers], counts[numbers].sum(), 0
        columns.choose(numbers)
        assert columns.nnz == nnz and columns.read == 0
        if columns_first:
            check_by_columns(columns, part, rng)
            assert columns.read == nnz + counts.sum() - transposed
            check_even(columns, part, rng)
            transposed, columns.read = counts.sum(), 0
        in_rows = np.count_nonzero(part, axis=1)
        assert columns.pairs == np.sum(in_rows * (in_rows + 1)) // 2
        assert columns.pairs == np.sum(in_rows * (in_rows + 1)) // 2
        if choice == 0 and not columns_first:
            read_by_rows = counts.sum()
            assert columns.read == read_by_rows
        else:
            assert columns.read == nnz - counted + counts.sum() - transposed
            transposed, read_by_rows = counts.sum(), columns.read + nnz
        counted, v = nnz, rng.normal(size=size)
        assert columns.outputs(v) == pytest.approx(part @ v, abs=1e-12)
        assert columns.outputs(v) == pytest.approx(part @ v, abs=1e-12)
        assert columns.read == read_by_rows + 2 * nnz


def check_by_columns(columns, part, rng):
    weights = rng.random(len(part))
    form, squares, over_outputs = columns.weighted(weights)
    check_form(form, part, weights, over_outputs, rng)
    assert squares == pytest.approx(weights @ part**2)
    assert [form.reads_along(j) for j in range(part.shape[1])] == list(2 * np.count_nonzero(part, axis=0))


def check_even(columns, part, rng):
    """With one weight for all samples nothing is read, but for columns that are not here yet."""
    before = columns.read
    check_form(columns.even(0.3), part, np.full(len(part), 0.3), 1.0, rng)
    assert columns.read == before


def check_form(form, part, weights, over_outputs, rng):
    state, v = np.zeros(len(part)), rng.normal(size=part.shape[1])
    for j in range(v.size):
        form.move_along(j, v[j], state)
    z = part @ v
    assert state == pytest.approx(over_outputs * z, abs=1e-12)
    slopes = [form.slope_along(j, state) for j in range(v.size)]
    assert np.array(slopes) == pytest.approx(part.T @ (weights * z), abs=1e-10)
    assert form.square_of(v, state) == pytest.approx(z @ (weights * z))


@given(seed=st.integers(0, 2**20), n=st.integers(1, 9), d=st.integers(2, 40), most=st.sampled_from([1.0, 50.0, 1e9]))
def test_inner_products_of_columns_of_an_array_and_what_they_read(seed, n, d, most):
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies, "LINES", 3)
        check_products(rng, n, d, most)


def check_products(rng, n, d, most):
    X, numbers, matrix = rng.normal(size=(n, d)), np.zeros(0, dtype=np.int64), np.zeros((0, 0))
    columns, order, is_constant = DenseColumns(X), rng.permutation(d), bool(rng.integers(2))
    weights = np.full(n, 0.7) if is_constant else rng.random(n)
    for size in np.unique(rng.integers(1, d + 1, size=3)):
        before, numbers = numbers, np.sort(order[:size])
        fresh = ~np.isin(numbers, before)
        larger = np.zeros((size, size))
        larger[np.ix_(~fresh, ~fresh)] = matrix
        columns.choose(numbers)
        columns.read, unread = 0, columns._size
        blocks = [columns.read for _ in columns.multiply(np.arange(n), weights, fresh, larger, most)]
        matrix = larger
        expected = X[:, numbers].T @ (weights[:, None] * X[:, numbers])
        assert matrix == pytest.approx(expected, abs=1e-12)
        new = int(fresh.sum())
        pairs = size * (size + 1) // 2 - (size - new) * (size - new + 1) // 2
        assert columns.read == n * (new + pairs + columns._size - unread)
        assert np.diff([0, *blocks]).max() <= most + n * (columns._size - unread)
        assert len(blocks) >= -(-new // 3)


@given(seed=st.integers(0, 2**20), n=st.integers(1, 9), d=st.integers(4, 30), dense=st.booleans())
def test_columns_that_leave_and_come_back(seed, n, d, dense):
    """Of an array their copies are kept; a product reads the copies of what moved, or all of them."""
    X, rng = matrix(seed, n, d), np.random.default_rng(seed)
    columns = DenseColumns(X) if dense else SparseColumns(CSR.of(csr_array(X)), np.count_nonzero(X, axis=0))
    for _ in range(5):
        numbers = np.sort(rng.choice(d, size=int(rng.integers(1, d + 1)), replace=False))
        part, weights, v = X[:, numbers], rng.random(n), rng.normal(size=numbers.size)
        v[rng.random(v.size) < 0.5] = 0.0
        columns.choose(numbers)
        if not dense:
            assert columns.nnz == np.count_nonzero(part)
            in_rows = np.count_nonzero(part, axis=1)
            assert columns.pairs == np.sum(in_rows * (in_rows + 1)) // 2
        expected, which = part.T @ (weights[:, None] * part), np.flatnonzero(rng.random(n) < 0.8)
        fresh = rng.random(numbers.size) < 0.5
        known = np.where(fresh | fresh[:, None], 0.0, expected)
        for _ in columns.multiply(np.arange(n), weights, fresh, known, most=1e9):
            pass
        assert known == pytest.approx(expected, abs=1e-12)
        changed, every = np.zeros((numbers.size, numbers.size)), np.ones(numbers.size, dtype=np.bool_)
        for _ in columns.multiply(which, weights, every, changed, most=1e9):
            pass
        assert changed == pytest.approx(part[which].T @ (weights[which, None] * part[which]), abs=1e-12)
        columns.read = 0
        assert columns.outputs(v) == pytest.approx(part @ v, abs=1e-12)
        if dense and not columns._has_all:
            assert columns.read == n * min(np.count_nonzero(v), columns._size) or columns.read == n * columns._size
            assert columns.read <= n * max(2 * np.count_nonzero(v), 1)
        squares = columns.weighted(weights)[1]
        assert squares == pytest.approx(weights @ part**2)
