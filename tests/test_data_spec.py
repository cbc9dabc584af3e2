"""The `dataset:` block: what it takes, and the one message for what it does not."""

import pytest
from four_rows import FOUR, make_folder  # noqa: F401

from rrmbench.data import spec
from rrmbench.errors import RrmbenchError


def test_a_bare_string_is_a_name_or_a_path(folder):
    assert spec.check("a9a") == {"name": "a9a"}
    assert spec.check("four.svm") == {"path": str(folder / "four.svm")}
    assert spec.check({"path": "four.svm", "test": "a9a", "positive": 1.0}) == {
        "path": str(folder / "four.svm"),
        "test": "a9a",
        "positive": 1,
    }


def test_paths_are_taken_from_the_folder_given(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "x.svm").write_text(FOUR)
    assert spec.check({"path": "x.svm"}, folder=other) == {"path": str(other / "x.svm")}


WRONG = {
    "unknown name": ("rcv1_trian", "dataset: found 'rcv1_trian'", "'rcv1_train'"),
    "unknown name in a mapping": ({"name": "mnits"}, "dataset.name: unknown data set 'mnits'", "'mnist'"),
    "unknown key": ({"name": "a9a", "scael": "none"}, "dataset.scael: unknown key", "'scale'"),
    "bad choice": ({"name": "a9a", "scale": "unit_row"}, "dataset.scale: found 'unit_row'", "'unit_rows'"),
    "null": ({"name": "a9a", "scale": None}, "dataset.scale: found None", "'none'"),
    "bad bias": ({"name": "a9a", "bias": True}, "dataset.bias: found True", "'regularized'"),
    "both sources": ({"name": "a9a", "path": "four.svm"}, "dataset: found both", "exactly one"),
    "no source": ({"scale": "none"}, "dataset: found neither", "exactly one"),
    "missing file": ({"path": "none.svm"}, "dataset.path: no such file", "none.svm"),
    "missing test": ({"path": "four.svm", "test": "none.svm"}, "dataset.test: found", "none.svm"),
    "subset of nothing": ({"name": "a9a", "subset": 0}, "dataset.subset: found 0", "allowed is a number of at least 1"),
    "subset is a word": ({"name": "a9a", "subset": "all"}, "dataset.subset: found 'all'", "allowed is a whole number"),
    "flip beyond 1": ({"name": "a9a", "flip": 1.5}, "dataset.flip: found 1.5", "allowed is a number of at most 1"),
    "split of all": ({"name": "a9a", "split": 1.0}, "dataset.split: found 1.0", "less than 1"),
    "split of nan": ({"name": "a9a", "split": float("nan")}, "dataset.split: found nan", "allowed is a number"),
    "seed without use": ({"name": "a9a", "flip_seed": 1}, "dataset.flip_seed: has no effect", "'flip'"),
    "two test parts": ({"name": "a9a", "split": 0.5, "test": "a9a_test"}, "dataset: found both", "'split'"),
    "base of a name": ({"name": "a9a", "zero_based": True}, "dataset.zero_based: only for a path", "'a9a'"),
    "a number": (7, "dataset: found 7", "a path"),
    "inside": ({"path": "four.svm", "inside": {"name": "a9a"}}, "dataset.inside: unknown key 'inside'", "allowed"),
    "a key that is no text": ({"path": "four.svm", 5: 1}, "dataset.5: unknown key '5'", "allowed"),
    "a key of 5000 digits": ({"path": "four.svm", 10**5000: 1}, "dataset.<int>: unknown key", "allowed"),
    "a label of 400 digits": ({"path": "four.svm", "positive": 10**400}, "dataset.positive: found 1000", "of at most"),
    "a label of 5000 digits": ({"path": "four.svm", "positive": 10**5000}, "dataset.positive: found <int>", "at most"),
    "an infinite label": ({"path": "four.svm", "positive": float("inf")}, "dataset.positive: found inf", "finite"),
    "a list of a huge number": ({"path": "four.svm", "subset": [10**5000]}, "dataset.subset: found <list>", "a whole"),
    "a huge subset": ({"path": "four.svm", "subset": 10**400}, "dataset.subset: found 1000", "64 bits"),
    "a huge split": ({"path": "four.svm", "split": 10**400}, "dataset.split: found 1000", "number"),
    "a huge gamma": (
        {"path": "four.svm", "kernel": {"name": "rbf", "gamma": 10**5000}},
        "dataset.kernel.gamma:",
        "num",
    ),
    "a long name": ("x" * 300, "dataset: found 'xxx", "File name too long"),
    "a long path": ({"path": "x" * 300}, "dataset.path: found 'xxx", "File name too long"),
    "a path of many folders": ({"path": "y/" * 5000}, "dataset.path: found 'y/", "File name too long"),
    "a long name in a mapping": ({"name": "x" * 300}, "dataset.name: unknown data set 'xxx", "list datasets"),
    "a zero byte": ({"path": "a\0b"}, "dataset.path: no such file", "a\\x00b"),
    "a zero byte in a test part": ({"path": "four.svm", "test": "a\0b"}, "dataset.test: found 'a\\x00b'", "nor a file"),
    "a lone surrogate": ({"path": "a\ud800"}, "dataset.path: no such file", "a\\ud800"),
    "a home of nobody": ({"path": "~no_such_user/x"}, "dataset.path: found '~no_such_user/x'", "home"),
    "a folder": ({"path": "."}, "dataset.path: a folder, not a file", "/"),
    "a folder by a bare text": ("..", "dataset: found '..'", "nor a file"),
    "a file in a file": ({"path": "four.svm/x"}, "dataset.path: no such file", "four.svm/x"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_block_is_refused_with_the_key_and_what_is_allowed(case):
    block, start, also = WRONG[case]
    with pytest.raises(RrmbenchError) as error:
        spec.check(block)
    assert str(error.value).startswith(start)
    assert also in str(error.value)
