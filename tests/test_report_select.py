"""`--only` on stored runs: the same texts as for `rrmbench run`, checked against what is there."""

import pytest
import stored

from rrmbench.errors import RrmbenchError
from rrmbench.report.results import runs_of
from rrmbench.report.select import select


@pytest.fixture(name="runs", scope="module")
def make_runs(tmp_path_factory):
    specs = [
        stored.spec(solver=solver, strength=strength, seed=seed)
        for solver in ("apcg", "svrg")
        for strength in (1e-4, 1e-5)
        for seed in (0, 1, 2)
    ]
    specs += [stored.spec(reduction="adapt_reg", sigma="auto"), stored.spec(solver="excessive_gap")]
    specs[-1]["dataset"] = {"path": "/data/my.libsvm.gz"}
    return runs_of(stored.experiment(tmp_path_factory.mktemp("select") / "e", [stored.result(one) for one in specs]))


def test_the_same_key_is_or_different_keys_are_and(runs):
    kept = select(runs, ["solver=svrg", "seed=0", "seed=[2]", "regularizer.strength=1e-5"])
    assert [(run.keys["solver"], run.keys["seed"], run.keys["regularizer.strength"]) for run in kept] == [
        ("svrg", 0, 1e-5),
        ("svrg", 2, 1e-5),
    ]


def test_without_texts_all_runs_stay(runs):
    assert select(runs, ()) == select(runs, None) == runs


@pytest.mark.parametrize(
    ("only", "count"),
    [
        ("reduction.sigma=auto", 1),
        ("stop.passes=20.0", 14),
        ("solver=pdexg", 1),
        ("dataset=my.libsvm", 1),
        ("dataset=my.libsvm.gz", 1),
        ("dataset=/data/my.libsvm.gz", 1),
        ("reduction=none", 13),
    ],
)
def test_components_by_name_and_alias_files_by_stem_name_and_path_and_any_parameter(runs, only, count):
    assert len(select(runs, [only])) == count


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (["solvr=apcg"], "--only solvr=apcg: unknown key 'solvr'; did you mean 'solver'?"),
        (
            ["regularizer.strenth=1"],
            "--only regularizer.strenth=1: no run sets that key; did you mean 'regularizer.strength'?",
        ),
        (["solver=svgr"], "no run matches; did you mean 'svrg'? (the values are: apcg, svrg, excessive_gap)"),
        (["seed=true"], "--only seed=true: no run matches (the values are: 0, 1, 2)"),
        (["seed"], "--only seed: found 'seed', allowed is KEY=VALUE"),
        (["solver=svrg", "reduction=adapt_reg"], "--only solver=svrg reduction=adapt_reg: no run is left of 14"),
    ],
)
def test_what_matches_nothing_is_an_error_with_the_nearest(runs, only, message):
    with pytest.raises(RrmbenchError) as error:
        select(runs, only)
    assert message in str(error.value)
