"""From panels to a matplotlib figure. Uses no pyplot and leaves matplotlib's global state as it was."""

import textwrap
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FuncFormatter,
    LogFormatterMathtext,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from rrmbench.bench.columns import METRICS
from rrmbench.report.naming import short

# Titles, names and notes come from files: with parse_math=False a "$" in them is drawn as it is.

RC = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "legend.fontsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.4,
    "grid.color": "0.88",
    "pdf.fonttype": 42,
    "svg.hashsalt": "rrmbench",
}
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
PANEL = 3.2, 2.6  # inches, with labels
LINE = 0.133  # inches, a line of small print
NARROWEST = 4.4  # inches, so that legend and small print have room under a single panel


@dataclass(frozen=True)
class Sheet:
    """All that a figure shows: panels by (row, column), series in the order of the legend, small print."""

    title: str
    panels: dict
    rows: int
    columns: int
    axes: object
    styles: dict
    labels: dict
    notes: list


def draw(sheet):
    """Return the matplotlib Figure of a Sheet."""
    with matplotlib.rc_context(RC):
        width = max(PANEL[0] * sheet.columns, NARROWEST)
        figure = Figure(figsize=(width, PANEL[1] * sheet.rows), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(sheet.rows, sheet.columns, squeeze=False)
        for at, axes in np.ndenumerate(grid):
            if at in sheet.panels:
                _panel(axes, sheet.panels[at], sheet)
            else:
                axes.set_axis_off()
        _label_outer(grid, sheet)
        figure.align_labels()
        figure.suptitle(textwrap.fill(sheet.title, int(width * 13)), fontsize=9.5, parse_math=False)
        _add_below(figure, sheet)
        return figure


def _panel(axes, panel, sheet):
    axes.set_title(textwrap.fill(panel.title, 44), parse_math=False)
    axes.grid(True)
    axes.set_axisbelow(True)
    if sheet.axes.logarithmic:
        axes.set_yscale("log")
    alpha = min(0.3, max(0.1, 10.0 / (len(panel.faint) or 1)))  # many trials must not bury the rest
    for series, curve in panel.faint:
        style = {key: sheet.styles[series][key] for key in ("color", "linestyle")}
        axes.plot(curve.x, curve.y, **style, linewidth=0.6, alpha=alpha, zorder=1)
    for series, curve in panel.proven:
        axes.plot(
            curve.x, curve.y, color=sheet.styles[series]["color"], linestyle=(0, (1, 2)), linewidth=0.9, zorder=1.5
        )
    for number, series in enumerate(s for s in sheet.styles if s in panel.curves):
        _curve(axes, panel.curves[series], sheet.styles[series], number)
    if panel.optimum is not None:
        axes.axhline(panel.optimum, color="black", linestyle=(0, (6, 3)), linewidth=1.4, zorder=0.5)
    if panel.remark:
        axes.text(0.5, 0.5, panel.remark, transform=axes.transAxes, ha="center", va="center", color="0.4")
        axes.set_xticks([])
        axes.yaxis.set_major_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())
        return
    _limits(axes, panel, sheet.axes)
    _ticks(axes, sheet.axes)


def _curve(axes, curve, style, number):
    """Draw one curve; markers are sparse and shifted from series to series, so that they do not pile up."""
    markevery = (0.03 + 0.037 * number % 0.15, 0.17) if len(curve.x) > 6 else None
    style = {"marker": "o", "markersize": 3.6} | style if len(curve.x) == 1 else style
    axes.plot(curve.x, curve.y, markevery=markevery, **style)
    if curve.low is not None:
        axes.fill_between(curve.x, curve.low, curve.high, color=style["color"], alpha=0.18, linewidth=0, zorder=1)


