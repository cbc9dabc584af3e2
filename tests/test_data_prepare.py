"""Data sets: labels, scales, parts, what preparation promises."""

import numpy as np
import pytest
from four_rows import (
    FOUR,
    X,
    X_test,
    load,
    make_folder,  # noqa: F401
)

from rrmbench.data import checksums, libsvm, spec, transform
from rrmbench.errors import RrmbenchError

# preparation


def test_two_label_values_become_signs_in_ascending_order():
    prepared = load()
    assert prepared.y.tolist() == [-1, 1, -1, 1]
    assert X(prepared).tolist() == [[3, 4, 0], [0, 2, 0], [1, 0, 0], [0, 0, 8]]
    assert [part.dtype for part in prepared.X_parts] == [np.float64, np.uint32, np.int32]
    assert load("any").y.tolist() == [1, 2, 1, 2]


def test_positive_takes_one_class_against_the_rest(folder):
    (folder / "three.svm").write_text("1 1:1\n2 1:1\n3 1:1\n")
    (folder / "lists.svm").write_text("1 1:1\n2,33 1:1\n1,2 1:1\n")
    assert load(path="three.svm", positive=2).y.tolist() == [-1, 1, -1]
    assert load(path="lists.svm", positive=33).y.tolist() == [-1, 1, -1]
    assert load("any", path="lists.svm", positive=2).y.tolist() == [-1, 1, 1]


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        ("1 1:1\n2 1:1\n3 1:1\n", {}, "needs two label values, found 1, 2, 3"),
        ("1 1:1\n1 2:1\n", {}, "needs two label values, found 1$"),
        (f"{2**53 - 1} 1:1\n{2**53 - 2} 2:1\n0.5 1:1\n", {}, f"found 0.5, {2**53 - 2}, {2**53 - 1};"),
        ("1 1:1\n2 2:1\n", {"positive": 3}, "no row has the label 3 .positive.; found 1, 2"),
        ("1,2 1:1\n1 2:1\n", {"positive": 1}, "every row has the label 1"),
        ("1,2 1:1\n3 2:1\n", {}, "lists of labels .1, 2, 3.; say which one is wanted with 'positive:'"),
    ],
)
def test_labels_that_do_not_fit_are_listed(folder, text, keys, message):
    (folder / "labels.svm").write_text(text)
    with pytest.raises(RrmbenchError, match=rf"labels\.svm: .*{message}"):
        load(path="labels.svm", **keys)


def test_scales_are_those_of_the_definitions():
    raw = X(load())
    norms = np.linalg.norm(raw, axis=1)
    np.testing.assert_allclose(X(load(scale="unit_rows")), raw / norms[:, None], rtol=1e-15)
    np.testing.assert_allclose(X(load(scale="mean_norm")), raw / norms.mean(), rtol=1e-15)
    np.testing.assert_allclose(X(load(scale="max_abs")), raw / np.abs(raw).max(axis=0), rtol=1e-15)
    assert X(load(scale="none")).tolist() == raw.tolist()


def test_the_factors_of_the_training_part_are_those_of_every_part(folder):
    (folder / "one.svm").write_text("1 1:4\n-1\n")  # a single entry: as many as there are factors
    (folder / "test.svm").write_text("1 1:-4\n-1 1:2\n")
    for scale, expected in (("mean_norm", [[-2.0], [1.0]]), ("max_abs", [[-1.0], [0.5]]), ("unit_rows", [[-1], [1]])):
        assert X_test(load(path="one.svm", test="test.svm", scale=scale)).tolist() == expected


def test_empty_rows_and_columns_stay_empty_under_every_scale(folder):
    (folder / "empty.svm").write_text("1 1:-2 3:0\n-1\n")
    for scale in ("unit_rows", "mean_norm", "max_abs"):
        prepared = X(load(path="empty.svm", scale=scale))
        assert np.isfinite(prepared).all()
        assert not prepared[1].any() and not prepared[:, 1:].any()


