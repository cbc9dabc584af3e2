"""Readers of data against random and damaged input: what a strict reference parser gives, or one error.

RRMBENCH_FUZZ multiplies the number of examples.
"""

import bz2
import gzip
import json
import lzma
import os
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strict_parsers import Refused, parsed_libsvm, parsed_ratings, reference_libsvm, reference_ratings

from rrmbench.data import libsvm, libsvm_blocks, prepare, spec
from rrmbench.errors import RrmbenchError

FACTOR = int(os.environ.get("RRMBENCH_FUZZ", 1))
fuzz = settings(max_examples=120 * FACTOR, deadline=None, suppress_health_check=list(HealthCheck))
outcomes = Counter()


@pytest.fixture(scope="module", autouse=True)
def folder():
    """A working directory for all examples of this file."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        Path("four.svm").write_text("1 1:3 2:4\n2 2:2\n1 1:1\n2 3:8\n")
        yield
        os.chdir(before)


def outcome(kind, read, *arguments):
    """What `read` returns, or None if it raises RrmbenchError; no other exception passes."""
    try:
        found = read(*arguments)
    except RrmbenchError as error:
        assert len(str(error)) < 5000
        found = None
    outcomes[kind, "refused" if found is None else "read"] += 1
    return found


def reference(parse, raw):
    try:
        return parse(raw)
    except Refused:
        return None


# valid text, and damage to it

numbers = st.one_of(
    st.integers(-9, 9).map(str),
    st.sampled_from(
        ["+1", "-0", "1.", ".5", "-.5e1", "1e-3", "+2E+2", "007", "1e308", "5e-324", "1e-400", "0.1000000"]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
gaps = st.sampled_from([" ", " ", " ", "  ", "\t", " \t", "\v", "\f", "\r"])
ends = st.sampled_from(["\n", "\n", "\n", "\r\n", " \n", " # +3:1 qid3 -1\n", "#\n", "\n\n", "\n# note\n", "\n \t\n"])
lists_of_labels = st.lists(numbers, min_size=1, max_size=3).map(",".join)


@st.composite
def libsvm_lines(draw):
    """Valid LibSVM text as bytes."""
    label = draw(st.sampled_from([numbers, numbers, lists_of_labels]))
    with_qid = draw(st.sampled_from(["none", "none", "all", "some"]))
    text = draw(st.sampled_from(["", "", "# head\n", "\n", " "]))
    for _ in range(draw(st.integers(1, 5))):
        tokens = [draw(label)]
        if with_qid == "all" or (with_qid == "some" and draw(st.booleans())):
            tokens.append(f"qid:{draw(st.sampled_from(['0', '3', '007', str(2**63 - 1)]))}")
        columns = sorted(draw(st.sets(st.integers(draw(st.integers(0, 1)), 30), max_size=4)))
        tokens += [f"{draw(st.sampled_from(['', '', '0']))}{column}:{draw(numbers)}" for column in columns]
        text += draw(gaps).join(tokens) + draw(ends)
    return text.encode()


@st.composite
def rating_lines(draw):
    """Valid text of ratings as bytes."""
    text = draw(st.sampled_from(["", "# row column value\n", "\n"]))
    pairs = draw(st.lists(st.tuples(*[st.integers(0, 12)] * 2), min_size=1, max_size=6, unique=True))
    for i, j in pairs:
        more = draw(st.sampled_from([[], [], ["881250949"], ["x", "y"]]))
        text += draw(gaps).join([str(i), f"0{j}", draw(numbers), *more]) + draw(ends)
    return text.encode()


PIECES = [
    *[
        "+",
        "-",
        "_",
        ":",
        ",",
        ".",
        "#",
        " ",
        "\t",
        "\n",
        "\r",
        "\v",
        "\f",
        "\0",
        "0",
        "1",
        "e",
        "x",
        "\x1c",
        "\x85",
        "\xa0",
    ],
    *["qid:1 ", "qid3:5 ", "qid", "qid:", " qid:+5", " qid:-0", " qid:1_0", " qid:99999999999999999999 ", "QID:1 "],
    *[
        " +3:1",
        " -0:1",
        " 0:1",
        " 1_0:1",
        " 2147483648:1",
        " 99999999999999999999:1",
        " 31:",
        " :1",
        " 31:1:2",
        " 0x1:1",
    ],
    *["nan", "inf", "-Infinity", "1e999", "1_0", "0x10", "1j", "1d3", "\ufeff", "\u0661", "9" * 400, "9" * 5000],
]


@st.composite
def damaged(draw, raw):
    """Bytes with a few flips, insertions and cuts."""
    raw = bytearray(draw(raw))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(raw)))
        kind = draw(st.sampled_from(["insert", "insert", "flip", "cut", "byte"]))
        if kind == "insert":
            raw[place:place] = draw(st.sampled_from(PIECES)).encode()
        elif kind == "byte":
            raw[place:place] = draw(st.binary(min_size=1, max_size=2))
        elif kind == "cut":
            del raw[place : place + draw(st.integers(1, 4))]
        elif raw:
            raw[place % len(raw)] ^= 1 << draw(st.integers(0, 7))
    return bytes(raw)


def check_both_readers(kind, raw, monkeypatch):
    """The readers of small and of large files give what the strict parser gives; the latter reads all that is right."""
    Path("rows.svm").write_bytes(raw)
    expected = reference(reference_libsvm, raw)
    assert outcome(kind, parsed_libsvm, "rows.svm") == expected
    with monkeypatch.context() as patch:
        patch.setattr(libsvm, "LARGE", 0)
        patch.setattr(libsvm_blocks, "BLOCK", 8)
        assert outcome(f"{kind} in blocks", parsed_libsvm, "rows.svm") == expected
        assert expected is None or libsvm_blocks.read("rows.svm") is not None


@fuzz
@given(raw=damaged(libsvm_lines()))
def test_libsvm_text_is_read_as_by_a_strict_parser_or_refused(raw, monkeypatch):
    check_both_readers("libsvm", raw, monkeypatch)


LABELS = st.sampled_from(["1", "1", "-1", "+2", "2,3", " -1", "qid:1", "1:1", "# 1"])
WORDS = ["qid:1", "qid:+1", "qid3:5", "qid", "1:1", "2:-1", "3:1e1", "+3:1", "-0:1", "0:1", "1_0:1", "#", "# +"]


@fuzz
@given(
    lines=st.lists(st.tuples(LABELS, st.lists(st.sampled_from(WORDS), max_size=2)), min_size=1, max_size=2), gap=gaps
)
def test_words_in_any_order_are_read_as_by_a_strict_parser_or_refused(lines, gap, monkeypatch):
    check_both_readers("words", "\n".join(gap.join([label, *words]) for label, words in lines).encode(), monkeypatch)


@fuzz
@given(raw=damaged(rating_lines()))
def test_ratings_are_read_as_by_a_strict_parser_or_refused(raw):
    Path("ratings.txt").write_bytes(raw)
    assert outcome("ratings", parsed_ratings, "ratings.txt") == reference(reference_ratings, raw)


# compressed files

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@st.composite
def broken(draw):
    """(suffix, a file of one to three compressed streams with some damage, the contents that it may have)."""
    suffix = draw(st.sampled_from(list(PACK)))
    parts = [draw(libsvm_lines()) + b"\n" for _ in range(draw(st.integers(1, 3)))]
    packed = [PACK[suffix](part) for part in parts]
    raw = bytearray(b"".join(packed))
    kind = draw(st.sampled_from(["none", "flip", "flip", "cut", "end", "append", "swap"]))
    # often near the borders of the streams
    places = [
        max(0, len(b"".join(packed[: i + 1])) + shift) for i in range(len(packed)) for shift in (-9, -4, -1, 0, 3)
    ]
    place = draw(st.integers(0, len(raw) - 1) | st.sampled_from([p for p in places if p < len(raw)]))
    if kind == "flip":
        raw[place] ^= 1 << draw(st.integers(0, 7))
    elif kind == "cut":
        del raw[place : place + draw(st.integers(1, 20))]
    elif kind == "end":
        del raw[place:]
    elif kind == "append":
        raw += draw(st.one_of(st.binary(min_size=1, max_size=12), st.integers(1, 9).map(bytes)))
    elif kind == "swap":
        other = draw(st.integers(0, len(raw) - 1))
        raw[place], raw[other] = raw[other], raw[place]
    # a cut between two streams leaves a whole file of fewer streams
    whole = [parts] + [parts[:i] for i in range(1, len(parts)) if raw == b"".join(packed[:i])]
    return suffix, bytes(raw), [b"".join(some) for some in whole]


@pytest.mark.exhaustive
@fuzz
@given(case=broken())
def test_damaged_compressed_files_are_read_as_they_were_or_refused(case):
    suffix, raw, contents = case
    path = Path(f"rows.svm{suffix}")
    path.write_bytes(raw)
    found = outcome("compressed", parsed_libsvm, path)
    assert found is None or found in (reference(reference_libsvm, content) for content in contents)


# blocks of a configuration

odd_numbers = st.one_of(
    st.sampled_from([0, 1, -1, 10**18, 2**63, 1e308, 5e-324, float("nan"), float("inf")]),
    st.sampled_from([400, 5000]).map(lambda digits: 10**digits),
)
odd_texts = st.sampled_from(
    [
        *[
            "",
            " ",
            "\0",
            "a\0b",
            "x" * 300,
            "y/" * 3000,
            "~nobody/x",
            "~",
            ".",
            "..",
            "/",
            "four.svm",
            "four.svm/x",
            "a9a",
        ],
        *["\ud800", "\x1b[31m", "qid", "mean_norm", "rbf", "ratings", "synthetic_sparse", "1e5", "{}", "rcv1_trian"],
    ]
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), odd_numbers, odd_texts, st.text(max_size=8))
keys = st.one_of(st.sampled_from([*spec.KEYS, "inside", "gamma", "degree", "coef0"]), scalars)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=8
)
good = {
    "scale": "mean_norm",
    "kernel": {"name": "rbf", "gamma": 0.5},
    "positive": 1.0,
    "subset": 3,
    "split": 0.5,
    "flip": 0.25,
    "test": "four.svm",
    "bias": "regularized",
    "zero_based": False,
}
near = st.fixed_dictionaries(
    {"path": st.just("four.svm")},
    optional={key: st.just(value) for key, value in good.items()},
)
odd = st.dictionaries(keys, values, max_size=1)


@fuzz
@given(block=st.one_of(values, near, st.builds(lambda block, more: block | more, near, odd)))
def test_any_block_is_taken_or_refused_with_one_message(block):
    checked = outcome("block", spec.check, block)
    if checked is not None:
        assert spec.check(checked) == checked
        json.dumps(spec.preparation_steps(checked), allow_nan=False)


@fuzz
@given(text=st.text(max_size=30) | odd_texts)
def test_any_text_as_a_block_is_taken_or_refused_with_one_message(text):
    checked = outcome("text", spec.check, text)
    assert checked is None or set(checked) <= {"name", "path"}


# preparation

preparations = st.fixed_dictionaries(
    {"path": st.just("rows.svm")},
    optional={
        "scale": st.sampled_from(["unit_rows", "mean_norm", "max_abs", "none"]),
        "kernel": st.sampled_from(["linear", "rbf", "polynomial"]) | st.just({"name": "polynomial", "degree": 2**62}),
        "bias": st.sampled_from(["none", "regularized", "free", "minimized"]),
        "tasks": st.just("qid"),
        "positive": st.sampled_from([1, -1, 0, 1e308, 2**53]),
        "subset": st.integers(1, 5),
        "split": st.sampled_from([0.5, 0.75, 1e-9]),
        "flip": st.sampled_from([0.0, 0.5, 1.0]),
    },
)


@fuzz
@given(raw=libsvm_lines(), block=preparations, labels=st.sampled_from([*prepare.LABELS, "any", "any", "any"]))
def test_prepared_data_are_finite_or_refused(raw, block, labels):
    Path("rows.svm").write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = outcome("prepared", prepare.from_source, block, labels)
    if found is not None:
        for (values, columns, starts), shape, y in (
            (found.X_parts, found.shape, found.y),
            *([(found.test_X_parts, found.test_shape, found.test_y)] if found.test_shape else []),
        ):
            assert np.isfinite(values).all() and np.isfinite(y).all()
            assert len(y) == shape[0] == len(starts) - 1
            assert starts[-1] == len(values) and (columns < shape[1]).all()


def test_every_kind_of_outcome_came_up():
    """A fuzzer that only ever finds errors, or never one, tests nothing; `pytest -s` shows the counts."""
    libsvm_kinds = {"libsvm", "libsvm in blocks", "words", "words in blocks"}
    kinds = libsvm_kinds | {"ratings", "compressed", "block", "prepared"}
    if not {kind for kind, _ in outcomes} >= kinds:
        pytest.skip("not all tests of this file ran in this process")
    print(dict(outcomes))
    assert all(outcomes[kind, how] > 10 for kind in kinds for how in ("read", "refused")), outcomes
