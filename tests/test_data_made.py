"""Data sets made by functions: plug-ins through the command line, what a function may return, and the simulator."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401, a fixture
from scipy import sparse

from rrmbench import plugin_files, registry
from rrmbench.data import arrays, generated, prepare
from rrmbench.data.generators.simulated import simulated
from rrmbench.errors import RrmbenchError

HEAD = "import numpy as np\nfrom scipy import sparse\nimport rrmbench\n"
BLOBS = '''
@rrmbench.dataset
def blobs(*, n=40, seed=0):
    """Two clouds of points."""
    print("not for stdout")
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 3)) + y[:, None], y
'''


def plugin(folder, name, text):
    (folder / name).write_text(HEAD + text)
    return {"path": str(folder / name)}


def loaded(folder, name, text, **keys):
    block = plugin(folder, name, text)
    plugin_files.load_plugin(block["path"])
    return prepare.load(block | keys, "any")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path


# through the command line


def test_a_configuration_names_a_function_and_its_parameters(lab):
    block = plugin(lab.folder, "blobs_file.py", BLOBS)
    config = lab.config(dataset={**block, "n": [20, 40], "scale": "max_abs"}, loss="logistic")
    ran = lab.run(config)
    assert ran.code == 0 and "not for stdout" not in ran.out, ran.err
    found = lab.results()
    assert {result.spec["dataset"]["n"] for result in found} == {20, 40}
    assert {result.spec["dataset"]["name"] for result in found} == {"blobs"}
    assert len({result.data for result in found}) == 2
    assert "n=20" in lab.cli("show", lab.out).out
    before = lab.files()
    assert lab.run(config).code == 0 and lab.files() == before
    # another text that makes the same arrays is the same data
    (lab.folder / "blobs_file.py").write_text(HEAD + BLOBS.replace("% 2", "% 2 + 0"))
    assert lab.command("run", config, "-o", lab.out).code == 0 and lab.files() == before


@pytest.mark.exhaustive
def test_results_of_a_function_are_verified_with_trust_only(lab):
    block = plugin(lab.folder, "trusted.py", BLOBS.replace("blobs", "trusted_blobs"))
    config = lab.config(dataset=block, loss="logistic")
    assert lab.run(config).code == 0
    # as another process, in which the file is not loaded
    ran = lab.command("verify", lab.out)
    assert ran.code == 1 and "unverified" in ran.out and "--trust" in ran.out
    assert lab.command("verify", lab.out, "--trust").code == 0
    text = HEAD + BLOBS.replace("blobs", "trusted_blobs").replace("% 2", "% 2 * 3")
    (lab.folder / "trusted.py").write_text(text)
    ran = lab.command("verify", lab.out, "--trust")
    assert ran.code == 1 and "the data file has changed since" in ran.out


def test_mistakes_name_file_and_key(lab):
    two = plugin(lab.folder, "two.py", BLOBS.replace("blobs", "one") + BLOBS.replace("blobs", "other"))
    taken = plugin(lab.folder, "taken.py", BLOBS.replace("blobs", "taken").replace("n=40", "n=40, scale=1"))
    none = plugin(lab.folder, "none.py", "")
    for dataset, message in (
        (two, "registers the dataset one, other; needed is the name of one"),
        (two | {"name": "one", "m": 3}, "unknown key 'm'"),
        (two | {"name": "one", "n": 2.5}, "n: found 2.5, allowed is a whole number"),
        (two | {"name": "thre"}, "registers the dataset one, other"),
        (two | {"name": "one", "zero_based": True}, "zero_based: is for files, and 'one' is made by a function"),
        (taken, "the parameter 'scale' of the data set 'taken' has the name of a key that every data set has"),
        (none, "registers no dataset"),
        ({"name": "simulatd"}, "unknown data set 'simulatd'; did you mean 'simulated'?"),
        ({"name": "wine.scale"}, "unknown data set 'wine.scale'; did you mean 'wine'?"),
    ):
        ran = lab.cli("validate", lab.config(dataset=dataset))
        assert ran.code == 2 and message in ran.err.replace("\n", " "), ran.err


def test_brackets_in_the_name_of_a_folder_are_no_markup(lab, monkeypatch):
    folder = lab.folder / "a[red]b"
    folder.mkdir()
    (folder / "heart_scale").write_text("+1 1:1\n-1 2:1\n")
    monkeypatch.setenv("RRMBENCH_DATA", str(folder))
    monkeypatch.setenv("COLUMNS", "500")
    for command in ("data", "list"), ("list", "datasets"):
        assert "a[red]b" in "".join(lab.cli(*command).out.split())


def test_list_and_info_show_made_sets(lab):
    assert "simulated" in lab.cli("list", "datasets").out
    plugin(lab.folder, "shown.py", BLOBS.replace("blobs", "shown"))
    ran = lab.cli("data", "info", lab.folder / "shown.py", "--set", "n=12")
    assert ran.code == 0 and "12" in ran.out
    assert "allowed is KEY=VALUE" in lab.cli("data", "info", "simulated", "--set", "n").err
    refused = lab.cli("data", "add", lab.folder / "shown.py", "--name", "mine")
    assert refused.code == 2 and "allowed is a file of data; a configuration names the function" in refused.err
    assert "made here" in lab.cli("data", "get", "simulated").out


def test_dry_run_estimates_the_cost_of_made_data(lab):
    ran = lab.cli("run", lab.config(dataset={"name": "simulated", "n": 10, "d": 4}), "--dry-run")
    assert ran.code == 0 and "unknown" not in ran.out


# what a function may return


def test_dense_and_sparse_arrays_are_the_same_data(cache):
    text = """
