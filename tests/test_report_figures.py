"""How figures look: ticks, frames, styles, labels, pages. What is tested is what matplotlib would draw."""

import re
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
import stored
from hypothesis import given
from hypothesis import strategies as st
from stored import sheets_of

from rrmbench.errors import RrmbenchError
from rrmbench.report.plots import figures, plot, sheets
from rrmbench.report.plots.curves import Curve, Series
from rrmbench.report.plots.draw import draw
from rrmbench.report.plots.frame import on_log_axis
from rrmbench.report.plots.legend import shared, spread
from rrmbench.report.plots.page import page_of
from rrmbench.report.plots.style import PALETTE, luminance, shades, styles
from rrmbench.report.plots.ticks import labels, linear_labels, log_ticks

SOLVERS = ("gd", "agd", "fista", "svrg", "saga", "sag", "prox_sdca", "apcg", "pdprox_dual", "pdprox_primal")


def many(scales=(1, 2, 4), solvers=SOLVERS, datasets=("toy",)):
    return [
        stored.result(stored.spec(dataset=d, solver=s, step_scale=c), stored.trace(rate=0.03 * (i + 1) / c))
        for d in datasets
        for i, s in enumerate(solvers)
        for c in scales
    ]


def drawn(figure):
    figure.draw(figure.canvas.get_renderer())
    return figure


def ticks_of(axis, ends):
    low, high = sorted(ends)
    slack = 1e-9 * abs(high)
    seen = [tick for tick in axis.get_major_ticks() if low - slack <= tick.get_loc() <= high + slack]
    return [tick for tick in seen if tick.label1.get_text()]


def assert_apart(boxes):
    """No two of the extents overlap by more than a pixel."""
    for i, first in enumerate(boxes):
        for second in boxes[i + 1 :]:
            wide = min(first.x1, second.x1) - max(first.x0, second.x0)
            high = min(first.y1, second.y1) - max(first.y0, second.y0)
            assert min(wide, high) <= 1.0, (first, second)


def assert_on_page(figure):
    """Axes with their labels, legend, title and small print are on the page and apart."""
    renderer = figure.canvas.get_renderer()
    parts = [axes.get_tightbbox(renderer) for axes in figure.axes if axes.axison]
    parts += [part.get_window_extent(renderer) for part in (*figure.texts, *figure.legends)]
    for part in parts:
        assert part.x0 >= -1 and part.x1 <= figure.bbox.width + 1
        assert part.y0 >= -1 and part.y1 <= figure.bbox.height + 1
    assert_apart(parts)


@given(st.floats(-90, 90), st.floats(1e-9, 60), st.integers(3, 9))
def test_every_logarithmic_range_has_three_ticks_or_more_inside_with_labels_of_their_own(start, decades, most):
    low, high = 10.0**start, 10.0 ** (start + decades)
    if not high > low * (1 + 1e-9):
        return
    found = log_ticks(low, high, most)
    assert 3 <= len(found) <= max(most, 6)
    assert (found >= low * (1 - 1e-8)).all() and (found <= high * (1 + 1e-8)).all()
    assert len(set(labels(found))) == len(found)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (1e-4, 1e4, [1e-4, 1e-2, 1.0, 1e2, 1e4]),
        (0.5, 40.0, [1.0, 3.0, 10.0, 30.0]),
        (1.5, 12.0, [2.0, 5.0, 10.0]),
        (2.1, 4.2, [2.5, 3.0, 3.5, 4.0]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_powers_of_ten_or_few_round_numbers(low, high, found):
    assert log_ticks(low, high, 6) == pytest.approx(found)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.01, 0.02, 0.05], ["0.01", "0.02", "0.05"]),
        ([0.1, 1.0, 10.0], ["0.1", "1", "10"]),
        ([2e-5, 3e-5], [r"$\mathdefault{2\times10^{-5}}$", r"$\mathdefault{3\times10^{-5}}$"]),
        ([1e-4, 1e-2], [r"$\mathdefault{10^{-4}}$", r"$\mathdefault{10^{-2}}$"]),
        ([1.00001, 1.00002], ["1.00001", "1.00002"]),
    ],
)
def test_ticks_say_numbers_as_people_write_them(values, texts):
    assert labels(np.array(values)) == texts


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.0, 0.5, 1.0], ["0.0", "0.5", "1.0"]),
        ([-0.02, 0.0, 0.02], ["\N{MINUS SIGN}0.02", "0.00", "0.02"]),
        ([0.346570, 0.346575], ["0.346570", "0.346575"]),
        ([0.0, 2.5e-6], ["0", r"$\mathdefault{2.5\times10^{-6}}$"]),
        ([1234567.0, 1234568.0], ["1234567", "1234568"]),
    ],
)
def test_ticks_of_linear_axes_say_their_whole_value(values, texts):
    assert linear_labels(np.array(values)) == texts


