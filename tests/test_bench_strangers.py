"""Results of strangers: links lead nowhere, escapes and surrogates reach no terminal, damage is found and run again."""

import json
import math
import os
import re
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import stored
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab, odd  # noqa: F401

from rrmbench.bench.bounds import Bounds
from rrmbench.bench.store import Experiment
from rrmbench.report.plots import sheets
from rrmbench.report.plots.draw import draw

LINKS = [".lock", "manifest.json", "runs", "references", "figures", "a run", "a reference", "the experiment"]


def linked(lab, what):
    """Replace a part of the experiment by a link to a copy elsewhere, and return the copy."""
    folder = lab.out / "toy"
    part = {"a run": folder / "runs", "a reference": folder / "references", "the experiment": folder}.get(
        what, folder / what
    )
    if what in ("a run", "a reference"):
        (part,) = part.iterdir()
    elsewhere = lab.folder / "elsewhere"
    if not part.exists():
        part.mkdir()
    shutil.move(part, elsewhere)
    part.symlink_to(elsewhere)
    return elsewhere


def content(path):
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {file: (file.read_bytes() if file.is_file() else None) for file in files}


@pytest.mark.core(3)
@pytest.mark.parametrize("what", LINKS)
def test_links_inside_a_results_folder_are_refused(lab, what):
    config = lab.config()
    lab.run(config)
    elsewhere = linked(lab, what)
    before = content(elsewhere)
    baseline = lab.folder / "b.json"
    commands = {
        "run": ("run", config, "-o", lab.out),
        "fresh": ("run", config, "-o", lab.out, "--fresh"),
        "show": ("show", lab.out),
        "export": ("export", lab.out, "--to", lab.folder / "t.csv"),
        "plot": ("plot", lab.out, "--format", "svg"),
        "check": ("check", lab.out, "--baseline", baseline, "--update"),
        "verify": ("verify", lab.out),
        "compare": ("compare", lab.out, "--profile"),
    }
    concerned = {".lock": ("run", "fresh"), "figures": ("plot", "compare")}.get(what, commands)
    for name in concerned:
        ran = lab.cli(*commands[name])
        assert ran.code == 2, (name, ran)
        assert "is a symbolic link" in ran.err and len(ran.err.splitlines()) == 1
    for name in set(commands) - set(concerned):
        assert lab.cli(*commands[name]).code == 0, name
    assert content(elsewhere) == before


def test_the_results_folder_itself_may_be_a_link(lab):
    (lab.folder / "real").mkdir()
    lab.out.symlink_to(lab.folder / "real")
    assert lab.run(lab.config()).code == 0
    for command in ("show", lab.out), ("verify", lab.out), ("plot", lab.out, "--format", "svg"):
        assert lab.cli(*command).code == 0
    (lab.folder / "one").symlink_to(lab.out / "toy")
    assert lab.cli("show", lab.folder / "one").code == 0


def test_a_pipe_in_place_of_a_file_is_not_waited_for(lab):
    lab.run(lab.config(solver=["gd", "agd"]))
    first, _ = lab.results()
    file = lab.out / "toy" / "runs" / f"{first.run}.npz"
    file.unlink()
    os.mkfifo(file)
    ran = lab.cli("show", lab.out)
    assert ran.code == 0 and "not a plain file" in " ".join(ran.out.split())
    (lab.out / "toy" / ".lock").unlink()
    os.mkfifo(lab.out / "toy" / ".lock")
    assert lab.run(lab.config(solver=["gd", "agd"])).code == 2


@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_a_pipe_or_device_that_a_parameter_names_is_not_read(lab, kind):
    groups = lab.folder / "groups.txt"
    groups.write_text("2 4")
    lab.run(lab.config(solver="fista", regularizer={"name": "group_lasso", "strength": 0.1, "groups": "groups.txt"}))
    groups.unlink()
    if kind == "pipe":
        os.mkfifo(groups)
    else:
        groups.symlink_to("/dev/zero")
    ran = lab.cli("verify", lab.out)
    assert "unverified" in ran.out and "no plain file" in " ".join(ran.out.split())
    for command in ("plot", lab.out, "--theory", "--format", "svg"), ("report", lab.out, "--theory"):
        ran = lab.cli(*command)
        assert "Traceback" not in ran.err


