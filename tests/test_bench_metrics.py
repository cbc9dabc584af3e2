from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import f1_score

from rrmbench.bench.metrics import f1, metrics_of
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


def test_f1_without_positive_labels_or_guesses():
    none, one = np.zeros(4, dtype=bool), np.arange(4) == 2
    assert [f1(none, one), f1(one, none), f1(none, none), f1(one, one)] == [0.0, 0.0, 1.0, 1.0]


def test_other_labels_have_no_f1():
    assert list(metrics_of(prepared(np.array([0.5, 2.0, 1.0]), np.array([1.0, 2.0])))(np.ones(3))) == ["test_rmse"]