@pytest.mark.parametrize("ylim", [[0, 0.6], [0, 1.2], [-0.6, 0.6]])
def test_round_ends_of_a_linear_axis_have_ticks(tmp_path, ylim):
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], {"ylim": ylim, "y": "objective"})
    ticks = draw(sheet).axes[0].get_yticks()
    assert (ticks.min(), ticks.max()) == pytest.approx(tuple(ylim))


@given(st.floats(-1e6, 1e6), st.integers(-9, 9), st.sampled_from([1.0, 2.0, 2.5, 5.0]), st.integers(2, 8))
def test_labels_of_linear_axes_are_numbers_near_their_places_and_apart(around, power, step, count):
    step *= 10.0**power
    values = (np.round(around / step) + np.arange(count)) * step
    numbers = [number_in(text) for text in linear_labels(values)]
    np.testing.assert_allclose(numbers, values, rtol=0.0, atol=0.01 * step)


def number_in(text):
    """The number of a label, 2e-5 of a mathematical 2 x 10^-5."""
    power = re.fullmatch(r"\$\\mathdefault\{(.*?)(\\times)?10\^\{(-?\d+)\}\}\$", text)
    return float(f"{power[1] or 1}e{power[3]}" if power else text.replace("\N{MINUS SIGN}", "-"))


@pytest.mark.core(3)
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.3, 1.5])
@pytest.mark.parametrize("style", ["screen", "paper"])
def test_labels_of_ticks_are_three_at_least_and_apart_on_both_axes(tmp_path, rate, style):
    runs = [stored.result(stored.spec(dataset=d), stored.trace(rate=rate, seconds_per_pass=0.013)) for d in "ab"]
    (sheet,) = sheets_of(tmp_path, runs, x="seconds", y="gap")
    figure = drawn(draw(sheet, page_of(style, "column" if style == "paper" else None, 2)))
    for axes in figure.axes:
        assert axes.get_xscale() == axes.get_yscale() == "log"
        for axis, ends in (axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()):
            seen = ticks_of(axis, ends)
            assert len(seen) >= 3
            assert_apart([tick.label1.get_window_extent() for tick in seen])


def test_seconds_are_logarithmic_unless_the_section_or_the_option_says_otherwise(tmp_path):
    def scale(section=None, **options):
        (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], section, **options)
        return draw(sheet).axes[0].get_xscale()

    assert scale(x="seconds") == scale(x="cpu_seconds") == scale(xscale="log") == "log"
    assert scale() == scale(x="seconds", xscale="linear") == scale({"xscale": "linear"}, x="seconds") == "linear"
    assert scale({"xscale": "linear", "x": "seconds"}, xscale="log") == "log"
    with pytest.raises(RrmbenchError, match="--xscale: found 'lin', allowed is log, linear; did you mean 'linear'"):
        scale(xscale="lin")


