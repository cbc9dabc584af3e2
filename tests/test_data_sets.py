"""The registry of data sets and its commands; sets that are shipped or made, and real ones."""

import os
import shutil

import numpy as np
import pytest
from four_rows import (
    X,
    X_test,
    make_folder,  # noqa: F401
)

from rrmbench.data import catalogue, commands, places, prepare, streams
from rrmbench.errors import RrmbenchError

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


@pytest.mark.parametrize(
    "name", ["", ".", "..", "/", "a1a.yaml", "../datasets/a1a", "a1a/", "A1A", "\0", "\ud800", "x" * 5000]
)
def test_a_name_is_the_stem_of_a_file_in_the_registry_and_nothing_else(name):
    assert catalogue.file_of(name) is None and name not in catalogue.names()
    with pytest.raises(RrmbenchError, match="unknown data set"):
        catalogue.get(name)


def test_a_data_set_of_the_users_own_comes_before_a_shipped_one(folder):
    assert all(catalogue.file_of(name).stem == name for name in catalogue.names())
    own = places.own_registry()
    own.mkdir(parents=True, exist_ok=True)
    before = catalogue.names()
    for name in "a1a", "mine":
        (own / f"{name}.yaml").write_text(f"title: own {name}\ntask: binary\nn: 4\nd: 3\nfile: {{name: four}}\n")
        assert catalogue.get(name).title == f"own {name}"
    assert catalogue.names() == sorted({*before, "mine"})


def test_add_describes_a_private_file(folder):
    file = commands.add("four.svm", "my_four")
    assert file == folder / "cache" / "datasets" / "my_four.yaml"
    assert prepare.load({"name": "my_four"}).y.tolist() == [-1, 1, -1, 1]
    facts = commands.info("my_four")
    assert (facts["n"], facts["d"], facts["nonzeros"], facts["labels"]) == (4, 3, 5, "1, 2")
    assert "stored zeros" not in facts
    (folder / "zeros.svm").write_text("1 1:0 2:0 3:1\n-1 1:0 2:3\n")
    zeros = commands.info("zeros.svm")
    assert (zeros["nonzeros"], zeros["stored zeros"], zeros["density"]) == (2, 3, pytest.approx(2 / 6))
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
        ("four.svm", "simulated", "name: 'simulated' is a function that makes data"),
        ("four.svm", "null", "name: found 'null', which is no text in a configuration"),
        ("four.svm", "1e5", "name: found '1e5', which is no text in a configuration"),
    ):
        with pytest.raises(RrmbenchError, match=message):
            commands.add(path, name)


def test_add_writes_nothing_that_cannot_be_read_again(folder):
    with pytest.raises(RrmbenchError, match=r"mine\.yaml:1:\d+: found the character '\\x1b'"):
        commands.add("four.svm", "mine", title="a \x1b[31m red one")
    shutil.copy("four.svm", "2e3\a")
    with pytest.raises(RrmbenchError, match=r"found the character '\\x07', allowed are texts without it"):
        commands.add("2e3\a", "mine")
    assert "mine" not in catalogue.names()
    commands.add("four.svm", "mine", title="1e5")
    assert catalogue.get("mine").title == "1e5"


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


@pytest.mark.exhaustive
def test_real_rcv1_scaled_to_mean_norm_1(real):
    prepared = prepare.load({"name": real("rcv1_subsets"), "scale": "mean_norm"})
    data, _, indptr = prepared.X_parts
    assert prepared.shape == (23765, 47236)
    assert np.sqrt(np.add.reduceat(data**2, indptr[:-1])).mean() == pytest.approx(1, rel=1e-12)
