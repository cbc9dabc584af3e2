"""Reading results: the columns are a contract; suboptimality is never claimed below what is known."""

import csv
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import stored
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rrmbench.errors import RrmbenchError
from rrmbench.keys import keys
from rrmbench.report import naming, results, tidy
from rrmbench.report.levels import CERTIFIED_GAPS
from rrmbench.report.show import summary


def failed(asked, **about):
    one = stored.result(asked, {}, status="failed", reason="ValueError: no", **about)
    one.w = one.b = None
    return one


def test_the_columns_and_their_order_are_the_contract(tmp_path):
    nested = stored.spec(reduction="adapt_reg", sigma="auto", inside={"name": "smooth", "mu": 1e-3})
    metrics = stored.trace() | {"test_rmse": np.ones(21), "test_error": np.zeros(21)}
    runs = [stored.result(stored.spec(step_scale=2.0), metrics), stored.result(nested)]
    stored.experiment(tmp_path / "e", runs)
    expected = (
        "run status reason dataset loss regularizer solver reduction dataset.scale regularizer.strength"
        " solver.step_scale reduction.sigma reduction.inside reduction.inside.mu seed point passes checks"
        " seconds cpu_seconds primal dual gap suboptimality nonzeros test_error test_rmse"
    )
    table = tidy.load_results(tmp_path / "e")
    assert list(table.columns) == expected.split()
    assert len(table) == 42
    first, second = table[table.solver.eq("apcg") & table.point.eq(3)].to_dict("records")
    assert (first["solver.step_scale"], first["reduction"], first["passes"]) == (2.0, "none", 3.0)
    assert (second["reduction.sigma"], second["reduction.inside"], second["reduction.inside.mu"]) == (
        "auto",
        "smooth",
        1e-3,
    )
    assert np.isnan(second["solver.step_scale"])
    assert np.isnan(second["test_error"])


def test_the_repeats_of_timed_runs_are_a_column_where_there_are_some(tmp_path):
    facts = {"repeats": 3, "pinned": 1, "spread": 0.01, "seconds": [1.0, 1.1, 1.0]}
    for name, about in ("timed", {"timing": facts}), ("once", {}):
        stored.experiment(tmp_path / name, [stored.result(stored.spec(seed=seed), **about) for seed in (0, 1)])
    assert tidy.load_results(tmp_path / "timed")["timing"].eq(3).all()
    assert "timing" not in tidy.load_results(tmp_path / "once")
    assert tidy.load_results(tmp_path)["timing"].dropna().size == 42


def test_what_was_no_conjugate_pair_has_no_bounds(tmp_path):
    stored.experiment(tmp_path / "e", [stored.result(stored.spec(), status="failed", contradiction=True)])
    table = tidy.load_results(tmp_path / "e")
    assert table[["dual", "gap"]].isna().all(axis=None) and table["primal"].notna().all()


@pytest.mark.parametrize(("size", "reached"), [(1.0, 0), (1e12, None)])
def test_no_gap_is_known_below_the_last_digits_of_p(tmp_path, size, reached):
    equal = {"primal": np.full(21, size), "dual": np.full(21, size), "gap": np.zeros(21)}
    (run,) = results.runs_of(stored.experiment(tmp_path / "e", [stored.result(stored.spec(), stored.trace() | equal)]))
    assert CERTIFIED_GAPS.points(run)[-1] == reached


def test_a_run_without_a_point_has_one_row_and_several_experiments_a_last_column(tmp_path):
    stored.experiment(tmp_path / "a", [failed(stored.spec())])
    stored.experiment(tmp_path / "b", [stored.result(stored.spec(), stored.trace(passes=3))])
    table = tidy.load_results(tmp_path)
    assert table.columns[-1] == "experiment"
    assert list(table.experiment) == ["a"] + ["b"] * 4
    row = table.iloc[0]
    assert (row.status, row.reason, row.solver) == ("failed", "ValueError: no", "apcg")
    assert row[["point", "passes", "gap", "suboptimality"]].isna().all()
    assert "experiment" not in tidy.load_results(tmp_path / "b")
    shutil.rmtree(tmp_path / "a")  # the columns do not depend on how many there are
    assert set(tidy.load_results(tmp_path)["experiment"]) == {"b"}


