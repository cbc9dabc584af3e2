"""`rrmbench show`: who won, at any width, as a table, as JSON and as LaTeX."""

import io
import json
import re

import numpy as np
import pytest
import stored
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401
from rich.console import Console

from rrmbench.report.levels import parsed_levels
from rrmbench.report.show import summary
from rrmbench.report.show_latex import escaped
from rrmbench.report.show_table import seconds

RATES = {"apcg": 1.0, "prox_sdca": 0.5, "svrg": 0.2}


def results(dataset="toy", strengths=(1e-4, 1e-5), seeds=3):
    """Three methods on each problem, of which apcg is the fastest, svrg comes nowhere, and one seed may be late."""
    found = []
    for strength in strengths:
        for solver, rate in RATES.items():
            for seed in range(seeds):
                asked = stored.spec(dataset, strength, solver, seed=seed)
                slow = 1.0 + 0.1 * seed
                found.append(stored.result(asked, stored.trace(rate / slow, seconds_per_pass=0.01 * slow)))
    return found


@pytest.fixture
def folder(lab):
    failed = stored.result(stored.spec(solver="fobos"), {}, "failed", "ValueError: no")
    black = stored.trace(certified=False) | {"passes": np.full(21, np.nan)}
    others = [failed, stored.result(stored.spec(solver="liblinear"), black)]
    stored.experiment(lab.out / "e", [*results(), *others], pending=[stored.spec(seed=7)])
    return lab.out / "e"


def show(lab, *options, columns=None, monkeypatch=None):
    if columns:
        monkeypatch.setenv("COLUMNS", str(columns))
    ran = lab.cli("show", lab.out, *options)
    assert ran.code == 0, ran.err
    return ran.out


@pytest.mark.parametrize("columns", [30, 60, 80, 100, 200])
def test_the_gap_is_whole_at_any_width_and_levels_go_first(lab, folder, monkeypatch, columns):
    lines = show(lab, columns=columns, monkeypatch=monkeypatch).splitlines()
    assert max(map(len, lines)) <= columns
    text = " ".join(" ".join(lines).split())
    assert "»2.5e-8" in text
    shown = re.findall(r"1e-\d", next(line for line in lines if line.startswith("method")))
    left = re.search(r"(\d) of 7 levels left out at (\d+) columns", text)
    assert len(shown) + (int(left[1]) if left else 0) == 7
    assert (left is None) == (columns == 200)
    if left:
        (whole,) = re.findall(r"(\d+) columns show all", text)
        wide = show(lab, columns=int(whole), monkeypatch=monkeypatch)
        assert "left out" not in wide and "left out" in show(lab, columns=int(whole) - 1, monkeypatch=monkeypatch)


def test_other_numbers_of_seeds_are_told_below_the_table(lab):
    few = [one for one in results() if one.spec["solver"]["name"] != "apcg" or one.spec["seed"] == 0]
    once = stored.result(stored.spec("toy", 1e-4, "fista"), deterministic=True)
    stored.experiment(lab.out / "e", [*few, once])
    told = "not all medians are over as many seeds: 3 of prox_sdca, svrg; 1 of apcg"
    assert told in show(lab)
    assert f"% {told}\n" in show(lab, "--latex")
    assert told not in show(lab, "--runs") and "as many seeds" not in show(lab, "--only", "solver=svrg")
    more = stored.spec("toy", 1e-4, "apcg", seed=1), stored.spec("toy", 1e-4, "apcg", seed=2)
    stored.experiment(lab.out / "e", [*few, once, *map(stored.result, more)])
    assert told.replace("seeds:", "seeds (on strength=1e-5):") in show(lab)


def test_a_pipe_has_120_columns_unless_columns_says_otherwise(lab, folder, monkeypatch):
    assert "left out" not in show(lab)
    assert max(map(len, show(lab).splitlines())) > 80
    assert max(map(len, show(lab, columns=80, monkeypatch=monkeypatch).splitlines())) <= 80


