"""The report: what is in the file. What a browser makes of it stands in test_report_html_browser.py."""

import json
import sys

import numpy as np
import pages
import pytest
import stored
import yaml
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from lab import make_lab  # noqa: F401
from pages import Page, array

from rrmbench.bench.store import Experiment
from rrmbench.report import plots
from rrmbench.report.html.thinning import Pool, thinned
from rrmbench.report.html.winners import winners
from rrmbench.report.plots import section
from rrmbench.report.results import runs_of


@pytest.fixture(scope="module", name="folder")
def make_folder(tmp_path_factory):
    return pages.reported(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module", name="page")
def make_page(folder):
    return Page(folder / "report.html")


def test_the_page_asks_for_nothing_and_runs_its_own_scripts_only(page):
    asking = {"src", "srcset", "href", "action", "data", "poster", "background", "formaction", "manifest"}
    assert {value for _, name, value in page.attributes if name in asking} == {"data:,"}
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert {"iframe", "object", "embed", "base", "form"}.isdisjoint(page.tags)
    allowed = dict(part.split(" ", 1) for part in page.policy.split("; "))
    assert allowed["default-src"] == "'none'" and "connect-src" not in allowed
    assert allowed["script-src"].split() == page.sums and len(page.sums) == 2
    style = page.text.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style and "@import" not in style and ".panels" in style


def test_one_page_tells_of_all_experiments_their_runs_and_what_is_missing(page):
    runs, evil = page.data["runs-data"]
    names = [name for name, _ in runs["columns"]]
    assert names[:5] == ["problem", "method", "seed", "status", "reason"] and names[-1] == "run"
    assert [row[names.index("status")] for row in runs["rows"]].count("failed") == 1 and len(runs["rows"]) == 13
    assert [runs["texts"][i] for i in runs["tracebacks"] if i is not None] == ["line 1\nline 2"]
    assert "12 done" in page.words and "1 failed" in page.words and "1 outstanding" in page.words
    assert "b(scale=mean_norm), squared, l1(strength=1e-4), sgd, seed 0" in page.words  # is not done yet
    assert "1: a reason" in page.words and "timed once, one run at a time." in page.words and "a machine" in page.words
    assert yaml.safe_dump({"solver": ["apcg", "svrg"]}) in page.words
    assert "2.5e-01" not in page.words and "1.0e-06" in page.words  # the width of the reference
    assert len(evil["rows"]) == 2


def test_the_last_values_of_the_runs_are_exact(page, folder):
    found = {result.run: result for result in Experiment(folder / "calm").results()}
    table = page.data["runs-data"][0]
    names = [name for name, _ in table["columns"]]
    for row in table["rows"]:
        told = dict(zip(names, row, strict=True))
        trace = found[told["run"]].trace
        assert [told[name] for name in ("passes", "seconds", "gap")] == [
            trace[name][-1] for name in ("passes", "seconds", "gap")
        ]
        assert told["objective"] == trace["primal"][-1]


@pytest.mark.parametrize("x", section.X)
@pytest.mark.parametrize("y", ["suboptimality", "gap", "objective", "nonzeros"])
def test_the_curves_names_and_colours_are_those_of_the_static_figures(page, folder, x, y):
    from matplotlib.colors import to_hex

    charts = page.data["charts-data"][0]
    (figure,) = charts["figures"]
    ((_, _, sheet),) = plots.sheets(folder / "calm", x=x, y=y)
    assert (figure["title"], figure["rows"], figure["columns"]) == (sheet.title, sheet.rows, sheet.columns)
    names = [series["name"] for series in figure["series"]]
    assert names == list(sheet.labels.values())
    assert [series["color"] for series in figure["series"]] == [to_hex(one["color"]) for one in sheet.styles.values()]
    view = figure["views"][f"{x} {y}"]
    assert view["notes"] == [note for note in sheet.notes if "not done yet" not in note]
    for place, shown in zip(figure["panels"], view["panels"], strict=True):
        panel = sheet.panels[place["row"], place["column"]]
        assert place["title"] == panel.title
        drawn = {names[number]: [array(charts, one) for one in numbers] for number, *numbers in shown["curves"]}
        for series, curve in panel.curves.items():
            told = drawn.pop(sheet.labels[series])
            wanted = [curve.x, curve.y, *([] if curve.low is None else [curve.low, curve.high])]
            assert all(np.array_equal(one, other) for one, other in zip(told, wanted, strict=True))
        assert not drawn


def test_the_methods_are_ranked_and_the_winners_marked(page):
    rows = page.text.partition('class="winners"')[2].partition("</table>")[0].split("<tr>")
    first = [row.partition("</th>")[0].rpartition(">")[2] for row in rows if 'scope="row"' in row]
    assert first[:4] == ["svrg", "prox_sdca", "apcg", "sgd"]  # of the greatest rate, and the one that failed
    assert all("» " in row for row in rows if "svrg" in row)
    assert not [row for row in rows if "apcg" in row and "» " in row]


def test_a_level_that_most_seeds_never_come_to_has_no_median(tmp_path):
    """One of three is there at its end: at most never is no number."""
    traces = [stored.trace(rate=rate, passes=4) for rate in (1.5, 0.1, 0.1)]
    runs = [stored.result(stored.spec(seed=seed), trace) for seed, trace in enumerate(traces)]
    experiment = stored.experiment(tmp_path / "e", runs)
    found = runs_of(experiment)
    ((row,),) = (problem["rows"] for problem in winners(experiment, found, found)["problems"])
    assert row["cells"][0]["share"] == "1 of 3"
    assert {cost["text"] for cost in row["cells"][0]["costs"]} == {"-"}


@pytest.mark.parametrize("seeds", [1, 2])
def test_medians_are_said_to_be_over_seeds_where_any_method_has_several(tmp_path, seeds):
    runs = [stored.result(stored.spec(solver="sgd", seed=seed)) for seed in range(seeds)]
    experiment = stored.experiment(tmp_path / "e", [*runs, stored.result(stored.spec(solver="agd"))])
    found = runs_of(experiment)
    assert winners(experiment, found, found)["seeds"] == (seeds > 1)


def test_texts_of_results_stay_texts(page):
    assert pages.EVIL.replace("\u202e", "\\u202e") in page.words and "\u202e" not in page.text
    assert page.tags.count("script") == 2 + 2 * 2 and "img" not in page.tags and "b" not in page.tags
    runs, charts = page.data["runs-data"][1], page.data["charts-data"][1]
    assert runs["texts"] == [pages.EVIL.replace("\u202e", "\\u202e")]
    assert charts["figures"][0]["title"].startswith("</script>")
    assert page.text.count("<script>window") == 0


def test_a_file_of_any_place_and_the_runs_that_are_asked_for(lab):
    pages.calm(lab.folder / "calm")
    ran = lab.cli("report", lab.folder / "calm", "-o", lab.folder / "x" / "a.html", "--only", "solver=[apcg,svrg]")
    assert (ran.code, ran.out.strip()) == (0, str(lab.folder / "x" / "a.html"))
    page = Page(lab.folder / "x" / "a.html")
    assert len(page.data["runs-data"][0]["rows"]) == 8 and "Only runs with solver=[apcg,svrg]." in page.words
    assert [one["name"] for one in page.data["charts-data"][0]["figures"][0]["series"]] == ["apcg", "svrg"]
    assert "1 outstanding" in page.words  # of the experiment


def test_mistakes_are_one_message(lab, monkeypatch):
    pages.calm(lab.folder / "calm")
    wrong = lab.cli("report", lab.folder / "calm", "-o", "a.pdf")
    assert wrong.code == 2 and "--output a.pdf: found the suffix '.pdf', allowed is .html" in wrong.err
    nobody = lab.cli("report", lab.folder / "calm", "--only", "solver=apgc")
    assert nobody.code == 2 and "did you mean 'apcg'" in nobody.err
    assert lab.cli("report", lab.folder / "nowhere").code == 2
    for package in "plotly", "jinja2":
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            missing = lab.cli("report", lab.folder / "calm")
        assert missing.code == 2 and f"package {package} of the extra 'report': pip install 'rrmb" in missing.err
    assert not list((lab.folder / "calm").glob("*.html"))


def test_a_page_takes_the_place_of_a_link_and_leaves_what_it_points_to(lab):
    pages.calm(lab.folder / "calm")
    (lab.folder / "mine.txt").write_text("mine")
    (lab.folder / "calm" / "report.html").symlink_to(lab.folder / "mine.txt")
    assert lab.cli("report", lab.folder / "calm").code == 0
    assert (lab.folder / "mine.txt").read_text() == "mine" and not (lab.folder / "calm" / "report.html").is_symlink()


ODD = [1, None, "x", [], {}, {"spec": 3, "reason": 4}, {"spec": {"dataset": []}}, {"reason": ["\ud800"]}]


def test_manifests_of_strangers_give_a_page(lab):
    experiment = pages.calm(lab.folder / "calm")
    facts = {"a": 3, "b": None, "c": {"d": [1]}, "\x1b[2J": "\ud800", "e": {"versions": {"numpy": {"x": 1e400}}}}
    manifest = experiment.manifest() | {"skipped": ODD, "environments": facts, "config": {"\ud800": [None, "\x00"]}}
    experiment.write_manifest(manifest)
    ran = lab.cli("report", lab.folder / "calm")
    assert ran.code == 0, ran.err
    assert all(c.isprintable() or c == "\n" for c in Page(lab.folder / "calm" / "report.html").words)


def test_the_configuration_of_a_page_is_read_as_the_same_values(lab):
    experiment = pages.calm(lab.folder / "calm")
    experiment.write_manifest(experiment.manifest() | {"config": {"dataset": {"name": "a9a", "positive": "1e5"}}})
    assert lab.cli("report", lab.folder / "calm").code == 0
    assert "positive: '1e5'" in Page(lab.folder / "calm" / "report.html").words


@pytest.mark.parametrize("plot", [{}, {"columns": "regularizer.strength", "figure": ["dataset"]}])
def test_an_experiment_without_any_result_says_what_is_outstanding(lab, plot):
    stored.experiment(lab.folder / "e", [], plot, pending=[stored.spec(), stored.spec(seed=1)])
    assert lab.cli("report", lab.folder / "e").code == 0
    page = Page(lab.folder / "e" / "report.html")
    assert "2 outstanding" in page.words and "charts-data" not in page.data
    assert page.data["runs-data"][0]["rows"] == []


def test_what_tuning_chose_is_told_and_its_trials_are_faint(lab):
    solver = {"solver": "svrg", "reduction": "none"}
    runs = [stored.result(stored.spec(step_scale=s, **solver), stored.trace(r)) for s, r in ((1.0, 0.3), (2.0, 0.6))]
    experiment = stored.experiment(lab.folder / "e", runs)
    stored.tuned(experiment, "solver.step_scale")
    assert lab.cli("report", lab.folder / "e").code == 0
    page = Page(lab.folder / "e" / "report.html")
    assert "solver.step_scale = 2 is the best of 2 by objective (search: 40 passes" in page.words
    table, charts = page.data["runs-data"][0], page.data["charts-data"][0]
    at = [name for name, _ in table["columns"]].index("tuning")
    assert [row[at] for row in table["rows"]] == ["trial", "kept"]
    (panel,) = charts["figures"][0]["views"]["passes objective"]["panels"]
    (curve,), (faint,) = panel["curves"], panel["faint"]
    assert np.array_equal(array(charts, curve[2]), runs[1].trace["primal"])
    assert np.array_equal(array(charts, faint[2]), runs[0].trace["primal"])


def test_theory_adds_the_bounds_and_the_reasons_for_none(lab):
    about = {"loss": "squared", "regularizer": {"name": "l1", "strength": 0.01}, "reference": {"seconds": 1}}
    solver = ["agd", {"name": "gd", "step": "backtracking"}]
    assert lab.run(lab.config(**about, solver=solver, reduction="none")).code == 0
    assert lab.cli("report", lab.out / "toy", "--theory").code == 0
    charts = Page(lab.out / "toy" / "report.html").data["charts-data"][0]
    views = charts["figures"][0]["views"]
    ((_, _, sheet),) = plots.sheets(lab.out / "toy", theory=True)
    (shown,), (panel,) = views["passes suboptimality"]["panels"], sheet.panels.values()
    assert len(shown["proven"]) == len(panel.proven) >= 1
    for (_, x, y, _), (_, curve) in zip(shown["proven"], panel.proven, strict=True):
        assert np.array_equal(array(charts, x), curve.x) and np.array_equal(array(charts, y), curve.y)
    assert views["passes suboptimality"]["unproven"] == panel.unproven
    assert not any(panel["proven"] for view in views.values() for panel in view["panels"] if view["unproven"])
    assert charts["theory"] and not views["passes gap"]["panels"][0]["proven"]


FINITE = st.floats(-1e6, 1e6)


@given(arrays(float, st.integers(1, 400), elements=FINITE), st.integers(8, 120))
def test_thinned_curves_keep_their_ends_and_extremes(y, most):
    kept = thinned(y, most)
    assert len(kept) <= most and np.all(np.diff(kept) > 0)
    assert (kept[0], kept[-1]) == (0, len(y) - 1)
    assert (y[kept].min(), y[kept].max()) == (y.min(), y.max())
    assert len(y) > most or len(kept) == len(y)


def test_a_thinned_curve_is_nowhere_far_from_the_whole_one():
    x = np.arange(5000.0)
    y = np.exp(-0.003 * x) * (1.2 + np.sin(x))
    kept = thinned(y, 400)
    assert np.all(np.diff(kept) < 60) and np.all(np.diff(kept[kept < 60]) < 8)  # on a linear and a logarithmic axis


def test_a_pool_keeps_each_array_once():
    pool = Pool()
    numbers = [pool.add(np.array(one)) for one in ([1.0, 2.0], [1.0], [1.0, 2.0])]
    assert numbers == [0, 1, 0]
    assert np.array_equal(array({"arrays": json.loads(json.dumps(pool.texts))}, 0), [1.0, 2.0])