@pytest.mark.parametrize(
    ("text", "keys", "step"),
    [
        ("1 1:1e308\n2 1:1e308\n", {"scale": "mean_norm"}, "'scale: mean_norm'"),
        ("1 1:1e308\n2 2:1\n", {"scale": "unit_rows", "test": "wide.svm"}, "'scale: unit_rows'"),
        ("1 1:1e-320 2:1\n2 2:1\n", {"scale": "max_abs"}, "'scale: max_abs'"),
        ("1 1:1e-320\n2 2:1e-320\n", {"scale": "mean_norm"}, "'scale: mean_norm'"),
        ("1 1:1e200\n2 2:1e200\n", {"kernel": "linear"}, "the kernel {'name': 'linear'}"),
        ("1 1:1e154\n2 2:1e154\n", {"kernel": "linear", "test": "wide.svm"}, "the kernel {'name': 'linear'}"),
        ("1 1:1e200\n2 2:-1e200\n", {"kernel": {"name": "polynomial", "degree": 2}}, "the kernel {'degree': 2"),
    ],
)
def test_values_that_leave_the_range_of_floats_are_an_error_of_their_step(folder, text, keys, step):
    (folder / "huge.svm").write_text(text)
    (folder / "wide.svm").write_text("1 1:1.7e308 2:1.7e308\n2 1:1.7e308\n")
    with pytest.raises(RrmbenchError) as error:
        load(path="huge.svm", **keys)
    assert str(error.value).startswith(f"{folder / 'huge.svm'}: ") and step in str(error.value)


def test_norms_are_right_where_squares_are_out_of_range(folder):
    (folder / "huge.svm").write_text("1 1:3e200 2:4e200\n2 1:-3e-200 2:4e-200\n1 1:3 2:-4\n")
    rows = X(load(path="huge.svm", scale="unit_rows"))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [-0.6, 0.8], [0.6, -0.8]], rtol=1e-15)
    (folder / "tiny.svm").write_text("1 1:3e-200 2:4e-200\n2 1:3e-200 2:4e-200\n")
    np.testing.assert_allclose(X(load(path="tiny.svm", scale="mean_norm")), [[0.6, 0.8]] * 2, rtol=1e-15)


@pytest.mark.parametrize("piece", [1, 97, 1 << 20])
def test_norms_are_those_of_the_plain_formula_to_the_last_bit(monkeypatch, piece):
    from scipy.sparse import csr_array, random_array

    rows = csr_array(random_array((200, 50), density=0.3, rng=np.random.default_rng(0), format="csr"))
    monkeypatch.setattr(transform, "PIECE", piece)
    rows.data *= np.random.default_rng(1).choice([1e-5, 1.0, 7.0, 1e9], size=rows.nnz)
    plain = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    assert (transform.row_norms(rows) == plain).all()


def test_a_file_that_goes_or_changes_while_it_is_read_is_named(folder, monkeypatch):
    real = libsvm.read
    monkeypatch.setattr(libsvm, "read", lambda *a: (folder / "four.svm").unlink() or real(*a))
    with pytest.raises(RrmbenchError, match=r"four\.svm: cannot be read: No such file"):
        load()
    (folder / "four.svm").write_text(FOUR)
    monkeypatch.setattr(libsvm, "read", lambda *a: (real(*a), (folder / "four.svm").write_text(FOUR))[0])
    with pytest.raises(RrmbenchError, match=r"four\.svm: the file was changed while it was read"):
        load()
    monkeypatch.setattr(libsvm, "read", real)
    monkeypatch.setattr(spec, "check", lambda block: (folder / "four.svm").unlink() or block)
    with pytest.raises(RrmbenchError, match=r"four\.svm: cannot be read: No such file"):
        load()
    with pytest.raises(RrmbenchError, match=r"none: cannot be read: No such file"):
        checksums.checksum_of("none")


def test_rows_without_any_entry_can_be_kept(folder):
    (folder / "empty.svm").write_text("1\n-1\n1 2:1\n")
    prepared = load(path="empty.svm", subset=2, scale="mean_norm")
    assert X(prepared).tolist() == [[0, 0], [0, 0]]


def test_factors_and_columns_of_a_test_file_come_from_the_training_file(folder, caplog):
    (folder / "test.svm").write_text("2 1:6 2:2 9:1\n1 4:5\n")
    prepared = load(test="test.svm", scale="max_abs", bias="regularized")
    assert "test.svm: 2 entries are in columns that the training part does not have; they are left out" in caplog.text
    assert X_test(prepared).tolist() == [[2, 0.5, 0, 1], [0, 0, 0, 1]]
    assert prepared.test_y.tolist() == [1, -1]
    assert prepared.info["test_entries_dropped"] == 2
    assert prepared.checksum != load().checksum


def test_a_test_file_with_the_content_of_the_training_file_is_told_of(folder, caplog):
    (folder / "copy.svm").write_text(FOUR)
    load(test="copy.svm")
    assert "copy.svm: the test part has the content of the training part" in caplog.text


def test_the_index_base_of_a_test_file_comes_from_the_training_file(folder):
    (folder / "zero.svm").write_text("1 0:1 2:1\n-1 1:1\n")
    (folder / "test.svm").write_text("1 1:7\n")
    assert X_test(load(path="zero.svm", test="test.svm")).tolist() == [[0, 7, 0]]
    (folder / "test.svm").write_text("1 0:7\n")
    with pytest.raises(RrmbenchError, match=r"test\.svm:1: found '0:7': index 0"):
        load(test="test.svm")