def test_methods_have_medians_quartiles_and_a_winner_and_the_rest_is_told(lab, folder):
    text = show(lab, "--levels", "1e-2,1e-4")
    lines = text.splitlines()
    (first,) = [n for n, line in enumerate(lines) if line.startswith("apcg") and n < 12]
    # gap = 2 exp(-k / slow) <= 1e-2 first at k = 6, 6, 7 for slow = 1, 1.1, 1.2; <= 1e-4 at 10, 11, 12
    assert lines[first].split()[3:] == ["»6", "»11"]
    assert [line.split()[0] for line in lines[1:3]] == ["status", "method"] and "rule" in lines[2]
    assert "passes, and below them seconds, until the certified duality gap is at most" in text
    assert "3 seeds" in lines[first + 1] and "6..6.5" in lines[first + 1] and "10.5..11.5" in lines[first + 1]
    assert lines[first + 2].split()[-2:] == ["»66ms", "»121ms"]
    assert "20 of 21 runs, 1 not done yet" in text
    assert "failed: toy(scale=mean_norm), squared, l1(strength=1e-4), fobos, seed 0: ValueError: no" in text
    assert "liblinear*" in text and "no certificate" in text
    (black,) = [line for line in lines if line.startswith("liblinear")]
    assert black.split()[2:] == ["none", "100ms", "190ms"]  # no passes, and no winner for want of a certificate


def test_the_winner_is_bold_and_has_a_sign_of_its_own_also_in_ascii(folder):
    for encoding, sign in ("utf-8", "»"), ("ascii", "!"):
        file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        Console(file=file, force_terminal=True, color_system="standard", width=120).print(summary(folder))
        file.seek(0)
        marked = re.findall(rf"\x1b\[1m{sign}([^\x1b]+)\x1b", file.read())
        assert {"6", "66ms", "2.5e-8"} <= set(marked)


def test_runs_one_by_one_and_only_some(lab, folder):
    text = show(lab, "--runs", "--only", "solver=apcg", "--only", "seed=[0,2]")
    assert sum(line.startswith("apcg") for line in text.splitlines()) == 4
    assert "4 match --only" in text and "»" not in text and "failed" not in text
    assert "seed 0" in text and "seed 2" in text and "seed 1" not in text
    ran = lab.cli("show", lab.out, "--only", "solver=apgc")
    assert ran.code == 2 and "did you mean 'apcg'" in ran.err


def test_deterministic_runs_and_repeated_timings_are_told(lab):
    timing = {"repeats": 3, "pinned": 0, "spread": 0.25, "seconds": [0.2, 0.25, 0.2]}
    once = stored.result(stored.spec(solver="fista"), deterministic=True)
    timed = stored.result(stored.spec(solver="gd"), timing=timing)
    stored.experiment(lab.out / "e", [*results(strengths=(1e-4,)), once, timed])
    for options in (), ("--runs",):
        lines = show(lab, *options).splitlines()
        (row,) = [n for n, line in enumerate(lines) if line.startswith("fista")]
        assert "deterministic" in lines[row + 1]
        text = " ".join(" ".join(lines).split())
        assert "seconds: medians of 3 repeats; CAUTION: 10 of 11 runs were timed once" in text
        assert "the repeats differ by up to 25.0%: gd" in text


def test_seconds_of_several_machines_are_told(lab):
    found = [stored.result(stored.spec(seed=seed), environment=f"{machine}") for seed, machine in enumerate("ab")]
    stored.experiment(lab.out / "two", found)
    caution = "CAUTION: seconds from 2 different environments (machine or versions)"
    assert caution in lab.cli("show", lab.out / "two").out
    assert f"% {caution}" in lab.cli("show", lab.out / "two", "--latex").out
    stored.experiment(lab.out / "one", found[:1])
    assert "CAUTION" not in lab.cli("show", lab.out / "one").out


