"""Label sequences: rows of one qid, folds, subsets and splits of whole sequences, generated words, and whole runs."""

import lzma
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401, a fixture

from rrmbench.bench.metrics import metrics_of
from rrmbench.bench.store import Experiment
from rrmbench.data import catalogue, commands, fetch, folds, prepare, spec
from rrmbench.data.draws import ordering
from rrmbench.data.transform import split_rows
from rrmbench.errors import RrmbenchError

REAL = os.environ.get("RRMBENCH_DATA")
# the words bac, c, ab: the numbers have gaps and fall
WORDS = "2 qid:9 1:1\n1 qid:9 2:1\n3 qid:9 3:1\n3 qid:4 3:2\n1 qid:5 1:3\n2 qid:5 2:4\n"


@pytest.fixture
def folder(own_folder):
    (own_folder / "words.txt").write_text(WORDS)
    return own_folder


def load(mode="sequences", path="words.txt", **keys):
    return prepare.load({"path": str(path), **keys}, mode)


def test_a_sequence_is_the_rows_of_one_qid_in_the_order_of_the_file(folder):
    prepared = load()
    assert prepared.y.tolist() == [[1, 0], [0, 0], [2, 0], [2, 1], [0, 2], [1, 2]]
    assert prepared.info["classes"] == 3 and prepared.info["sequences"] == [3]
    assert prepared.shape == (6, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:1\n2 qid:2 1:1\n1 qid:1 1:1\n", "row 3 has the qid 1 of earlier rows, and rows of another qid are"),
        ("1 qid:1234567 1:1\n2 qid:2 1:1\n1 qid:1234567 1:1\n", "row 3 has the qid 1234567 of earlier rows"),
        ("1 qid:1 1:1\n2 1:1\n", r"words.txt:2: the row has no qid, by which the loss tells the sequences"),
        ("1 1:1\n2 1:1\n", r"words.txt:1: the row has no qid, by which the loss tells the sequences"),
        ("7 qid:1 1:1\n7 qid:1 1:1\n7 qid:2 1:1\n", "needs two classes at least, found 7 alone"),
        ("1,2 qid:1 1:1\n2 qid:1 1:1\n", "needs one class per row, found lists of labels"),
    ],
)
def test_rows_that_are_no_sequences_are_one_clear_error(folder, text, message):
    (folder / "words.txt").write_text(text)
    with pytest.raises(RrmbenchError, match=message):
        load()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"bias": "free"}, "found 'bias: free', with a loss on sequences allowed are 'none' and 'regularized'"),
        ({"flip": 0.1}, "'flip' flips two labels"),
        ({"tasks": "qid"}, "'tasks: qid' makes one output per row"),
        ({"subset": 4}, "subset: 4, but there are only 3 sequences"),
        ({"split": 0.1}, "split: 0.1 of 3 sequences leaves one part empty"),
        ({"positive": 1}, "needs one class per row, found 'positive: 1'"),
    ],
)
def test_steps_that_do_not_suit_sequences_are_refused(folder, keys, message):
    with pytest.raises(RrmbenchError, match=message):
        load(**keys)


@pytest.mark.exhaustive
@given(seed=st.integers(0, 1000), fraction=st.floats(0.2, 0.8), size=st.integers(4, 12))
def test_subsets_and_splits_are_of_whole_sequences(seed, fraction, size):
    block = {"name": "words_small", "subset": size, "subset_seed": seed, "split": fraction, "split_seed": seed}
    whole = prepare.load({"name": "words_small"}, "sequences")
    try:
        prepared = prepare.load(block, "sequences")
    except RrmbenchError as error:  # few words may lack a letter, which the test part has
        assert "in training only" in str(error) or "two classes" in str(error)
        return
    found = [len(np.unique(y[:, 1])) for y in (prepared.y, prepared.test_y)]
    assert found == prepared.info["sequences"] and sum(found) == size
    assert found[0] == round(fraction * size)
    # rows of the subset, in the order of the file in both parts
    numbers = np.sort(ordering(seed, "subset", 200)[:size])
    train, test = split_rows(size, fraction, seed, "words")
    for y, chosen in ((prepared.y, train), (prepared.test_y, test)):
        rows = np.flatnonzero(np.isin(whole.y[:, 1], numbers[chosen]))
        assert np.unique(y[:, 1], return_counts=True)[1].tolist() == (
            np.unique(whole.y[rows, 1], return_counts=True)[1].tolist()
        )