ESCAPES = "\x1b]0;owned\x07\x1b[2J", "\x9b31m", "\ud800", "\u202e", "\r", "a\x00b"


@pytest.mark.core(1)
@pytest.mark.parametrize("escape", ESCAPES)
def test_no_text_of_a_file_reaches_the_terminal_raw(tmp_path, capfd, lab, escape):
    asked = [
        stored.spec(solver=f"agd{escape}", step=escape),
        stored.spec(solver="gd", dataset=f"toy{escape}"),
        stored.spec(solver="gd", inside={"name": escape, escape: 1}, reduction=f"smooth{escape}"),
    ]
    runs = [stored.result(one, status="failed", reason=f"gone {escape}\n wrong") for one in asked]
    experiment = stored.experiment(lab.out / "e", runs, {"title": f"title {escape}", "figure": "dataset"})
    stored.tuned(experiment, "solver.step", f"solver.{escape}")
    baseline = lab.folder / "b.json"
    shutil.copytree(lab.out, lab.folder / "copy")
    for command in (
        ("show", lab.out),
        ("show", lab.out, "--json"),
        ("show", lab.out, "--latex"),
        ("compare", lab.out, lab.folder / "copy"),
        ("compare", lab.out, "--profile", "--level", "1"),
        ("export", lab.out, "--to", lab.folder / "t.csv"),
        ("plot", lab.out, "--format", "svg,pdf"),
        ("check", lab.out, "--baseline", baseline, "--update"),
        ("check", lab.out, "--baseline", baseline),
        ("verify", lab.out),
    ):
        ran = lab.cli(*command)
        assert ran.code in (0, 1), (command, ran)
        assert escape not in ran.out + ran.err
        assert not [c for c in ran.out + ran.err if not c.isprintable() and c != "\n"]
    assert escape not in (lab.folder / "t.csv").read_text()


RAISES = """
import rrmbench

@rrmbench.solver()
def {name}(problem, start, rng):
    raise ValueError({escape!r})
    yield
"""


@pytest.mark.core(1)
@pytest.mark.parametrize(("name", "escape"), [("clears_screen", "\x1b[2J"), ("half_a_pair", "\ud800")])
def test_an_exception_of_a_solver_is_recorded_fit_for_a_terminal(lab, name, escape):
    (lab.folder / f"{name}.py").write_text(RAISES.format(name=name, escape=escape))
    ran = lab.run(lab.config(solver=["agd", {"path": f"{name}.py", "name": name}]))
    assert ran.code == 1
    assert escape not in ran.out + ran.err
    failed = next(result for result in lab.results() if result.status == "failed")
    assert failed.reason == f"{name}.py:6 in {name}: ValueError: {escape.encode('unicode_escape').decode()}"
    for command in ("show", lab.out), ("export", lab.out, "--to", lab.folder / "t.csv"), ("plot", lab.out):
        assert lab.cli(*command).code == 0, command


@pytest.mark.core(3)
@pytest.mark.parametrize("text", ["$", "$x", r"$\frac{1}{$", r"a $\undefined$ b", "{}", "%s", "_x^2"])
def test_text_that_looks_like_tex_is_drawn_as_it_is(tmp_path, text):
    runs = [stored.result(stored.spec(solver=solver, dataset=f"set {text}")) for solver in (f"gd{text}", "agd")]
    runs.append(stored.result(stored.spec(solver="svrg"), {}, status="failed", reason=f"because {text}"))
    experiment = stored.experiment(tmp_path / "e", runs, {"title": f"title {text}", "columns": "dataset"})
    ((_, _, sheet),) = sheets(experiment.directory)
    figure = draw(sheet)
    figure.savefig(tmp_path / "f.svg")
    assert figure.get_suptitle() == f"title {text}"
    texts = [*figure.texts, *figure.legends[0].get_texts(), *(axes.title for axes in figure.axes)]
    assert not [one for one in texts if one.get_parse_math()]
    assert any(text in one.get_text() for one in figure.legends[0].get_texts())