def test_the_memory_of_large_runs_is_told(lab):
    memory = [{"peak_bytes": 3 * 2**30, "own_bytes": 2**29}, {"peak_bytes": 2**31, "own_bytes": 2**30}, {}]
    found = [stored.result(stored.spec(seed=seed), memory=one) for seed, one in enumerate(memory)]
    stored.experiment(lab.out / "large", found)
    told = lab.cli("show", lab.out / "large").out
    assert "memory: up to 3.0 GB in one run, up to 1.0 GB of it its own and not shared data" in told
    content = json.loads(lab.cli("show", lab.out / "large", "--json").out)
    method = content["experiments"][0]["problems"][0]["methods"][0]
    assert method["memory"] == {"peak_bytes": 3 * 2**30, "own_bytes": 2**30}
    stored.experiment(lab.out / "small", [stored.result(stored.spec(), memory={"peak_bytes": 2**29})])
    assert "memory" not in lab.cli("show", lab.out / "small").out


def test_passes_of_evaluation_are_told(lab):
    found = [stored.result(stored.spec(seed=seed), evaluation_passes=spent) for seed, spent in enumerate((0.0, 7.5))]
    stored.experiment(lab.out / "toy", found)
    work = sum(result.trace["passes"][-1] + result.trace["checks"][-1] for result in found)
    told = f"better bounds took 8 passes of evaluation, beside {work:,.0f} of the solvers"
    assert told in lab.cli("show", lab.out / "toy").out
    content = json.loads(lab.cli("show", lab.out / "toy", "--json").out)
    assert content["experiments"][0]["problems"][0]["methods"][0]["evaluation_passes"] == 7.5
    stored.experiment(lab.out / "none", found[:1])
    assert "better bounds" not in lab.cli("show", lab.out / "none").out


@pytest.mark.parametrize(
    "fact, words",
    [
        ("evaluation_fault", "the search for better bounds failed in 1 of 2 runs"),
        ("warmup_fault", "the warm-up failed in 1"),
        ("unchecked_pair", "not checked at all random points in 1 of 2 runs, so that their gaps are not sure"),
    ],
)
def test_what_went_wrong_beside_the_solver_is_told(lab, fact, words):
    faults = ({}, {fact: "ValueError: \x1b no"})
    found = [stored.result(stored.spec(seed=seed), **fault) for seed, fault in enumerate(faults)]
    stored.experiment(lab.out / "toy", found)
    text = " ".join(lab.cli("show", lab.out / "toy").out.split())
    assert words in text and ": ValueError: " in text
    assert "\x1b" not in text


def test_experiments_without_a_match_are_left_out(lab, folder):
    stored.experiment(lab.out / "f", results("other"))
    assert "e: 20 of 21 runs" in show(lab) and "f: 18 runs" in show(lab)
    text = show(lab, "--only", "dataset=other", "--json")
    assert [one["experiment"] for one in json.loads(text)["experiments"]] == ["f"]


def order(lab, sort):
    first = json.loads(show(lab, "--sort", sort, "--json"))["experiments"][0]["problems"][0]["methods"]
    return [method["name"] for method in first]


def test_rows_are_sorted_by_what_is_asked(lab, folder):
    assert order(lab, "name") == ["apcg", "fobos", "liblinear", "prox_sdca", "svrg"]
    assert order(lab, "gap")[:3] == ["apcg", "prox_sdca", "svrg"]
    assert order(lab, "1e-2")[:2] == order(lab, "passes@0.01")[:2] == ["apcg", "prox_sdca"]
    assert order(lab, "seconds@1e-2")[:3] == ["apcg", "liblinear", "prox_sdca"]
    ran = lab.cli("show", lab.out, "--sort", "gpa")
    assert ran.code == 2 and "did you mean 'gap'" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--levels", "1e-2,-1"), "--levels: found '-1', allowed are positive numbers"),
        (("--levels", ""), "--levels: found ''"),
        (("--levels", "nan"), "--levels: found 'nan'"),
        (("--levels", ",".join(f"{k}e-3" for k in range(1, 60))), "allowed are 50"),
        (("--y", "gpa"), "--y: found 'gpa', allowed is gap, suboptimality; did you mean 'gap'?"),
        (("--json", "--latex"), "only one of the two"),
        (("--json", "--runs"), "--runs"),
    ],
)
def test_mistakes_are_one_message(lab, folder, options, message):
    ran = lab.cli("show", lab.out, *options)
    assert ran.code == 2 and message in ran.err and len(ran.err.splitlines()) == 1


