"""Prepared data are those of their files: damaged caches, edited files, damaged compression."""

import numpy as np
import pytest

from rrmbench import data
from rrmbench.data import places, prepare

FOUR = "1 1:3 2:4\n2 2:2\n1 1:1\n2 3:8\n"
ARRAYS = ("data", "indices", "indptr")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RRMBENCH_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "four.svm").write_text(FOUR)
    return tmp_path


def same(a, b):
    """Whether two Prepared hold the same bits and facts."""
    for parts in ("X_parts", "test_X_parts"):
        for one, other in zip(getattr(a, parts) or (), getattr(b, parts) or (), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    for name in ("y", "test_y"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("shape", "test_shape", "checksum", "key", "info"):
        assert getattr(a, name) == getattr(b, name)
    return True


# read from the source


@pytest.mark.parametrize(
    ("block", "labels"),
    [
        ({"path": "four.svm", "split": 0.75, "scale": "max_abs", "bias": "regularized"}, "binary"),
        ({"path": "four.svm", "test": "four.svm"}, "classes"),
        ({"path": "four.svm"}, "targets"),
        ({"path": "four.svm", "kernel": "linear"}, "any"),
    ],
)
def test_data_from_the_source_are_those_of_the_cache(block, labels):
    fresh = data.from_source(block, labels)
    assert not (places.cache_root() / "data").exists()
    assert same(fresh, data.load(block, labels))
    assert same(data.from_source(block, labels), fresh)
    with pytest.raises(ValueError, match="read-only"):
        fresh.y[0] = 1


def test_data_from_the_source_do_not_see_the_cached_arrays(folder):
    clean = prepare.load({"path": "four.svm"})
    values = clean.X_parts[0].tolist()
    stored = folder / "cache" / "data" / clean.key / "data.npy"
    raw = bytearray(stored.read_bytes())
    raw[-3] ^= 1
    stored.write_bytes(raw)
    assert data.from_source({"path": "four.svm"}).X_parts[0].tolist() == values
