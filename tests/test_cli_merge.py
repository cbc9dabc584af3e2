"""`rrmbench merge`: records of several folders in one, and what strangers may have put into them."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import stored
from lab import make_lab  # noqa: F401

from rrmbench.bench import merging
from rrmbench.bench.bounds import Bounds
from rrmbench.bench.store import Experiment
from rrmbench.files import is_locked


def part(lab, folder, results, **manifest):
    """An experiment `toy` in a folder of its own, whose references are what its records say."""
    experiment = stored.experiment(lab.folder / folder / "toy", results)
    for reference in (experiment.directory / "references").iterdir():
        reference.unlink()
    for result in results:
        spec = {kind: result.spec[kind] for kind in ("dataset", "loss", "regularizer")}
        experiment.improve_reference(result.problem, spec, Bounds.of(result))
    experiment.write_manifest(experiment.manifest() | manifest)
    return lab.folder / folder


def seeds(*numbers, **about):
    return [stored.result(stored.spec(seed=seed), **about) for seed in numbers]


def joined(lab):
    return Experiment(lab.folder / "all" / "toy")


def test_folders_are_joined_and_what_differs_is_named(lab):
    here, there, both = ({"spec": stored.spec(solver=name), "reason": "it is not here"} for name in ("a", "b", "c"))
    about = {"config": {"seed": [0, 1]}, "environments": {"a": {"host": "x"}}, "skipped": [here, both]}
    one = part(lab, "one", seeds(0, 1), **about)
    about = {"config": {"seed": [1, 2]}, "environments": {"b": {"host": "y"}}, "skipped": [both, there]}
    two = part(lab, "two", seeds(1, 2), **about)
    for _ in range(2):  # again into the same folder changes nothing
        ran = lab.cli("merge", one, two, "-o", lab.folder / "all")
        assert ran.code == 0, ran.err
        assert "seed: [0, 1] in " in ran.out
        found = joined(lab)
        assert sorted(r.spec["seed"] for r in found.results()) == [0, 1, 2]
        manifest = found.manifest()
        assert manifest["environments"] == {"a": {"host": "x"}, "b": {"host": "y"}}
        assert manifest["config"] == {"seed": [0, 1]}
        assert manifest["skipped"] == [here, both, there]
        assert lab.cli("show", lab.folder / "all").code == 0
    assert "0 results copied, 3 were there" in ran.out
    for path in (lab.folder / "all").rglob("*"):
        assert path.lstat().st_nlink == 1 or path.is_dir()
        assert not path.is_symlink()


@pytest.mark.parametrize("inside", ["one/toy", "one/toy/runs", "one/toy/new/folder"])
def test_nothing_is_merged_into_a_folder_inside_of_an_experiment(lab, inside):
    one = part(lab, "one", seeds(0))
    ran = lab.cli("merge", one, "-o", lab.folder / inside)
    assert ran.code == 2
    assert f"{one}/toy is an experiment; give the folder that it is in, {one}" in ran.err
    assert {path.name for path in (one / "toy").iterdir()} == {"manifest.json", "references", "runs"}


def test_of_two_records_of_a_run_the_newest_stays(lab):
    (old,) = seeds(0, created="2026-01-01T00:00:00+00:00")
    (slower,) = seeds(1, created="2026-01-01T00:00:00+00:00")
    one = part(lab, "one", [old, slower])
    trace = stored.trace(rate=0.4)
    newer = replace(old, trace=trace, created="2026-02-01T00:00:00+00:00", w=old.w, b=old.b)
    again = replace(
        slower, trace=slower.trace | {"seconds": slower.trace["seconds"] * 2}, created="2026-03-01", w=old.w, b=old.b
    )
    two = part(lab, "two", [newer, again])
    ran = lab.cli("merge", one, two, "-o", lab.folder / "all")
    assert ran.code == 0, ran.err
    assert f"run {old.run}: 2 records have other numbers; kept that of {two}/toy (done, 2026-02" in ran.out
    assert "1 runs were executed more than once with the same numbers" in ran.out
    kept = {r.spec["seed"]: r for r in joined(lab).results()}
    assert np.array_equal(kept[0].trace["primal"], trace["primal"])
    assert kept[1].created == "2026-03-01"


@pytest.mark.parametrize("status", ["timeout", "killed", "failed", "interrupted"])
def test_a_newer_record_that_was_cut_short_replaces_none(lab, status):
    (whole,) = seeds(0, created="2026-01-01T00:00:00+00:00")
    short = replace(
        whole, trace=stored.trace(passes=3), status=status, created="2026-02-01T00:00:00+00:00", w=whole.w, b=whole.b
    )
    one, two = part(lab, "one", [whole]), part(lab, "two", [short])
    for order in ([one, two], [two, one]):
        ran = lab.cli("merge", *order, "-o", lab.folder / "all")
        assert ran.code == 0, ran.err
        assert [r.status for r in joined(lab).results()] == ["done"]
    assert lab.cli("merge", two, "-o", lab.folder / "one").code == 0
    assert [r.status for r in Experiment(lab.folder / "one" / "toy").results()] == ["done"]


def test_a_timed_record_stays_though_another_is_newer(lab):
    timing = {"repeats": 3, "pinned": 0, "spread": 0.1}
    (timed,) = seeds(0, created="2026-01-01T00:00:00+00:00", timing=timing)
    newer = replace(timed, info={}, created="2026-02-01T00:00:00+00:00", w=timed.w, b=timed.b)
    ran = lab.cli("merge", part(lab, "one", [timed]), part(lab, "two", [newer]), "-o", lab.folder / "all")
    assert ran.code == 0, ran.err
    assert [r.info.get("timing") for r in joined(lab).results()] == [timing]


EDITED = """
import numpy as np
import rrmbench