def strict(text):
    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def test_levels_relative_to_the_start_are_beyond_the_reference_where_they_are_so_of_every_run(lab):
    far = stored.trace()
    far["primal"][0] = 1000.0
    runs = [stored.result(stored.spec(solver="sgd")), stored.result(stored.spec(solver="agd"), far)]
    stored.experiment(lab.out / "e", runs)  # P(w*) is known to 1e-6
    for level, said in ("1e-8", False), ("1e-10", True):
        told = show(lab, "--levels", level, "--y", "suboptimality", "--relative")
        assert ("the optimum is known to within 1.0e-06" in told) is said


def test_json_has_every_number_and_null_for_what_is_none(lab, folder):
    content = strict(show(lab, "--json", "--levels", "1e-2,1e-8", "--y", "suboptimality", "--relative"))
    assert content["schema_version"] == 1
    assert content["levels"] == {"values": [1e-2, 1e-8], "quantity": "suboptimality", "relative": True}
    (one,) = content["experiments"]
    assert {name: one[name] for name in ("asked", "stored", "outstanding")} == {
        "asked": 21, "stored": 20, "outstanding": 1,
    }  # fmt: skip
    problem = one["problems"][0]
    assert problem["keys"]["regularizer.strength"] == 1e-4 and np.isclose(problem["reference_width"], 1e-6)
    apcg, *_, fobos, black = problem["methods"]
    # exp(-k / slow) <= 1.25e-2 first at k = 5, 5, 6
    assert apcg["levels"][0]["passes"] == {"median": 5.0, "low": 5.0, "high": 5.5}
    assert apcg["levels"][1] | {"passes": None, "work": None, "seconds": None} == {
        "level": 1e-8, "count": 0, "runs": 3, "at_end": 0, "is_bound": False,
        "passes": None, "work": None, "seconds": None,
    }  # fmt: skip
    assert apcg["levels"][1]["passes"]["median"] is None
    assert fobos["ended_badly"] == [{"seed": 0, "status": "failed", "reason": "ValueError: no"}]
    assert (black["certified"], black["counts_passes"], black["final"]["passes"]["median"]) == (False, False, None)


def unescaped(text):
    """What LaTeX prints for a text, read token by token."""
    printed = {
        r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textless{}": "<",
        r"\textgreater{}": ">", r"\textbar{}": "|", r"\textquotedbl{}": '"',
        **{f"{{{c}}}": c for c in "*[]-"}, **{f"\\{c}": c for c in "{}$&#_%"},
    }  # fmt: skip
    tokens = re.compile("|".join(map(re.escape, printed)) + r"|[^\\{}$&#^_%~<>|\"*\[\]\n-]")
    found = [match.group() for match in tokens.finditer(text)]
    assert "".join(found) == text
    return "".join(printed.get(token, token) for token in found)


@given(st.text(st.characters(codec="utf-8") | st.sampled_from('\\{}$&#^_%~<>|"*[]-\n')))
def test_latex_prints_any_name_as_it_is(text):
    assert unescaped(escaped(text)) == text.replace("\n", " ")


