"""Ratings: the reader, the layout as entries of a matrix, and the generated sets."""

import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench.data import catalogue, commands, places, prepare, ratings, spec
from rrmbench.errors import RrmbenchError

# rows 7, 10, 300 and columns 0, 2, 5
FOUR = "# user item rating time\n10 5 3.5 881250949\n\n7 5 -1 # late\n300\t0\t2e0\n10 2 4\n"


@pytest.fixture(autouse=True)
def folder(own_folder):
    (own_folder / "four.txt").write_text(FOUR)
    return own_folder


def load(labels="any", path="four.txt", **keys):
    return prepare.load({"path": path, "format": "ratings", **keys}, labels)


# the reader


def test_reads_three_columns_and_ignores_the_others_comments_and_blank_lines():
    found = ratings.read("four.txt")
    assert found.rows.tolist() == [10, 7, 300, 10]
    assert found.columns.tolist() == [5, 5, 0, 2]
    assert found.values.tolist() == [3.5, -1, 2, 4]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_files_read_like_plain_ones(folder, suffix, pack):
    (folder / f"packed{suffix}").write_bytes(pack(FOUR.encode()))
    assert ratings.read(f"packed{suffix}").values.tolist() == [3.5, -1, 2, 4]
    (folder / f"half{suffix}").write_bytes(pack(FOUR.encode())[:-10])
    with pytest.raises(RrmbenchError, match=rf"half\{suffix}: .*truncated or corrupt"):
        ratings.read(f"half{suffix}")


def test_a_byte_order_mark_is_no_part_of_the_first_row(folder):
    (folder / "marked.csv").write_text("\ufeff" + "1,2,3\n", encoding="utf-8")
    assert ratings.read("marked.csv").rows.tolist() == [1]


@pytest.mark.parametrize(
    "names", ["userId,movieId,rating,timestamp", "user id, item-id, rating", '"u","i","r"', "nutzer,größe,wert_1"]
)
def test_a_first_line_of_names_with_commas_is_passed_over(folder, names):
    (folder / "named.csv").write_text(f"{names}\n1,2,3,4\n", encoding="utf-8")
    assert ratings.read("named.csv").values.tolist() == [3]


BAD = {
    "two columns": ("1 1 1\n1 2\n", 2, "1 2", "2 of three columns"),
    "one column": ("5\n", 1, "5", "1 of three columns"),
    "commas and spaces": ("1 2 3\n1,2,3\n", 2, "1,2,3", "expected: row column value"),
    "a second line of names": ("1,2,3\nuser,item,rating\n", 2, "user", "the row is not a whole number"),
    **{
        f"names before {sign!r}": (sign.join(["user", "item", "rating"]) + "\n", 1, "user", "with commas alone, remove")
        for sign in (" ", "\t", "::")
    },
    "names of two columns": ("user,item\n1,2,3\n", 1, "user item", "2 of three columns"),
    "a name beside a number": ("user,item,5\n1,2,3\n", 1, "user", "(expected: row column value)"),
    "negative row": ("1 1 1\n\n-1 2 3\n", 3, "-1", "the row is not a whole number"),
    "column with a point": ("1 2.0 3\n", 1, "2.0", "the column is not a whole number"),
    "word": ("user item rating\n", 1, "user", "the row is not a whole number"),
    "huge id": (f"{2**63} 1 1\n", 1, str(2**63), "the row is greater than"),
    "an id of 5000 digits": ("1 " + "9" * 5000 + " 1\n", 1, "9" * 60 + "...", "the column is greater than"),
    "nan": ("1 1 1\n1 2 nan\n", 2, "nan", "the value is not finite"),
    "infinity": ("1 2 -inf\n", 1, "-inf", "the value is not finite"),
    "overflow": ("1 2 1e999\n", 1, "1e999", "the value is too large"),
    "underscore": ("1 2 1_0\n", 1, "1_0", "the value is not a number"),
    "value is a word": ("1 2 good\n", 1, "good", "the value is not a number"),
    "a LibSVM file": ("1 1:1 2:1\n", 1, "1:1", "the column is not a whole number"),
    "not utf-8": (b"1 \xff 1\n", 1, "\\xff", "the column is not a whole number"),
    "lines that end with a carriage return": ("1 2 3 10\r2 3 4 11\r", 1, "\\r", "a line ends with"),
    "such a comment": ("1 2 3\r\n# and\r2 3 4\n", 2, "\\r", "a line ends with"),
    "twice": ("1 2 3\n2 1 3\n# again\n01 2 4\n", 4, "1 2", "have a rating in line 1 already"),
    "the first of those twice": ("1 2 3\n2 1 3\n2 1 3\n1 2 4\n", 3, "2 1", "in line 2 already"),
}


