"""CSV, npz, npy and Parquet: what is read, what is refused with file, line and cell, and what a file looks like."""

import csv
import gzip
import io
import math
import pickle
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from four_rows import X, X_test, make_folder  # noqa: F401, the folder is a fixture
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401, a fixture
from scipy import sparse

from rrmbench import Problem
from rrmbench.data import arrays, commands, delimited, numpy_files, prepare, readers
from rrmbench.errors import RrmbenchError

TABLE = np.array([[3.0, 0, 4], [0, 2, 0], [1.5, 0, 0], [-1, 0, 8]])
TEXTS = ["no", "yes", "no", "yes"]
CSV = "size,weight,class,kind\n3,0,no,4\n0,2,yes,0\n1.5,0,no,0\n-1,0,yes,8\n"


@pytest.fixture
def files(folder):
    """The same rows in every format."""
    import pandas as pd

    (folder / "t.csv").write_text(CSV)
    (folder / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (folder / "t.tsv").write_text(CSV.replace(",", "\t"))
    (folder / "semicolons.csv").write_text("\ufeff" + CSV.replace(",", ";"), encoding="utf-8")
    (folder / "no_names.csv").write_text("\n".join(CSV.splitlines()[1:]) + "\n")
    np.savez(folder / "t.npz", X=TABLE, y=TEXTS)
    np.savez(folder / "packed.npz", X=TABLE.astype(np.float32), y=np.array(TEXTS))
    np.savez_compressed(folder / "with_sparse.npz", y=TEXTS, **_stored(folder))
    np.save(folder / "X.npy", TABLE)
    np.save(folder / "y.npy", np.array([0, 1, 0, 1]))
    np.save(folder / "Xy.npy", np.column_stack([[0, 1, 0, 1], TABLE]))
    pd.read_csv(folder / "t.csv").to_parquet(folder / "t.parquet")
    pd.read_csv(folder / "t.csv").astype({"class": "category"}).set_index("class", drop=False).to_parquet(
        folder / "indexed.parquet", index=False
    )
    return folder


def _stored(folder):
    sparse.save_npz(folder / "S.npz", sparse.coo_array(TABLE))
    with np.load(folder / "S.npz") as archive:
        return dict(archive)


WAYS = {
    "t.csv": {},
    "t.csv.gz": {},
    "t.tsv": {},
    "semicolons.csv": {},
    "no_names.csv": {"label": 2},
    "t.npz": {},
    "packed.npz": {},
    "with_sparse.npz": {},
    "S.npz": {"y": "y.npy"},
    "X.npy": {"y": "y.npy"},
    "Xy.npy": {"label": 0},
    "t.parquet": {"label": "class"},
    "indexed.parquet": {},
}


@pytest.mark.parametrize("name", WAYS)
def test_every_format_gives_the_same_rows(files, name):
    found = prepare.load({"path": name, **WAYS[name]})
    assert X(found).tolist() == TABLE.tolist()
    assert found.y.tolist() == [-1, 1, -1, 1]
    read_anew = prepare.from_source({"path": name, **WAYS[name]})
    assert read_anew.checksum == found.checksum and X(read_anew).tolist() == TABLE.tolist()


@pytest.mark.parametrize(("positive", "y"), [(None, [1, -1, 1]), ("+", [1, -1, 1]), ("-", [-1, 1, -1])])
def test_signs_are_numbers_and_one_of_them_may_be_positive(tmp_path, positive, y):
    (tmp_path / "signs.csv").write_text("1,+\n2,-\n3,+\n")
    block = {"path": str(tmp_path / "signs.csv"), "label": 1} | ({} if positive is None else {"positive": positive})
    assert prepare.load(block).y.tolist() == y


def test_labels_that_are_texts_have_numbers_and_names(files):
    found = prepare.load({"path": "t.csv"})
    assert found.info["labels"] == "0 -> -1, 1 -> 1, of 0 = no, 1 = yes"
    assert prepare.load({"path": "t.csv", "positive": "no"}).y.tolist() == [1, -1, 1, -1]
    assert prepare.load({"path": "t.csv"}, "classes").y.tolist() == [0, 1, 0, 1]
    for positive, message in (("nope", "the labels are no, yes; did you mean 'no'"), (1, "the labels are texts")):
        with pytest.raises(RrmbenchError, match=message):
            prepare.load({"path": "t.csv", "positive": positive})
    with pytest.raises(RrmbenchError, match="the labels are numbers"):
        prepare.load({"path": "four.svm", "positive": "no"})


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        (("0,5", "1,5"), "is not a number"),
        (("1_000", "0_5"), "is not a number"),
        (("2 000", "1 000"), "is not a number"),
        (("1,000,000", "3,1416"), "is not a number"),
        (("0x1", "0xf"), "is not a number"),
        (("10%", "9 %"), "is not a number"),
        (("inf", "-inf"), "is not finite"),
        (("1e400", "1,5"), "is too large"),
    ],
)
def test_labels_that_are_numbers_in_other_spellings_are_no_classes(folder, labels, wrong):
    (folder / "spelled.csv").write_text("a,y\n" + "".join(f'{i},"{label}"\n' for i, label in enumerate(labels)))
    with pytest.raises(RrmbenchError, match=rf"spelled\.csv:2: found '{labels[0]}': the label {wrong}.*; .* like 1000"):
        prepare.load({"path": "spelled.csv"}, "classes")