@rrmbench.solver
def edited(problem, start, rng):
    yield rrmbench.Iterate(np.zeros(problem.shape))
    yield rrmbench.Iterate(np.full(problem.shape, {factor} / 10), passes=5.0)
"""


def test_of_two_codes_of_one_spec_the_newer_is_named_and_both_stay(lab):
    config = lab.config(solver={"path": "edited.py", "name": "edited"})
    for number, folder in enumerate(("one", "two"), 1):
        (lab.folder / "edited.py").write_text(EDITED.format(factor=number))
        ran = lab.cli("run", config, "-o", lab.folder / folder)
        assert ran.code == 0, ran.err
    old, new = (Experiment(lab.folder / folder / "toy").results()[0] for folder in ("one", "two"))
    assert old.spec_id == new.spec_id and old.run != new.run and old.created < new.created
    for order in ([old, new], [new, old]):
        folders = [lab.folder / ("one" if result is old else "two") for result in order]
        output = lab.folder / f"{folders[0].name}_first"
        ran = lab.cli("merge", *folders, "-o", output)
        assert ran.code == 0, ran.err
        said = f"runs {order[0].run} and {order[1].run} are of one spec and of two codes; the manifest names the newer"
        assert f"{said} one, {new.run} ({new.created})\n" in ran.out
        merged = Experiment(output / "toy")
        assert merged.run_ids() == {old.run, new.run}
        assert [result.w[0] for result in merged.results()] == [0.2]


def test_references_take_the_best_that_a_record_supports(lab):
    (loose,), (tight,) = (
        [stored.result(stored.spec(seed=seed), stored.trace(passes=passes))] for seed, passes in ((0, 5), (1, 20))
    )
    folders = [part(lab, name, [result]) for name, result in (("one", loose), ("two", tight))]
    for folder, result in zip(folders, (loose, tight), strict=True):
        file = folder / "toy" / "references" / f"{result.problem}.json"
        primal, dual = result.trace["primal"].min(), result.trace["dual"].max()
        file.write_text(json.dumps(json.loads(file.read_text()) | {"primal": primal, "dual": dual}))
    assert lab.cli("merge", *folders, "-o", lab.folder / "all").code == 0
    best = joined(lab).reference(loose.problem)
    assert (best["primal"], best["dual"]) == (tight.trace["primal"].min(), tight.trace["dual"].max())
    assert best["dual_run"] == tight.run
    file.write_text(json.dumps(json.loads(file.read_text()) | {"dual": 0.2500001}))  # above what its trace has
    ran = lab.cli("merge", *folders, "-o", lab.folder / "forged")
    assert ran.code == 1
    assert "no record here supports dual = 0.2500001" in ran.err
    assert Experiment(lab.folder / "forged" / "toy").reference(loose.problem)["dual"] == tight.trace["dual"].max()


def test_a_run_of_another_problem_supports_no_reference(lab):
    (one,), other = seeds(0), stored.result(stored.spec(dataset="other"), stored.trace(2.0))
    folder = part(lab, "one", [one, other])
    file = folder / "toy" / "references" / f"{one.problem}.json"
    better = {"dual": other.trace["dual"].max(), "dual_run": other.run}
    file.write_text(json.dumps(json.loads(file.read_text()) | better))
    (merged,) = merging.merge([folder], lab.folder / "all")
    (fault,) = merged.faults
    assert f"{file}: no record here supports dual = " in fault and f"(run {other.run})" in fault


def test_references_rest_on_the_records_that_stay_and_not_on_those_that_they_replace(lab):
    (tight,) = seeds(0, created="2026-01-01T00:00:00+00:00")
    loose = replace(tight, trace=stored.trace(passes=5), created="2026-02-01T00:00:00+00:00", w=tight.w, b=tight.b)
    one, two = part(lab, "one", [tight]), part(lab, "two", [loose])
    for sources in ([one, two], [two, one], [one], [lab.folder / "all"]):  # the last two into what is there
        output = lab.folder / ("again" if sources == [lab.folder / "all"] else "all")
        ran = lab.cli("merge", *sources, "-o", output)
        assert (ran.code, ran.err) == (0, "")
        known = Experiment(output / "toy").reference(loose.problem)
        assert (known["primal"], known["dual"]) == Bounds.of(loose)[1:3]
    file = lab.folder / "all" / "toy" / "references" / f"{loose.problem}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"dual": 0.2499}))  # what no record has
    for code in 1, 0:  # what is left out is gone
        assert lab.cli("merge", one, "-o", lab.folder / "all").code == code
        assert joined(lab).reference(loose.problem)["dual"] == Bounds.of(loose).dual


def test_bounds_that_contradict_each_other_are_named(lab):
    (one,), (two,) = seeds(0), seeds(1)
    above = {name: two.trace[name] + 1.0 for name in ("primal", "dual")}  # another optimum
    folders = [part(lab, "one", [one]), part(lab, "two", [replace(two, trace=two.trace | above, w=two.w, b=two.b)])]
    for folder, shift in zip(folders, (0.0, 1.0), strict=True):
        file = folder / "toy" / "references" / f"{one.problem}.json"
        bounds = {"primal": stored.OPTIMUM + shift + 1e-3, "dual": stored.OPTIMUM + shift - 1e-3}
        file.write_text(json.dumps(json.loads(file.read_text()) | bounds))
    ran = lab.cli("merge", *folders, "-o", lab.folder / "all")
    assert ran.code == 1
    assert "is below the dual bound D = " in ran.err
    assert f"the bound of {folders[1]}/toy is left out" in ran.err
    assert len(joined(lab).run_ids()) == 2


def test_what_strangers_put_into_results(lab):
    one, two = part(lab, "one", seeds(0, 1)), part(lab, "two", seeds(2))
    damaged = two / "toy" / "runs" / f"{'a' * 16}-0000aaaa.npz"
    damaged.write_bytes(b"PK no archive")
    ran = lab.cli("merge", one, two, "-o", lab.folder / "all")
    assert ran.code == 1
    assert f"{damaged}: not a readable result" in ran.err
    assert len(joined(lab).run_ids()) == 3
    secret = lab.folder / "secret"
    secret.write_text("{}")
    for place in "runs/" + damaged.name, "manifest.json":
        path = two / "toy" / place
        path.unlink()
        path.symlink_to(secret)
        ran = lab.cli("merge", one, two, "-o", lab.folder / f"not_{path.stem}")
        assert (ran.code, ran.out) == (2, "")
        assert "is a symbolic link" in ran.err
        assert not (lab.folder / f"not_{path.stem}").exists()  # nothing is written before all is read


@pytest.mark.parametrize("name", ["../up", "/abs", ".hidden", "a/b", 7])
def test_a_name_that_leads_elsewhere_is_refused(lab, name):
    one = part(lab, "one", seeds(0), name=name)
    ran = lab.cli("merge", one, "-o", lab.folder / "all")
    assert (ran.code, ran.out) == (2, "")
    assert "which names no folder" in ran.err
    assert sorted(os.listdir(lab.folder)) == ["one", "toy.txt"]


def test_an_experiment_that_is_being_written_is_left_alone(lab):
    one, two = part(lab, "one", seeds(0)), part(lab, "two", seeds(1))
    with Experiment(lab.folder / "one" / "toy").lock():
        ran = lab.command("merge", two, "-o", one)
    assert (ran.code, ran.out) == (2, "")
    assert "another run is writing here (process " in ran.err


def test_what_is_read_of_the_target_is_what_it_is_when_it_is_replaced(lab, monkeypatch):
    """Else the manifest of a run that begins and ends between the two would be that of before again."""
    one, two = part(lab, "one", seeds(0)), part(lab, "two", seeds(1))
    held = {}

    def read(experiment, read=merging._Read):
        held[experiment.directory.parent.name] = is_locked(experiment.directory)
        return read(experiment)

    monkeypatch.setattr(merging, "_Read", read)
    assert lab.cli("merge", two, "-o", one).code == 0
    assert held == {"one": True, "two": False}

    def begun(experiment, read=read):
        part(lab, "all", seeds(2))
        return read(experiment)

    monkeypatch.setattr(merging, "_Read", begun)
    ran = lab.cli("merge", two, "-o", lab.folder / "all")
    assert (ran.code, "another process has begun to write here; merge again" in ran.err) == (2, True)
    assert [result.spec["seed"] for result in joined(lab).results()] == [2]