def test_a_regularized_bias_and_a_scale_are_as_for_rows(folder):
    prepared = load(scale="unit_rows", bias="regularized")
    X = prepared.operator().forward(np.eye(4))
    np.testing.assert_allclose(np.sum(X**2, axis=1), 2.0)
    np.testing.assert_array_equal(X[:, -1], 1.0)


# folds

FOLDS = "9 0\n4 1  # a comment\n\n5 2\n77 1\n"


def test_one_fold_is_the_test_part_or_the_training_part(folder):
    (folder / "folds.txt").write_text(FOLDS)
    prepared = load(folds="folds.txt", test_fold=1)
    assert prepared.y.tolist() == [[1, 0], [0, 0], [2, 0], [0, 1], [1, 1]]
    assert prepared.test_y.tolist() == [[2, 0]]
    turned = load(folds="folds.txt", train_fold=0)
    assert turned.y.tolist() == [[1, 0], [0, 0], [2, 0]]
    assert turned.test_y.tolist() == [[2, 0], [0, 1], [1, 1]]
    rows = load("classes", folds="folds.txt", test_fold=1)  # losses on rows can be compared on the same folds
    assert rows.y.tolist() == [1, 0, 2, 0, 1] and rows.test_y.tolist() == [2]


def test_the_content_of_the_folds_is_part_of_what_the_data_are(folder):
    (folder / "folds.txt").write_text(FOLDS)
    before = load(folds="folds.txt", test_fold=1)
    (folder / "folds.txt").write_text(FOLDS.replace("5 2", "5 1"))
    after = load(folds="folds.txt", test_fold=1)
    assert before.checksum != after.checksum and before.key != after.key
    assert len(after.test_y) == 3
    with lzma.open(folder / "folds.xz", "wb") as out:
        out.write((folder / "folds.txt").read_bytes())
    assert load(folds="folds.xz", test_fold=1).checksum == after.checksum


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9 0\n4\n5 1\n", r"folds.txt:2: found '4': expected two whole numbers, qid and fold"),
        ("9 0\n4 x\n", r"folds.txt:2: found '4 x'"),
        ("9 0\n4 -1\n", r"folds.txt:2: found '4 -1'"),
        (f"9 0\n4 {2**63}\n", r"folds.txt:2: found"),
        ("9 0\n4 1\n5 2\n4 1\n", r"folds.txt:4: found a fold of qid 4 for the second time"),
        ("9 0\n4 1\n9 2\n4 1\n", r"folds.txt:3: found a fold of qid 9 for the second time"),
        ("# nothing\n", "no line with a qid and its fold"),
        ("9 0\n5 1\n", "found no fold of qid 4, which .*words.txt has"),
        ("9 0\n4 2\n5 2\n", "no row is in fold 1, test_fold leaves one part empty; the folds of .* are 0, 2"),
        ("9 1\n4 1\n5 1\n", "every row is in fold 1, test_fold leaves one part empty"),
    ],
)
def test_bad_folds_are_one_clear_error(folder, text, message):
    (folder / "folds.txt").write_text(text)
    with pytest.raises(RrmbenchError, match=message):
        load(folds="folds.txt", test_fold=1)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"folds": "folds.txt"}, "dataset.folds: has no effect without 'test_fold' or 'train_fold'"),
        ({"test_fold": 1}, "dataset.test_fold: needs 'folds', a file with lines 'qid fold'"),
        ({"folds": "folds.txt", "test_fold": 1, "train_fold": 2}, "found both 'test_fold' and 'train_fold'"),
        ({"folds": "folds.txt", "test_fold": 1, "split": 0.5}, "found both 'split' and 'test_fold'"),
        ({"folds": "folds.txt", "test_fold": 1, "test": "words.txt"}, "found both 'test' and 'test_fold'"),
        ({"folds": "folds.txt", "test_fold": 1, "tasks": "qid"}, "dataset.test_fold: not possible with 'tasks'"),
        ({"folds": "folds.txt", "test_fold": -1}, "dataset.test_fold: found -1"),
        ({"folds": "nowhere.txt", "test_fold": 1}, "dataset.folds: no such file"),
    ],
)
def test_keys_of_folds_that_do_not_go_together(folder, keys, message):
    (folder / "folds.txt").write_text(FOLDS)
    with pytest.raises(RrmbenchError, match=message):
        spec.check({"path": "words.txt", **keys})