@pytest.mark.parametrize(
    "labels", [("30-40", "<30"), ("1st", "2nd"), ("10%", "all"), ("3a", "4b"), ("C1", "C2"), ("2020 2021", "2021 2022")]
)
def test_texts_with_digits_are_classes(folder, labels):
    (folder / "texts.csv").write_text("a,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    assert prepare.load({"path": "texts.csv"}, "classes").y.tolist() == [0, 1]


def test_the_labels_plus_and_minus_are_signs(folder):
    (folder / "signs.csv").write_text("a,y\n1,+\n2, -\n3,+\n")
    assert prepare.load({"path": "signs.csv"}).y.tolist() == [1, -1, 1]


def test_messages_name_labels_that_are_texts(folder):
    for rows, keys, message in (
        ("1,red\n2,green\n3,blue\n", {}, r"two label values, found blue, green, red; 'positive"),
        ("1,red\n2,red\n", {}, "two label values, found red$"),
        ("1,red\n2,red\n", {"positive": "red"}, r"every row has the label red \(positive\); found red"),
    ):
        (folder / "colours.csv").write_text(f"a,y\n{rows}")
        with pytest.raises(RrmbenchError, match=message):
            prepare.load({"path": "colours.csv", **keys}, "binary")
    with pytest.raises(RrmbenchError, match="two classes at least, found red"):
        prepare.load({"path": "colours.csv"}, "classes")


def test_labels_of_a_regression_are_no_classes(folder):
    (folder / "prices.svm").write_text("100.5 1:1\n90 1:2\n95.25 1:3\n")
    messages = {
        "classes": "labels of classes are whole numbers or texts",
        "targets": "a loss on several outputs needs two targets a row at least, or classes",
    }
    for mode, message in messages.items():
        with pytest.raises(RrmbenchError, match=rf"{message}, found 90, 95\.25, 100\.5"):
            prepare.load({"path": "prices.svm"}, mode)
    with pytest.raises(RrmbenchError, match="labels of classes are whole numbers"):
        Problem(np.eye(3), [100.5, 90.0, 95.25], "max_of_hinge", {"name": "l2", "strength": 0.1})


def test_texts_are_no_numbers_for_a_loss_that_needs_them(folder):
    """In alphabetical order $100 comes before $90: their ranks would be somebody else's prices."""
    (folder / "prices.csv").write_text("a,y\n1,$100\n2,$90\n3,$95\n")
    message = r"labels that are texts \(\$100, \$90, \$95\), the loss needs numbers; 'positive: LABEL'"
    with pytest.raises(RrmbenchError, match=message):
        prepare.load({"path": "prices.csv"}, "any")
    assert prepare.load({"path": "prices.csv"}, "classes").y.tolist() == [0, 1, 2]
    assert prepare.load({"path": "prices.csv", "positive": "$90"}, "any").y.tolist() == [-1, 1, -1]


def test_arrays_with_a_test_part_of_their_own_have_no_other(folder):
    np.savez("own.npz", X=np.eye(4), y=[1, -1, 1, -1], X_test=np.eye(4)[:2], y_test=[1, -1])
    assert prepare.load({"path": "own.npz"}).test_shape == (2, 4)
    with pytest.raises(RrmbenchError, match=r"own\.npz: it has a test part of its own, and 'split' makes another one"):
        prepare.load({"path": "own.npz", "split": 0.5})


def test_a_test_file_is_read_as_the_training_file(files):
    (files / "more.csv").write_text("size,weight,class,kind\n5,6,yes,7\n")
    found = prepare.load({"path": "t.csv", "label": "class", "test": "more.csv"})
    assert X_test(found).tolist() == [[5, 6, 7]] and found.test_y.tolist() == [1]
    for text, message in (
        ("size,weight,class,kind\n5,6,maybe,7\n", "found the labels maybe, in training only no, yes"),
        ("weight,size,class,kind\n5,6,yes,7\n", "found the column 'weight' where the training part has 'size'"),
        ("size,weight,class,kind\n5,6,1,7\n", "the labels of one part are texts"),
    ):
        (files / "more.csv").write_text(text)
        with pytest.raises(RrmbenchError, match=rf"more\.csv: {message}"):
            prepare.load({"path": "t.csv", "label": "class", "test": "more.csv"})


def test_a_change_of_the_file_of_labels_is_other_data(files):
    first = prepare.load({"path": "X.npy", "y": "y.npy"})
    np.save(files / "y.npy", np.array([1, 1, 0, 0]))
    second = prepare.load({"path": "X.npy", "y": "y.npy"})
    assert first.checksum != second.checksum and second.y.tolist() == [1, 1, -1, -1]


def test_other_columns_as_labels_are_other_arrays(files):
    by_class = prepare.load({"path": "Xy.npy", "label": 0}, "any")
    by_weight = prepare.load({"path": "Xy.npy", "label": 1}, "any")
    assert by_class.checksum == by_weight.checksum and by_class.key != by_weight.key
    assert by_weight.y.tolist() == [3, 0, 1.5, -1]


BAD_CSV = {
    "an empty cell": ("a,y\n1,2\n,3\n", 3, "", "the value is missing"),
    "NA": ("a,y\n1,2\nNA,3\n", 3, "NA", "the value is missing"),
    "nan": ("a,y\nnan,2\n1,3\n", 2, "nan", "the value is missing"),
    "inf": ("a,y\n1,2\n-inf,3\n", 3, "-inf", "is not finite"),
    "too large": ("a,y\n1,2\n1e999,3\n", 3, "1e999", "is too large for a float"),
    "a text": ("a,y\n1,2\nred,3\n", 3, "red", "columns of X are numbers"),
    "an underscore": ("a,y\n1,2\n1_0,3\n", 3, "1_0", "is not a number"),
    "another script": ("a,y\n1,2\n\u0661,3\n", 3, "\u0661", "is not a number"),
    "a decimal comma": ('a;y\n"1,5";2\n', 2, "1,5", "is not a number"),
    "blank lines before": ("\n\na,y\n\n1,2\nx,3\n", 6, "x", "is not a number"),
    "a missing label": ("a,y\n1,2\n3,\n", 3, "", "the label is missing"),
    "a text among labels": ("a,y\n1,2\n3,x\n", 3, "x", "the label is a text, that of the first row a number"),
    "a number among texts": ("a,y\n1,x\n3,2\n", 3, "2", "the label is a number, that of the first row a text"),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_the_first_bad_cell_is_named(folder, case):
    text, line, cell, reason = BAD_CSV[case]
    (folder / "bad.csv").write_text(text, encoding="utf-8")
    with pytest.raises(RrmbenchError, match=re.escape(f"bad.csv:{line}: found '{cell}': ") + f".*{reason}"):
        delimited.read("bad.csv")


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        ("a,b\n1,2\n", {}, r"say which column has the labels.* the 2 columns are a, b"),
        ("1,2\n3,4\n", {}, r"say which column has the labels.* 2 columns have no names"),
        ("a,b\n1,2\n", {"label": "c"}, "no column of the name 'c'"),
        ("a,b\n1,2\n", {"label": 2}, "label: found 2, allowed are -2 to 1"),
        (",y\n0,1\n", {}, r":1: column 0 has no name, as that of an index"),
        ("a,a,y\n0,1,2\n", {}, r":1: two columns have the name a"),
        ("a,y\n1,2\n1,2,3\n", {}, r":3: found 3 cells, the first line has 2"),
        ("a,y\n1\n", {}, r":2: found 1 cells, the first line has 2"),
        ("", {}, "the file is empty"),
        ("y\n1\n", {}, "no comma, semicolon or tab"),
        ("a,y\n", {}, "no data row"),
        ('a,y\n"1,2\n', {}, "unexpected end of data"),
        (b"a,y\n\xff,1\n", {}, "not UTF-8"),
        ("a,y\n" + "1" * 200000 + ",2\n", {}, "field larger than field limit"),
        ("1,2\n3,4\n", {"label": 0, "header": True, "positive": 3}, "every row has the label 3"),
    ],
)
def test_other_mistakes_in_csv(folder, text, keys, message):
    (folder / "bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RrmbenchError, match=rf"bad\.csv.*{message}"):
        prepare.load({"path": "bad.csv", **keys})


def test_files_of_numpy_that_are_refused(files):
    np.savez("objects.npz", X=np.array([{}], dtype=object), y=[1])
    np.savez("no_X.npz", y=[1])
    np.savez("other.npz", X=TABLE, y=TEXTS, z=1)
    np.savez("wide.npz", **(_stored(files) | {"shape": np.array([4, 2])}))
    np.savez("huge.npz", y=[1], **(_stored(files) | {"shape": np.array([2**40, 3])}))
    shutil.copy("t.npz", "twice.npz")
    with zipfile.ZipFile("twice.npz", "a") as archive, archive.open("X", "w") as member:
        np.save(member, 2.0 * TABLE)
    Path("cut.npz").write_bytes(Path("t.npz").read_bytes()[:200])
    Path("cut.npy").write_bytes(Path("X.npy").read_bytes()[:100])
    Path("text.npz").write_text("X")
    for path, keys, message in (
        ("objects.npz", {}, "without pickles: Object arrays"),
        ("no_X.npz", {}, "found no X"),
        ("other.npz", {}, "found 'z'"),
        ("wide.npz", {}, "no sparse matrix of scipy"),
        ("huge.npz", {}, "found a sparse matrix of the shape"),
        ("twice.npz", {}, "found two arrays of the name X"),
        ("cut.npz", {}, "is damaged|cannot be read"),
        ("cut.npy", {"label": 0}, "is damaged|cannot be read"),
        ("text.npz", {}, "no file that numpy has written"),
        ("S.npz", {}, "found no y"),
        ("t.npz", {"y": "y.npy"}, "it has an array y itself"),
        ("X.npy", {}, "needed is where the labels are"),
        ("y.npy", {"label": 0}, "allowed is a matrix of numbers"),
        ("X.npy", {"y": "no_X.npz"}, "found 4 rows of X and 1 of y"),
    ):
        with pytest.raises(RrmbenchError, match=rf"{re.escape(path)}.*({message})"):
            prepare.load({"path": path, **keys})


def test_parquet_that_is_refused(files):
    import pandas as pd

    for name, table, message in (
        ("missing", {"a": [1.0, None], "y": [1, 2]}, "column a, row 1: the value is missing"),
        ("infinite", {"a": [1.0, math.inf], "y": [1, 2]}, "column a, row 1: found inf"),
        ("texts", {"a": ["u", "v"], "y": [1, 2]}, "column a: found texts"),
        ("lists", {"a": [[1], [2]], "y": [1, 2]}, "column a: found list"),
        ("alone", {"y": [1, 2]}, "found 2 rows and 1 columns"),
    ):
        pd.DataFrame(table).to_parquet(f"{name}.parquet")
        with pytest.raises(RrmbenchError, match=rf"{name}\.parquet: .*{message}"):
            prepare.load({"path": f"{name}.parquet"})
    Path("cut.parquet").write_bytes(Path("t.parquet").read_bytes()[:-9])
    with pytest.raises(RrmbenchError, match="cannot be read as Parquet"):
        prepare.load({"path": "cut.parquet"})


def test_keys_of_another_format_are_refused(files):
    for keys, message in (
        ({"path": "t.csv", "zero_based": True}, "zero_based: is for files in the format libsvm"),
        ({"path": "four.svm", "label": 0}, "label: is for files in the format csv or npy or parquet"),
        ({"path": "t.npz", "header": True}, "header: is for files in the format csv"),
        ({"name": "a1a", "label": 0}, "not for 'a1a', which the registry describes"),
        ({"name": "simulated", "label": 0}, "label: is for files, and 'simulated' is made by a function"),
        ({"path": "t.csv", "format": "cvs"}, "did you mean 'csv'"),
        ({"path": "t.npz", "y": "none.npy"}, "y: no such file"),
    ):
        with pytest.raises(RrmbenchError, match=message):
            prepare.load(keys)


LOOKS = {
    "ARFF": b"% about\n@RELATION x\n@attribute a real\n@data\n1\n",
    "CSV": b"1,2,3\n4,5,6\n",
    "JSON": b'[{"a": 1}]',
    "a web page": b"<!DOCTYPE html>\n<html>",
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\n",
    "ratings of MovieLens": b"196\t242\t3\t881250949\n",
    "ratings of MovieLens; 'format: ratings'": b"1::1193::5::978300760\n",
    "Parquet": b"PAR1\x15\x04",
    "an array of numpy": b"\x93NUMPY\x01\x00",
    "a zip archive": b"PK\x03\x04",
    "a pickle": pickle.dumps([1.0]),
    "HDF5": b"\x89HDF\r\n",
    "UTF-16": "1 1:1".encode("utf-16"),
    "binary data": b"1 \0\1\2\n",
    "a tar archive": b"name\n".ljust(257, b"\0") + b"ustar\0",
}


@pytest.mark.parametrize("what", LOOKS)
def test_a_file_in_another_format_is_told_apart(folder, what):
    (folder / "data.svm").write_bytes(LOOKS[what])
    with pytest.raises(RrmbenchError, match=f"looks like {what}"):
        prepare.load({"path": "data.svm"})


def test_files_of_movielens_are_ratings(folder):
    for name, text in {
        "u.data": "196\t242\t3\t881250949\n196\t302\t4\t891717742\n7\t242\t1\t1\n",
        "ratings.dat": "196::242::3::1\n196::302::4::1\n7::242::1::1\n",
        "ratings.csv": "userId,movieId,rating,timestamp\n196,242,3.0,1\n196,302,4.0,1\n7,242,1.0,1\n",
    }.items():
        (folder / name).write_text(text)
        found = prepare.load({"path": name, "format": "ratings"}, "any")
        assert found.info["model"] == [2, 2] and found.y.tolist() == [3, 4, 1]


def test_add_and_info_take_every_format(lab, monkeypatch):
    monkeypatch.chdir(lab.folder)
    monkeypatch.setenv("RRMBENCH_CACHE", str(lab.folder / "own"))
    Path("no_names.csv").write_text("3,0,no\n0,2,yes\n1,1,no\n")
    ran = lab.cli("data", "add", "no_names.csv", "--name", "mine", "--label", "-1")
    assert ran.code == 0, ran.err
    found = prepare.load({"name": "mine", "positive": "yes"})
    assert X(found).tolist() == [[3, 0], [0, 2], [1, 1]] and found.y.tolist() == [-1, 1, -1]
    assert "no, yes" in lab.cli("data", "info", "mine").out
    assert lab.cli("data", "info", "no_names.csv", "--set", "label=2").code == 0
    assert commands.info({"path": "no_names.csv", "label": 2})["task"] == "binary"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "label=2", "--set", "label=0"), "--set label=0: label is set already, by label=2"),
        (("--set", "format=csv", "--format", "libsvm"), "--format libsvm: the format is set already, as csv"),
    ],
)
def test_info_is_told_a_key_once(lab, options, message):
    ran = lab.cli("data", "info", lab.folder / "toy.txt", *options)
    assert ran.code == 2 and message in ran.err