def test_an_experiment_without_results_gives_an_empty_table_with_columns(tmp_path):
    stored.experiment(tmp_path / "e", [], pending=[stored.spec()])
    table = tidy.load_results(tmp_path)
    assert len(table) == 0
    assert list(table.columns[:3]) == ["run", "status", "reason"]


def test_the_data_set_of_a_path_is_its_stem_and_namesakes_are_told_apart(tmp_path):
    def at(path):
        return stored.spec() | {"dataset": {"path": path}}

    stored.experiment(tmp_path / "e", [stored.result(at("/data/heart.txt"))])
    assert set(tidy.load_results(tmp_path).dataset) == {"heart"}
    assert "dataset.path" not in tidy.load_results(tmp_path)
    stored.experiment(tmp_path / "e", [stored.result(at(p)) for p in ("/data/a9a", "/data/a9a.t")])
    assert set(tidy.load_results(tmp_path)["dataset.path"]) == {"a9a", "a9a.t"}


finite = st.floats(-1e6, 1e6)


@given(st.lists(finite, max_size=6), finite, st.floats(0, 1e3))
def test_suboptimality_bounds_the_distance_and_ends_at_the_width(primal, dual, width):
    reference = {"dual": dual, "primal": dual + width}
    distance = results.suboptimality(np.array(primal), reference)
    width = reference["primal"] - dual
    for value, bound in zip(primal, distance, strict=True):
        assert bound == value - dual if value - dual >= width else np.isnan(bound)


def test_no_suboptimality_is_negative_where_rounding_has_the_dual_bound_above():
    above = {"primal": 1.0, "dual": np.nextafter(1.0, 2.0)}
    assert results.width(above) == 0.0
    assert np.isnan(results.suboptimality(np.array([1.0]), above)).all()


def test_without_a_dual_bound_there_is_no_suboptimality():
    primal = np.array([1.0, 0.5])
    assert np.isnan(results.suboptimality(primal, None)).all()
    assert np.isnan(results.suboptimality(primal, {"dual": -np.inf, "primal": 0.5})).all()


@given(st.lists(st.floats(allow_nan=True), min_size=1, max_size=8), st.lists(st.floats(0, 1), max_size=3))
def test_points_to_is_the_first_point_at_or_below(values, levels):
    for level, index in zip(levels, results.points_to(values, levels), strict=True):
        below = [i for i, value in enumerate(values) if value <= level]
        assert index == (below[0] if below else None)


def test_csv_has_empty_cells_for_missing_and_inf_for_infinite(tmp_path):
    runs = [
        failed(stored.spec()),
        stored.result(stored.spec(seed=1), stored.trace(passes=1, certified=False)),
    ]
    stored.experiment(tmp_path / "e", runs)
    to = tidy.export(tmp_path / "e", tmp_path / "out" / "table.csv")
    lines = [line.split(",") for line in to.read_text().splitlines()]
    head, first, second, _ = lines
    assert first[head.index("passes")] == ""
    assert (second[head.index("gap")], second[head.index("dual")]) == ("inf", "-inf")
    assert (second[head.index("seed")], second[head.index("nonzeros")]) == ("1", "0")


def test_parquet_holds_the_same_table(tmp_path):
    runs = [stored.result(stored.spec(reduction="adapt_reg", sigma=s)) for s in ("auto", 1e-3)]
    stored.experiment(tmp_path / "e", runs)
    read = pd.read_parquet(tidy.export(tmp_path / "e", tmp_path / "t.parquet"))
    table = tidy.load_results(tmp_path / "e")
    assert list(read.columns) == list(table.columns)
    assert list(read["reduction.sigma"]) == [str(v) for v in table["reduction.sigma"]]
    np.testing.assert_array_equal(read.gap, table.gap)