def _limits(axes, panel, wanted):
    """Frame the data and the ends of bounds: no diverging curve squeezes the rest, no low floor stretches the axis."""
    axes.set_xlim(left=0)
    curves, start = panel.curves.values(), panel.start
    lowest = min((curve.y if curve.low is None else curve.low).min() for curve in curves)
    highest = max(curve.y.max() for curve in curves)
    if wanted.logarithmic:
        bottom, top = lowest / 1.6, 1.6 * max([min(highest, 10 * start), *(least for _, least in panel.near_bounds)])
        if panel.floor > 0 and lowest <= 10 * panel.floor:
            bottom = min(bottom, panel.floor / 2)
            axes.axhspan(bottom, panel.floor, color="0.85", zorder=0, linewidth=0)
        axes.set_ylim(bottom, top)
    elif wanted.y == "objective" and start > lowest:
        (bottom, top), fall = axes.get_ylim(), start - lowest
        least = lowest if panel.optimum is None else min(lowest, panel.optimum)
        axes.set_ylim(max(bottom, least - 0.05 * fall), min(top, start + 0.3 * fall))
    elif wanted.y in METRICS:
        _frame_metric(axes, curves)
    if wanted.xlim is not None:
        axes.set_xlim(*wanted.xlim)
    if wanted.ylim is not None:
        axes.set_ylim(*wanted.ylim)


def _frame_metric(axes, curves):
    """Frame what a metric is after the first twentieth of the axis, since that of w = 0 would flatten the rest."""
    after = 0.05 * max(curve.x[-1] for curve in curves)
    late = np.concatenate([curve.y[curve.x >= min(after, curve.x[-1])] for curve in curves])
    low, high = late.min(), late.max()
    bottom, top = axes.get_ylim()
    if high > low:
        axes.set_ylim(max(bottom, low - 0.5 * (high - low)), min(top, high + 0.5 * (high - low)))


def _ticks(axes, wanted):
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    if not wanted.logarithmic:
        return
    low, high = axes.get_ylim()
    decades = np.log10(high / low)
    if decades < 1.5:  # powers of ten alone would leave one label or none
        axes.yaxis.set_major_locator(MaxNLocator(5) if decades < 0.7 else LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    else:
        axes.yaxis.set_major_locator(LogLocator(numticks=7))
        axes.yaxis.set_major_formatter(LogFormatterMathtext())
    axes.yaxis.set_minor_formatter(NullFormatter())
    if not 1.5 <= decades <= 7:
        axes.yaxis.set_minor_locator(NullLocator())


def _label_outer(grid, sheet):
    """Label x under the last panel of each column and y left of the first of each row."""
    for column in range(sheet.columns):
        last = max((r for r, c in sheet.panels if c == column), default=None)
        if last is not None:
            grid[last, column].set_xlabel(X_LABELS[sheet.axes.x])
    for row in range(sheet.rows):
        first = min((c for r, c in sheet.panels if r == row), default=None)
        if first is not None:
            grid[row, first].set_ylabel(Y_LABELS.get(sheet.axes.y, sheet.axes.y.replace("_", " ")))


def _add_below(figure, sheet):
    """Make room under the panels for the legend and the small print, and put them there."""
    width, height = figure.get_size_inches()
    lines = [part for note in sheet.notes for part in textwrap.wrap(note, int(width * 18))]
    print_height = LINE * len(lines) + 0.05 * bool(lines)
    legend = _legend(figure, sheet, width)
    legend_height = 0.0 if legend is None else legend.get_window_extent().height / figure.dpi + 0.05
    total = height + print_height + legend_height
    figure.set_size_inches(width, total)
    figure.get_layout_engine().set(rect=(0, 1 - height / total, 1, height / total))
    if legend is not None:
        legend.set_bbox_to_anchor((0.5, print_height / total), transform=figure.transFigure)
    if lines:
        text = "\n".join(lines)
        style = {"fontsize": 7, "color": "0.35", "va": "bottom", "linespacing": 1.35, "parse_math": False}
        figure.text(0.06 / width, 0.04 / total, text, **style)


def _legend(figure, sheet, width):
    """Return a legend with as few rows as the figure's width allows, the rows as even as can be."""
    names = {series: textwrap.fill(sheet.labels[series], int(width * 12)) for series in sheet.styles}
    handles = [Line2D([], [], **style, label=names[series]) for series, style in sheet.styles.items()]
    for rows in range(1, len(handles) + 1):
        legend = figure.legend(
            handles=handles,
            ncols=-(-len(handles) // rows),
            loc="lower center",
            frameon=False,
            handlelength=2.8,
            borderaxespad=0.2,
        )
        legend.set_in_layout(False)
        for text in legend.get_texts():
            text.set_parse_math(False)
        if rows == len(handles) or legend.get_window_extent().width <= (width - 0.1) * figure.dpi:
            return legend
        legend.remove()
    return None