@pytest.mark.parametrize("case", BAD)
def test_the_first_bad_token_is_named(folder, case):
    text, line, token, reason = BAD[case]
    (folder / "bad.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RrmbenchError) as error:
        ratings.read("bad.txt")
    assert str(error.value).startswith(f"bad.txt:{line}: found '{token}': ")
    assert reason in str(error.value)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n"])
def test_an_empty_file_is_refused(folder, text):
    (folder / "empty.txt").write_text(text)
    with pytest.raises(RrmbenchError, match=r"empty\.txt: no rating"):
        ratings.read("empty.txt")


ids = st.integers(0, 2**63 - 1) | st.integers(0, 5)
entries = st.dictionaries(
    st.tuples(ids, ids), st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12
)


@given(wanted=entries)
def test_what_is_written_is_read_back_and_numbered_by_ascending_id(tmp_path_factory, wanted):
    path = tmp_path_factory.mktemp("round") / "entries.txt"
    rows, columns = zip(*wanted, strict=True)
    ratings.write(path, rows, columns, wanted.values())
    prepared = load(path=str(path))
    assert prepared.y.tolist() == list(wanted.values())
    row_ids, column_ids = sorted(set(rows)), sorted(set(columns))
    assert prepared.info["model"] == [len(row_ids), len(column_ids)]
    W = np.random.default_rng(0).normal(size=prepared.info["model"])
    wanted_z = [W[row_ids.index(row), column_ids.index(column)] for row, column in wanted]
    assert prepared.operator().forward(W).tolist() == wanted_z


@given(text=st.text(st.sampled_from("019 .-+e#\n\r\tnaif_"), max_size=40))
def test_any_text_is_read_or_refused_with_a_message(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "entries.txt"
    path.write_text(text)
    try:
        found = ratings.read(path)
    except RrmbenchError as error:
        assert str(path) in str(error)
    else:
        assert np.isfinite(found.values).all()
        assert len(set(zip(found.rows.tolist(), found.columns.tolist(), strict=True))) == len(found.values) > 0
        assert min(found.rows.min(), found.columns.min()) >= 0


# the layout


def test_a_rating_is_an_entry_of_the_matrix():
    prepared = load()
    X = prepared.operator()
    assert prepared.shape == (4, 9) and X.shape == (4, 3, 3)
    assert prepared.info["model"] == [3, 3]
    assert (prepared.info["task"], prepared.info["labels"]) == ("unknown", "as in the file")
    W = np.arange(9.0).reshape(3, 3)
    assert X.forward(W).tolist() == [W[1, 2], W[0, 2], W[2, 0], W[1, 1]]
    assert X.adjoint(np.array([1.0, 2, 3, 4])).tolist() == [[0, 0, 2], [0, 4, 1], [3, 0, 0]]
    assert X.sqnorms.tolist() == [1, 1, 1, 1]
    assert prepared.test_operator() is None


def test_a_split_holds_out_ratings_and_keeps_the_matrix():
    plain = load()
    for seed in range(5):  # with seeds that hold out the only rating of a row
        prepared = load(split=0.5, split_seed=seed)
        assert prepared.shape == prepared.test_shape == (2, 9)
        assert prepared.info["model"] == [3, 3]
        W = np.random.default_rng(seed).normal(size=(3, 3))
        held = dict(zip(prepared.test_operator().forward(W), prepared.test_y, strict=True))
        kept = dict(zip(prepared.operator().forward(W), prepared.y, strict=True))
        assert held | kept == dict(zip(plain.operator().forward(W), plain.y, strict=True))
    assert load(subset=1).info["model"] == [3, 3]


def test_a_test_file_is_numbered_with_the_training_file(folder):
    (folder / "test.txt").write_text("8 5 1\n300 9 2\n")
    prepared = load(test="test.txt")
    assert prepared.info["model"] == [4, 4]  # rows 7, 8, 10, 300; columns 0, 2, 5, 9
    W = np.arange(16.0).reshape(4, 4)
    assert prepared.operator().forward(W).tolist() == [W[2, 2], W[0, 2], W[3, 0], W[2, 1]]
    assert prepared.test_operator().forward(W).tolist() == [W[1, 2], W[3, 3]]
    assert prepared.test_y.tolist() == [1, 2]


def test_flip_is_for_two_values(folder):
    (folder / "signs.txt").write_text("".join(f"{i} {i % 3} {(-1) ** i}\n" for i in range(10)))
    plain, flipped = (load("binary", path="signs.txt", flip=flip) for flip in (0.0, 0.3))
    assert (plain.y != flipped.y).sum() == 3
    with pytest.raises(RrmbenchError, match="'flip' needs labels -1 and 1"):
        load(flip=0.3)


def test_a_loss_on_several_outputs_is_refused():
    for labels in ("classes", "targets"):
        with pytest.raises(RrmbenchError, match=r"four\.txt: 'format: ratings' makes one output per row"):
            load(labels)


def test_a_matrix_beyond_32_bits_is_refused(folder):
    text = "".join(f"{i} {i} 1\n" for i in range(46341))
    (folder / "wide.txt").write_text(text)
    with pytest.raises(RrmbenchError, match=r"wide\.txt: the model has 46341 x 46341 = 2147488281 entries"):
        load(path="wide.txt")


REFUSED = {
    "scale": ("unit_rows", "features to scale"),
    "bias": ("free", "features"),
    "positive": (1, "classes"),
    "kernel": ("rbf", "features"),
    "tasks": ("qid", "qid"),
    "zero_based": (True, "index base"),
}


@pytest.mark.parametrize("key", REFUSED)
def test_keys_of_features_are_refused_by_name(key):
    value, what = REFUSED[key]
    for block in ({"path": "four.txt", "format": "ratings"}, {"name": "ratings_small"}):
        if key == "zero_based" and "name" in block:
            continue  # refused for every name
        with pytest.raises(RrmbenchError, match=rf"^dataset\.{key}: found .*have no {what}"):
            spec.check(block | {key: value})


def test_explicit_defaults_are_allowed_and_change_nothing():
    assert load(scale="none", bias="none").key == load().key
    named = [prepare.load({"name": "ratings_small", **keys}, "any").key for keys in ({}, {"format": "ratings"})]
    assert named[0] == named[1]


def test_a_format_that_the_registry_contradicts_is_refused():
    with pytest.raises(RrmbenchError, match=r"dataset\.format: found 'ratings', but the registry .* 'a9a' .*'libsvm'"):
        spec.check({"name": "a9a", "format": "ratings"})
    with pytest.raises(RrmbenchError, match=r"dataset\.test: found 'a9a' in the format 'libsvm'.*'ratings'"):
        spec.check({"path": "four.txt", "format": "ratings", "test": "a9a"})
    with pytest.raises(RrmbenchError, match=r"dataset\.format: found 'rating'.*'ratings'"):
        spec.check({"path": "four.txt", "format": "rating"})


# the registry and its commands


def test_generated_ratings_are_the_same_everywhere():
    prepared = prepare.load({"name": "ratings_like_movielens"}, "any")
    assert prepared.checksum == "71bbdace9c94aac9abdfad4af434eb6200ca59aa40e019051757711d0b22014d"
    small = prepare.load({"name": "ratings_small"}, "any")
    assert small.checksum == "651465e4b627120952ac5fb5d0b1c4c3b1b8046e3bbe100d06221f09bcfce333"
    for data, n, model in ((prepared, 100_000, [943, 1682]), (small, 1500, [60, 80])):
        assert (data.shape[0], data.info["model"], data.info["task"]) == (n, model, "completion")
        assert np.bincount(data.y.astype(int)).tolist() == (np.array([0, 6, 11, 27, 34, 22]) * n / 100).tolist()
        counts = data.operator().adjoint(np.ones(n))
        assert set(np.unique(counts)) == {0, 1}
        popularity = np.sort(counts.sum(axis=0))
        assert popularity[0] >= 1 and popularity[-1] > 3 * np.median(popularity)


def test_generated_ratings_can_be_completed_by_a_low_rank_matrix():
    """Shrinking singular values predicts held-out ratings far better than their mean does."""
    prepared = prepare.load({"name": "ratings_small", "split": 0.8}, "any")
    X, X_test, mean = prepared.operator(), prepared.test_operator(), prepared.y.mean()
    W = np.zeros(X.shape[1:])
    for _ in range(100):
        U, s, V = np.linalg.svd(W + X.adjoint(prepared.y - mean - X.forward(W)), full_matrices=False)
        W = (U * np.maximum(s - 4.0, 0.0)) @ V
    error = np.sqrt(np.mean((X_test.forward(W) + mean - prepared.test_y) ** 2))
    assert error < 0.8 * np.sqrt(np.mean((mean - prepared.test_y) ** 2))


def test_too_few_generated_ratings_are_refused_in_the_entry(folder):
    own = places.own_registry()
    own.mkdir(parents=True)
    head = "title: t\ntask: completion\nformat: ratings\nn: 100\nmatrix: [60, 80]\n"
    (own / "mine.yaml").write_text(
        head + "synthetic: {rows: 60, columns: 80, observed: 100, rank: 1, noise: 0, seed: 1}\n"
    )
    with pytest.raises(RrmbenchError, match=r"mine\.yaml: .*'observed' must be between rows \+ columns = 140 and"):
        catalogue.get("mine")
    (own / "mine.yaml").write_text(head.replace("matrix: [60, 80]", "d: 4800") + "file: {name: x}\n")
    with pytest.raises(RrmbenchError, match=r"mine\.yaml: .*ratings has 'matrix' instead"):
        catalogue.get("mine")


def test_add_and_info_describe_a_private_file(folder):
    commands.add("four.txt", "mine", format="ratings")
    assert prepare.load({"name": "mine"}, "any").info["model"] == [3, 3]
    facts = commands.info("mine")
    assert [facts[key] for key in ("ratings", "rows", "columns", "task")] == [4, 3, 3, "completion"]
    assert facts["ratings per row"] == "1 to 2, median 1"
    bare = commands.info("four.txt", "ratings")
    assert bare["values"] == facts["values"] == "-1, 2, 3.5, 4"
    shapes = {row["name"]: row["d"] for row in commands.listing()}
    assert (shapes["mine"], shapes["movielens_100k"], shapes["a9a"]) == ((3, 3), (943, 1682), (123,))


def test_another_file_under_a_registered_name_is_refused(folder, monkeypatch):
    monkeypatch.setenv("RRMBENCH_DATA", str(folder))
    with pytest.raises(RrmbenchError, match=r"'movielens_100k'.*no public url.*grouplens"):
        prepare.load({"name": "movielens_100k"}, "any")
    (folder / "u.data").write_text(FOUR)
    with pytest.raises(RrmbenchError, match=r"found 4 ratings of 3 rows and 3 columns, but .* 943 rows and 1682"):
        prepare.load({"name": "movielens_100k"}, "any")
