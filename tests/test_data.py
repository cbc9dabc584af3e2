"""Data sets: preparation, the array cache, the registry and its commands."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rrmbench.data import cache, catalogue, checksums, commands, libsvm, places, prepare, spec, streams, transform
from rrmbench.errors import RrmbenchError

FOUR = "1 1:3 2:4\n2 2:2\n1 1:1\n2 3:8\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RRMBENCH_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "four.svm").write_text(FOUR)
    return tmp_path


def load(labels="binary", path="four.svm", **keys):
    return prepare.load({"path": path, **keys}, labels)


def dense(parts, shape):
    data, indices, indptr = parts
    out = np.zeros(shape)
    for i in range(shape[0]):
        part = slice(indptr[i], indptr[i + 1])
        out[i, indices[part]] = data[part]
    return out


def X(prepared):
    return dense(prepared.X_parts, prepared.shape)


def X_test(prepared):
    return dense(prepared.test_X_parts, prepared.test_shape)


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
        ("1 1:1\n1 2:1\n", {}, "needs two label values, found 1;"),
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


def test_norms_are_those_of_the_plain_formula_to_the_last_bit():
    from scipy.sparse import csr_array, random_array

    rows = csr_array(random_array((200, 50), density=0.3, rng=np.random.default_rng(0), format="csr"))
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


def test_factors_and_columns_of_a_test_file_come_from_the_training_file(folder):
    (folder / "test.svm").write_text("2 1:6 2:2 9:1\n1 4:5\n")
    prepared = load(test="test.svm", scale="max_abs", bias="regularized")
    assert X_test(prepared).tolist() == [[2, 0.5, 0, 1], [0, 0, 0, 1]]
    assert prepared.test_y.tolist() == [1, -1]
    assert prepared.info["test_entries_dropped"] == 2
    assert prepared.checksum != load().checksum


def test_the_index_base_of_a_test_file_comes_from_the_training_file(folder):
    (folder / "zero.svm").write_text("1 0:1 2:1\n-1 1:1\n")
    (folder / "test.svm").write_text("1 1:7\n")
    assert X_test(load(path="zero.svm", test="test.svm")).tolist() == [[0, 7, 0]]
    (folder / "test.svm").write_text("1 0:7\n")
    with pytest.raises(RrmbenchError, match=r"test\.svm:1: found '0:7': index 0"):
        load(test="test.svm")


def test_a_test_label_that_training_has_not_is_refused(folder):
    (folder / "test.svm").write_text("5 1:6\n")
    with pytest.raises(RrmbenchError, match="found the labels 5, allowed are 1, 2"):
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


def test_a_split_parts_the_rows_and_scales_by_the_training_part(folder):
    row = numbered(folder)
    prepared = load(path="many.svm", split=0.75)
    test = X_test(prepared)[:, 0].astype(int) - 1
    assert len(row(prepared)) == 30
    assert sorted([*row(prepared), *test]) == list(range(40))
    assert row(load(path="many.svm", split=0.75, split_seed=1)).tolist() != row(prepared).tolist()
    scaled = load(path="many.svm", split=0.75, scale="max_abs")
    np.testing.assert_allclose(X_test(scaled)[:, 0] * (row(prepared).max() + 1), test + 1)


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


# the cache


def test_arrays_are_read_only_and_shared(folder):
    first, second = load(), cache.open_cached(load().key)
    assert second.X_parts[0].tolist() == first.X_parts[0].tolist()
    assert type(first.X_parts[0]) is np.ndarray
    assert isinstance(first.X_parts[0].base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        first.X_parts[0][0] = 1


def test_the_key_follows_content_and_preparation_and_not_spelling(folder):
    keys = {load().key, load(scale="max_abs").key, load("any").key, load(subset=2).key}
    assert len(keys) == 4
    assert load(scale="none", bias="none").key == load().key
    (folder / "copy.svm").write_text(FOUR)
    assert load(path="copy.svm").checksum == load().checksum
    (folder / "four.svm").write_text(FOUR + "1 1:1\n")
    assert load().key not in keys
    assert load().shape == (5, 3)


def test_a_second_load_reads_no_text(folder, monkeypatch):
    monkeypatch.setattr(checksums, "SETTLED", 0.0)
    load()
    monkeypatch.setattr(libsvm, "read", lambda *_: pytest.fail("parsed again"))
    monkeypatch.setattr(streams, "checksum", lambda *_: pytest.fail("hashed again"))
    assert load().shape == (4, 3)


@pytest.mark.parametrize("damage", ["truncate", "remove", "header"])
def test_a_damaged_cache_is_made_again(folder, damage):
    stored = folder / "cache" / "data" / load().key
    if damage == "truncate":
        (stored / "data.npy").write_bytes((stored / "data.npy").read_bytes()[:-4])
    elif damage == "remove":
        (stored / "y.npy").unlink()
    else:
        (stored / "header.json").write_text("{")
    with pytest.raises(RrmbenchError, match="missing or damaged"):
        cache.open_cached(stored.name)
    assert load().y.tolist() == [-1, 1, -1, 1]
    assert cache.open_cached(stored.name).shape == (4, 3)
    assert [f.name for f in stored.parent.iterdir()] == [stored.name]


@pytest.mark.parametrize("damage", ["wrong type", "another checksum", "another file", "no text"])
def test_a_damaged_checksum_index_is_made_again(folder, monkeypatch, damage):
    monkeypatch.setattr(checksums, "SETTLED", 0.0)
    first, index = load(), folder / "cache" / "checksums.json"
    whole = index.read_text()
    if damage == "wrong type":
        index.write_text("[]")
    elif damage == "another checksum":
        index.write_text(whole.replace(first.checksum, first.checksum[::-1]))
    elif damage == "another file":
        index.write_text(whole.replace("four.svm", "five.svm"))
    else:
        index.write_bytes(b"\xff" + whole.encode())
    assert load().key == first.key
    assert index.read_text() == whole


def test_loading_at_the_same_time_is_safe(folder):
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: load(scale="mean_norm"), range(16)))
    assert {prepared.key for prepared in loaded} == {loaded[0].key}
    assert all(X(prepared).tolist() == X(loaded[0]).tolist() for prepared in loaded)
    assert len(list((folder / "cache" / "data").iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_named(folder, monkeypatch):
    (folder / "taken").write_text("a file, not a folder")
    monkeypatch.setenv("RRMBENCH_CACHE", str(folder / "taken"))
    with pytest.raises(RrmbenchError, match=r"taken.*cannot write.*RRMBENCH_CACHE"):
        load()


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_light_modules_import_no_heavy_ones():
    code = "import sys, rrmbench.data, rrmbench.data.spec, rrmbench.data.catalogue; print(*sys.modules)"
    heavy = {"numpy", "scipy", "sklearn", "pandas", "pooch", "numba", "matplotlib"}
    assert not heavy & set(run_python(code))


def test_a_worker_opens_the_cache_with_numpy_alone():
    opening = f"from rrmbench.data.cache import open_cached; open_cached('{load().key}')"
    code = f"import sys; {opening}; print(*sys.modules)"
    assert not {"scipy", "sklearn", "pandas", "pooch", "pydantic"} & set(run_python(code))


# the registry and its commands


@pytest.mark.parametrize("name", catalogue.names())
def test_every_shipped_entry_is_valid(name):
    entry = catalogue.get(name)
    assert entry.licence
    if entry.file and entry.file.url:
        assert entry.file.url.startswith("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/")
        assert entry.file.url.rsplit("/", 1)[1].removesuffix(".bz2") == entry.file.name


def test_an_entry_with_mistakes_is_refused_by_file_and_key(folder):
    own = places.own_registry()
    own.mkdir(parents=True)
    good = "title: t\ntask: binary\nn: 2\nd: 3\n"
    for text, message in {
        good: "exactly one of",
        good + "file: {name: x}\ncolour: red\n": "colour",
        good + "file: {name: x, sha256: abc}\n": "sha256",
        good + "file: {name: x}\nlabels: {0: 1, 1: 1}\n": "'labels' maps",
        "title: [": "expected the node content",
        good + "n: 3\nfile: {name: x}\n": "duplicate key 'n'",
    }.items():
        (own / "mine.yaml").write_text(text)
        with pytest.raises(RrmbenchError, match=rf"mine\.yaml:.* .*{message}"):
            catalogue.get("mine")


def test_add_describes_a_private_file(folder):
    file = commands.add("four.svm", "my_four")
    assert file == folder / "cache" / "datasets" / "my_four.yaml"
    assert prepare.load({"name": "my_four"}).y.tolist() == [-1, 1, -1, 1]
    facts = commands.info("my_four")
    assert (facts["n"], facts["d"], facts["nonzeros"], facts["labels"]) == (4, 3, 5, "1, 2")
    assert facts["mean row norm"] == pytest.approx((5 + 2 + 1 + 8) / 4)
    assert facts["checksum"] == "as the registry entry says"
    with pytest.raises(RrmbenchError, match="registered data set already"):
        commands.add("four.svm", "my_four")
    (folder / "four.svm").write_text("1 1:1\n2 2:2\n")
    with pytest.raises(RrmbenchError, match=r"four\.svm: the content has sha256"):
        prepare.load({"name": "my_four"})


def test_add_refuses_what_cannot_be_a_file_or_a_name(folder):
    for path, name, message in (
        ("x" * 300, "mine", "path: found 'xxx.*File name too long"),
        (".", "mine", "path: a folder, not a file"),
        ("four.svm", "x" * 300, "name: found one of 300 bytes"),
        ("four.svm", "../mine", "name: found '../mine', allowed are letters"),
    ):
        with pytest.raises(RrmbenchError, match=message):
            commands.add(path, name)


def test_info_of_a_bare_file(folder):
    facts = commands.info("four.svm")
    assert (facts["n"], facts["d"], facts["task"], facts["path"]) == (
        4,
        3,
        "binary",
        str(folder / "four.svm"),
    )


def test_the_listing_says_where_each_set_is(folder, monkeypatch):
    (folder / "a9a").write_text("1 1:1\n")
    monkeypatch.setenv("RRMBENCH_DATA", str(folder))
    here = {row["name"]: row["here"] for row in commands.listing()}
    assert here["a9a"] == str(folder / "a9a")
    assert (here["rcv1_train"], here["astro_ph"]) == ("download", "not available")
    assert here["synthetic_sparse"] == "made when used"


# data that the package ships or makes


def test_bundled_sets_are_those_of_scikit_learn():
    from sklearn.datasets import load_breast_cancer, load_diabetes

    for name, loader, labels in (
        ("breast_cancer_sklearn", load_breast_cancer, "binary"),
        ("diabetes_sklearn", load_diabetes, "any"),
    ):
        prepared = prepare.load({"name": name}, labels)
        features, target = loader(return_X_y=True)
        np.testing.assert_allclose(X(prepared), features, rtol=1e-9)
        wanted = 2 * target - 1 if labels == "binary" else target
        assert prepared.y.tolist() == wanted.tolist()


def test_the_synthetic_set_is_the_same_everywhere_and_can_be_learned():
    prepared = prepare.load({"name": "synthetic_sparse"})
    assert prepared.checksum == "2b389cd1c1a1e29b961dd28e113ceef741c0dbc808f094a928d2994fb6a32146"
    assert prepared.shape == (2000, 5000)
    assert abs(prepared.y.mean()) < 0.05
    rows = X(prepared)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-8)
    train, test = rows[:1500], rows[1500:]
    w = train.T @ np.linalg.solve(train @ train.T + np.eye(1500), prepared.y[:1500])
    assert (np.sign(test @ w) == prepared.y[1500:]).mean() > 0.7


# real files, where RRMBENCH_DATA has them

REAL = os.environ.get("RRMBENCH_DATA")


@pytest.fixture
def real(monkeypatch):
    def need(name):
        monkeypatch.setenv("RRMBENCH_DATA", REAL or "")
        if REAL is None or not commands.fetch.locate(catalogue.get(name)):
            pytest.skip(f"the file of '{name}' is not in RRMBENCH_DATA")
        return name

    return need


def test_real_a1a(real):
    prepared = prepare.load({"name": real("a1a")})
    assert prepared.shape == (1605, 123)
    assert prepared.checksum == "eb54c45f1bdb51286f803dd092eb8202b44637a858fc6c4e533a2d64a0d94b4e"
    assert (prepared.X_parts[0].size, int((prepared.y == 1).sum())) == (22249, 395)


def test_real_a9a_with_its_test_part_agrees_with_scikit_learn(real):
    from sklearn.datasets import load_svmlight_files

    prepared = prepare.load({"name": real("a9a"), "test": real("a9a_test")})
    files = []
    for name in ("a9a", "a9a_test"):
        plain = places.cache_root() / name
        with streams.open_text(commands.fetch.locate(catalogue.get(name))) as packed:
            plain.write_bytes(packed.read())
        files.append(str(plain))
    train, y, test, y_test = load_svmlight_files(files, n_features=123)
    assert (X(prepared) == train.toarray()).all() and (X_test(prepared) == test.toarray()).all()
    assert (prepared.y == y).all() and (prepared.test_y == y_test).all()


def test_real_mnist_digit_1_against_the_rest(real):
    prepared = prepare.load({"name": real("mnist_test"), "positive": 1})
    assert prepared.shape == (10000, 780)
    assert int((prepared.y == 1).sum()) == 1135


def test_real_covtype_labels_become_signs(real):
    prepared = prepare.load({"name": real("covtype_sample20k")}, "any")
    assert (prepared.y == -1).sum() == 10272 and (prepared.y == 1).sum() == 9728


def test_real_rcv1_scaled_to_mean_norm_1(real):
    prepared = prepare.load({"name": real("rcv1_subsets"), "scale": "mean_norm"})
    data, _, indptr = prepared.X_parts
    assert prepared.shape == (23765, 47236)
    assert np.sqrt(np.add.reduceat(data**2, indptr[:-1])).mean() == pytest.approx(1, rel=1e-12)
