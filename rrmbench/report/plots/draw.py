"""From panels to a matplotlib figure. Uses no pyplot and leaves matplotlib's global state as it was."""

import textwrap
from dataclasses import dataclass, replace

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from rrmbench.report.naming import short
from rrmbench.report.plots import below, layout, legend, ticks
from rrmbench.report.plots.frame import on_log_axis
from rrmbench.report.plots.legend import per_inch
from rrmbench.report.plots.notes import MOST_BANDS
from rrmbench.report.plots.page import SCREEN, SMALL

# Titles, names and notes come from files: with parse_math=False a "$" in them is drawn as it is.

X_LABELS = {
    "passes": "passes over the data",
    "work": "passes over the data, checks included",
    "seconds": "seconds",
    "cpu_seconds": "CPU seconds",
}
Y_LABELS = {
    "suboptimality": "suboptimality  P(w) − D*",
    "gap": "certified duality gap",
    "objective": "objective  P(w)",
    "dual": "best dual bound",
    "nonzeros": "non-zeros in w",
}
NARROWEST = 4.4  # inches of a screen, so that legend and small print have room under a single panel
AROUND = 0.65, 0.85  # inches of the width and of the height of a panel that are not its axes
TICK = 0.42, 0.28  # inches across and up that a tick with its label wants


@dataclass(frozen=True)
class Sheet:
    """All that a figure shows: Panels and Frames by (row, column), series in the order of the legend, small print.

    `title` is made of what all panels share unless `titled` says that it was asked for.
    """

    title: str
    titled: bool
    panels: dict
    frames: dict
    rows: int
    columns: int
    axes: object
    styles: dict
    labels: dict
    notes: list


def draw(sheet, page=SCREEN):
    """Return the matplotlib Figure of a Sheet on a Page; its layout is done."""
    with matplotlib.rc_context(page.rc):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        sheet = _fitted(sheet, page)
        room = _room(figure, sheet, page)
        figure.set_size_inches(room.width, room.height)
        grid = figure.subplots(sheet.rows, sheet.columns, squeeze=False)
        for at, axes in np.ndenumerate(grid):
            if at in sheet.panels:
                _panel(axes, sheet.panels[at], sheet.frames[at], sheet, room)
            else:
                axes.set_axis_off()
        _label_outer(figure, grid, sheet)
        if page.title or sheet.titled:
            size = matplotlib.rcParams["figure.titlesize"]
            title = textwrap.fill(sheet.title, int(0.95 * room.width * per_inch(figure, size)))
            figure.suptitle(title, fontsize=size, parse_math=False)
        named = None if room.labelled else sheet.labels
        below.add(figure, sheet.styles, named, sheet.notes)
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")  # it stays as it is, in every format
        return figure


@dataclass(frozen=True)
class _Room:
    """Inches: of the figure without what stands below it, and about those of one set of axes without its labels."""

    width: float
    height: float
    across: float
    up: float
    labelled: bool  # whether labels at the ends of curves stand for the legend


def _fitted(sheet, page):
    """The sheet with as many columns of panels as the page has room for, and with its lines."""
    most = page.columns(sheet.columns)
    panels, rows, columns = layout.wrapped(sheet.panels, most)
    frames, _, _ = layout.wrapped(sheet.frames, most)
    thinner = {
        series: style | {name: page.lines * style[name] for name in ("linewidth", "markersize")}
        for series, style in sheet.styles.items()
    }
    return replace(sheet, panels=panels, frames=frames, rows=rows, columns=columns, styles=thinner)


def _room(figure, sheet, page):
    across, up = page.panel(sheet.columns)
    labelled = page.width is None and len(sheet.styles) > legend.MOST_SHARED
    width = across * sheet.columns
    if labelled:
        up = max(up, legend.ROW * max(len(panel.curves) for panel in sheet.panels.values()) + AROUND[1])
        for column in range(sheet.columns):
            named = {series for (_, c), panel in sheet.panels.items() if c == column for series in panel.curves}
            width += legend.label_width(figure, [sheet.labels[series] for series in named])
    width = page.width or max(width, NARROWEST)
    return _Room(width, up * sheet.rows, across - AROUND[0], up - AROUND[1], labelled)


