"""The reader of large LibSVM files: the same rows to the last bit, whatever the blocks; what is wrong is left."""

import lzma
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rrmbench.data import libsvm, libsvm_blocks
from rrmbench.errors import RrmbenchError

floats = st.floats(allow_nan=False, allow_infinity=False)
digits = st.text("0123456789", min_size=1, max_size=24)
signs = st.sampled_from(["", "-", "+"])
texts = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{whole}{fraction}{exponent}",
    signs,
    digits,
    digits.map(".{}".format) | st.sampled_from(["", "."]),
    st.integers(-345, 325).map("e{}".format) | st.sampled_from(["", "", "E+05", "e-0000012"]),
)
# halfway between two floats, and the numbers beside them
halves = st.builds(
    lambda m, e, by: repr((2 * m + 1) * 2**e + by),
    st.integers(2**52, 2**53 - 1),
    st.integers(0, 60),
    st.integers(-1, 1),
)
numbers = st.one_of(
    floats.map(repr),
    floats.map("{:.16g}".format),
    floats.map("{:.18e}".format),
    floats.map("{:.6g}".format),
    texts,
    halves,
).filter(lambda text: abs(float(text)) < float("inf"))


def bits(value):
    return struct.pack("<d", value)


@pytest.fixture
def blocks(monkeypatch):
    """Every file is large, and blocks have 16 bytes."""
    monkeypatch.setattr(libsvm, "LARGE", 0)
    monkeypatch.setattr(libsvm_blocks, "BLOCK", 16)


@settings(max_examples=150, deadline=None)
@given(values=st.lists(numbers, min_size=1, max_size=20))
@example(values=["9007199254740993", "-0", "5e-324", "2.2250738585072011e-308", "1e23", "8.5e-05", "1e-400", "4e-343"])
@example(
    values=["1.7976931348623157e308", "0e999999999999", "0." + "0" * 400 + "1", "9" * 300, "1" + "0" * 25 + "e-25"]
)
def test_numbers_are_those_of_python_to_the_last_bit(values):
    text = "".join(f"{value} 1:{value}\n" for value in values).encode()
    read, _, _, labels, _, _ = libsvm_blocks._parsed(text)
    assert [bits(value) for value in read] == [bits(float(value)) for value in values]
    assert [bits(label) for label in labels] == [bits(float(value)) for value in values]


@pytest.mark.parametrize("value", ["1e309", "-1.8e308", "9" * 400, "1e99999999999"])
def test_what_is_too_large_for_a_float_is_left_to_the_reading_with_messages(tmp_path, blocks, value):
    path = tmp_path / "rows.svm"
    path.write_text(f"1 1:1\n1 1:{value}\n")
    assert libsvm_blocks.read(path) is None
    with pytest.raises(RrmbenchError, match=r"rows\.svm:2: found '1:.*too large for a float"):
        libsvm.read(path)


def test_a_compressed_file_of_many_blocks_reads_as_by_scikit_learn(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [[(j, v) for j, v in enumerate(rng.normal(size=30).tolist()) if rng.random() < 0.4] for _ in range(300)]
    path = tmp_path / "rows.svm.xz"
    libsvm.write(tmp_path / "rows.svm", rows, rng.integers(1, 5, 300), qids=range(300))
    path.write_bytes(lzma.compress((tmp_path / "rows.svm").read_bytes().replace(b"\n", b"\r\n")))
    expected = libsvm.read(path)
    monkeypatch.setattr(libsvm, "LARGE", 0)
    monkeypatch.setattr(libsvm_blocks, "BLOCK", 1000)
    monkeypatch.setattr(libsvm, "_parse", None)  # scikit-learn is not asked
    found = libsvm.read(path)
    assert (found.X.shape, found.zero_based) == (expected.X.shape, expected.zero_based)
    for name in ("data", "indices", "indptr"):
        assert (getattr(found.X, name) == getattr(expected.X, name)).all()
    assert (found.labels == expected.labels).all() and (found.qid == expected.qid).all()
    assert found.labels.dtype == expected.labels.dtype and found.qid.dtype == expected.qid.dtype


def test_a_bad_token_in_a_late_block_is_named_with_its_line(tmp_path, blocks):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 2:3\n" * 500 + "1 3:1 2:1\n" + "1 1:1\n" * 500)
    with pytest.raises(RrmbenchError, match=r"rows\.svm:501: found '2:1': the index 2 comes after 3"):
        libsvm.read(path)
