"""`rrmbench verify`: whatever is forged in a stored result or reference is found, and what is honest passes."""

import copy
import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pytest
import stored
from lab import make_lab, odd, rows  # noqa: F401

from rrmbench import data, registry
from rrmbench.bench import identity
from rrmbench.bench.environment import environment, is_id_of
from rrmbench.bench.rules import SPREAD
from rrmbench.bench.store import Experiment
from rrmbench.problem.problem import Problem
from rrmbench.report import claims, recompute
from rrmbench.report.verify import verify

CLOCKS = ("passes", "checks", "seconds", "cpu_seconds")


def forged_traces(trace):
    """Yield (name, trace) with one value of one column changed, or two where one alone would be too easy to see."""
    last = len(trace["gap"]) - 1
    for name, at in product(trace, (0, last // 2, last)):
        values = [np.nan, -1.0]
        if name in CLOCKS:
            values = [np.nan, -1.0] if at else [np.nan, -1.0, trace[name][-1] + 1.0]
        elif name in ("primal", "dual", "gap"):
            values = [np.nan, np.inf, trace[name][at] + 1e-6, trace[name][at] - 1e-6]
        elif at == last:
            values += [trace[name][at] + 1.0, trace[name][at] + 0.5]
        for value in values:
            column = trace[name].copy()
            column[at] = value
            yield f"{name}[{at}] = {value}", trace | {name: column}
        yield f"no {name}", {other: column for other, column in trace.items() if other != name}
    for at, name, value in (
        (last // 2, "primal", trace["dual"][-1] - 1e-4),
        (last, "primal", trace["dual"][-1] - 1e-4),
        (last // 2, "dual", trace["primal"][-1] + 1e-4),
        (last, "dual", trace["primal"][-1] + 1e-4),
        (last // 2, "dual", trace["dual"][0] - 0.1),
        (0, "dual", trace["dual"][1] + 1e-4),
    ):
        other = trace | {name: trace[name].copy()}
        other[name][at] = value
        yield f"{name}[{at}] = {value} and gap", other | {"gap": other["primal"] - other["dual"]}


def forged_headers(result):
    """Yield (name, changed fields)."""
    for name in "problem", "data", "code":
        yield name, {name: "0" * len(getattr(result, name))}
    yield "code's tail", {"code": result.code[:8] + "0" * 8}
    yield "created", {"created": "yesterday"}
    for kind in result.info["codes"]:
        yield f"codes.{kind}", {"info": result.info | {"codes": result.info["codes"] | {kind: "0" * 16}}}
    yield "rounding", {"info": result.info | {"rounding": 1.0}}
    yield "helped", {"info": result.info | {"helped": [[result.points, None]]}}
    for status in {"done", "failed", "diverged", "timeout", "killed", "interrupted"} - {result.status}:
        yield status, {"status": status}
    for reason in {"gap", "relative_gap", "passes", "seconds", "ended", "the objective is fine", ""} - {result.reason}:
        yield f"because {reason}", {"reason": reason}
    for keys, value in (
        (("seed",), 7),
        (("regularizer", "l1"), 0.5),
        (("solver", "name"), "fista"),
        (("loss", "name"), "logistic"),
        (("dataset", "scale"), "unit_rows"),
        (("stop", "passes"), 7.0),
        (("stop", "gap"), 1e-3),
        (("trace", "every"), 0.5),
    ):
        spec = part = copy.deepcopy(result.spec)
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = value
        yield f"spec.{'.'.join(keys)}", {"spec": spec}


def forged_arrays(result):
    for name in "w", "b":
        array = getattr(result, name)
        yield f"no {name}", {name: None}
        for what, other in (
            ("an entry", array + np.eye(1, array.size)[0].reshape(array.shape) * 1e-6),
            ("nan", array * np.nan),
            ("float32", array.astype(np.float32)),
            ("integers", array.astype(int)),
            ("shorter", array[:-1]),
            ("longer", np.append(array, 0.0)),
            ("column", array[:, None]),
            ("number", np.float64(1.0)),
        ):
            yield f"{name}: {what}", {name: other}


@pytest.mark.core(1)
@pytest.mark.parametrize("solver", ["prox_sdca", "agd"])
def test_every_single_forgery_of_a_result_is_found(lab, solver):
    (lab.folder / "test.txt").write_text(rows(seed=1))
    config = lab.config(
        dataset={"path": "toy.txt", "test": "test.txt"},
        loss="smoothed_hinge",
        regularizer={"name": "elastic_net", "l1": 0.05, "l2": 0.01},
        solver=solver,
        stop={"passes": 6, "gap": 1e-12},
    )
    assert lab.run(config).code == 0
    experiment = Experiment(lab.out / "toy")
    assert lab.cli("verify", lab.out).code == 0
    missed = []
    (original,) = lab.results()
    _ = original.w, original.b
    forgeries = [(name, {"trace": trace}) for name, trace in forged_traces(original.trace)]
    forgeries += [*forged_headers(original), *forged_arrays(original)]
    for name, changed in forgeries:
        forged = copy.copy(original)
        for field, value in changed.items():
            setattr(forged, field, value)
        experiment.write(forged)
        ran = lab.cli("verify", lab.out)
        assert len(ran.out.splitlines()) >= 2, name
        if ran.code != 1 or "WRONG" not in ran.out:
            missed.append(name)
    experiment.write(original)
    assert lab.cli("verify", lab.out).code == 0
    assert not missed


@pytest.mark.exhaustive
def test_what_a_lifted_dual_variable_says_is_checked_and_what_is_left_is_said(lab):
    lab.run(lab.config(loss="f1", solver="fista", reduction={"name": "smooth", "mu": 1e-3}, stop={"passes": 20}))
    ran = lab.cli("verify", lab.out)
    assert ran.code == 0
    assert ran.out.count("not recomputed of 1 result: the entropy in b") == 1
    (honest,) = lab.results()
    _, b = honest.w, honest.b
    assert b.shape == (32,)
    for entry, words in ((0, "b: sample 0 is wrong with the"), (30, "b: the expected 1 - F1"), (31, "b: the entropy")):
        forged = copy.copy(honest)
        forged.b = b + np.where(np.arange(32) == entry, -1000.0 if entry == 31 else 100.0, 0.0)
        Experiment(lab.out / "toy").write(forged)
        ran = lab.cli("verify", lab.out)
        assert ran.code == 1
        assert words in ran.out
        assert "not recomputed" not in ran.out


def test_numbers_that_rest_on_nothing_are_wrong(lab):
    assert lab.run(lab.config(solver=["agd", "fista"], stop={"passes": 4})).code == 0
    experiment = Experiment(lab.out / "toy")
    for original in lab.results():
        _, ones = original.w, np.ones(original.points)
        for more in ({"test_error": 0.0 * ones, "test_accuracy": ones}, {"test_rmse": ones}, {"speed": ones}):
            forged = copy.copy(original)
            forged.trace = original.trace | more
            experiment.write(forged)
            ran = lab.cli("verify", lab.out)
            assert (ran.code, "WRONG" in ran.out, [name in ran.out for name in more]) == (1, True, [True] * len(more))
        forged = copy.copy(original)
        forged.info = original.info | {"evaluation_seconds": -5.0}
        experiment.write(forged)
        assert "evaluation_seconds" in lab.cli("verify", lab.out).out
        forged.info, forged.status = original.info, "failed"
        forged.reason = "P(w) = 0.1 of this run is below the dual bound D = 0.2 of run 0"
        experiment.write(forged)
        assert "failed by a bound that nothing here has" in lab.cli("verify", lab.out).out
        experiment.write(original)
    assert lab.cli("verify", lab.out).code == 0


def test_the_clocks_of_a_method_that_restarts_are_those_of_single_calls(lab):
    """It may be faster with the greater budget; others may not."""
    assert lab.run(lab.config(solver=["sklearn_saga", "gd"], loss="logistic", stop={"passes": 6})).code == 0
    experiment = Experiment(lab.out / "toy")
    for original in lab.results():
        forged = copy.copy(original)
        forged.trace = original.trace | {name: original.trace[name][::-1] for name in ("seconds", "cpu_seconds")}
        experiment.write(forged)
    (wrong,) = [line for line in lab.cli("verify", lab.out).out.splitlines() if line.startswith("WRONG")]
    assert "seconds decreases" in wrong and "gd" in wrong
    assert lab.cli("show", lab.out).out.count("seconds of one call") == 1


@pytest.mark.exhaustive
def test_large_columns_that_cancel_are_honest(lab):
    """|v_j| <= strength holds to the rounding of sums of terms that are 1e9 times as great."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1e6 + 1e3 * rng.normal(size=40), rng.normal(size=40), np.ones(40)])
    ys = X[:, 0] * rng.normal(size=40)
    cells = [[f"{j}:{x:.9g}" for j, x in enumerate(row, 1)] for row in X]
    lines = [" ".join([f"{y:.6g}", *row]) for y, row in zip(ys, cells, strict=True)]
    (lab.folder / "large.txt").write_text("\n".join(lines))
    config = lab.config(
        dataset={"path": "large.txt", "bias": ["none", "free"]},
        loss=["squared", "absolute"],
        regularizer=[
            {"name": "l1", "strength": [1e-2, 1e-4]},
            {"name": "linf_norm", "strength": 0.1},
            {"name": "box", "lower": -1e5, "upper": 1e5},
            {"name": "exclusive_lasso", "strength": 0.1},
            {"name": "l1", "strength": 0.1, "domain": {"ball": 10.0}},
        ],
        solver=["fista", "prox_sdca", "pdprox_dual"],
        reduction="auto",
        stop={"passes": 10},
    )
    assert lab.run(config).code == 0
    ran = lab.cli("verify", lab.out)
    assert (ran.code, "WRONG" in ran.out) == (0, False), ran.out


def test_a_manifest_that_says_other_things_than_its_records_is_wrong(lab):
    assert lab.run(lab.config(solver=["agd", "fista"], stop={"passes": 4})).code == 0
    experiment = Experiment(lab.out / "toy")
    manifest = experiment.manifest()
    one, other = manifest["runs"]
    other_spec = {"solver": {"name": "gd"}}
    for forged in (
        [one | {"spec": one["spec"] | other_spec}, other],
        [one | {"run": other["run"]}, other | {"run": one["run"]}],
        [one | {"problem": "0" * len(one["problem"])}, other],
    ):
        experiment.write_manifest(manifest | {"runs": forged})
        ran = lab.cli("verify", lab.out)
        assert ran.code == 1
        assert "the manifest says another spec or problem of it" in ran.out
    experiment.write_manifest(manifest)
    assert lab.cli("verify", lab.out).code == 0


def test_a_forged_start_excuses_no_contradiction(lab):
    """The rounding that P and D are allowed is of their terms, for which the start of the trace speaks."""
    lab.run(lab.config(loss="smoothed_hinge", solver="prox_sdca", reference=False, stop={"passes": 4}))
    (original,) = lab.results()
    _ = original.w, original.b
    forged = copy.copy(original)
    forged.trace = {name: column.copy() for name, column in original.trace.items()}
    forged.trace["primal"][0], forged.trace["primal"][2] = 1e30, forged.trace["dual"][-1] - 5.0
    forged.trace["gap"] = forged.trace["primal"] - forged.trace["dual"]
    experiment = Experiment(lab.out / "toy")
    experiment.write(forged)
    (file,) = (lab.out / "toy" / "references").iterdir()
    least = float(forged.trace["primal"].min())
    file.write_text(json.dumps(json.loads(file.read_text()) | {"primal": least, "primal_run": forged.run}))
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1 and "P of the trace is below D" in ran.out


@pytest.mark.parametrize(("loss", "labels"), [("logistic", "binary"), ("multinomial_logistic", "classes")])
def test_the_rounding_of_outputs_whose_terms_cancel_is_that_of_an_objective(lab, loss, labels):
    prepared = data.from_source({"path": str(lab.folder / "toy.txt")}, labels)
    problem = Problem(prepared.operator(), prepared.y, loss, "none")
    w = np.random.default_rng(0).normal(size=problem.shape)
    X, b = prepared.operator().forward(np.eye(6)), problem.loss_dual(problem.outputs(w))
    wanted = np.sum(np.abs(b) * (np.abs(X) @ np.abs(w))) / problem.n
    spec = {"loss": {"name": loss}, "regularizer": {"name": "none"}, "dataset": {}}
    assert recompute.unsure_of_outputs(prepared, spec, w) == pytest.approx(wanted, rel=1e-12)


@dataclass(frozen=True)
class Deviation:
    """strength ||w - mean(w)||_2, whose psi* is 0 where sum v = 0 and ||v|| <= strength: a set without an interior."""

    strength: float
    coordinate_separable = False
    homogeneous = True

    def value(self, w):
        return self.strength * float(np.linalg.norm(w - w.mean()))

    def conjugate(self, v):
        return 0.0 if v.sum() == 0.0 and np.linalg.norm(v) <= self.strength else float("inf")

    def prox(self, w, t):
        off = w - w.mean()
        return w.mean() + max(0.0, 1.0 - self.strength * t / np.linalg.norm(off)) * off

    def dual_scaling(self, v):
        return min(1.0, self.strength / np.linalg.norm(v)) if v.sum() == 0.0 else 0.0


def test_a_dual_variable_on_a_domain_without_an_interior_is_feasible_to_rounding(lab):
    prepared = data.from_source({"path": str(lab.folder / "toy.txt")}, "any")
    X, b = prepared.operator(), np.random.default_rng(0).normal(size=30)
    along = X.forward(np.ones(6))
    b -= along * (along @ b) / (along @ along)
    longest = float(np.linalg.norm(X.adjoint(b) / 30))
    with registry.restored():

        @registry.regularizer
        def deviation(strength: float):
            return Deviation(strength)

        def found(b, strength):
            spec = {"loss": "squared", "regularizer": {"name": "deviation", "strength": strength}, "dataset": {}}
            return recompute.dual(prepared, spec, b)[0]

        wanted = -np.mean(0.5 * b**2 + prepared.y * b)
        assert found(b, 1.001 * longest) == pytest.approx(wanted, rel=1e-12)
        assert found(b, 0.999 * longest) == -np.inf
        assert found(b + 1e-9 * along, 1.001 * longest) == -np.inf


def test_an_objective_whose_outputs_cancel_is_as_good_as_these(lab):
    """Of x.w with terms of 1e8 that cancel, eight digits are left: P is right to the rounding of its outputs alone."""
    (lab.folder / "alike.txt").write_text(
        "".join(f"{(-1) ** i} 1:{1 + i} 2:{1 + i + i % 3 * 1e-8}\n" for i in range(20))
    )
    config = lab.config(
        dataset="alike.txt", loss="squared", regularizer={"name": "l2", "strength": 1e-30}, solver="agd"
    )
    lab.run(config)
    (result,) = lab.results()
    _ = result.b
    result.w = np.array([1e8 + 0.1, -1e8])
    X = np.array([[1 + i, 1 + i + i % 3 * 1e-8] for i in range(20)])
    y = np.array([(-1.0) ** i for i in range(20)])
    result.trace["primal"][-1] = np.mean(0.5 * (X @ result.w - y) ** 2) * (1.0 + 3e-9)
    result.trace["gap"] = result.trace["primal"] - result.trace["dual"]
    result.trace["train_error"][-1] = np.mean(np.where(X @ result.w > 0.0, 1.0, -1.0) != y)
    Experiment(lab.out / "toy").write(result)
    (line,) = (line for line in lab.cli("verify", lab.out).out.splitlines() if line.endswith("agd, seed 0"))
    assert line.startswith("ok"), line


def test_a_damaged_reference_blinds_no_reader(lab):
    lab.run(lab.config(solver="agd"))
    (file,) = (lab.out / "toy" / "references").iterdir()
    file.write_text("{")
    for command in "show", "plot":
        ran = lab.cli(command, lab.out)
        assert ran.code == 0 or "no reference yet" in ran.err
        assert f"rrmbench: {file}: not a readable file" in ran.err
        assert "without it no suboptimality of its problem is known" in ran.err
    assert "agd" in lab.cli("show", lab.out).out


def test_a_damaged_manifest_blinds_no_reader_of_the_other_experiments(lab):
    stray = lab.out / "stray"
    stray.mkdir(parents=True)
    (stray / "manifest.json").write_text("{")
    assert lab.run(lab.config()).code == 0
    assert lab.cli("check", lab.out / "toy", "--baseline", lab.folder / "b.json", "--update").code == 0
    table = lab.folder / "t.csv"
    readers = (
        ["show"], ["show", "--json"], ["show", "--traceback"], ["plot", "--y", "gap", "--format", "png"], ["report"],
        ["export", "--to", table], ["check", "--baseline", lab.folder / "b.json"], ["compare", "--profile"],
    )  # fmt: skip
    for command, *options in readers:
        ran = lab.cli(command, lab.out, *options)
        told = [line for line in ran.err.splitlines() if "manifest.json" in line]
        assert ran.code == 0 and len(told) == 1, (command, ran)
        assert told[0].startswith(f"rrmbench: {stray}/manifest.json: not a readable file")
        assert told[0].endswith("; its experiment is left out")
        alone = lab.cli(command, stray, *options)
        assert alone.code == 2 and f"rrmbench: {stray}/manifest.json: not a readable file" in alone.err
    both = lab.cli("compare", lab.out, lab.out, "--a", "solver=agd", "--b", "solver=agd")
    assert both.err.count("is left out") == 1
    refused = lab.cli("check", lab.out, "--baseline", lab.folder / "b.json", "--update")
    assert refused.code == 2 and "not a readable file" in refused.err  # a baseline without it would not miss it
    verified = lab.cli("verify", lab.out)
    assert verified.code == 1 and "\n2 results, 1 wrong" in verified.out


def test_nothing_to_verify_is_no_success(lab):
    assert lab.run(lab.config()).code == 0
    stored.experiment(lab.out / "empty", [])
    alone = lab.cli("verify", lab.out / "empty")
    assert alone.code == 2 and alone.err.endswith("empty: no run has ended yet, there is nothing to verify\n")
    both = lab.cli("verify", lab.out)
    assert both.code == 0 and both.err == f"rrmbench: {lab.out / 'empty'}: no run has ended yet\n"
    assert "\n1 result, 0 wrong" in both.out


@pytest.mark.parametrize("fact", ["deterministic", "restarts"])
def test_what_a_header_says_of_its_solver_is_what_that_declares(lab, fact):
    lab.run(lab.config(solver="prox_sdca"))
    (result,) = lab.results()
    _ = result.w, result.b
    result.info[fact] = True
    Experiment(lab.out / "toy").write(result)
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1 and f"{fact} is not what its solver declares" in ran.out


def test_a_digest_of_code_that_is_not_here_is_said_to_be_unproven(lab):
    """Whether it is of older code, or of none, nothing here can tell; P and D are recomputed all the same."""
    lab.run(lab.config(solver="agd"))
    (result,) = lab.results()
    _ = result.w, result.b
    experiment = Experiment(lab.out / "toy")
    (lab.out / "toy" / "runs" / f"{result.run}.npz").unlink()
    result.code = "f" * 16
    result.run = f"{result.spec_id}-{result.code[:8]}"
    experiment.write(result)
    ran = lab.cli("verify", lab.out)
    assert "not recomputed of 1 result: the digest of its code, which is not the code that is here" in ran.out
    assert ran.out.startswith("ok ")


def test_a_reference_that_is_missing_is_said_to_be(lab):
    config = lab.config(solver="agd")
    lab.run(config)
    (file,) = (lab.out / "toy" / "references").iterdir()
    file.unlink()
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1 and "WRONG" not in ran.out
    assert "its file is missing; `run` writes it again" in ran.out
    lab.run(config)
    assert file.exists() and lab.cli("verify", lab.out).code == 0


def test_every_forgery_of_a_reference_is_found(lab):
    lab.run(lab.config(loss="smoothed_hinge", solver=["prox_sdca", "agd"], reference={"seconds": 5}))
    assert lab.cli("verify", lab.out).code == 0
    (file,) = (lab.out / "toy" / "references").iterdir()
    honest = json.loads(file.read_text())
    runs = [result.run for result in lab.results()]
    forgeries = {"of another problem": honest | {"problem": "0" * 16}, "a list": [honest]}
    forgeries["rounding"] = honest | {"rounding": 1e-3}
    for kind in "primal", "dual":
        for change in -0.1, 0.1, 1e-9:
            forgeries[f"{kind} {change:+}"] = honest | {kind: honest[kind] + change}
        for run in (runs[1], "f" * 16 + "-00000000", None):
            forgeries[f"{kind} of {run}"] = honest | {f"{kind}_run": run}
        for value in "1", None, float("nan"), []:
            forgeries[f"{kind} = {value}"] = honest | {kind: value}
    missed = []
    for name, forged in forgeries.items():
        if forged == honest:
            continue
        file.write_text(json.dumps(forged))
        ran = lab.cli("verify", lab.out)
        if ran.code != 1 or "WRONG" not in ran.out:
            missed.append(name)
    assert not missed
    file.write_text(json.dumps(honest))
    assert lab.cli("verify", lab.out).code == 0


def test_a_damaged_file_is_reported_and_the_others_are_verified_all_the_same(lab):
    lab.run(lab.config(solver=["gd", "agd", "fista"]))
    first, second, _ = lab.results()
    folder = lab.out / "toy" / "runs"
    (folder / f"{first.run}.npz").write_bytes(b"PK\x03\x04")
    content = bytearray((folder / f"{second.run}.npz").read_bytes())
    with zipfile.ZipFile(folder / f"{second.run}.npz") as archive:
        header, following = archive.infolist()[:2]
    content[following.header_offset - header.compress_size // 2] ^= 1  # within what the checksum is of
    (folder / f"{second.run}.npz").write_bytes(content)
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1
    assert [line.split()[0] for line in ran.out.splitlines()[:3]] == ["WRONG", "WRONG", "ok"]
    assert first.run in ran.out and second.run in ran.out


def test_runs_without_final_arrays_are_none_and_diverged_ones_are_checked(lab):
    lab.run(lab.config(solver=["agd", odd(["raise", "nan"])]))
    ran = lab.cli("verify", lab.out)
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[:3]] == ["ok", "none", "ok"]
    assert "3 results, 0 wrong, 1 without final arrays" in ran.out
    assert "nan  D" not in ran.out and "  no finite P  D = " in ran.out.splitlines()[2]
    diverged = lab.results()[2]
    diverged.w = np.zeros(6)
    _ = diverged.b
    Experiment(lab.out / "toy").write(diverged)
    assert "diverged, with a finite P(w)" in lab.cli("verify", lab.out).out


def test_data_that_are_gone_leave_results_unverified(lab):
    lab.run(lab.config(solver=["gd", "agd"]))
    (lab.folder / "toy.txt").unlink()
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1
    assert ran.out.count("unverified") == 3 and "toy.txt" in ran.out


MARKER = """
from pathlib import Path
import rrmbench
Path({marker!r}).write_text("run")

@rrmbench.{kind}{call}
def stranger({parameters}):
    {body}
"""


@pytest.mark.core(1)
@pytest.mark.parametrize("kind", ["loss", "regularizer", "solver", "reduction"])
def test_no_reader_runs_the_code_that_a_result_names(lab, kind):
    lab.run(lab.config(solver="agd", loss="squared"))
    marker = lab.folder / "marker"
    stranger = lab.folder / f"stranger_{kind}.py"
    text = {"call": "()", "parameters": "*args", "body": "return args"}
    stranger.write_text(MARKER.format(marker=str(marker), kind=kind, **text))
    (result,) = lab.results()
    _ = result.w, result.b
    result.spec[kind] = {"name": "stranger", "path": str(stranger)}
    folder = Experiment(lab.out / "toy")
    manifest = folder.manifest()
    manifest["runs"][0]["spec"] = result.spec
    folder.write_manifest(manifest)
    folder.write(result)
    ran = lab.cli("verify", lab.out)
    assert ran.code == 1
    assert "unverified" in ran.out and "--trust" in ran.out
    for command in (
        ("show", lab.out),
        ("plot", lab.out, "--format", "png"),
        ("plot", lab.out, "--theory", "--format", "svg"),
        ("export", lab.out, "--to", lab.folder / "t.csv"),
        ("check", lab.out, "--baseline", lab.folder / "b.json", "--update"),
        ("check", lab.out, "--baseline", lab.folder / "b.json"),
    ):
        assert lab.cli(*command).code == 0, command
    assert not marker.exists()
    lab.command("verify", lab.out, "--trust")
    assert marker.exists()


@pytest.mark.exhaustive
def test_the_figure_says_why_a_bound_is_missing(lab):
    plugin = lab.folder / "bounded.py"
    plugin.write_text(PLUGIN)
    lab.run(lab.config(solver={"path": "bounded.py", "name": "bounded"}, reference={"seconds": 2}))
    file = lab.folder / "ask.py"
    file.write_text(ASK.format(folder=str(lab.out / "toy")))
    for trust, expected in ((False, [0, True]), (True, [1, False])):
        ran = subprocess.run([sys.executable, file, str(int(trust))], capture_output=True, text=True, check=True)
        assert json.loads(ran.stdout.splitlines()[-1]) == expected


PLUGIN = """
import numpy as np
import rrmbench
from rrmbench import Iterate

def theorem(constants, passes):
    return np.ones_like(passes)

@rrmbench.solver(bound=theorem)
def bounded(problem, start, rng):
    w = np.zeros(problem.shape)
    for passes in range(100):
        yield Iterate(w, passes=passes)
        w = w - 0.1 * problem.prox_gradient(w, problem.X.forward(w)) / problem.L
"""
ASK = """
import json, sys
from rrmbench.report.plots import sheets
from rrmbench.bench import identity
(_, _, sheet), = sheets({folder!r}, theory=True, trust=sys.argv[1] == "1")
print(json.dumps([len(sheet.panels[0, 0].proven), any("--trust" in note for note in sheet.notes)]))
"""


def test_a_run_that_was_named_with_the_folder_of_its_data_is_still_that_of_its_spec(lab, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(identity, "spec_id", partial(identity.spec_id, placed=True))
        lab.run(lab.config())
    ran = lab.cli("verify", lab.out)
    assert ran.code == 0, ran.out


def test_data_whose_rounding_is_seen_in_P_and_D_are_no_contradiction(lab):
    """Entries of 1e8 + N(0, 1): X w and X^T b cancel, and D comes out above P by 1e-8, of one run and of another."""
    rng = np.random.default_rng(0)
    X = 1e8 + rng.standard_normal((60, 4))
    y = (X - 1e8) @ [1.0, -1.0, 2.0, 0.5] + rng.standard_normal(60)
    lines = (
        " ".join([f"{t!r}", *(f"{j}:{x!r}" for j, x in enumerate(row, 1))])
        for t, row in zip(y.tolist(), X.tolist(), strict=True)
    )
    (lab.folder / "far.txt").write_text("\n".join(lines))
    about = {"dataset": "far.txt", "regularizer": {"name": "l2", "strength": 1e-6}, "stop": {"passes": 100}}
    ran = lab.run(lab.config(**about, solver=["newton_cg", "direct", "lbfgs"]))
    assert ran.code == 0, ran.out
    assert min(result.trace["gap"].min() for result in lab.results()) < -4e-9  # beyond 1e-9 (|P| + |D|)
    assert lab.cli("verify", lab.out).code == 0
    experiment = Experiment(lab.out / "toy")
    result = lab.results()[0]
    result.trace["dual"][-1], result.info["rounding"] = result.trace["primal"][-1] + 1e-5, 1.0
    result.trace["gap"] = result.trace["primal"] - result.trace["dual"]
    experiment.write(result)
    assert lab.cli("verify", lab.out).code == 1


def test_what_a_header_says_of_help_and_repeats_is_held_against_the_trace():
    """`≤` in tables rests on the points whose bound evaluation found, seconds for publication on the repeats."""
    columns = stored.trace(passes=4)
    clock = columns["seconds"]
    least, most = 0.9 * clock, 1.2 * clock
    columns |= {"seconds_min": least, "seconds_max": most}
    without = columns["primal"] - np.append(-np.inf, columns["dual"][:-1])
    timing = {"repeats": 3, "pinned": 0, "spread": 0.3, "seconds": [clock[-1], least[-1], most[-1]]}
    honest = {"timing": timing, "evaluation_passes": 3.0, "helped": [[0, None], [4, without[4]]]}

    def faults(columns=columns, **changed):
        asked = stored.spec() | {"stop": {"passes": 4.0}}
        return claims.faults(stored.result(asked, columns, **honest | changed))

    untimed = {name: column for name, column in columns.items() if name not in SPREAD}
    assert faults() == faults(untimed, timing=None) == []
    assert faults(evaluation_passes=0.0, helped=[]) == []
    wrong = {
        "helped": (
            {"helped": [[5, None]]},
            {"helped": [[4, without[4]], [0, None]]},
            {"helped": [[4, without[4]]] * 2},
            {"helped": [[4, 0.5 * columns["gap"][4]]]},
            {"helped": [[4, 1.01 * without[4]]]},
            {"helped": [[4, None]]},
            {"evaluation_passes": 0.0},
        ),
        "timing": (
            {"timing": None},
            {"columns": untimed},
            {"timing": timing | {"spread": 0.0}},
            {"timing": timing | {"repeats": 30}},
            {"timing": timing | {"seconds": [clock[-1], clock[-1], most[-1]]}},
        ),
        "nonzeros": ({"columns": columns | {"nonzeros": columns["nonzeros"] + 5.0}},),
    }
    for name, forgeries in wrong.items():
        for forged in forgeries:
            (why,) = faults(**forged)
            assert name in why, forged


def test_points_are_as_far_apart_as_the_run_asked_for():
    """A level is met at a point, so that points nearer to the start than there can be make a method look quicker."""
    columns = stored.trace(passes=6)
    asked = stored.spec() | {"stop": {"passes": 6.0}}

    def faults(passes, **rules):
        told = stored.result(asked | {"trace": rules}, columns | {"passes": np.array(passes)})
        return claims.faults(told)

    assert faults([0, 1, 2, 3, 4, 5, 6.0], every=1.0) == []
    assert faults([0, 1, 2, 3, 4, 5.75, 6.0], every=1.0) == []  # the last one comes where the run ends
    assert faults([0, 0.1, 0.2, 0.3, 0.4, 0.5, 6.0], every=0.1, growth=1.0) == []
    assert faults([0, 1, 2, 3, 3.75, 5, 6.0], every=1.0) == [
        "the point at 3.75 passes comes earlier than spec.trace says"
    ]
    assert len(faults([0, 1, 2, 3, 4, 5, 6.0], every=1.0, growth=2.0)) == 1
    uncounted = columns | {"passes": np.full(7, np.nan), "checks": np.full(7, np.nan)}
    assert claims.faults(stored.result(asked | {"stop": {"gap": 1e-9}}, uncounted, reason="ended")) == []


@pytest.mark.parametrize(
    "created", ["2026-11-29", "20261129T101859+00:00", "2026-11-29T10:18:59", "2026-11-29T12:18+02:00"]
)
def test_records_are_ordered_by_times_that_are_written_alike(created):
    assert claims.faults(stored.result(stored.spec(), created=created)) == [
        "created is no date and time in UTC, as run writes it"
    ]


@pytest.mark.parametrize("mark", ["contradiction", "other_code"])
def test_a_mark_by_which_a_run_does_not_certify_is_of_runs_that_failed(mark):
    assert claims.faults(stored.result(stored.spec(), **{mark: True})) == [f"{mark}, but done"]


def test_a_machine_is_that_which_its_id_was_made_of(tmp_path):
    """Seconds are compared by the ids, and the report says what they stand for."""
    experiment = stored.experiment(tmp_path / "e", [stored.result(stored.spec())])
    name, facts = environment(jobs=1)
    unknown = {"0" * 8: {}}  # of a worker that nobody could ask any more

    def wrong(environments):
        experiment.write_manifest(experiment.manifest() | {"environments": environments})
        return [one.label for one in verify(experiment.directory) if one.why.startswith("its record is not that")]

    for harmless in (facts, facts | {"jobs": 64, "load_average": 0.5}):
        assert wrong({name: harmless} | unknown) == []
    for forged in (facts | {"processor": "another"}, facts | {"more": 1}, {"python": facts["python"]}, 3):
        assert wrong({name: forged}) == [f"environment {name}"]


def test_environments_whose_ids_had_the_number_of_jobs_in_them_are_true():
    facts = {"python": "3.11.7", "jobs": 2, "load_average": 0.5}
    assert is_id_of("b641d4d8", facts)
    assert not is_id_of("b641d4d8", facts | {"jobs": 3})


def test_the_last_point_of_repeats_that_the_clock_ended_may_be_of_one_repeat():
    columns = stored.trace(passes=4)
    clock = columns["seconds"]
    asked = stored.spec() | {"stop": {"seconds": float(clock[-1])}}
    most = np.append(1.2 * clock[:-1], clock[-1])
    timing = {"repeats": 2, "pinned": 0, "spread": 0.2, "seconds": [clock[-2], 1.2 * clock[-2]]}
    spread = {"seconds_min": clock, "seconds_max": most}
    told = stored.result(asked, columns | spread, reason="seconds", timing=timing)
    assert claims.faults(told) == []
    told.info["timing"] = timing | {"spread": 0.1}
    assert len(claims.faults(told)) == 1