def test_a_test_label_that_training_has_not_is_refused(folder):
    (folder / "test.svm").write_text("5 1:6\n")
    with pytest.raises(RrmbenchError, match=r"/test\.svm: found the label 5, allowed are 1, 2"):
        load(test="test.svm")


def test_a_bias_is_a_last_column_of_ones_after_scaling():
    prepared = load(scale="unit_rows", bias="regularized")
    assert prepared.shape == (4, 4)
    assert X(prepared)[:, 3].tolist() == [1, 1, 1, 1]


def numbered(folder, n=40):
    (folder / "many.svm").write_text("".join(f"{1 if i % 2 else -1} 1:{i + 1}\n" for i in range(n)))
    return lambda prepared: X(prepared)[:, 0].astype(int) - 1


def test_a_subset_is_the_first_rows_or_a_seeded_choice(folder):
    row = numbered(folder)
    assert row(load(path="many.svm", subset=5)).tolist() == [0, 1, 2, 3, 4]
    chosen = [row(load(path="many.svm", subset=5, subset_seed=seed)).tolist() for seed in (0, 1)]
    assert chosen[0] != chosen[1]
    assert all(rows == sorted(set(rows)) and len(rows) == 5 for rows in chosen)
    with pytest.raises(RrmbenchError, match="subset: 41, but there are only 40 rows"):
        load(path="many.svm", subset=41)


@pytest.mark.parametrize("mode", ["binary", "classes"])
def test_first_rows_of_a_sorted_file_are_told(folder, mode):
    (folder / "sorted.svm").write_text("".join(f"{1 if i < 20 else -1} 1:{i + 1}\n" for i in range(40)))
    with pytest.raises(RrmbenchError, match="its first 9 rows have one label value, 1; 'subset_seed: 0' takes random"):
        load(labels=mode, path="sorted.svm", subset=9)
    assert len(load(labels=mode, path="sorted.svm", subset=9, subset_seed=0).y) == 9
    with pytest.raises(RrmbenchError, match="needs two"):
        (folder / "one.svm").write_text("1 1:1\n" * 9)
        load(labels=mode, path="one.svm", subset=9, subset_seed=0)


def test_a_split_parts_the_rows_and_scales_by_the_training_part(folder):
    row = numbered(folder)
    prepared = load(path="many.svm", split=0.75)
    test = X_test(prepared)[:, 0].astype(int) - 1
    assert len(row(prepared)) == 30
    assert sorted([*row(prepared), *test]) == list(range(40))
    assert row(load(path="many.svm", split=0.75, split_seed=1)).tolist() != row(prepared).tolist()
    scaled = load(path="many.svm", split=0.75, scale="max_abs")
    np.testing.assert_allclose(X_test(scaled)[:, 0] * (row(prepared).max() + 1), test + 1)


def test_a_split_that_leaves_a_class_out_is_named(folder):
    (folder / "rare.svm").write_text("3 1:1\n" + "1 1:1\n2 1:1\n" * 9)
    (folder / "one.svm").write_text("1 1:1\n" + "2 1:1\n" * 18)
    said = []
    for seed in range(8):
        for labels, path in ("classes", "rare.svm"), ("binary", "one.svm"):
            try:
                load(labels=labels, path=path, split=0.5, split_seed=seed)
            except RrmbenchError as error:
                assert f"{path}, the t" in str(error) and f" part by 'split: 0.5, split_seed: {seed}': " in str(error)
                said.append(str(error).partition("': ")[2].partition(";")[0])
    assert set(said) == {"found the label 3, in training only 1, 2", "a binary loss needs two label values, found 2"}


def test_flip_changes_a_fraction_of_the_training_labels_only(folder):
    numbered(folder)
    plain, flipped = (load(path="many.svm", split=0.75, **keys) for keys in ({}, {"flip": 0.2}))
    assert (plain.y != flipped.y).sum() == 6
    assert plain.test_y.tolist() == flipped.test_y.tolist()
    other = load(path="many.svm", split=0.75, flip=0.2, flip_seed=1)
    assert other.y.tolist() != flipped.y.tolist()
    with pytest.raises(RrmbenchError, match="'flip' needs labels -1 and 1"):
        load("any", flip=0.5)


def test_random_draws_do_not_depend_on_the_machine():
    from rrmbench.data.draws import ordering

    assert ordering(0, "split", 10).tolist() == [7, 3, 1, 9, 8, 6, 0, 2, 4, 5]
