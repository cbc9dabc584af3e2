from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import f1_score

from rrmbench.bench.metrics import f1, metrics_of
from rrmbench.problem.counted import Counted
from rrmbench.problem.operators import CSR


def prepared(y, test_y=None, seed=0):
    """What metrics see of prepared data, with random rows."""
    rng = np.random.default_rng(seed)
    X, test_X = (CSR.of(rng.standard_normal((n, 3))) for n in (len(y), len(y if test_y is None else test_y)))
    parts = {"y": y, "test_y": test_y, "info": {"classes": None}}
    return SimpleNamespace(operator=lambda: X, test_operator=lambda: test_X, **parts)


@pytest.mark.parametrize("seed", range(5))
def test_f1_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    y, test_y = (np.where(rng.random(n) < 0.3, 1.0, -1.0) for n in (50, 30))
    data, w = prepared(y, test_y, seed), rng.standard_normal(3)
    measured = metrics_of(data)(w)
    guess = np.where(data.test_operator().forward(w) >= 0.0, 1.0, -1.0)
    assert measured["test_f1"] == pytest.approx(f1_score(test_y, guess))
    assert metrics_of(data)(np.zeros(3))["test_f1"] == pytest.approx(f1_score(test_y, np.ones(30)))


@pytest.mark.parametrize("part", [None, lambda z: 1.0])
def test_outputs_that_are_known_are_not_computed_again(part):
    """By counting products with X; the columns are the same."""
    signs = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    data, w = prepared(signs, -signs), np.array([1.0, -2.0, 0.5])
    X = Counted(data.operator())
    metrics = metrics_of(SimpleNamespace(**vars(data) | {"operator": lambda: X}), beta=part)
    alone = metrics(w)
    assert X.passes == 0.5
    assert metrics(w, data.operator().forward(w)) == alone and X.passes == 0.5


def test_f1_without_positive_labels_or_guesses():
    none, one = np.zeros(4, dtype=bool), np.arange(4) == 2
    assert [f1(none, one), f1(one, none), f1(none, none), f1(one, one)] == [0.0, 0.0, 1.0, 1.0]


def test_other_labels_have_no_f1():
    assert list(metrics_of(prepared(np.array([0.5, 2.0, 1.0]), np.array([1.0, 2.0])))(np.ones(3))) == ["test_rmse"]


def test_errors_and_deviations_are_those_of_plain_arithmetic():
    """A root of a mean of squares over the test part; fractions of wrong signs and of wrong greatest outputs."""
    targets, w = np.array([0.5, 2.0, 1.0]), np.array([1.0, -2.0, 0.5])
    data = prepared(targets, targets[::-1])
    z = data.test_operator().forward(w)
    assert metrics_of(data)(w)["test_rmse"] == pytest.approx(np.sqrt(sum((z - targets[::-1]) ** 2) / 3), rel=1e-14)
    rounded = metrics_of(data, predict=np.rint)(w)["test_rmse"]
    assert rounded == pytest.approx(np.linalg.norm(np.rint(z) - targets[::-1]) / np.sqrt(3), rel=1e-14)
    shifted = metrics_of(data, beta=lambda z: 10.0 + z.sum())(w)["test_rmse"]  # of the outputs of the training part
    away = 10.0 + data.operator().forward(w).sum()
    assert shifted == pytest.approx(np.linalg.norm(z + away - targets[::-1]) / np.sqrt(3), rel=1e-14)

    signs = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    found = metrics_of(prepared(signs, -signs))(np.zeros(3))  # an output of 0 counts as +1
    assert found == {"train_error": 0.6, "test_error": 0.4, "test_f1": 0.75, "test_accuracy": 0.6}

    data = prepared(np.array([0.0, 2.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    data.info["classes"] = 3
    found = metrics_of(data)(np.zeros((3, 3)))  # of equal outputs the first class
    assert found == {"train_error": 0.5, "test_error": pytest.approx(1 / 3), "test_accuracy": pytest.approx(2 / 3)}

    data = prepared(np.eye(3)[[0, 2, 1, 0]], np.eye(3)[[1, 0, 0]])  # the same as targets
    data.info["classes"] = 3
    assert metrics_of(data)(np.zeros((3, 3))) == found