@pytest.mark.parametrize(
    "limits", [[math.nan, 1], [0, math.inf], [1, 1], [0], "ab", [0, "1"], {"0": 1}, 3, [True, 2], [-1e308, 1e308]]
)
def test_limits_of_a_figure_are_two_finite_numbers(lab, limits):
    stored.experiment(lab.out / "e", [stored.result(stored.spec())], {"xlim": limits})
    ran = lab.cli("plot", lab.out)
    assert ran.code == 2
    assert "plot.xlim: found" in ran.err and "two different finite numbers" in ran.err


@pytest.mark.core(2)
@pytest.mark.parametrize("member", ["trace.gap", "trace.seconds", "w", "b", "header"])
def test_a_run_with_a_flipped_byte_is_run_again_and_until_then_counts_as_failed(lab, member):
    config = lab.config(solver=["gd", "agd"])
    lab.run(config)
    before = lab.results()
    file = lab.out / "toy" / "runs" / f"{before[0].run}.npz"
    whole = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        info = archive.getinfo(f"{member}.npy")
    whole[info.header_offset + 30 + len(info.filename) + info.compress_size // 2 + 30] ^= 4
    file.write_bytes(whole)
    shown = " ".join(lab.cli("show", lab.out).out.split())
    assert "failed" in shown and file.name in shown.replace(" ", "") and "agd" in shown
    lab.cli("export", lab.out, "--to", lab.folder / "t.csv")
    table = (lab.folder / "t.csv").read_text()
    assert f"{before[0].run},failed" in table and f"{before[1].run},done" in table
    assert lab.cli("plot", lab.out, "--format", "svg").code == 0
    ran = lab.run(config)
    assert ran.code == 0 and "1 of 2 runs was done before" in " ".join(ran.out.split())
    again = lab.results()
    assert [result.status for result in again] == ["done", "done"]
    assert np.array_equal(again[0].trace["primal"], before[0].trace["primal"])
    assert lab.cli("verify", lab.out).code == 0


BAD_PAIR = """
from typing import NamedTuple
import rrmbench

class Wrong(NamedTuple):
    conjugate_convexity: float = 1.0
    lipschitz: float = float("inf")

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y)

    def conjugate(self, b, y):
        return 0.25 * b * b + y * b - {extra}

    def dual_point(self, z, y, mu):
        return (z - y) / (1.0 + mu)

@rrmbench.loss
def wrong_pair():
    return Wrong()
"""
FAR_PAIR = BAD_PAIR.replace("wrong", "far").replace("0.25", "0.5").format(extra="(5e3 if 1.0 < abs(b) < 50.0 else 0.0)")


def test_a_run_below_the_dual_bound_of_another_is_failed_and_no_reference(tmp_path, lab):
    lab.run(lab.config(solver=["gd", "agd"]))
    experiment = Experiment(lab.out / "toy")
    (first, second) = lab.results()
    known = experiment.reference(first.problem)
    wrong = experiment.contradiction(first.problem, Bounds("x", primal=known["dual"] - 1e-3))
    assert wrong.startswith("P(w) = ") and f"of run {known['dual_run']}" in wrong
    wrong = experiment.contradiction(first.problem, Bounds("x", dual=known["primal"] + 1e-3))
    assert f"of run {known['primal_run']} is below the dual bound" in wrong
    assert experiment.contradiction(first.problem, Bounds("x", known["primal"], known["dual"])) is None
    assert experiment.reference(first.problem) == known
    assert second.problem == first.problem


def test_a_run_that_failed_by_the_bound_of_another_needs_this_bound(lab):
    lab.run(lab.config(solver="gd", stop={"passes": 5}))
    (first,) = lab.results()
    record = lab.out / "toy" / "runs" / f"{first.run}.npz"
    reference = lab.out / "toy" / "references" / f"{first.problem}.json"
    honest = record.read_bytes(), reference.read_bytes()
    above = {"primal": first.trace["primal"] + 1.0, "dual": first.trace["dual"] + first.trace["gap"][-1] + 0.1}
    Experiment(lab.out / "toy").write(replace(first, trace=first.trace | above, w=first.w, b=first.b))
    assert lab.run(lab.config(solver="agd", stop={"passes": 5})).code == 1
    assert "is below the dual bound" in lab.results()[0].reason
    assert "failed by a bound" not in lab.cli("verify", lab.out).out
    record.write_bytes(honest[0])
    reference.write_bytes(honest[1])
    assert "failed by a bound that nothing here has" in lab.cli("verify", lab.out).out


def test_a_loss_that_is_no_conjugate_pair_fails_its_runs(lab):
    (lab.folder / "bad.py").write_text(BAD_PAIR.format(extra="0.3"))
    ran = lab.run(lab.config(loss={"path": "bad.py", "name": "wrong_pair"}, solver=["agd", "gd"], stop={"passes": 8}))
    assert ran.code == 1
    results = lab.results()
    assert {result.status for result in results} == {"failed"}
    for result in results:
        assert result.reason.startswith("the loss 'wrong_pair' is no conjugate pair: ")
        assert (lab.out / "toy" / "references" / f"{result.problem}.json").exists() is False
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1 and ran.out.count("WRONG the loss 'wrong_pair' is no conjugate pair") == 2


def test_a_conjugate_that_is_too_small_far_from_all_random_points_fails_a_run_midway(lab):
    """With labels of +-1000 the random b are greater than 50, and those of the optimum are about 10."""
    lines = [f"{1000 * sign} 1:{sign} 2:{0.02 * i:.2f}\n" for i, sign in enumerate([-1, 1] * 20)]
    (lab.folder / "far.txt").write_text("".join(lines))
    (lab.folder / "far.py").write_text(FAR_PAIR)
    loss = {"path": "far.py", "name": "far_pair"}
    ran = lab.run(lab.config(dataset="far.txt", loss=loss, solver=["agd", "gd"], stop={"passes": 200}))
    assert ran.code == 1
    for result in lab.results():
        assert result.status == "failed"
        assert re.fullmatch(r"P\(w\) = \S+ is below the dual bound D\(b\) = \S+: the loss 'far_pair' .*", result.reason)
        assert result.points > 1 and result.trace["gap"].min() > 0.0
        assert (lab.out / "toy" / "references" / f"{result.problem}.json").exists() is False
    shown = " ".join(lab.cli("show", lab.out).out.split())
    assert "failed none" in shown and "done" not in shown  # no gap, and no level that is reached
    (row, *_) = json.loads(lab.cli("show", lab.out, "--json").out)["experiments"][0]["problems"][0]["methods"]
    assert row["certified"] is False and row["final"]["gap"]["median"] is None


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0.5, 1.0), st.floats(0.0, 0.5)), min_size=1, max_size=6))
def test_a_reference_rests_on_the_records_that_are_there(tmp_path_factory, writes):
    experiment = Experiment(tmp_path_factory.mktemp("e"))
    current = {}
    for seed, primal, dual in writes:
        columns = stored.trace(passes=0) | {"primal": np.array([primal]), "dual": np.array([dual])}
        one = stored.result(stored.spec(seed=seed), columns)
        experiment.withdraw(one.problem, one.run)
        experiment.write(one)
        experiment.improve_reference(one.problem, {}, Bounds(one.run, primal, dual))
        current[seed] = primal, dual
        known = experiment.reference(one.problem)
        kept = {experiment.read(known[f"{kind}_run"]).trace[kind][0] for kind in ("primal", "dual")}
        assert kept == {known["primal"], known["dual"]}
        assert known["primal"] == min(p for p, _ in current.values())
        assert known["dual"] == max(d for _, d in current.values())


def test_a_damaged_reference_is_made_again_from_the_runs(lab):
    lab.run(lab.config(solver="agd"))
    (file,) = (lab.out / "toy" / "references").iterdir()
    honest = Experiment(lab.out / "toy").reference(file.stem)
    file.write_text("{")
    shown = lab.cli("show", lab.out)
    assert shown.code == 0 and f"{file}: not a readable file" in shown.err
    assert "WRONG" in lab.cli("verify", lab.out).out
    assert lab.run(lab.config(solver=["agd", "gd"])).code == 0
    assert lab.cli("verify", lab.out).code == 0
    assert Experiment(lab.out / "toy").reference(file.stem)["primal"] <= honest["primal"]