@rrmbench.dataset
def either(*, kind: str = "dense"):
    X = np.array([[0, 2.0], [1, 0], [0, 3]])
    made = {"dense": X, "csc": sparse.csc_matrix(X), "coo": sparse.coo_array(X), "ints": X.astype(int)}[kind]
    return made, [1, 2, 3]
"""
    found = [loaded(cache, "either.py", text, kind=kind) for kind in ("dense", "csc", "coo", "ints")]
    assert len({one.checksum for one in found}) == 1
    assert found[0].shape == (3, 2) and found[0].y.tolist() == [1, 2, 3]


def test_a_test_part_qids_and_a_task(cache):
    text = """
@rrmbench.dataset
def parts(*, n=6):
    X = np.arange(1.0, 2 * n + 1).reshape(n, 2)
    y, qid = np.arange(n) % 2, np.arange(n) // 2
    return {"X": X, "y": y, "qid": qid, "X_test": X[:2], "y_test": y[:2], "qid_test": qid[:2], "task": "binary"}
"""
    found = loaded(cache, "parts.py", text)
    assert found.y.tolist() == [-1, 1] * 3 and found.test_y.tolist() == [-1, 1]
    assert (found.test_shape, found.info["task"]) == ((2, 2), "binary")
    by_task = loaded(cache, "parts.py", text, tasks="qid")
    assert by_task.info["model"] == [2, 3]
    with pytest.raises(RrmbenchError, match=r"it has a test part of its own, and 'split'"):
        loaded(cache, "parts.py", text, split=0.5)


def test_targets_of_several_columns(cache):
    text = """
@rrmbench.dataset
def targets(*, n=4):
    return np.eye(n), np.arange(2.0 * n).reshape(n, 2)
"""
    plugin(cache, "targets.py", text)
    plugin_files.load_plugin(cache / "targets.py")
    assert prepare.load({"name": "targets"}, "targets").y.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def frame(columns):
    return pd.DataFrame(np.eye(2), columns=list(columns))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (None, "found NoneType, allowed is"),
        ((np.eye(2),), "found tuple, allowed is"),
        ({"X": np.eye(2)}, "found no y"),
        ({"X": np.eye(2), "y": [0, 1], "z": 1}, "found 'z'"),
        ({"X": np.eye(2), "y": [0, 1], "X_test": np.eye(2)}, "found no y_test"),
        ({"X": np.eye(2), "y": [0, 1], "task": "regresion"}, "did you mean 'regression'"),
        ((np.eye(2), [0, 1, 2]), "found 2 rows of X and 3 of y"),
        ((np.eye(2), ["a", 1]), "y: found list, allowed is a 1-dimensional or 2-dimensional array of numbers"),
        ((np.eye(2), ["a", " "]), "y[1]: the label is missing"),
        ((np.array([["a", 1]], dtype=object), [0]), "X: found ndarray of object"),
        ((np.ones(3), [0, 1, 2]), "X: found ndarray of float64 of the shape (3,)"),
        (([[1, 2], [3]], [0, 1]), "X: found list"),
        ((np.array([[1.0, np.nan]]), [0]), "X[0, 1]: found nan, which is not finite"),
        ((np.ma.masked_equal([[1.0, 9.0]], 9.0), [0]), "X: found masked entries"),
        ((np.eye(2), np.ma.masked_equal([1.0, 9.0], 9.0)), "y: found masked entries"),
        (([np.ma.masked_equal([1.0, 9.0], 9.0), [1.0, 2.0]], [0, 1]), "X: found masked entries"),
        ((sparse.csr_array([[1.0, np.inf]]), [0]), "X[0, 1]: found inf, which is not finite"),
        ((np.zeros((2, 3)), [0, 1]), "found 2 x 3 with 0 values other than 0"),
        ((np.eye(2) * 1j, [0, 1]), "X: found ndarray of complex128"),
        ({"X": np.eye(2), "y": [0, 1], "qid": [1.5, 2]}, "qid: found list, allowed are 2 whole numbers"),
        (
            {"X": np.eye(2), "y": [0, 1], "X_test": np.ones((1, 3)), "y_test": [1]},
            "found 2 columns of X and 3 of X_test",
        ),
        (
            {"X": frame("ab"), "y": [0, 1], "X_test": frame("ba"), "y_test": [0, 1]},
            "X_test: found the column 'b' where the training part has 'a'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(made, message):
    with pytest.raises(RrmbenchError) as refused:
        arrays.checked(made, "here")
    assert message in str(refused.value) and str(refused.value).startswith("here")


def test_more_columns_than_indices_can_number_are_refused(cache):
    text = """
