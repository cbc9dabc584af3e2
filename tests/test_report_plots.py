"""Figures: what goes where is tested on the data behind the axes, that files are written on the files."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
import stored
from lab import make_lab  # noqa: F401
from stored import sheets_of

from rrmbench.bench.bounds import Bounds
from rrmbench.errors import RrmbenchError
from rrmbench.report.levels import Levels
from rrmbench.report.plots import curves, files, plot, sheets
from rrmbench.report.plots.draw import draw


def titles(sheet):
    return {at: panel.title for at, panel in sheet.panels.items()}


@pytest.mark.exhaustive
def test_n_figures_are_n_files_even_for_values_with_dots_and_slashes(tmp_path):
    strengths = [1e-4, 0.5, 0.05, 1.5]
    runs = [stored.result(stored.spec(dataset=d, strength=c)) for c in strengths for d in ("a.b", "a/b", "a b")]
    stored.experiment(tmp_path / "e", runs, {"figure": ["regularizer.strength", "dataset"]})
    written = plot(tmp_path, formats=("png", "svg"), out=tmp_path / "out")
    assert len(written) == len(set(written)) == 24
    assert sorted(written) == sorted((tmp_path / "out").iterdir())
    assert len({path.read_bytes() for path in written if path.suffix == ".png"}) == 12


@pytest.mark.exhaustive
def test_many_figures_are_those_that_are_drawn_one_by_one(tmp_path, monkeypatch):
    """In processes of their own: same files in the same order, also where a later experiment cannot be drawn."""
    strengths = [1e-4, 1e-3, 1e-2, 1e-1]
    runs = [stored.result(stored.spec(strength=strength)) for strength in strengths]
    stored.experiment(tmp_path / "r" / "a", runs, {"figure": ["regularizer.strength"]})
    many = plot(tmp_path / "r", formats=("png",), out=tmp_path / "many")
    monkeypatch.setattr(files, "MANY", 5)
    singly = plot(tmp_path / "r", formats=("png",), out=tmp_path / "one")
    assert [path.name for path in many] == [path.name for path in singly] and len(many) == 4
    assert [path.read_bytes() for path in many] == [path.read_bytes() for path in singly]
    stored.experiment(tmp_path / "r" / "b", [stored.result(stored.spec())], {"figure": ["nothing"]})
    with pytest.raises(RrmbenchError, match="nothing"):
        plot(tmp_path / "r", formats=("png",), out=tmp_path / "again")
    for path in many:
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_files_are_of_their_format_in_the_experiments_folder_and_the_same_each_time(tmp_path, kind, magic):
    stored.experiment(tmp_path / "e", [stored.result(stored.spec())])
    (path,) = plot(tmp_path / "e", formats=[kind])
    assert path == tmp_path / "e" / "figures" / f"e_suboptimality_over_passes.{kind}"
    first = path.read_bytes()
    assert first.startswith(magic)
    plot(tmp_path / "e", formats=[kind])
    assert path.read_bytes() == first


def test_rows_and_columns_follow_the_plot_section(tmp_path):
    runs = [stored.result(stored.spec(dataset=d, strength=c)) for d in ("a", "b", "c") for c in (1e-4, 1e-5)]
    (sheet,) = sheets_of(tmp_path, runs, {"rows": "regularizer.strength", "columns": "dataset"})
    assert (sheet.rows, sheet.columns) == (2, 3)
    assert titles(sheet)[0, 2] == "c, λ = 1e-4"
    assert titles(sheet)[1, 0] == "a, λ = 1e-5"
    assert sheet.title == "e, squared, l1, apcg"


def test_a_grid_with_strengths_of_its_own_for_each_data_set_has_no_holes(tmp_path):
    grids = {"a": [1e-5, 1e-6, 1e-7], "b": [1e-4, 1e-5, 1e-6], "c": [1e-4, 1e-5, 1e-6]}
    runs = [stored.result(stored.spec(dataset=d, strength=c)) for d, grid in grids.items() for c in grid]
    (sheet,) = sheets_of(tmp_path, runs, {"rows": "regularizer.strength", "columns": "dataset"})
    assert (sheet.rows, sheet.columns, len(sheet.panels)) == (3, 3, 9)
    assert [titles(sheet)[row, 0] for row in range(3)] == ["a, λ = 1e-5", "a, λ = 1e-6", "a, λ = 1e-7"]
    assert [titles(sheet)[row, 1] for row in range(3)] == ["b, λ = 1e-4", "b, λ = 1e-5", "b, λ = 1e-6"]


def test_without_a_plot_section_different_problems_never_share_a_panel(tmp_path):
    runs = [
        stored.result(stored.spec(dataset=d, strength=c, loss=loss))
        for d in ("a", "b")
        for c in (1e-4, 1e-5)
        for loss in ("squared", "hinge")
    ]
    found = sheets_of(tmp_path, runs)
    assert [sheet.title for sheet in found] == ["e, squared, l1, apcg", "e, hinge, l1, apcg"]
    assert all((sheet.rows, sheet.columns) == (2, 2) for sheet in found)


def test_a_key_that_no_run_has_is_an_error_with_the_nearest(tmp_path):
    with pytest.raises(RrmbenchError, match=r"plot.rows: no run has the key 'regularizer.strengt'.*did you mean"):
        sheets_of(tmp_path, [stored.result(stored.spec())], {"rows": "regularizer.strengt"})


@pytest.mark.parametrize("wrong", [{"x": "epochs"}, {"y": "subopt"}, {"formats": ["jpg"]}])
def test_unknown_axes_and_formats_are_refused_before_anything_is_read(tmp_path, wrong):
    with pytest.raises(RrmbenchError, match="allowed is"):
        plot(tmp_path, **wrong)


def test_nothing_to_plot_is_said(tmp_path):
    stored.experiment(tmp_path / "e", [], pending=[stored.spec()])
    with pytest.raises(RrmbenchError, match="no run has ended yet"):
        plot(tmp_path)


def study(strengths=(1e-2, 1e-3, 1e-4), adaptive=("auto",)):
    runs = [stored.result(stored.spec(reduction="regularize", sigma=s)) for s in strengths]
    return runs + [stored.result(stored.spec(reduction="adapt_reg", sigma=s)) for s in adaptive]


def test_a_study_of_reductions_is_drawn_as_in_the_paper(tmp_path):
    (sheet,) = sheets_of(tmp_path, study())
    assert list(sheet.labels.values()) == [
        "regularize σ=1e-2",
        "regularize σ=1e-3",
        "regularize σ=1e-4",
        "adapt_reg",
    ]
    *blue, red = sheet.styles.values()
    assert all(style["linestyle"] == "-" for style in blue)
    assert red["linestyle"] != "-"
    lightness = [sum(style["color"][:3]) for style in blue]
    assert lightness == sorted(lightness, reverse=True)
    assert all(style["color"][2] == max(style["color"][:3]) for style in blue)
    assert red["color"].startswith("#CB")


def test_a_study_with_a_row_per_solver_is_one_too_with_one_legend(tmp_path):
    asked = [
        ("regularize", 1e-2),
        ("regularize", 1e-3),
        ("adapt_reg", "auto"),
        ("proximal_point", None),
        ("none", None),
    ]
    runs = [
        stored.result(stored.spec(solver=solver, reduction=name, **({"sigma": s} if s else {})))
        for solver in ("apcg", "prox_sdca")
        for name, s in asked
    ]
    (sheet,) = sheets_of(tmp_path, runs, {"rows": "solver"})
    assert list(titles(sheet).values()) == ["apcg", "prox_sdca"]
    styles = {sheet.labels[series]: style for series, style in sheet.styles.items()}
    assert list(styles) == ["regularize σ=1e-2", "regularize σ=1e-3", "adapt_reg", "proximal_point", "no reduction"]
    assert styles["regularize σ=1e-2"]["linestyle"] == "-"
    assert styles["adapt_reg"]["color"] == "#CB181D"
    assert styles["proximal_point"]["color"] == "#238B45"
    assert styles["no reduction"]["color"] == "#000000"


def test_a_lone_solver_is_named_by_its_reductions_alone(tmp_path):
    runs = [stored.result(stored.spec(solver="apcg", reduction=name)) for name in ("none", "adapt_reg", "auto")]
    (sheet,) = sheets_of(tmp_path, runs)
    assert sorted(sheet.labels.values()) == ["adapt_reg", "auto", "no reduction"]
    (sheet,) = sheets_of(tmp_path, runs[:1])
    assert list(sheet.labels.values()) == ["apcg"]


def test_where_nothing_is_reduced_a_curve_without_parameters_has_the_defaults(tmp_path):
    runs = [stored.result(stored.spec(solver="svrg", **scale)) for scale in ({}, {"step_scale": 0.01})]
    (sheet,) = sheets_of(tmp_path, [*runs, stored.result(stored.spec(solver="agd"))], {"rows": "solver"})
    assert sorted(sheet.labels.values()) == ["defaults", "step_scale=1e-2"]


def test_two_solvers_are_told_apart_by_more_than_colour(tmp_path):
    runs = [stored.result(stored.spec(solver=s, step_scale=c)) for s in ("gd", "agd", "svrg") for c in (1, 2)]
    (sheet,) = sheets_of(tmp_path, runs)
    drawn = {(style["marker"], style["linestyle"]) for style in sheet.styles.values()}
    assert len(drawn) == len(sheet.styles) == 6
    assert "svrg step_scale=2" in sheet.labels.values()


def test_a_tuned_method_is_one_series_over_all_panels(tmp_path):
    runs = [
        stored.result(stored.spec(dataset=d, solver=s, step_scale=scale))
        for d, s, scale in [("a", "gd", 2), ("b", "gd", 4), ("a", "agd", 1), ("b", "agd", 8)]
    ]
    (sheet,) = sheets_of(tmp_path, runs, {"columns": "dataset"})
    assert list(sheet.labels.values()) == ["gd", "agd"]


def test_seeds_are_one_curve_the_median_with_quartiles(tmp_path):
    rates = [0.3, 0.4, 0.5, 0.6, 0.7]
    runs = [stored.result(stored.spec(seed=k), stored.trace(rate=rate)) for k, rate in enumerate(rates)]
    (sheet,) = sheets_of(tmp_path, runs, y="gap")
    (curve,) = sheet.panels[0, 0].curves.values()
    np.testing.assert_allclose(curve.y, 2 * np.exp(-0.5 * curve.x))
    np.testing.assert_allclose(curve.low, 2 * np.exp(-0.6 * curve.x))
    np.testing.assert_allclose(curve.high, 2 * np.exp(-0.4 * curve.x))
    assert sheet.notes == ["lines: medians over 5 seeds, bands: quartiles"]


def test_a_median_of_many_points_keeps_some_of_them_and_both_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "MOST_POINTS", 5)
    runs = [stored.result(stored.spec(seed=k), stored.trace(rate=rate)) for k, rate in enumerate((0.3, 0.5, 0.7))]
    (sheet,) = sheets_of(tmp_path, runs, y="gap")
    (curve,) = sheet.panels[0, 0].curves.values()
    assert curve.x.tolist() == [0.0, 4.0, 9.0, 14.0, 19.0, 20.0]  # of 0, 1, ..., 20
    np.testing.assert_allclose(curve.y, 2 * np.exp(-0.5 * curve.x))


def test_a_seed_that_stops_early_keeps_its_value_and_half_must_be_there(tmp_path):
    runs = [stored.result(stored.spec(seed=k), stored.trace(passes=p)) for k, p in enumerate([4, 10, 20])]
    (sheet,) = sheets_of(tmp_path, runs, y="gap")
    (curve,) = sheet.panels[0, 0].curves.values()
    assert curve.x[-1] == 10
    np.testing.assert_allclose(curve.y[-1], 2 * np.exp(-0.5 * 10))


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_black_box_is_drawn_by_the_best_of_its_calls_that_took_no_longer(tmp_path, seeds):
    """Each point is a call of its own, of which the third took less time than the second, and the fifth came back."""
    seconds = np.array([0.0, 0.3, 0.2, 0.4, 0.5])
    far = np.array([1.0, 0.1, 0.05, 0.01, 0.02])
    calls = stored.trace(passes=4) | {"passes": np.full(5, np.nan), "seconds": seconds, "primal": stored.OPTIMUM + far}
    runs = [stored.result(stored.spec(solver="liblinear", seed=seed), calls) for seed in range(seeds)]
    (sheet,) = sheets_of(tmp_path, runs, x="seconds", y="objective")
    (curve,) = sheet.panels[0, 0].curves.values()
    np.testing.assert_array_equal(curve.x, [0.0, 0.2, 0.3, 0.4, 0.5])
    np.testing.assert_allclose(curve.y, stored.OPTIMUM + np.array([1.0, 0.05, 0.05, 0.01, 0.01]))


def test_a_seed_without_a_bound_counts_as_infinite_and_zero_is_the_lowest_there_is(tmp_path):
    late, exact = stored.trace(), stored.trace()
    late["dual"][:4], late["gap"][:4] = -np.inf, np.inf
    exact["gap"][10:], exact["primal"][10:] = 0.0, 0.0
    runs = [stored.result(stored.spec(seed=seed), columns) for seed, columns in enumerate([late, late, exact])]
    (sheet,) = sheets_of(tmp_path, runs, y="gap")
    (curve,) = sheet.panels[0, 0].curves.values()
    assert curve.x[0] == 4.0 and curve.y[0] == pytest.approx(2 * np.exp(-2.0)) and curve.x[-1] == 20.0
    assert 0.0 < curve.low[-1] < 1e-9 and (np.diff(curve.low) <= 0.0).all()


def test_objectives_of_several_problems_are_all_framed_from_their_starts(tmp_path):
    high = {name: 4.0 * values if name in ("primal", "dual") else values for name, values in stored.trace().items()}
    runs = [stored.result(stored.spec("toy")), stored.result(stored.spec("other"), high)]
    (sheet,) = sheets_of(tmp_path, runs, {"columns": "loss"}, y="objective")
    assert max(sheet.frames[0, 0].y) >= max(runs[0].trace["primal"][0], runs[1].trace["primal"][0])


@pytest.mark.parametrize("facet", ["rows", "figure"])
def test_deterministic_runs_stand_in_every_seed(tmp_path, facet):
    """They are done once, for seed 0."""
    runs = [stored.result(stored.spec(solver="saga", seed=seed), stored.trace(1.0)) for seed in (0, 1, 2)]
    runs.append(stored.result(stored.spec(solver="agd"), deterministic=True))
    found = sheets_of(tmp_path, runs, {facet: "seed"})
    panels = [panel for sheet in found for panel in sheet.panels.values()]
    assert len(panels) == 3
    assert [sorted(one.solver for one in panel.curves) for panel in panels] == [["agd", "saga"]] * 3
    assert all("seed = " in sheet.title + panel.title for sheet in found for panel in sheet.panels.values())


def test_what_stands_in_every_seed_has_searched_once(tmp_path):
    runs = [
        stored.result(stored.spec(solver="agd", step_scale=rate), stored.trace(rate), deterministic=True)
        for rate in (0.5, 1.0)
    ]
    runs += [stored.result(stored.spec(solver="saga", seed=seed)) for seed in (0, 1)]
    experiment = stored.experiment(tmp_path / "e", runs, {"rows": "seed"})
    stored.tuned(experiment, "solver.step_scale", count=2)
    ((_, _, sheet),) = sheets(experiment.directory)
    assert len(sheet.panels) == 2
    assert "all of them took 40 passes, 0.4 s" in sheet.notes
    assert "1 of 1 best values lie at the edge of their grid; `rrmbench show` names them" in sheet.notes


def test_what_stands_in_every_seed_is_counted_as_one_run(tmp_path):
    runs = [stored.result(stored.spec(solver="saga", seed=seed)) for seed in (0, 1)]
    late = {"helped": [[20, 1.0]], "evaluation_passes": 9.0, "deterministic": True}
    fall = stored.trace() | {"gap": np.append(np.ones(20), 1e-6)}
    runs.append(stored.result(stored.spec(solver="agd"), fall, status="killed", reason="by signal 9", **late))
    (sheet,) = sheets_of(tmp_path, runs, {"rows": "seed"}, y="gap")
    assert len(sheet.panels) == 2
    assert any(line.startswith("the gap falls to half or less at the last point of 1 run,") for line in sheet.notes)
    assert "killed: agd, seed 0: by signal 9" in sheet.notes


def test_one_seed_is_drawn_point_by_point(tmp_path):
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], x="work", y="objective")
    (curve,) = sheet.panels[0, 0].curves.values()
    trace = stored.trace()
    np.testing.assert_array_equal(curve.x, trace["passes"] + trace["checks"])
    np.testing.assert_array_equal(curve.y, trace["primal"])
    assert curve.low is None


def test_curves_fall_to_the_certified_width_which_is_shaded(tmp_path):
    experiment = stored.experiment(tmp_path / "e", [stored.result(stored.spec())], width=1e-3)
    ((_, _, sheet),) = sheets(experiment.directory)
    panel = sheet.panels[0, 0]
    (curve,) = panel.curves.values()
    assert panel.floor == pytest.approx(1e-3)
    assert np.all((curve.y == panel.floor) == (curve.x >= 14.0))  # exp(-0.5 * 14) < 1e-3
    assert any("certified accuracy of the reference" in note for note in sheet.notes)


def test_a_run_that_arrives_falls_to_rounding_and_counts_for_every_level(tmp_path):
    direct = stored.trace(rate=50.0, passes=3)
    direct["primal"][1:] = stored.OPTIMUM * (1.0 - 1e-16)
    slow = stored.trace(rate=0.5)
    runs = [stored.result(stored.spec(solver="direct"), direct), stored.result(stored.spec(), slow)]
    experiment = stored.experiment(tmp_path / "e", runs, width=0.0)
    for y in "suboptimality", "gap":
        ((_, _, sheet),) = sheets(experiment.directory, y=y)
        (panel,) = sheet.panels.values()
        ends = {series.solver: (curve.x[-1], curve.y[-1]) for series, curve in panel.curves.items()}
        assert ends["direct"] == (3.0, pytest.approx(1e-15 * stored.OPTIMUM)) and ends["apcg"][0] == 20.0
    levels = Levels((1e-2, 1e-8), "suboptimality")
    direct, _ = stored.standings(experiment, levels).methods
    assert [reached.passes.median for reached in direct.reached] == [1.0, 1.0]


def test_a_curve_ends_where_it_was_measured_however_high_it_was_on_the_way(tmp_path):
    columns = stored.trace(rate=1.0)
    columns["primal"][1] = 1e20  # as after the first steps, too long, of a method that recovers
    columns["gap"] = columns["primal"] - columns["dual"]
    experiment = stored.experiment(tmp_path / "e", [stored.result(stored.spec(), columns)], width=0.0)
    for y in "suboptimality", "gap":
        ((_, _, sheet),) = sheets(experiment.directory, y=y)
        ((curve,),) = (panel.curves.values() for panel in sheet.panels.values())
        assert curve.y[1] == pytest.approx(1e20) and curve.y[-1] == pytest.approx(np.exp(-20.0), rel=1.1)


@pytest.mark.parametrize(("other", "floor"), [(2e-3, 2e-3), (0.8, 0.0)])
def test_one_band_stands_for_several_problems_only_where_their_widths_are_alike(tmp_path, other, floor):
    runs = [stored.result(stored.spec(strength=strength)) for strength in (1e-4, 1e-300)]
    plot = {"figure": "loss", "rows": "dataset", "columns": "loss"}
    experiment = stored.experiment(tmp_path / "e", runs, plot, width=1e-3)
    part = {kind: runs[1].spec[kind] for kind in ("dataset", "loss", "regularizer")}
    experiment.withdraw(runs[1].problem, runs[1].run)
    experiment.improve_reference(runs[1].problem, part, Bounds(runs[1].run, stored.OPTIMUM + other, stored.OPTIMUM))
    ((_, _, sheet),) = sheets(experiment.directory)
    (panel,) = sheet.panels.values()
    assert len(panel.curves) == 2 and panel.floor == pytest.approx(floor)


def test_curves_of_different_problems_in_one_panel_are_told(tmp_path):
    runs = [stored.result(stored.spec(strength=s, solver=solver)) for s, solver in ((1e-4, "apcg"), (1e-3, "gd"))]
    (sheet,) = sheets_of(tmp_path, runs, {"figure": "loss", "rows": "dataset", "columns": "loss"})
    told = "curves of one panel are of different problems, which differ in regularizer.strength"
    assert told in sheet.notes
    (sheet,) = sheets_of(tmp_path / "each", runs[:1], {"figure": "loss", "rows": "dataset", "columns": "loss"})
    assert told not in sheet.notes


def test_a_metric_that_diverges_leaves_the_axes_to_the_others(tmp_path):
    rmse = {"good": np.linspace(1.0, 0.5, 21), "bad": np.geomspace(1.0, 1e300, 21)}
    runs = [stored.result(stored.spec(solver=s), stored.trace() | {"test_rmse": rmse[s]}) for s in rmse]
    (sheet,) = sheets_of(tmp_path, runs, y="test_rmse")
    (frame,) = sheet.frames.values()
    assert max(frame.y) < 2.0 and any(note.startswith("beyond the axes: bad") for note in sheet.notes)


def test_a_panel_with_nothing_to_show_is_left_out_with_the_reason(tmp_path):
    runs = [stored.result(stored.spec(dataset=d), stored.trace(certified=d != "b")) for d in ("a", "b", "c")]
    (sheet,) = sheets_of(tmp_path, runs, y="gap")
    assert titles(sheet) == {(0, 0): "a", (0, 1): "c"}
    assert (sheet.rows, sheet.columns) == (1, 2)
    assert "left out: b: no certificate" in sheet.notes
    assert len(draw(sheet).axes) == 2


def test_a_figure_with_nothing_to_show_is_not_drawn_and_its_reason_told(tmp_path):
    solved = stored.trace() | dict.fromkeys(("primal", "dual", "gap"), np.zeros(21))
    stored.experiment(tmp_path / "a", [stored.result(stored.spec(), solved)])
    with pytest.raises(RrmbenchError, match=r"a, toy, .*: no figure of gap over passes: 0 from the start"):
        plot(tmp_path, y="gap")
    stored.experiment(tmp_path / "b", [stored.result(stored.spec())])
    told = []
    assert [path.parent.parent.name for path in plot(tmp_path, y="gap", formats=["svg"], tell=told.append)] == ["b"]
    assert len(told) == 1 and "0 from the start" in told[0]
    with pytest.raises(RrmbenchError, match="no figure of test_rmse over passes: test_rmse not measured"):
        plot(tmp_path, y="test_rmse")


def test_what_is_not_shown_is_in_the_small_print(tmp_path):
    peer = stored.result(stored.spec(solver="liblinear"))
    peer.trace["passes"] = peer.trace["passes"] * np.nan
    bad = [
        stored.result(stored.spec(solver="svrg", seed=k), {}, status="failed", reason="ValueError: no")
        for k in range(3)
    ]
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec()), peer, *bad], pending=[stored.spec(seed=9)])
    assert sheet.notes == [
        "not shown, as they count no passes: liblinear",
        "1 run of this experiment not done yet",
        "failed: svrg, seeds 0, 1, 2: ValueError: no",
    ]
    assert list(sheet.labels.values()) == ["apcg"]


def test_methods_without_a_certificate_are_named_where_gaps_are_drawn(tmp_path):
    runs = [stored.result(stored.spec()), stored.result(stored.spec(solver="sgd"), stored.trace(certified=False))]
    runs[1].trace["gap"][:] = np.inf
    (sheet,) = sheets_of(tmp_path, runs, y="gap")
    assert sheet.notes == ["not shown, as they have no gap: sgd"]


@pytest.mark.parametrize(
    ("together", "note"),
    [
        ([1, 1], "timed once, one run at a time"),
        ([2, 2], "timed with up to 2 runs at the same time"),
        ([1, 3], "CAUTION: some runs were timed"),
    ],
)
def test_timings_taken_side_by_side_are_marked(tmp_path, together, note):
    runs = [
        stored.result(stored.spec(solver=s), concurrent_runs=c) for s, c in zip(("gd", "agd"), together, strict=True)
    ]
    (sheet,) = sheets_of(tmp_path, runs, x="seconds")
    assert sheet.notes[0].startswith(note)
    assert "timed" not in "".join(sheet.notes[1:])
    (sheet,) = sheets_of(tmp_path, runs, x="passes")
    assert sheet.notes == []


@pytest.mark.parametrize("y", ["gap", "objective"])
def test_a_diverging_run_does_not_squeeze_the_others(tmp_path, y):
    wild = stored.trace()
    wild["gap"] = np.exp(3 * wild["passes"])
    wild["primal"] = stored.OPTIMUM + wild["gap"]
    runs = [stored.result(stored.spec()), stored.result(stored.spec(solver="gd"), wild, status="diverged")]
    (sheet,) = sheets_of(tmp_path, runs, y=y)
    low, high = draw(sheet).axes[0].get_ylim()
    assert high < 100
    assert low > 0.0


def test_a_metric_is_framed_by_what_it_is_after_the_start(tmp_path):
    column = np.concatenate([[0.7, 0.4], np.linspace(0.2, 0.18, 19)])
    result = stored.result(stored.spec(), stored.trace() | {"test_error": column})
    (sheet,) = sheets_of(tmp_path, [result], y="test_error")
    bottom, top = draw(sheet).axes[0].get_ylim()
    assert 0.15 < bottom < 0.18
    assert 0.4 < top < 0.6


@pytest.mark.parametrize("factor", [30.0, 3000.0])
def test_bounds_end_within_the_frame_or_the_small_print_says_so(tmp_path, monkeypatch, factor):
    monkeypatch.setattr(
        "rrmbench.report.plots.bound_of",
        lambda experiment, trust: lambda run: (np.arange(1.0, 21.0), factor * np.linspace(9.0, 1.0, 20), True),
    )
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], theory=True)
    _, top = draw(sheet).axes[0].get_ylim()
    above = [note for note in sheet.notes if note.startswith("1 bound lies above the panels")]
    assert (top >= factor, len(above)) == ((True, 0) if factor < 100.0 else (False, 1))


@pytest.mark.parametrize(
    ("records", "first"),
    [
        (
            [{"repeats": 3, "pinned": 0, "spread": 0.021}, {"repeats": 3, "pinned": 1, "spread": 0.1}],
            "timed alone, pinned to one core, the median of 3 repeats, which differ by up to 10%",
        ),
        (
            [{"repeats": 2, "pinned": None, "spread": 0.5}, {"repeats": 5, "pinned": 1, "spread": 0.0}],
            "timed alone, the median of 2 to 5 repeats, which differ by up to 50%",
        ),
        ([{"repeats": 1, "pinned": 3, "spread": 0.0}, {"repeats": "many"}], "timed once, one run at a time"),
        ([{"repeats": 3, "pinned": 3, "spread": 0.0}, None], "timed alone, pinned to one core, the median of 3"),
    ],
)
def test_repeated_timings_are_told_from_single_ones(tmp_path, records, first):
    solvers = ("gd", "agd")
    runs = [stored.result(stored.spec(solver=s), timing=record) for s, record in zip(solvers, records, strict=True)]
    (sheet,) = sheets_of(tmp_path, runs, x="seconds")
    assert sheet.notes[0].startswith(first)
    caution = "CAUTION: 1 of 2 runs were timed once, without repeats"
    assert (caution in sheet.notes) == (records[-1] is None)


def test_a_bound_that_is_missing_has_its_reason_in_the_small_print(tmp_path):
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], theory=True)
    (note,) = [note for note in sheet.notes if note.startswith("no bound for")]
    assert note.startswith("no bound for apcg: ") and len(note) > len("no bound for apcg: ")


def test_the_command_takes_the_options_of_figures(lab):
    stored.experiment(lab.out / "e", [stored.result(stored.spec(solver=s)) for s in ("gd", "agd")])
    ran = lab.cli("plot", lab.out, "--only", "solver=gd", "--xscale", "log", "--style", "paper", "--format", "svg")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [str(lab.out / "e" / "figures" / "e_suboptimality_over_passes.svg")]
    refused = lab.cli("plot", lab.out, "--only", "solver=ag")
    assert refused.code == 2 and "--only solver=ag: no run matches; did you mean 'agd'?" in refused.err
    refused = lab.cli("plot", lab.out, "--only", "regularizer.strngth=1e-4")
    assert "no run sets that key; did you mean 'regularizer.strength'?" in refused.err


def test_limits_and_title_of_the_plot_section_are_obeyed(tmp_path):
    asked = {"title": "My figure", "xlim": [0, 5], "ylim": [1e-3, 1]}
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], asked)
    figure = draw(sheet)
    assert figure.get_suptitle() == "My figure"
    assert figure.axes[0].get_xlim() == (0, 5)
    assert figure.axes[0].get_ylim() == (1e-3, 1)
    (other,) = sheets_of(tmp_path, [stored.result(stored.spec())], asked, x="seconds", y="gap")
    assert (other.axes.xlim, other.axes.ylim) == (None, None)  # 5 passes are no 5 seconds


@pytest.mark.exhaustive
def test_matplotlibs_global_state_is_left_alone(tmp_path):
    before = dict(matplotlib.rcParams)
    stored.experiment(tmp_path / "e", [stored.result(stored.spec())])
    plot(tmp_path, formats=["png"])
    assert dict(matplotlib.rcParams) == before
    code = f"import sys; from rrmbench.report.plots import plot; plot({str(tmp_path)!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "matplotlib.figure" in loaded.split()
    assert "matplotlib.pyplot" not in loaded.split()


def test_a_letter_that_the_font_has_not_is_one_line(lab):
    lab.run(lab.config(plot={"title": "\u6f22 50%"}))
    ran = lab.cli("plot", lab.out, "--format", "png,svg")
    assert ran.code == 0
    assert ran.err.strip() == "rrmbench: boxes in place of \u6f22, which the font of the figures has not"


def test_the_file_of_a_figure_names_greek_parameters(tmp_path):
    runs = [stored.result(stored.spec(strength=strength)) for strength in (0.1, 0.01)]
    stored.experiment(tmp_path / "e", runs, {"figure": "regularizer.strength"})
    written = plot(tmp_path, formats=["svg"])
    assert sorted(file.name.partition("_")[2] for file in written) == [
        "lambda=0.1_suboptimality_over_passes.svg",
        "lambda=1e-2_suboptimality_over_passes.svg",
    ]