# against a strict parser

cells = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["", " 1", "+2", "1e5", "1e400", "nan", "x", "1_0", '"', '"3"', "0x1", "\u0661", "1,2", "#"]),
    st.sampled_from(["-", "+"]),
)
NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", re.ASCII)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(cells, min_size=1, max_size=4), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n", "\n\n"])
)
def test_csv_is_read_as_by_a_strict_parser_or_refused(folder, rows, end):
    text = end.join(",".join(row) for row in rows) + end
    Path("fuzz.csv").write_bytes(text.encode())
    try:
        parsed = delimited.read("fuzz.csv", label=0, header=False)
        found = [[label, *row] for label, row in zip(parsed.labels.tolist(), parsed.X.toarray().tolist(), strict=True)]
    except RrmbenchError as error:
        assert str(error).startswith("fuzz.csv")
        found = None
    assert found == expected(text)


def expected(text):
    """Rows whose first cells are all numbers or all texts and whose others are numbers, or None."""
    try:
        table = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None
    if not table or len(table[0]) < 2 or any(len(row) != len(table[0]) for row in table):
        return None
    numeric = [bool(NUMBER.fullmatch(row[0]) and math.isfinite(float(row[0]))) for row in table]
    if any(row[0].strip().lower() in ("", "?", "nan", "na", "n/a") for row in table) or len(set(numeric)) > 1:
        return None
    if any(not NUMBER.fullmatch(cell) or math.isinf(float(cell)) for row in table for cell in row[1:]):
        return None
    names = [row[0].strip() for row in table]
    if set(names) <= {"+", "-"}:
        names = [float(f"{name}1") for name in names]
    elif not numeric[0] and all(name in ("1e400", "1_0", "0x1", "\u0661") for name in names):
        return None
    return [[float(name) if numeric[0] else name, *map(float, row[1:])] for name, row in zip(names, table, strict=True)]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_files_of_numpy_are_read_or_refused_and_nothing_else(files, data):
    name = data.draw(st.sampled_from(["t.npz", "with_sparse.npz", "S.npz", "y.npy"]))
    content = bytearray((files / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)))] if data.draw(st.booleans()) else content
    Path("damaged" + Path(name).suffix).write_bytes(content)
    try:
        if name == "y.npy":
            numpy_files.read_labels("damaged.npy")
        else:
            numpy_files.read_npz("damaged.npz", "y.npy" if name == "S.npz" else None)
    except RrmbenchError as error:
        assert "damaged" in str(error)


