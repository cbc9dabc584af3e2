"""Prepared data are those of their files: damaged caches, edited files, damaged compression."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from rrmbench import data
from rrmbench.data import libsvm, places, prepare
from rrmbench.errors import RrmbenchError

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


# compressed files

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
HALVES = "".join(f"1 1:{i}.5\n" for i in range(6)).encode(), "".join(f"-1 2:{i}.25\n" for i in range(6)).encode()


def packed(suffix, after=b"", between=b""):
    first, second = map(PACK[suffix], HALVES)
    return first + between + second + after


def read(folder, suffix, raw):
    path = folder / f"rows.svm{suffix}"
    path.write_bytes(raw)
    return libsvm.read(path).X.data.tolist()


WHOLE = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 0.25, 1.25, 2.25, 3.25, 4.25, 5.25]


@pytest.mark.parametrize("suffix", PACK)
def test_files_of_several_streams_are_read_whole(folder, suffix):
    assert read(folder, suffix, packed(suffix)) == WHOLE
    empty = PACK[suffix](b"")
    assert read(folder, suffix, empty + packed(suffix, empty, empty)) == WHOLE


@pytest.mark.parametrize("suffix", PACK)
def test_whatever_follows_that_is_no_whole_stream_is_refused(folder, suffix):
    second = PACK[suffix](HALVES[1])
    damaged = second[:4] + bytes([second[4] ^ 1]) + second[5:]
    wrong = [b"x", b"garbage", b"1 1:7\n" * 30_000, second[:3], second[:-1], bytes([second[0] ^ 1]) + second[1:]]
    if suffix != ".gz":  # there, it is the time of the file, which is no content
        wrong.append(damaged)
    for raw in wrong:
        with pytest.raises(RrmbenchError, match=rf"rows\.svm\{suffix}: .*truncated or corrupt"):
            read(folder, suffix, PACK[suffix](HALVES[0]) + raw)


@pytest.mark.parametrize(("suffix", "allowed"), [(".gz", {1, 4, 100_000}), (".bz2", set()), (".xz", {4, 8, 100_000})])
def test_padding_of_zeros_is_that_of_the_format(folder, suffix, allowed):
    for zeros in (1, 2, 4, 8, 65_537, 100_000):
        for raw in (packed(suffix, after=bytes(zeros)), packed(suffix, between=bytes(zeros))):
            if zeros in allowed:
                assert read(folder, suffix, raw) == WHOLE
            elif suffix != ".gz":
                with pytest.raises(RrmbenchError, match="truncated or corrupt"):
                    read(folder, suffix, raw)


@pytest.mark.parametrize("suffix", PACK)
def test_a_flipped_bit_anywhere_gives_the_same_rows_or_an_error(folder, suffix):
    clean, refused = packed(suffix), 0
    for place in range(len(clean)):
        raw = bytearray(clean)
        raw[place] ^= 1 << (place % 8)
        try:
            assert read(folder, suffix, bytes(raw)) == WHOLE
        except RrmbenchError:
            refused += 1
    assert refused > 0.8 * len(clean)
