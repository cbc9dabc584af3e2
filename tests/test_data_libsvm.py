"""The LibSVM reader: what it accepts, and the file, line and token of what it refuses."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrmbench.data import libsvm, streams
from rrmbench.errors import RrmbenchError

OPEN = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture
def file(tmp_path):
    def write(text, name="rows.svm"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_reads_comments_blank_lines_qid_and_carriage_returns(file):
    parsed = libsvm.read(file("# head\n\n1 qid:3 1:0.5 4:-2 # end\r\n-1.5 qid:3 \n\n+2 2:1e-3"))
    assert parsed.labels.tolist() == [1.0, -1.5, 2.0]
    assert parsed.X.toarray().tolist() == [[0.5, 0, 0, -2], [0, 0, 0, 0], [0, 1e-3, 0, 0]]
    assert not parsed.zero_based


def test_an_index_0_makes_a_bare_file_zero_based(file):
    assert libsvm.read(file("1 0:5 2:7\n")).X.toarray().tolist() == [[5, 0, 7]]
    assert libsvm.read(file("1 1:5 2:7\n")).X.toarray().tolist() == [[5, 7]]
    assert libsvm.read(file("1 1:5 2:7\n"), zero_based=True).X.toarray().tolist() == [[0, 5, 7]]


def test_a_fixed_index_base_refuses_index_0(file):
    with pytest.raises(RrmbenchError, match=r"rows\.svm:2: found '0:1': index 0"):
        libsvm.read(file("1 1:5\n1 0:1\n"), zero_based=False)


def test_lists_of_labels_may_begin_on_any_row(file):
    assert libsvm.read(file("3 1:1\n3,5 1:2\n")).labels == [(3.0,), (3.0, 5.0)]


@pytest.mark.parametrize("suffix", OPEN)
def test_compressed_files_read_like_plain_ones(file, suffix):
    path = file(OPEN[suffix](b"1 1:5\n-1 2:7\n"), "rows.svm" + suffix)
    assert libsvm.read(path).X.toarray().tolist() == [[5, 0], [0, 7]]
    assert streams.checksum(path) == streams.checksum(file("1 1:5\n-1 2:7\n"))


@pytest.mark.parametrize("suffix", ["", *OPEN])
@pytest.mark.parametrize("large", [False, True])
def test_a_byte_order_mark_is_no_part_of_the_first_label(file, monkeypatch, suffix, large):
    monkeypatch.setattr(libsvm, "LARGE", 0 if large else libsvm.LARGE)
    text = "\ufeff1,2 1:5\n-1 2:7\n".encode()
    parsed = libsvm.read(file(OPEN.get(suffix, bytes)(text), "rows.svm" + suffix))
    assert parsed.labels == [(1.0, 2.0), (-1.0,)] and parsed.X.toarray().tolist() == [[5, 0], [0, 7]]


@pytest.mark.parametrize("suffix", OPEN)
def test_truncated_compression_is_refused_by_name(file, suffix):
    whole = OPEN[suffix](b"".join(b"1 1:%d\n" % i for i in range(5000)))
    for damaged in (whole[: len(whole) // 2], whole[:40] + b"\0\0\0\0\0\0" + whole[46:]):
        with pytest.raises(RrmbenchError, match=rf"rows\.svm\{suffix}.*truncated or corrupt"):
            libsvm.read(file(damaged, "rows.svm" + suffix))


def test_a_name_that_promises_compression_must_keep_it(file):
    with pytest.raises(RrmbenchError, match=r"rows\.svm\.xz: named \.xz but"):
        libsvm.read(file("1 1:5\n", "rows.svm.xz"))


BAD = {
    "nan value": ("1 1:1\n1 2:nan\n", 2, "2:nan", "not finite"),
    "infinite value": ("1 1:1\n1 2:-Inf 3:1\n", 2, "2:-Inf", "not finite"),
    "overflow": ("1 1:1e999\n", 1, "1:1e999", "too large"),
    "nan label": ("1 1:1\n\nnan 2:1\n", 3, "nan", "label is not finite"),
    "unsorted": ("1 1:1\n1 3:1 2:1\n", 2, "2:1", "must increase"),
    "duplicate": ("1 1:1\n1 3:1 3:2\n", 2, "3:2", "twice"),
    "no colon": ("# c\n1 1:1 7\n", 2, "7", "expected index:value"),
    "no value": ("1 1:\n", 1, "1:", "not a number"),
    "no index": ("1 :4\n", 1, ":4", "expected index:value"),
    "negative index": ("1 -1:4\n", 1, "-1:4", "expected index:value"),
    "word": ("1 1:1\n1 2:abc\n", 2, "2:abc", "not a number"),
    "word as label": ("cat 1:1\n", 1, "cat", "label is not a number"),
    "no label": ("1 1:1\n1:1 2:2\n", 2, "1:1", "no label"),
    "empty label in a list": ("1,2 1:1\n1, 2:2\n", 2, "1,", "label is not a number"),
    "underscore": ("1 1:1\n1 2:1_0\n", 2, "2:1_0", "not a number"),
    "qid without a colon": ("1 1:1\n1 qid3:5 1:2\n", 2, "qid3:5", "expected index:value"),
    "signed qid": ("1 qid:+5 1:2\n", 1, "qid:+5", "qid is not a whole number"),
    "qid of minus nothing": ("1 qid:-0 1:2\n", 1, "qid:-0", "qid is not a whole number"),
    "signed index": ("1 1:1\n1 +3:1\n", 2, "+3:1", "expected index:value"),
    "minus nothing as index": ("1 -0:1 2:1\n", 1, "-0:1", "expected index:value"),
    "signed index after a tab": ("-1 -1:1\n".replace(" ", "\t") + "1 1:1\n", 1, "-1:1", "expected index:value"),
    "signed index after a form feed": ("1 1:1\n1\f+2:1\n", 2, "+2:1", "expected index:value"),
    "signed index in a comma list's row": ("1,2 1:1\n1,2 \v+2:1\n", 2, "+2:1", "expected index:value"),
    "signed index after leading space": (" -1 1:1\n  -1 +2:1\n", 2, "+2:1", "expected index:value"),
    "escape sequence": (b"1 1:1\n\x1b[31mred 1:1\n", 2, "\\x1b[31mred", "label is not a number"),
    "bad qid": ("1 qid:x 1:1\n", 1, "qid:x", "qid"),
    "late qid": ("1 1:1 qid:2\n", 1, "qid:2", "expected index:value"),
    "huge index": ("1 1:1 99999999999999999999:1\n", 1, "99999999999999999999:1", "greater than"),
    "large index": ("1 1:1 2147483648:1\n", 1, "2147483648:1", "greater than"),
    "not utf-8": (b"1 1:1\n\xff\xfe\x00 2\n", 2, "\\xff\\xfe\\x00", "label is not a number"),
    "carriage returns alone": (b"1 1:1\r-1 2:1\r", 1, "\\r", "a line ends with"),
    "carriage returns and a comment": (b"1 1:1 # one\r-1 2:1\r1 1:2\r", 1, "\\r", "a line ends with"),
    "a comment at first": (b"# head\r1 1:1\r-1 2:1\r", 1, "\\r", "a line ends with"),
    "a line in a comment": (b"1 1:1\r\n-1 2:1 # one\r 1 1:2\n", 2, "\\r", "a line ends with"),
    "byte order mark of a second file": (b"1 1:1\n\xef\xbb\xbf1 1:1\n", 2, "\\ufeff1", "label is not a number"),
}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("case", BAD)
def test_the_first_bad_token_is_named(file, monkeypatch, case, large):
    monkeypatch.setattr(libsvm, "LARGE", 0 if large else libsvm.LARGE)
    text, line, token, reason = BAD[case]
    path = file(text)
    with pytest.raises(RrmbenchError) as error:
        libsvm.read(path)
    assert str(error.value).startswith(f"{path}:{line}: found '{token}': ")
    assert reason in str(error.value)


def test_what_looks_suspicious_but_is_right_is_read(file):
    parsed = libsvm.read(file("\t-1 qid:3\t1:-1e-3 # +2:1 -1 qid_x\n +1,-2 qid:4# qid5\n-1e+0\r\r\n# qid:\r \n\r"))
    assert parsed.labels == [(-1.0,), (1.0, -2.0), (-1.0,)]
    assert parsed.X.toarray().tolist() == [[-1e-3], [0], [0]]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_an_empty_file_is_refused(file, text):
    with pytest.raises(RrmbenchError, match=r"rows\.svm: no data row"):
        libsvm.read(file(text))


def test_rows_without_any_feature_are_refused(file):
    with pytest.raises(RrmbenchError, match="no row of the file has a feature"):
        libsvm.read(file("1\n-1\n"))


rows = st.lists(st.dictionaries(st.integers(0, 40), finite, max_size=6), min_size=1, max_size=8).filter(any)


@settings(max_examples=80, deadline=None)
@given(rows=rows, data=st.data())
def test_what_is_written_is_read_back_exactly(tmp_path_factory, rows, data):
    labels = data.draw(st.lists(finite, min_size=len(rows), max_size=len(rows)))
    path = tmp_path_factory.mktemp("round") / "rows.svm"
    libsvm.write(path, [sorted(row.items()) for row in rows], labels)
    parsed = libsvm.read(path)
    assert parsed.labels.tolist() == labels
    assert parsed.X.shape == (len(rows), 1 + max(max(row) for row in rows if row))
    for i, row in enumerate(rows):
        part = slice(parsed.X.indptr[i], parsed.X.indptr[i + 1])
        assert dict(zip(parsed.X.indices[part].tolist(), parsed.X.data[part].tolist(), strict=True)) == row


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.sampled_from("01:.,-+e #\nqidna_"), max_size=40))
def test_any_text_is_read_or_refused_with_a_message(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "rows.svm"
    path.write_text(text)
    try:
        parsed = libsvm.read(path)
    except RrmbenchError as error:
        assert str(path) in str(error)
    else:
        assert np.isfinite(parsed.X.data).all() and len(parsed.labels) == parsed.X.shape[0]
        with path.open("rb") as stream:  # nothing that is refused by our own reading gets through
            assert not any(libsvm._problem(line) for line in stream)