def test_the_start_at_0_seconds_enters_a_logarithmic_axis_along_the_line_of_a_linear_one():
    curve = Curve(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.01, 0.001]))
    shown = on_log_axis(curve, 0.1, log_y=True)
    assert shown.x[0] == pytest.approx(0.1) and shown.x[-1] == 2.0
    np.testing.assert_allclose(shown.y[shown.x <= 1.0], 0.01 ** shown.x[shown.x <= 1.0])
    assert on_log_axis(Curve(np.zeros(1), np.ones(1)), 0.1, log_y=True).x == [0.1]


def test_a_run_that_never_left_0_seconds_is_drawn_on_a_linear_axis(tmp_path):
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec(), stored.trace(seconds_per_pass=0.0))], x="seconds")
    assert drawn(draw(sheet)).axes[0].get_xscale() == "linear"


def test_trials_that_go_on_for_longer_or_diverge_leave_the_axes_and_this_is_said(tmp_path):
    slow, wild = stored.trace(rate=0.01, seconds_per_pass=9.0), stored.trace()
    wild["primal"] = stored.OPTIMUM + np.exp(2.0 * wild["passes"])
    scales = {1: stored.trace(), 2: slow, 4: wild}
    runs = [stored.result(stored.spec(solver="gd", step_scale=c), columns) for c, columns in scales.items()]
    experiment = stored.experiment(tmp_path / "e", [*runs, stored.result(stored.spec(), stored.trace(rate=0.1))])
    stored.tuned(experiment, "solver.step_scale", count=3)
    ((_, _, sheet),) = sheets(experiment.directory, x="seconds")
    axes = draw(sheet).axes[0]
    assert axes.get_xlim()[1] < 1.0 and axes.get_ylim()[1] < 10.0
    assert "2 of 2 faint curves leave the axes" in sheet.notes


def test_a_weak_setting_does_not_stretch_the_axis_and_is_named(tmp_path):
    wild = stored.trace()
    wild["gap"] = np.exp(3.0 * wild["passes"])
    runs = [stored.result(stored.spec(solver="gd", step_scale=1)), stored.result(stored.spec(solver="agd"))]
    (sheet,) = sheets_of(tmp_path, [*runs, stored.result(stored.spec(solver="gd", step_scale=9), wild)], y="gap")
    assert draw(sheet).axes[0].get_ylim()[1] < 20.0
    assert "beyond the axes: gd step_scale=9 (up to 1.1e+26)" in sheet.notes


def test_an_end_of_the_passes_that_was_asked_for_is_no_surprise(tmp_path):
    for section, said in (({"xlim": [0, 2]}, False), ({"xlim": [0, 2], "ylim": [1e-30, 1e-20]}, True)):
        (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], section)
        assert any(note.startswith("beyond the axes") for note in sheet.notes) is said


def test_a_loose_reference_is_said_in_words_on_the_panel_and_shaded(tmp_path):
    for width, words in ((0.05, "loose reference: P(w*) known to 0.05 only"), (1e-4, "P(w*) known to 1e-4 only")):
        (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], width=width)
        axes = draw(sheet).axes[0]
        assert [text.get_text() for text in axes.texts] == [words]
        (below,) = axes.patches
        (_, low), (_, high) = axes.transData.inverted().transform(below.get_window_extent())
        assert (low, high) == pytest.approx((axes.get_ylim()[0], width))
    (sheet,) = sheets_of(tmp_path / "objective", [stored.result(stored.spec())], width=0.2, y="objective")
    (text,) = draw(sheet).axes[0].texts
    assert text.get_text() == "loose reference: P(w*) may be lower by 0.2"


def series(solver, **parameters):
    keys = {"solver": solver, "reduction": "none"} | {f"solver.{key}": value for key, value in parameters.items()}
    return Series(tuple(keys.items()))


def looks(style):
    return style["color"], style["linestyle"], style["marker"]


@pytest.mark.parametrize(("methods", "settings"), [(30, 1), (10, 3), (6, 20), (120, 4), (400, 1), (1, 60)])
def test_no_two_series_look_the_same(methods, settings):
    found = [series(f"m{i}", step=j) for i in range(methods) for j in range(settings)]
    chosen = styles(found, dict.fromkeys(one.method for one in found))
    assert len({looks(style) for style in chosen.values()}) == methods * settings
    if settings == 1:  # without the colours, as a printer without them has it, 52 methods still differ
        grey = [looks(style)[1:] for style in chosen.values()]
        assert len(set(grey)) >= min(methods, 52)