def _panel(axes, panel, frame, sheet, room):
    size = matplotlib.rcParams["axes.titlesize"]
    axes.set_title(textwrap.fill(panel.title, int((room.across + 0.3) * per_inch(axes.figure, size))), parse_math=False)
    axes.grid(True)
    axes.set_axisbelow(True)
    axes.set_xscale("log" if frame.log_x else "linear")
    axes.set_yscale("log" if frame.log_y else "linear")
    axes.set_xlim(frame.x)
    axes.set_ylim(frame.y)
    _faint(axes, panel, frame, sheet)
    for series, curve in panel.proven:
        dots = {"linestyle": (0, (1, 2)), "linewidth": 0.9} if curve.joined else {"linestyle": "none", "marker": "."}
        dots |= {"color": sheet.styles[series]["color"], "zorder": 1.5, "markersize": 2.5}
        curve = _placed(curve, frame)
        axes.plot(curve.x, curve.y, **dots)
    for number, series in enumerate(s for s in sheet.styles if s in panel.curves):
        curve = _placed(panel.curves[series], frame)
        _curve(axes, curve, sheet.styles[series], number, len(panel.curves) <= MOST_BANDS)
    if panel.optimum is not None:
        axes.axhline(panel.optimum, color="black", linestyle=(0, (6, 3)), linewidth=1.4, zorder=0.5)
    _accuracy(axes, panel, frame)
    for axis, ends, logarithmic, inches, tick in (
        (axes.xaxis, frame.x, frame.log_x, room.across, TICK[0]),
        (axes.yaxis, frame.y, frame.log_y, room.up, TICK[1]),
    ):
        most = max(int(inches / tick), ticks.FEWEST)
        ticks.set_log_ticks(axis, ends, most) if logarithmic else ticks.set_linear_ticks(axis, ends, most)
    if room.labelled:
        legend.label_ends(axes, panel, sheet.labels, sheet.styles, room.up)


def _placed(curve, frame):
    return on_log_axis(curve, min(frame.x), frame.log_y) if frame.log_x else curve


def _faint(axes, panel, frame, sheet):
    """Draw the trials of each method as one artist; many of them must not bury the rest."""
    alpha = min(0.3, max(0.1, 10.0 / (len(panel.faint) or 1)))
    lines = {}
    for series, curve in panel.faint:
        curve = _placed(curve, frame)
        lines.setdefault(series, []).append(np.column_stack([curve.x, curve.y]))
    for series, segments in lines.items():
        style = {"colors": [sheet.styles[series]["color"]], "linestyles": [sheet.styles[series]["linestyle"]]}
        axes.add_collection(LineCollection(segments, **style, linewidths=0.6, alpha=alpha, zorder=1), autolim=False)


def _curve(axes, curve, style, number, banded):
    """Draw one curve; markers are sparse and shifted from series to series, so that they do not pile up."""
    markevery = (0.03 + 0.037 * number % 0.15, 0.17) if len(curve.x) > 6 else None
    style = style | {"marker": style["marker"] or "o"} if len(curve.x) == 1 else style
    axes.plot(curve.x, curve.y, markevery=markevery, **style)
    if curve.low is not None and banded:
        axes.fill_between(curve.x, curve.low, curve.high, color=style["color"], alpha=0.18, linewidth=0, zorder=1)


def _accuracy(axes, panel, frame):
    """Shade what lies below the certified accuracy of the reference, and say how good that is."""
    low = min(frame.y)
    text = {"fontsize": SMALL, "color": "0.35", "ha": "right", "zorder": 1.1}
    if panel.floor_matters and panel.floor > low > 0.0:
        axes.axhspan(low, min(panel.floor, max(frame.y)), color="0.85", zorder=0, linewidth=0)
        words = f"{'loose reference: ' if frame.loose else ''}P(w*) known to {_about(panel.floor)} only"
        where = blended_transform_factory(axes.transAxes, axes.transData)
        axes.text(0.99, (low * panel.floor) ** 0.5, words, va="center", transform=where, **text)
    elif panel.optimum is not None and frame.loose:
        words = f"loose reference: P(w*) may be lower by {_about(panel.width)}"
        axes.text(0.99, 0.98, words, va="top", transform=axes.transAxes, **text)  # where objectives have fallen from


def _about(value):
    return short(float(f"{value:.1g}"))


def _label_outer(figure, grid, sheet):
    """Label x under the last panel of each column and y left of the first of each row, in line with each other."""
    last = {column: row for row, column in sorted(sheet.panels)}
    first = dict(sorted(sheet.panels, reverse=True))
    below, left = [grid[row, column] for column, row in last.items()], [grid[at] for at in first.items()]
    for axes in below:
        axes.set_xlabel(X_LABELS[sheet.axes.x])
    for axes in left:
        axes.set_ylabel(Y_LABELS.get(sheet.axes.y, sheet.axes.y.replace("_", " ")))
    figure.align_xlabels(below)  # the others have none, and need not be measured
    figure.align_ylabels(left)