def test_whole_parameters_keep_their_last_digit_beside_methods_that_have_none(tmp_path):
    """float64 holds 53 of their 63 bits."""
    large = [2**53 + 1, 2**63 - 1, -(2**53) - 1]
    asked = [stored.spec(solver="mine", cut=cut) for cut in large] + [
        stored.spec(),
        stored.spec(solver="other", cut=0.5),
    ]
    stored.experiment(tmp_path / "e", [stored.result(spec, stored.trace(passes=0)) for spec in asked[:4]])
    table = tidy.load_results(tmp_path / "e")
    assert table["solver.cut"].dtype == "Int64"
    assert [*table["solver.cut"].dropna()] == large
    read = pd.read_parquet(tidy.export(tmp_path / "e", tmp_path / "t.parquet"))
    assert [*read["solver.cut"].dropna()] == large
    with tidy.export(tmp_path / "e", tmp_path / "t.csv").open(newline="") as file:
        assert [row["solver.cut"] for row in csv.DictReader(file)] == [*map(str, large), ""]
    stored.experiment(tmp_path / "f", [stored.result(spec, stored.trace(passes=0)) for spec in asked[3:]])
    assert [*tidy.load_results(tmp_path / "f")["solver.cut"].dropna()] == [0.5]


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    stored.experiment(tmp_path / "e", [stored.result(stored.spec())])
    tidy.load_results(tmp_path / "e")  # pandas keeps its strings in parts of pyarrow, which it imports here
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RrmbenchError, match=r"pip install 'rrmbench\[parquet\]'"):
        tidy.export(tmp_path / "e", tmp_path / "t.parquet")
    assert not (tmp_path / "t.parquet").exists()


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(RrmbenchError, match=r"found the suffix '.cvs', allowed are .csv and .parquet.*'.csv'"):
        tidy.export(tmp_path, tmp_path / "t.cvs")


def modules_after(code):
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_pandas_and_matplotlib_are_not_imported_before_they_are_needed():
    loaded = modules_after(
        "import rrmbench.report.results, rrmbench.report.show, rrmbench.report.check, rrmbench.report.plots"
    )
    assert not {"pandas", "matplotlib", "rich", "numba", "scipy", "rrmbench.registry"} & set(loaded)


NUMBERS = [(1e-4, "1e-4"), (3e-4, "3e-4"), (1e-2, "1e-2"), (0.5, "0.5"), (100, "100"), (1.5e-7, "1.5e-7")]
OTHERS = [
    (0, "0"),
    (1e6, "1e6"),
    (float("inf"), "inf"),
    (True, "true"),
    ("auto", "auto"),
]


@pytest.mark.parametrize(("value", "text"), NUMBERS + OTHERS)
def test_values_are_written_as_people_do(value, text):
    assert naming.short(value) == text


def test_a_method_without_reduction_is_the_solver_and_what_stands_inside_is_named():
    assert naming.method(keys(stored.spec())) == "apcg"
    old = stored.spec() | {"reduction": {"name": "none", "inside": {"name": "smooth", "mu": 5}}}
    assert naming.method(keys(old)) == "apcg + none(inside=smooth, inside.mu=5)"


def shown(path, width=110):
    console = Console(width=width)
    with console.capture() as capture:
        console.print(summary(path))
    return capture.get()


def test_the_summary_shows_passes_seconds_reasons_and_what_is_to_come(tmp_path):
    runs = [
        stored.result(stored.spec(seed=s, strength=c), stored.trace(rate=1.0, seconds_per_pass=0.5))
        for c in (1e-4, 1e-5)
        for s in (0, 1)
    ]
    runs += [failed(stored.spec(solver="svrg"))]
    stored.experiment(tmp_path / "e", runs, pending=[stored.spec(seed=7)])
    text = shown(tmp_path)
    assert "5 of 6 runs, 1 not done yet" in text
    assert "strength=1e-5" in text
    assert "failed: toy(scale=mean_norm), squared, l1(strength=1e-4), svrg, seed 0: ValueError: no" in text
    (first, *_) = [line.split() for line in text.splitlines() if line.startswith("apcg ")]
    # the gap is 2 exp(-passes): at most 1e-2 after 6 passes, 1e-3 after 8, ...
    assert first[3:] == ["»6", "»8", "»10", "»13", "»15", "»17", "»20"]
    assert "»3s" in text
    assert max(map(len, text.splitlines())) <= 110


def test_the_summary_says_where_there_is_no_certificate(tmp_path):
    stored.experiment(tmp_path / "e", [stored.result(stored.spec(), stored.trace(certified=False))])
    text = shown(tmp_path)
    assert "apcg*" in text
    assert "no certificate" in text


def test_text_with_brackets_is_shown_as_it_is(tmp_path):
    one = failed(stored.spec(solver="svrg", domain=[0, 1]))
    one.reason = "index [red] out of [/bold] range"
    stored.experiment(tmp_path / "e", [one, failed(stored.spec())])
    text = shown(tmp_path)
    assert "svrg(domain=[0, 1])" in text
    assert "index [red] out of [/bold] range" in " ".join(text.split())