@pytest.mark.parametrize("kinds", [("regularize", 12), ("adapt_reg", 12), ("none", 12)])
def test_no_two_series_of_a_study_of_reductions_look_the_same(kinds):
    name, count = kinds
    both = [("regularize", 1.0), ("adapt_reg", "auto"), *((name, 2.0 + i) for i in range(count))]
    found = [Series((("solver", "apcg"), ("reduction", name), ("reduction.sigma", sigma))) for name, sigma in both]
    assert len({looks(style) for style in styles(found, {}).values()}) == len(found)


def test_under_one_method_data_sets_have_colours_and_markers_and_strengths_shades():
    found = {
        (data, strength): Series((("dataset", data), ("regularizer.strength", strength)))
        for data in ("a9a", "w8a")
        for strength in (1e-2, 1e-3)
    }
    chosen = styles(list(found.values()), {found["a9a", 1e-2].method: None})
    markers = {data: {chosen[found[data, strength]]["marker"] for strength in (1e-2, 1e-3)} for data in ("a9a", "w8a")}
    assert all(len(marker) == 1 for marker in markers.values()) and markers["a9a"] != markers["w8a"]
    assert len({looks(style) for style in chosen.values()}) == 4


@pytest.mark.parametrize("colour", PALETTE)
def test_shades_are_dark_enough_for_paper_and_differ_in_grey(colour):
    lights = [luminance(shade) for shade in shades(colour, 5)]
    assert lights == sorted(lights) and max(lights) <= 0.55
    assert min(np.diff(lights)) > 0.0


def test_a_method_has_its_colour_in_all_figures_and_under_only(tmp_path):
    runs = many(datasets=("a",)) + many(solvers=SOLVERS[5:], datasets=("b",))
    experiment = stored.experiment(tmp_path / "e", runs, {"figure": "dataset"})

    def colours(**options):
        found = [sheet for _, _, sheet in sheets(experiment.directory, **options)]
        return [{label: looks(sheet.styles[one]) for one, label in sheet.labels.items()} for sheet in found]

    first, second = colours()
    assert len(first) == 30 and len(second) == 15 and second.items() <= first.items()
    (only,) = colours(only=["solver=svrg", "dataset=a"])
    assert only.items() <= first.items() and len(only) == 3


def test_only_says_what_it_left_out_and_refuses_what_is_not_there(tmp_path):
    stored.experiment(tmp_path / "a", many(solvers=("gd", "agd")))
    stored.experiment(tmp_path / "b", many(solvers=("apcg",)))
    (figure,) = figures(tmp_path, only=["solver=apcg"])
    assert "only solver=apcg" in figure.texts[-1].get_text()
    with pytest.raises(RrmbenchError, match=r"solver=agg: no run matches; did you mean 'agd'\? .*gd, agd, apcg"):
        figures(tmp_path, only=["solver=agg"])


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("datasets", "style", "width"), [("ab", "screen", None), ("a", "paper", "column"), ("abc", "paper", "page")]
)
def test_thirty_series_are_told_apart_and_nothing_overlaps(tmp_path, datasets, style, width):
    failed = [
        stored.result(stored.spec(solver="odd", seed=k), {}, status="failed", reason=f"{k}: " + "long " * 30)
        for k in range(4)
    ]
    (sheet,) = sheets_of(tmp_path, many(datasets=datasets) + failed, {"columns": "dataset"})
    figure = drawn(draw(sheet, page_of(style, width, sheet.columns)))
    assert_on_page(figure)
    if style == "paper":
        assert figure.get_figwidth() == {"column": 3.3, "page": 6.9}[width]
        assert len(figure.legends[0].get_texts()) == 30
    else:
        for axes in figure.axes:
            named = [text for text in axes.texts if text.get_text() in sheet.labels.values()]
            assert len(named) == 30 and not figure.legends
            assert_apart([text.get_window_extent() for text in named])