def test_the_registry_may_know_the_folds_of_a_data_set(folder, monkeypatch):
    assert spec.check({"name": "ocr_letters", "test_fold": 3}) == {"name": "ocr_letters", "test_fold": 3}
    with pytest.raises(RrmbenchError, match=r"dataset.train_fold: needs 'folds'"):
        spec.check({"name": "words_small", "train_fold": 1})
    with pytest.raises(RrmbenchError, match=r"the folds of 'ocr_letters', ocr_letters_fold.txt, are not in"):
        fetch.obtain_folds("ocr_letters", catalogue.get("ocr_letters"))
    (folder / "ocr_letters_fold.txt").write_text("1 0\n")
    monkeypatch.setenv("RRMBENCH_DATA", str(folder))
    with pytest.raises(RrmbenchError, match="not that of the folds which the registry entry of 'ocr_letters' says"):
        fetch.obtain_folds("ocr_letters", catalogue.get("ocr_letters"))


def test_real_ocr_letters_have_ten_folds(monkeypatch):
    if REAL is None or not commands.fetch.locate(catalogue.get("ocr_letters")):
        pytest.skip("the file of 'ocr_letters' is not in RRMBENCH_DATA")
    path = fetch.obtain_folds("ocr_letters", catalogue.get("ocr_letters"))
    ids, numbers = folds.read(path)
    assert len(ids) == 6877 and np.bincount(numbers).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    prepared = prepare.load({"name": "ocr_letters", "train_fold": 0}, "sequences")
    assert prepared.shape == (4617, 128) and prepared.test_shape == (47535, 128)
    assert prepared.info["sequences"] == [626, 6251] and prepared.info["classes"] == 26
    lengths = np.unique(prepared.test_y[:, 1], return_counts=True)[1]
    assert (lengths.min(), lengths.max()) == (3, 14)


# generated words


def test_the_words_are_the_same_everywhere_and_the_chain_can_be_learned():
    prepared = prepare.load({"name": "words_small"}, "sequences")
    assert prepared.checksum == "49d73a69a79d3f156561d65eeba693883e3018b2b8d1c95ae5bc6f6762827643"
    assert prepared.shape == (776, 30) and prepared.info["classes"] == 6 and prepared.info["sequences"] == [200]
    lengths = np.unique(prepared.y[:, 1], return_counts=True)[1]
    assert set(lengths) == set(range(1, 8))
    letters, follows = prepared.y[:, 0].astype(int), prepared.y[1:, 1] == prepared.y[:-1, 1]
    pairs = np.zeros((6, 6))
    np.add.at(pairs, (letters[:-1][follows], letters[1:][follows]), 1.0)
    assert (pairs / pairs.sum(axis=1, keepdims=True)).max() > 0.4  # of independent letters about 1/6


def test_letter_and_word_errors_count_positions_and_sequences(folder):
    (folder / "test.txt").write_text("3 qid:1 1:1\n1 qid:1 2:1\n3 qid:2 3:1\n")
    prepared = load(test="test.txt")
    W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # the feature's own letter, as in the first word
    found = metrics_of(prepared)(np.vstack([W, np.zeros((3, 3))]))
    assert found == {
        "letter_error": 1 / 3,
        "word_error": 1 / 2,
        "train_letter_error": 2 / 6,
        "train_word_error": 1 / 3,
        "test_letter_error": 1 / 3,
        "test_word_error": 1 / 2,
    }
    found = metrics_of(load())(np.vstack([W, np.zeros((3, 3))]))
    assert (found["letter_error"], found["word_error"]) == (2 / 6, 1 / 3)


# from the command line


