"""Data made by the package for benchmarks: documents and a tall table are what their formulas say, everywhere."""

import numpy as np
import pytest

from rrmbench.data import prepare
from rrmbench.data.generators.documents import documents
from rrmbench.data.generators.tall_table import tall_table


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path))


def test_documents_have_tf_idf_weights_of_whole_counts():
    X = documents(n=300, d=400, length=60, seed=1)["X"]
    present = np.bincount(X.indices, minlength=400)
    assert present.max() < 300  # a word of all documents has the weight 0, and no entry
    assert X.data.min() > 0.0
    counts = np.exp(X.data / np.log(300 / present[X.indices]) - 1.0)
    np.testing.assert_allclose(counts, np.rint(counts), rtol=2e-3)
    assert counts.max() > 2.5


def test_documents_have_words_by_zipf_and_exponential_lengths():
    made = documents(n=3000, d=50, length=3, topics=2, tilt=0.0, seed=2)
    present = np.bincount(made["X"].indices, minlength=50)
    # of m words with an exponential length of mean 3, none is the first with the chance E[(1 - p)^m]
    p = 1.0 / np.sum(1.0 / np.arange(1.0, 51.0))
    lengths = np.maximum(1.0, np.rint(3.0 * np.random.default_rng(0).exponential(size=200_000)))
    assert present[0] / 3000 == pytest.approx(1.0 - np.mean((1.0 - p) ** lengths), abs=0.03)
    assert present[0] > 1.5 * present[1] > 1.5 * 1.5 * present[4]


def test_topics_tell_the_class_of_a_document():
    for flipped, tilt, low, high in ((0.0, 2.0, 0.95, 1.0), (0.3, 2.0, 0.6, 0.8), (0.0, 0.0, 0.4, 0.6)):
        made = documents(n=6000, d=300, topics=4, tilt=tilt, flipped=flipped, seed=3)
        X, y = made["X"].toarray(), made["y"]
        w = np.linalg.lstsq(X[:5000], y[:5000], rcond=None)[0]
        assert low <= np.mean(np.sign(X[5000:] @ w) == y[5000:]) <= high
        assert set(y) == {-1, 1}


def test_a_tall_table_has_numbers_and_one_value_of_each_category():
    made = tall_table(n=20_000, numbers=3, few=4, many=6, rho=0.8, snr=5.0, seed=4)
    X, y = made["X"].toarray(), made["y"]
    numbers, few, many = X[:, :3], X[:, 3:7], X[:, 7:]
    assert numbers.min() >= 0.0 and numbers.max() <= 1.0
    assert np.corrcoef(numbers.T)[0, 2] == pytest.approx(0.64, abs=0.02)
    assert numbers.std(axis=0) == pytest.approx([0.125] * 3, rel=0.03)
    for block in few, many:
        assert set(np.unique(block)) == {0.0, 1.0}
        assert (block.sum(axis=1) == 1.0).all()
        values = np.arange(1.0, block.shape[1] + 1.0)
        np.testing.assert_allclose(block.mean(axis=0), (1.0 / values) / np.sum(1.0 / values), atol=0.015)
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.mean(np.sign(X @ w) == y) > 0.85
    # the angle between signal and noise tells how often the noise turns a sign, for normal signals
    exact = tall_table(n=20_000, numbers=3, few=4, many=6, rho=0.8, snr=1e9, seed=4)
    assert np.mean(exact["y"] != y) == pytest.approx(np.arctan(1.0 / 5.0) / np.pi, abs=0.02)


@pytest.mark.parametrize(
    ("name", "checksum"),
    [
        ("documents", "d3d72e53d1e693058329e0b6c17b18aeadfcf53c7703d6323b37db384240ec10"),
        ("tall_table", "9c8e7d7e2f1d772029c4ccf9e063834194e94e3f87a5c8e840b78222c0ca8eff"),
    ],
)
def test_they_are_the_same_everywhere(name, checksum, cache):
    assert prepare.load({"name": name}, "any").checksum == checksum