def test_a_header_of_numpy_with_a_null_byte_is_damaged(files):
    """Python's tokenizer, which numpy reads it with, has an exception of its own for it since 3.12."""
    Path("null.npy").write_bytes((files / "y.npy").read_bytes().replace(b"fortran", b"fort\0an"))
    with pytest.raises(RrmbenchError, match=r"null\.npy: "):
        numpy_files.read_labels("null.npy")


def test_a_test_part_has_as_many_columns_as_training(folder):
    (folder / "train.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    (folder / "fewer.csv").write_text("a,y\n1,0\n3,1\n")
    (folder / "more.csv").write_text("a,b,c,y\n1,2,5,0\n3,4,6,1\n")
    np.savez(folder / "wide.npz", X=np.ones((2, 3)), y=np.zeros(2))
    for name, columns in (("fewer.csv", 1), ("more.csv", 3), ("wide.npz", 3)):
        with pytest.raises(RrmbenchError, match=f"found {columns} columns of X, the training part has 2"):
            prepare.load({"path": str(folder / "train.csv"), "label": "y", "test": str(folder / name)}, "any")


def test_a_first_line_of_0_1_2_is_asked_about(folder):
    for text in "0,1,2\n5,6,1\n7,8,2\n", ",0,1,y\n5,6,1,0\n":
        (folder / "unnamed.csv").write_text(text)
        with pytest.raises(RrmbenchError, match=r"unnamed.csv:1: found 0, 1, .* say header: true or false"):
            readers.read("csv", folder / "unnamed.csv", options={"label": -1})
    (folder / "unnamed.csv").write_text("0,1,2\n5,6,1\n")
    assert [readers.read("csv", folder / "unnamed.csv", options={"label": -1, "header": header})[0].X.shape[0]
            for header in (True, False)] == [1, 2]  # fmt: skip


@pytest.mark.parametrize("cell", ["NA", "?", "inf", "1e999", "1_000", "1,5", "10%"])
def test_a_first_line_without_a_number_that_may_be_a_row_is_asked_about(folder, cell):
    (folder / "row.csv").write_text(f'"{cell}",yes\n1.5,no\n2,yes\n')
    asked = rf"row\.csv:1: found '{re.escape(cell)}' in .* say header: true or false"
    with pytest.raises(RrmbenchError, match=asked):
        readers.read("csv", folder / "row.csv", options={"label": -1})
    with pytest.raises(RrmbenchError, match=r"row\.csv:1: found .*(missing|not finite|too large|not a number)"):
        readers.read("csv", folder / "row.csv", options={"label": -1, "header": False})
    assert len(readers.read("csv", folder / "row.csv", options={"label": -1, "header": True})[0].labels) == 2


@pytest.mark.parametrize("labels", [["yes", "no", "yes"], ["1", "-1", "1"]])
def test_a_first_line_of_numbers_and_a_label_that_no_row_has_is_asked_about(folder, labels):
    """As 2020, 2021, y: read as a row, it would be one more sample of a class of its own."""
    rows = "".join(f"{i},2,{label}\n" for i, label in enumerate(labels))
    path = folder / "years.csv"
    path.write_text(f"2020,2021,y\n{rows}")
    asked = r"years\.csv:1: found 'y' in a first line that may be a row or names: say header: true or false"
    with pytest.raises(RrmbenchError, match=asked):
        readers.read("csv", path, options={"label": -1})
    assert readers.read("csv", path, options={"label": -1, "header": True})[0].columns == ("2020", "2021")
    path.write_text(rows)
    assert readers.read("csv", path, options={"label": -1})[0].X.shape == (3, 2)


def test_a_column_may_be_called_like_a_missing_value(folder):
    (folder / "glass.csv").write_text("RI,Na,Mg,Type\n1.5,13,4,1\n")
    assert readers.read("csv", folder / "glass.csv", options={"label": "Type"})[0].columns == ("RI", "Na", "Mg")


def test_entries_of_one_place_are_summed_before_a_small_type_wraps(folder):
    X = sparse.coo_array((np.ones(300, dtype=np.uint8), (np.zeros(300, int), np.zeros(300, int))), shape=(2, 2))
    sparse.save_npz(folder / "x.npz", X)
    np.save(folder / "y.npy", np.array([1.0, -1.0]))
    (read,) = readers.read("npz", folder / "x.npz", options={"y": str(folder / "y.npy")})
    assert read.X[0, 0] == arrays.matrix(X, "X")[0, 0] == 300.0


def test_a_sparse_archive_may_have_a_test_part_and_nothing_unknown(folder):
    sparse.save_npz(folder / "x.npz", sparse.csr_array(np.eye(3)))
    fields = dict(np.load(folder / "x.npz"))
    np.savez(folder / "both.npz", **fields, y=np.arange(3.0), X_test=np.eye(3), y_test=np.arange(3.0))
    assert len(readers.read("npz", folder / "both.npz")) == 2
    np.savez(folder / "odd.npz", **fields, y=np.arange(3.0), labels=np.arange(3.0))
    with pytest.raises(RrmbenchError, match="found 'labels'"):
        readers.read("npz", folder / "odd.npz")


@pytest.mark.parametrize("missing", ["nan", "NULL", "<NA>", " "])
def test_a_missing_label_among_texts_is_no_class(folder, missing):
    np.savez(folder / "x.npz", X=np.eye(3), y=np.array(["a", "b", missing]))
    with pytest.raises(RrmbenchError, match=r"y\[2\]: .*the label is missing"):
        readers.read("npz", folder / "x.npz")


def test_an_index_with_a_name_is_no_column(folder):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}, index=pd.Index([5, 17], name="id"))
    table.to_parquet(folder / "x.parquet")
    assert readers.read("parquet", folder / "x.parquet", options={"label": "y"})[0].columns == ("a",)