def write_words(lab):
    rng = np.random.default_rng(0)
    lines = []
    for word in range(12):
        for letter in rng.integers(0, 3, rng.integers(1, 5)):
            row = rng.random(4) * 0.3
            row[letter] += 1.0
            lines.append(f"{letter} qid:{word} " + " ".join(f"{j}:{v:.4f}" for j, v in enumerate(row, 1)))
    (lab.folder / "words.txt").write_text("\n".join(lines) + "\n")
    (lab.folder / "folds.txt").write_text("".join(f"{word} {word % 3}\n" for word in range(12)))


def config_of(lab, **keys):
    write_words(lab)
    return lab.config(
        **{
            "dataset": {"path": "words.txt", "folds": "folds.txt", "test_fold": [0, 2], "bias": "regularized"},
            "loss": ["crf", "m3n"],
            "regularizer": [{"name": "l2", "strength": 0.05}, {"name": "l21", "strength": 0.02}],
            "solver": ["fista", "subgradient", "agm_ef"],
            "stop": {"passes": 40},
            "trace": {"every": 5},
            "reference": {"seconds": 0.5},
        }
        | keys
    )


@pytest.mark.exhaustive
def test_sequences_run_are_verified_and_plotted(lab):
    config = config_of(lab)
    assert lab.run(config).code == 0
    results = lab.results()
    assert len(results) == 2 * 2 * (3 + 1)
    for result in results:
        assert result.status == "done"
        trace = result.trace
        assert 0.0 <= trace["test_letter_error"][-1] <= trace["test_word_error"][-1] <= 1.0
        if result.spec["loss"]["name"] == "crf" and result.spec["solver"]["name"] == "agm_ef":
            assert trace["gap"][-1] <= 1e-2
    verified = lab.cli("verify", lab.out)
    assert verified.code == 0, verified.out
    assert "that distributions over labellings have the marginals" in " ".join(verified.out.split())
    assert lab.cli("plot", lab.out / "toy", "--y", "test_word_error").code == 0
    before = lab.files()
    assert lab.run(config).code == 0
    assert lab.files() == before
    (lab.folder / "folds.txt").write_text("".join(f"{word} {word % 3}\n" for word in range(11)) + "11 0\n")
    assert lab.run(config, "--only", "loss=crf", "--only", "solver=fista").code == 0  # other folds, other runs
    assert len(lab.files()) > len(before)


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", ["crf", "m3n"])
def test_a_forged_dual_variable_is_found(lab, loss):
    config = config_of(
        lab,
        dataset={"path": "words.txt"},
        loss=loss,
        regularizer={"name": "l2", "strength": 0.05},
        solver={"crf": "agm_ef", "m3n": "subgradient"}[loss],
        reference=False,
    )
    assert lab.run(config).code == 0
    (result,) = lab.results()
    experiment, b, w = Experiment(lab.out / "toy"), result.b.copy(), result.w.copy()
    assert lab.cli("verify", lab.out).code == 0
    N = len(b) - 3 - 2

    def forged(name, place, change):
        array = {"w": w, "b": b}[name].copy()
        array[place] += change
        setattr(result, name, array)
        experiment.write(result)
        found = lab.cli("verify", lab.out)
        result.w, result.b = w, b
        return found

    for place in ((0, 0), (N, 0), (N + 3, 0), (N + 4, 0), (N + 3, 1), (N + 4, 2)):
        for change in (1e-3, -1e-3, 1e3, -1e3):
            if loss == "m3n" and (place, change) == ((N + 4, 0), -1e-3):
                continue  # an entropy that the marginals allow, and D without mu does not depend on it
            found = forged("b", place, change)
            assert found.code == 1 and "WRONG" in found.out, (place, change)
    for place in ((0, 0), (-1, -1)):
        assert forged("w", place, 1e-2).code == 1  # P is flat at the optimum
    experiment.write(result)
    assert lab.cli("verify", lab.out).code == 0


def test_methods_for_rows_are_skipped_with_a_reason(lab):
    config = config_of(lab, solver=["prox_sdca", "coordinate_descent", "pdprox_dual"], regularizer="none")
    found = lab.cli("validate", config)
    assert found.code == 2
    text = " ".join(found.err.split())
    assert "pdprox_dual needs a loss whose conjugate has a Euclidean proximal step; crf is not one" in text
    assert "prox_sdca needs a loss that is a sum over samples; m3n is not such a sum" in text