@rrmbench.dataset
def wide(*, d=2):
    return sparse.csr_array((np.ones(2), ([0, 1], [0, d - 1])), shape=(2, d)), [-1, 1]
"""
    widest = loaded(cache, "wide.py", text, d=2**31 - 1).operator()
    assert widest.rows.indices.tolist() == [0, 2**31 - 2]
    for d, bias in ((2**31, "none"), (2**32 + 7, "none"), (2**31 - 1, "regularized"), (2**31 - 1, "free")):
        columns = d + (bias != "none")
        found = f"'wide': found {columns} columns, allowed are at most 2147483647, that of a bias included$"
        with pytest.raises(RrmbenchError, match=found):
            loaded(cache, "wide.py", text, d=d, bias=bias)


def test_a_function_without_a_seed_or_that_fails_is_refused(cache):
    head = "@rrmbench.dataset\ndef "
    mute = "class Mute(Exception):\n    def __str__(self):\n        return 1 / 0\n\n"
    for name, body, message in (
        ("unseeded", "rng = np.random.default_rng()\n    return rng.normal(size=(3, 2)), [1, 2, 3]", "the second time"),
        ("counting", "COUNT.append(1)\n    return np.full((2, 2), len(COUNT)), [1, 2]", "the second time"),
        ("leaving", "raise SystemExit(3)", "its function failed: SystemExit: 3"),
        ("ending_data", "import os\n    os._exit(0)", r"its function failed: SystemExit: os._exit\(0\)"),
        ("odd", "raise BaseException('no')", "its function failed: BaseException: no"),
        ("wrong", "return 1 / 0", "its function failed: ZeroDivisionError"),
        ("wordless", "raise MemoryError", "its function failed: MemoryError$"),
        ("mute", "raise Mute", "its function failed: Mute: its message cannot be had, ZeroDivisionError"),
    ):
        with pytest.raises(RrmbenchError, match=f"data set '{name}': .*{message}"):
            loaded(cache, f"{name}.py", f"COUNT = []\n{mute}{head}{name}():\n    {body}\n")


def test_a_function_that_leaves_the_working_directory_moves_no_results(lab, monkeypatch):
    monkeypatch.chdir(lab.folder)
    (lab.folder / "moving.py").write_text(
        f"import os\nimport numpy as np\nimport rrmbench\nMARK = '{lab.mark}'  # of which there are no data yet\n"
        "@rrmbench.dataset\ndef moving():\n"
        "    os.chdir(os.sep)\n    return np.eye(4), [1.0, -1.0, 1.0, -1.0]\n"
    )
    config = lab.config(dataset={"path": "moving.py", "name": "moving"})
    assert lab.cli("run", config, "-o", "here").code == 0
    assert (lab.folder / "here" / "toy" / "manifest.json").is_file()


def test_code_of_a_function_that_no_digest_would_tell_of_is_refused(cache):
    imports = "    import importlib\n    importlib.import_module('be' + 'side')\n"
    (cache / "beside.py").write_text("")
    with pytest.raises(RrmbenchError, match=r"beside\.py is imported inside a function"):
        loaded(cache, "late_file.py", BLOBS.replace("blobs", "late").replace("    print", imports + "    print"))


def test_a_function_that_was_edited_after_its_import_is_refused(cache):
    text = BLOBS.replace("blobs", "edited")
    loaded(cache, "edited_file.py", text)
    block = plugin(cache, "edited_file.py", text.replace("n=40", "n=41"))
    with pytest.raises(RrmbenchError, match=r"edited_file\.py has changed since this process imported it"):
        prepare.load(block, "any")


def test_a_function_that_changes_with_time_is_noticed_by_a_second_look(cache, monkeypatch):
    text = "import os\n@rrmbench.dataset\ndef drifting():\n    return np.eye(2) * float(os.environ['DRIFT']), [1, 2]\n"
    monkeypatch.setenv("DRIFT", "1")
    first = loaded(cache, "drifting.py", text)
    monkeypatch.setenv("DRIFT", "2")
    assert loaded(cache, "drifting.py", text).checksum == first.checksum  # from the cache, and the arrays are those
    with pytest.raises(RrmbenchError, match="makes other arrays now"):
        prepare.from_source({"name": "drifting"}, "any")


def test_a_parameter_that_is_a_file_counts_with_its_content(cache):
    text = """
