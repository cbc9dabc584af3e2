"""The report in a browser: what is drawn, what the controls do, and that nothing is asked of a network."""

import numpy as np
import pages
import pytest
from browser import CHROMIUM, Browser

from rrmbench.bench.store import Experiment

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")

# What the panels of the experiment in front show: per panel {name: number of points that are drawn} of its curves.
DRAWN = """(() => [...document.querySelectorAll("section:not([hidden]) .plot.drawn")].map((plot) => Object.fromEntries(
    plot.data.filter((one) => one.meta.part === "curve").map((one) => [one.name, one.y.length]))))()"""
CURVE = """(() => {const one = document.querySelector("section:not([hidden]) .plot.drawn").data.find(
    (one) => one.meta.part === "curve" && one.name === "apcg"); return [one.x, one.y]})()"""
ROWS = "section:not([hidden]) .runs tbody tr"
METHODS = {"apcg": 21, "prox_sdca": 21, "svrg": 21}


@pytest.fixture(scope="module", name="page")
def make_page(tmp_path_factory):
    return pages.reported(tmp_path_factory.mktemp("results")) / "report.html"


@pytest.fixture(scope="module", name="started")
def make_started():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(name="browser")
def make_browser(started, page):
    """The page, just opened; at the end, nothing may have gone wrong and nothing been asked for."""
    started.resize(1400, 900)
    started.open(page)
    started.wait("document.querySelectorAll('.plot.drawn .main-svg').length > 0")
    yield started
    assert started.problems == []
    assert started.requests == [page.as_uri()]
    assert started.js("window.hacked") is None


def legend(name):
    return f"section:not([hidden]) .legend button:nth-child({1 + ['apcg', 'prox_sdca', 'svrg', 'sgd'].index(name)})"


def test_panels_show_the_curves_and_a_legend_entry_hides_its_method_in_all(browser):
    first, second = browser.js(DRAWN)
    assert first == METHODS | {"sgd": 4} and second == METHODS
    browser.click(legend("svrg"))
    assert browser.js(f"document.querySelector('{legend('svrg')}').ariaPressed") == "false"
    assert [sorted(one) for one in browser.js(DRAWN)] == [["apcg", "prox_sdca", "sgd"], ["apcg", "prox_sdca"]]
    browser.click(legend("apcg"), count=2)
    assert browser.js(DRAWN) == [{"apcg": 21}, {"apcg": 21}]
    browser.click("section:not([hidden]) .legend .every")
    assert browser.js(DRAWN) == [first, second]


def test_the_legend_works_by_the_keyboard(browser):
    browser.js(f"document.querySelector('{legend('prox_sdca')}').focus()")
    browser.key("Enter", 13, text="\r")
    assert [sorted(one) for one in browser.js(DRAWN)] == [["apcg", "sgd", "svrg"], ["apcg", "svrg"]]
    browser.key("Enter", 13, shift=True, text="\r")
    assert browser.js(DRAWN) == [{"prox_sdca": 21}, {"prox_sdca": 21}]
    browser.key("Tab", 9)
    assert browser.js("document.activeElement.textContent") == "svrg"


def test_axes_are_switched_and_hold_the_medians_of_the_trace(browser, page):
    found = [one for one in Experiment(page.parent / "calm").results() if one.spec["solver"]["name"] == "apcg"][:2]
    for x, column in ("seconds", "seconds"), ("work", None), ("passes", "passes"):
        browser.choose(".controls .x", x)
        browser.choose(".controls .y", "objective")
        browser.wait("document.querySelectorAll('.plot.drawn').length === 2")
        along, values = browser.js(CURVE)
        wanted = found[0].trace["passes"] + found[0].trace["checks"] if column is None else found[0].trace[column]
        assert np.array_equal(along[1:], wanted[1:]) and (along[0] == 0 or x == "seconds")  # a logarithmic axis
        assert np.allclose(values, np.median([one.trace["primal"] for one in found], axis=0), rtol=1e-15)
    kinds = "document.querySelector('.plot.drawn').layout.{}axis.type"
    assert [browser.js(kinds.format(axis)) for axis in "xy"] == ["linear", "linear"]
    browser.choose(".controls .yscale", "log")
    browser.choose(".controls .x", "seconds")
    browser.choose(".controls .y", "gap")
    browser.wait("document.querySelectorAll('.plot.drawn').length === 2")
    assert [browser.js(kinds.format(axis)) for axis in "xy"] == ["log", "log"]


def test_bands_are_drawn_and_hidden(browser):
    bands = "document.querySelector('.plot.drawn').data.filter((one) => one.meta.part === 'band').length"
    assert browser.js(bands) == 3
    browser.click(".controls .bands")
    browser.wait("document.querySelectorAll('.plot.drawn').length === 2")
    assert browser.js(bands) == 0