@pytest.mark.parametrize("xlim", [[0, 10], [10, 0], [5, 40]])
@pytest.mark.parametrize("x", ["passes", "seconds"])
def test_a_label_is_led_to_where_its_curve_leaves_the_axes(tmp_path, x, xlim):
    passes, scale = 20, 0.01 if x == "seconds" else 1.0
    xlim = [scale * end for end in xlim]
    plot = {"x": x, "y": "gap", "xlim": xlim, "ylim": [1e-12, 10], "xscale": "linear"}
    (sheet,) = sheets_of(tmp_path, many(scales=(1,)), plot)
    (axes,) = drawn(draw(sheet)).axes
    (panel,) = sheet.panels.values()
    at = min(xlim[1], scale * passes)
    wanted = [np.exp(np.interp(at, curve.x, np.log(curve.y))) for curve in panel.curves.values()]
    leaders = [line for line in axes.lines if line.get_linewidth() == 0.4 and line.get_xdata()[0] == 0.0]
    led = axes.transLimits.inverted().transform([[0.5, line.get_ydata()[0]] for line in leaders])[:, 1]
    np.testing.assert_allclose(10.0 ** np.sort(led), np.sort(wanted))
    level = [line for line in axes.lines if line.get_linewidth() == 0.4 and line.get_xdata()[0] > 0.0]
    assert len(level) == (len(wanted) if xlim[1] > scale * passes else 0)


@pytest.mark.parametrize(
    ("factor", "about", "said"),
    [
        (1e-4, {"evaluation_passes": 9.0}, True),
        (1e-4, {}, False),  # nobody but the solver paid for it
        (0.9, {"evaluation_passes": 9.0}, False),
        (1e-4, {"evaluation_passes": 9.0, "reason": "gap"}, False),  # which was looked for all along
        (1e-4, {"evaluation_passes": 9.0, "reason": "gap", "helped": [[20, None]]}, True),  # and found at once
        (1e-4, {"evaluation_passes": 9.0, "helped": [[19, None]]}, False),
    ],
)
def test_a_gap_that_falls_at_the_end_by_evaluation_is_told(tmp_path, factor, about, said):
    columns = stored.trace(rate=0.1)
    columns["gap"][-1] *= factor
    columns["dual"][-1] = columns["primal"][-1] - columns["gap"][-1]
    wanted = 1.1 * columns["gap"][-1]
    run = stored.result(stored.spec() | {"stop": {"gap": wanted, "passes": 20}}, columns, **about)
    (sheet,) = sheets_of(tmp_path, [run], y="gap")
    assert any("half or less at the last point of 1 run," in line for line in sheet.notes) is said
    (sheet,) = sheets_of(tmp_path, [run], y="suboptimality")
    assert not any("last point" in line for line in sheet.notes)


def test_an_end_that_a_logarithmic_axis_cannot_have_is_told(tmp_path):
    plot = {"x": "seconds", "y": "gap", "xlim": [-1, 5], "ylim": [0, 1]}
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], plot)
    told = "has no place on a logarithmic axis, which ends above 0"
    assert {f"xlim: -1 {told}", f"ylim: 0 {told}"} <= set(sheet.notes)
    (sheet,) = sheets_of(tmp_path, [stored.result(stored.spec())], plot, xscale="linear")
    assert [line for line in sheet.notes if told in line] == [f"ylim: 0 {told}"]


def test_up_to_eight_series_share_a_legend_below(tmp_path):
    (sheet,) = sheets_of(tmp_path, many(scales=(1,), solvers=SOLVERS[:8], datasets="abc"), {"columns": "dataset"})
    figure = drawn(draw(sheet))
    assert_on_page(figure)
    assert len(figure.legends[0].get_texts()) == 8