def test_the_latex_table_tells_which_methods_did_not_end_well(lab):
    asked = [stored.spec(solver="agd", seed=seed) for seed in (0, 1)] + [stored.spec(solver="gd")]
    ends = ["done", "diverged", "failed"]
    stored.experiment(lab.out / "e", [stored.result(one, status=end) for one, end in zip(asked, ends, strict=True)])
    out = lab.cli("show", lab.out, "--latex").out
    assert "agd (1 of 2 diverged) &" in out and "gd (failed) &" in out


def test_the_latex_table_tells_how_many_seeds_come_there(lab):
    uncounted = {"passes": np.full(21, np.nan)}  # as of a black box
    columns = {
        "agd": [stored.trace(rate) for rate in (0.5, 0.5, 0.01)],
        "liblinear": [stored.trace(rate) | uncounted for rate in (0.5, 0.01, 0.01)],
    }
    asked = ((stored.spec(solver=name, seed=k), trace) for name in columns for k, trace in enumerate(columns[name]))
    stored.experiment(lab.out / "e", [stored.result(*one) for one in asked])
    out = show(lab, "--latex", "--levels", "1e-2")
    assert r" & \textbf{11}$^{2/3}$ \\" in out and r" & \textbf{110\,ms} \\" in out
    assert r" &  & --$^{1/3}$ \\" in out


def test_the_latex_table_is_whole(lab, folder):
    odd = stored.result(stored.spec(strength=1e-5, solver="50%_&\\end{tabular}", seed=0), stored.trace(rate=0.9))
    stored.experiment(lab.out / "f", [*results(), odd])
    tables = show(lab, "--latex", "--levels", "1e-2,3e-5").split("\n\n")
    assert len(tables) == 2
    for table in tables:
        lines = [line for line in table.splitlines() if not line.startswith("%")]
        assert lines[0] == r"\begin{tabular}{lrrr}" and lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
        assert lines[1] == r"\toprule" and lines.count(r"\end{tabular}") == 1
        rows = [line for line in lines[2:-2] if line not in (r"\midrule",) and "multicolumn" not in line]
        assert all(row.endswith(r" \\") and len(re.findall(r"(?<!\\)&", row)) == 3 for row in rows)
        headings = [line for line in lines if "multicolumn" in line]
        assert headings == [rf"\multicolumn{{4}}{{l}}{{\emph{{strength=1e{{-}}{k}}}}} \\" for k in (4, 5)]
    assert r"50\%\_\&\textbackslash{}end\{tabular\} &" in tables[1]
    assert r"apcg & $\mathbf{2.5 \cdot 10^{-8}}$ & \textbf{6} & \textbf{13} \\" in tables[0]
    assert r"$10^{-2}$ & $3 \cdot 10^{-5}$" in tables[0]


@given(st.floats(1e-6, 1e6) | st.just(0.0))
def test_times_keep_two_digits_and_say_their_unit(value):
    text = seconds(value)
    number, scale = (text[:-2], 1e-3) if text.endswith("ms") else (text[:-1], 1.0)
    assert abs(float(number) * scale - value) <= 0.051 * value
    assert len(text) <= 8


def test_levels_are_written_in_one_style():
    assert parsed_levels("1e-1,1e-3").texts == ["1e-1", "1e-3"]
    assert parsed_levels("0.5,0.1").texts == ["0.5", "0.1"]


@pytest.mark.parametrize(
    ("ends", "text"), [((0.8, 0.85, 0.99, 1.3, 1.5), "850ms..1.3s"), ((1.0, 1.1, 1.2, 1.3, 1.5), "1.1..1.3s")]
)
def test_quartiles_on_both_sides_of_a_second_have_their_own_units(tmp_path, ends, text):
    runs = [
        stored.result(stored.spec(seed=seed), stored.trace(1.0, passes=10, seconds_per_pass=end / 10))
        for seed, end in enumerate(ends)
    ]
    level = parsed_levels(f"{2.1 * np.exp(-10.0)}")
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(summary(stored.experiment(tmp_path / "e", runs).directory, level))
    assert text in console.export_text()