def test_a_point_under_the_mouse_says_its_exact_values(browser):
    browser.js("document.querySelector('.plot.drawn').scrollIntoView({block: 'center'})")
    x, y = browser.js(
        "(() => {const plot = document.querySelector('.plot.drawn'), box = plot.getBoundingClientRect(),"
        "{xaxis, yaxis} = plot._fullLayout, one = plot.data.find((one) => one.name === 'apcg');"
        "return [box.x + xaxis._offset + xaxis.d2p(one.x[10]), box.y + yaxis._offset + yaxis.d2p(one.y[10])]})()"
    )
    value = browser.js(CURVE)[1][10]
    for step in range(3):
        browser.move(x + 2 - step, y)
    browser.wait("document.querySelector('.hoverlayer .hovertext') !== null", 10)
    text = browser.js("document.querySelector('.hoverlayer .hovertext').textContent")
    assert text.startswith("apcgpasses: 10suboptimality: ") and "quartiles: " in text
    assert float(text.partition("suboptimality: ")[2].partition("quartiles")[0]) == value


def test_the_buttons_of_a_panel_send_nothing_anywhere(browser):
    titles = "[...document.querySelector('.plot.drawn').querySelectorAll('.modebar-btn')].map((b) => b.dataset.title)"
    assert len(browser.js(titles)) == 6 and not [one for one in browser.js(titles) if "hare" in one or "cloud" in one]
    assert browser.js("document.querySelectorAll('a[href], form').length") == 0


def column(browser, name):
    number = browser.js(
        f"[...document.querySelectorAll('.runs thead button')].findIndex((b) => /^{name}/.test(b.innerText))"
    )
    return f".runs thead th:nth-child({number + 1}) button", (
        f"[...document.querySelectorAll('{ROWS}')].map((row) => row.cells[{number}].textContent)"
    )


def test_runs_are_sorted_and_filtered(browser):
    button, cells = column(browser, "suboptimality")
    browser.click(button)
    rising = [float(one) for one in browser.js(cells) if one]
    assert len(rising) == 13 and rising == sorted(rising) and rising[0] < rising[-1]
    browser.click(button)
    assert [float(one) for one in browser.js(cells) if one] == rising[::-1]
    assert browser.js(f"document.querySelector('{button}').parentElement.ariaSort") == "descending"
    browser.choose(".runs .words", "SVRG done")
    assert browser.js(column(browser, "method")[1]) == ["svrg"] * 4
    assert browser.js("document.querySelector('.runs .shown').textContent") == "4 of 13 runs match"
    browser.choose(".runs .words", "")
    browser.choose(".runs .status-filter", "failed")
    assert browser.js(column(browser, "status")[1]) == ["failed"]


def test_the_traceback_of_a_failed_run_is_folded_and_opens(browser):
    browser.choose(".runs .status-filter", "failed")
    text = f"document.querySelector('{ROWS} pre')"
    assert not browser.js(f"{text}.checkVisibility()")
    browser.click(f"{ROWS} summary")
    assert browser.js(f"{text}.checkVisibility()") and browser.js(f"{text}.textContent") == "line 1\nline 2"


def test_texts_that_try_to_be_markup_are_shown_letter_by_letter(browser):
    browser.choose("#experiment", "1")
    browser.wait("document.querySelector('section:not([hidden]) .plot.drawn .main-svg') !== null")
    told = pages.EVIL.replace("\u202e", "\\u202e")
    assert browser.js("document.querySelector('section:not([hidden]) .title').textContent") == told
    buttons = browser.js(
        "[...document.querySelectorAll('section:not([hidden]) .legend button')].map((b) => b.textContent)"
    )
    assert any("<img src=x onerror=alert(2)>" in text for text in buttons)
    assert browser.js(f"document.querySelector('{ROWS} pre').textContent") == told
    plot = "document.querySelector('section:not([hidden]) .plot.drawn')"
    browser.js(f"Plotly.Fx.hover({plot}, [{{curveNumber: 0, pointNumber: 0}}])")
    named = browser.js("document.querySelector('.hoverlayer .hovertext').textContent")
    assert "<img src=x onerror=alert(2)><b>bold</b>&amp;" in named
    browser.choose("section:not([hidden]) .words", "<script>")
    assert browser.js("document.querySelectorAll('img, section b').length") == 0


def test_the_page_fits_a_narrow_window(browser):
    browser.resize(500, 900)
    assert browser.js("document.documentElement.scrollWidth") <= 500
    tops = browser.js("[...document.querySelectorAll('section:not([hidden]) .panels figure')].map((f) => f.offsetTop)")
    assert tops[0] < tops[1]
    browser.wait("document.querySelector('.plot.drawn .main-svg').getBoundingClientRect().width < 500")


def test_the_page_prints_all_panels(browser, tmp_path):
    browser.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    browser.wait("document.querySelector('.plot.drawn .main-svg').getBoundingClientRect().width > 400")  # as before