@pytest.mark.parametrize("width", [3.0, 5.0, 8.0])
def test_a_shared_legend_has_as_many_columns_as_its_width_has_room_for(width):
    names = {number: f"prox_sdca [step_scale={number}]" for number in range(8)}
    with plt.rc_context({"legend.fontsize": 8.0}):
        figure = plt.figure(figsize=(width, 3.0))
        legend = shared(figure, names, {number: {"color": "0.0"} for number in names}, width)
        drawn(figure)
    taken = legend.get_window_extent().width / figure.dpi
    columns = len({round(text.get_window_extent().x0) for text in legend.get_texts()})
    plt.close(figure)
    assert taken <= width < taken + 1.2 * taken / columns


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.001, 0.1))
def test_labels_keep_their_order_and_distance(wanted, gap):
    wanted = sorted(wanted)
    places = spread(wanted, gap)
    assert all(second - first >= gap - 1e-9 for first, second in pairwise(places))
    if (len(wanted) - 1) * gap <= 1.0:
        assert min(places) >= -1e-9 and max(places) <= 1.0 + 1e-9
    if np.diff(wanted).min(initial=1.0) >= gap:
        assert places == pytest.approx(wanted)


def test_paper_has_small_type_embedded_fonts_and_no_title_that_was_not_asked_for(tmp_path):
    stored.experiment(tmp_path / "e", many(scales=(1,)))
    (figure,) = figures(tmp_path, style="paper")
    texts = [text for text in figure.findobj(lambda one: hasattr(one, "get_fontsize")) if text.get_text()]
    assert len(texts) > 10 and all(7 <= text.get_fontsize() <= 9 for text in texts)
    assert figure.get_suptitle() == "" and figure.get_figwidth() == 3.3
    (path,) = plot(tmp_path, style="paper", width="page", formats=["pdf"])
    written = path.read_bytes()
    assert b"/Type3" not in written and b"/FontFile2" in written
    stored.experiment(tmp_path / "e", many(scales=(1,)), {"title": "Mine"})
    assert figures(tmp_path, style="paper")[0].get_suptitle() == "Mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "papre"}, "--style: found 'papre', allowed is screen, paper; did you mean 'paper'"),
        ({"style": "paper", "width": "wide"}, "--width: found 'wide', allowed is column, page"),
        ({"width": "page"}, "--width page: a figure for the screen takes what it needs; say --style paper"),
    ],
)
def test_unknown_pages_are_refused(tmp_path, options, message):
    with pytest.raises(RrmbenchError, match=message):
        figures(tmp_path, **options)


def test_figures_are_given_to_notebooks_without_a_file(tmp_path):
    stored.experiment(tmp_path / "e", many(datasets="ab"), {"figure": "dataset"})
    before = sorted(tmp_path.rglob("*"))
    found = figures(tmp_path / "e", x="seconds", y="gap")
    assert [len(figure.axes) for figure in found] == [1, 1]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.core(3)
@pytest.mark.parametrize("section", [{}, {"xlim": [0, 5], "ylim": [0, 1]}, {"xlim": [-5, -2], "ylim": [1, 1e-5]}])
@pytest.mark.parametrize(
    "column", [np.geomspace(1e300, 1.7e308, 21), np.geomspace(5e-324, 1e-300, 21), np.zeros(21) + 3.0]
)
def test_numbers_at_the_ends_of_what_there_is_have_a_frame(tmp_path, section, column):
    columns = stored.trace() | {"gap": column, "seconds": column}
    runs = [stored.result(stored.spec(seed=seed), columns) for seed in range(2)]
    (sheet,) = sheets_of(tmp_path, runs, section, x="seconds", y="gap")
    (frame,) = sheet.frames.values()
    for ends in frame.x, frame.y:
        assert min(ends) > 0.0 and max(ends) <= 1e100 and ends[0] != ends[1]
    assert section or ("values beyond 1e+100 are drawn there" in sheet.notes) == (column[-1] > 1e100)
    drawn(draw(sheet))