from rrmbench.parameters import InputFile

@rrmbench.dataset
def from_file(table: InputFile):
    rows = np.loadtxt(table)
    return rows[:, 1:], rows[:, 0]
"""
    (cache / "table.txt").write_text("1 2 3\n4 5 6\n")
    first = loaded(cache, "from_file.py", text, table=str(cache / "table.txt"))
    os.utime(cache / "table.txt", ns=(0, 0))
    (cache / "table.txt").write_text("1 2 3\n4 5 7\n")
    second = loaded(cache, "from_file.py", text, table=str(cache / "table.txt"))
    assert first.checksum != second.checksum and second.X_parts[0].tolist() == [2, 3, 5, 7]


def test_a_function_of_a_notebook_is_made_anew(cache):
    space = {"level": 1.0}
    code = "import rrmbench, numpy\n@rrmbench.dataset\ndef cell():\n    return numpy.eye(2) * level, [1, 2]\n"
    exec(code, space | {"__name__": "__main__"})
    assert prepare.load({"name": "cell"}, "any").X_parts[0].tolist() == [1, 1]
    exec(code, space | {"level": 2.0, "__name__": "__main__"})
    assert prepare.load({"name": "cell"}, "any").X_parts[0].tolist() == [2, 2]


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 5))
def test_arrays_survive_their_file(seed, n, d):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0.0)
    X[0, 0] = 1.0
    (part,) = arrays.checked({"X": X, "y": rng.normal(size=n), "qid": np.arange(n)}, "here")
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        arrays.write(file.name, [part])
        (found,) = arrays.read(file.name)
    assert (found.X.toarray() == X).all() and (found.labels == part.labels).all() and (found.qid == part.qid).all()


# the shipped functions


@pytest.mark.parametrize("name", [n for n in registry.names("dataset") if not registry.lookup("dataset", n).network])
def test_every_shipped_function_makes_the_same_data_twice(name, cache):
    component = registry.lookup("dataset", name)
    if not component.build.__module__.startswith("rrmbench."):
        pytest.skip("a plug-in of another test")
    assert component.build.__doc__
    made = generated.Generated(component, {})
    assert made.checksum_anew() == made.checksum_anew()
    json.dumps([p.default for p in component.parameters.values()])


def test_simulated_columns_have_the_correlation_of_the_formula():
    for rho in (0.0, 0.8, -0.5):
        X = simulated(n=20000, d=6, rho=rho, seed=3)["X"].toarray()
        wanted = rho ** abs(np.subtract.outer(np.arange(6), np.arange(6)))
        assert np.abs(np.cov(X.T) - wanted).max() < 0.05
        assert np.abs(X.mean(axis=0)).max() < 0.03
    X = simulated(n=20000, d=4, rho=0.8, X_density=0.25, seed=3)["X"]
    assert abs(X.nnz / 80000 - 0.25) < 0.01
    wanted = np.where(np.eye(4), 0.25, 0.25**2 * 0.8 ** abs(np.subtract.outer(np.arange(4), np.arange(4))))
    assert np.abs(np.cov(X.toarray().T) - wanted).max() < 0.03


@given(st.integers(0, 2**62), st.integers(5, 40), st.integers(2, 20), st.floats(0.05, 1), st.floats(0.1, 100))
def test_simulated_targets_have_the_signal_and_the_density_of_the_formula(seed, n, d, density, snr):
    made = simulated(n=n, d=d, density=density, snr=snr, seed=seed)
    exact = simulated(n=n, d=d, density=density, snr=np.inf, seed=seed)  # no noise
    assert (made["X"] != exact["X"]).nnz == 0
    noise = made["y"] - exact["y"]
    np.testing.assert_allclose(np.linalg.norm(exact["y"]) / np.linalg.norm(noise), snr, rtol=1e-6)
    if n > d:
        w = np.linalg.lstsq(made["X"].toarray(), exact["y"], rcond=None)[0]
        np.testing.assert_allclose(made["X"] @ w, exact["y"], atol=1e-6)
        assert (abs(w) > 1e-5).sum() <= max(1, round(density * d))


def test_simulated_labels():
    assert set(simulated(n=50, d=5, task="classification")["y"]) == {-1, 1}
    assert set(simulated(n=80, d=5, task="multiclass", classes=4)["y"]) == {0, 1, 2, 3}
    with pytest.raises(RrmbenchError, match="2 rows for 3 classes"):
        simulated(n=2, task="multiclass")


def test_simulated_data_are_the_same_everywhere(cache):
    assert prepare.load({"name": "simulated"}, "any").checksum == (
        "80f8336e1f9639aadcd0759292a39899db29a4a827478abacec07ed876f2de59"
    )
