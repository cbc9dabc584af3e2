"""Problems made of a person's own arrays: labels and features are what a data file's would be, or refused."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csc_array, csr_matrix, lil_array

from rrmbench import Problem, solve
from rrmbench.data.arrays import matrix, rows
from rrmbench.errors import RrmbenchError
from rrmbench.losses.crammer_singer import MaxOfHinge
from rrmbench.losses.hinge import Hinge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
SIGN = np.where(X @ RNG.normal(size=4) + RNG.normal(size=60) > 0.0, 1.0, -1.0)
L2 = {"name": "l2", "strength": 1e-2}


@pytest.mark.parametrize(
    "y",
    [
        (SIGN + 1.0) / 2.0,
        (SIGN + 3.0) / 2.0,
        SIGN > 0.0,
        (SIGN > 0.0).astype(np.uint8),
        SIGN.astype(np.int8),
        7.5 * SIGN,
    ],
    ids=["0/1", "1/2", "bool", "uint8", "int8", "scaled"],
)
@pytest.mark.parametrize("loss", ["logistic", "hinge", Hinge()], ids=str)
def test_two_labels_are_minus_and_plus_one(y, loss):
    problem = Problem(X, y, loss, L2)
    assert np.array_equal(problem.y, SIGN)
    assert np.array_equal(problem.smoothed(0.5).y, SIGN)
    read_only = y.astype(float)  # as a frame of pandas gives them
    read_only.flags.writeable = False
    assert np.array_equal(Problem(X, read_only, loss, L2).y, SIGN)


def test_the_objective_is_that_of_the_mapped_labels():
    first = solve(Problem(X, SIGN, "logistic", L2), "prox_sdca", gap=1e-9)
    other = solve(Problem(X, SIGN > 0.0, "logistic", L2), "prox_sdca", gap=1e-9)
    assert first.reason == other.reason == "gap"
    assert np.array_equal(first.w, other.w)


@pytest.mark.parametrize(
    ("y", "loss", "message"),
    [
        (np.arange(60) % 3, "logistic", "needs two label values, found 0, 1, 2"),
        (np.zeros(60), "hinge", "needs two label values, found 0"),
        (np.arange(60) % 3, Hinge(), "needs two label values, found 0, 1, 2"),
        (SIGN[:, None], "hinge", r"found the shape \(60, 1\), needed is \(n,\)"),
        (SIGN[:, None], "squared", r"found the shape \(60, 1\), needed is \(n,\)"),
        (np.where(SIGN > 0, SIGN, np.nan), "squared", "found nan, needed are finite numbers"),
        (np.where(SIGN > 0, SIGN, np.inf), "hinge", "found inf, needed are finite numbers"),
        (np.where(SIGN > 0, "spam", "ham"), "squared", "needed are numbers"),
        (SIGN.astype(complex), "squared", "needed are numbers"),
        (SIGN[:59], "squared", "y has 59 entries, X has 60 rows"),
        (np.ones(60), "max_of_hinge", "needs two classes at least, found 1 alone"),
        (SIGN[:, None] * np.ones(3), "max_of_hinge", r"found the shape \(60, 3\)"),
        (5.0, "squared", r"found the shape \(\)"),
        (2**53 + np.arange(60) % 2, "hinge", "found the label 9007199254740992; .* smaller than 2\\^53"),
        (2**53 + np.arange(60) % 3, "max_of_hinge", "found the label 9007199254740992; .* smaller than 2\\^53"),
        (np.arange(60, dtype=np.uint64) % 2 + 2**63, "logistic", "smaller than 2\\^53"),
    ],
)
def test_labels_that_do_not_fit_are_refused(y, loss, message):
    with pytest.raises(RrmbenchError, match=message):
        Problem(X, y, loss, L2)


@pytest.mark.parametrize("loss", ["max_of_hinge", MaxOfHinge()], ids=str)
def test_classes_are_numbered_from_zero_without_gaps(loss):
    problem = Problem(X, np.arange(60) % 3 * 2 + 1, loss, L2)
    assert np.array_equal(problem.y, np.arange(60) % 3)
    assert problem.shape == (4, 3)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite_are_refused_by_their_place(kind, bad):
    spoilt = X.copy()
    spoilt[7, 2] = bad
    with pytest.raises(RrmbenchError, match=rf"X\[7, 2\] = {bad}, needed are finite"):
        Problem(kind(spoilt), SIGN, "squared", L2)


def broken(how, kind=csr_matrix):
    """A sparse matrix (30, 4) whose index arrays were changed by hand."""
    X = kind(np.ones((30, 4)))
    if kind is coo_array:
        X.coords[1].flags.writeable = True
        X.coords[1][3] = {"beyond": 50, "negative": -1}[how]
    elif how == "rows":
        X.indptr[3] = 10**6
    elif how == "short":
        X.data = X.data[:-3]
    else:
        X.indices[3] = {"beyond": 50, "negative": -1}[how]
    return X


@pytest.mark.parametrize(
    ("how", "kind"),
    [*product(["beyond", "negative", "rows", "short"], [csr_matrix, csc_array]), ("beyond", coo_array)],
)
def test_sparse_matrices_that_contradict_themselves_are_refused(how, kind):
    with pytest.raises(RrmbenchError, match=r"^X: found a sparse matrix that contradicts itself: "):
        Problem(broken(how, kind), np.ones(30), "squared", "none")
    with pytest.raises(RrmbenchError, match=r"^here: found a sparse matrix that contradicts itself: "):
        matrix(broken(how, kind), "here")


def test_rows_of_several_lengths_are_refused():
    with pytest.raises(RrmbenchError, match=r"^X: found \[\[1, 2\], \[3\]\], needed is a matrix"):
        Problem([[1, 2], [3]], [1, -1], "squared", "none")


def test_a_matrix_of_lists_with_a_column_beyond_its_shape_is_refused():
    X = lil_array(np.eye(30, 8))
    X.rows[3][0] = 10**6
    with pytest.raises(RrmbenchError, match=r"^X: found a sparse matrix that contradicts itself: "):
        Problem(X, np.ones(30), "squared", "none")
    with pytest.raises(RrmbenchError, match=r"^here: found a sparse matrix that contradicts itself: "):
        matrix(X, "here")


def test_a_callers_matrix_has_the_same_arrays_after_its_check():
    X = csr_matrix(np.eye(6, 4))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    before = X.data, X.indices, X.indptr
    Problem(X, np.ones(6), "squared", "none")
    assert all(now is was for now, was in zip((X.data, X.indices, X.indptr), before, strict=True))


@pytest.mark.parametrize("kind", [csr_matrix, coo_array])
@pytest.mark.parametrize("d", [2**31, 2**32 + 7])
def test_more_columns_than_indices_can_number_are_refused(kind, d):
    wide = kind((np.ones(2), ([0, 1], [0, d - 1])), shape=(2, d))
    with pytest.raises(RrmbenchError, match=rf"^X: found {d} columns, allowed are at most 2147483647$"):
        Problem(wide, [1.0, -1.0], "squared", "none")
    assert matrix(wide, "here").indices.tolist() == [0, d - 1]  # which preparing refuses
    beyond = csr_matrix((np.ones(1), [d], [0, 1]), shape=(1, d))
    with pytest.raises(RrmbenchError, match=r"^here: found a sparse matrix that contradicts itself: "):
        matrix(beyond, "here")


@pytest.mark.parametrize("X", [np.ones(5), np.ones((5, 0)), np.ones((0, 5)), np.array([["a"]]), np.ones((2, 2, 2))])
def test_features_that_are_no_matrix_of_numbers_are_refused(X):
    with pytest.raises(RrmbenchError, match="X: found"):
        Problem(X, np.ones(len(X)), "squared", L2)


@pytest.mark.parametrize("index", [[2, 0, 1], ["c", 0, 1.5], pd.MultiIndex.from_tuples([(1, "b"), (0, "a"), (1, "a")])])
def test_labels_with_the_index_of_x_in_another_order_are_refused(index):
    X = pd.DataFrame(np.eye(3), index=index)
    y = pd.Series([1.0, 2.0, 3.0], index=X.index)
    assert Problem(X, y, "squared", L2).n == 3
    assert Problem(X, y.reset_index(drop=True).set_axis([7, 8, 9]), "squared", L2).n == 3  # other names of rows
    for make in (lambda y: Problem(X, y, "squared", L2), lambda y: rows(X, y, None, "")):
        with pytest.raises(RrmbenchError, match=r"y: found the index of X in another order.*y\.loc\[X\.index\]"):
            make(y[::-1])


def test_frames_with_columns_of_several_types_of_numbers():
    given = {"a": [1.0, 2.0], "b": pd.array([1, 2], dtype="Int64"), "c": [True, False]}
    problem = Problem(pd.DataFrame(given), [1.0, -1.0], "squared", "none")
    np.testing.assert_array_equal(problem.X.columns().toarray(), [[1, 1, 1], [2, 2, 0]])
    for wrong, found in (["x", "y"], "'x' in column 'd', row 0"), (pd.array([1, None], dtype="Int64"), "'<NA>' in col"):
        with pytest.raises(RrmbenchError, match=f"X: found {found}"):
            Problem(pd.DataFrame(given | {"d": wrong}), [1.0, -1.0], "squared", "none")
    with pytest.raises(RrmbenchError, match=r"X: found 'None' in X\[1, 0\], needed are numbers"):
        Problem([[1.0], [None]], [1.0, -1.0], "squared", "none")
