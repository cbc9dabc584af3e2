"""Which curve is which: a legend for all panels below them, or labels at the ends of the curves of each panel."""

import textwrap

import matplotlib
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

MOST_SHARED = 8  # series, beyond which a reader would lose the way from a legend to its curve
ROW = 0.135  # inches, a label at the end of a curve
GAP, HANDLE, PAD = 0.13, 0.30, 0.06  # inches, right of the axes: from the spine to the handle, the handle, to the text


def widths(figure, texts, size):
    """Return the widths of texts in inches, in points of size."""
    renderer = figure.canvas.get_renderer()
    made = [Text(0, 0, text, size=size, parse_math=False, figure=figure) for text in texts]
    return [text.get_window_extent(renderer).width / figure.dpi for text in made]


def per_inch(figure, size):
    """How many characters of a size in points an inch has room for, about."""
    text = "abcdefghijklmnopqrstuvwxyz 0123456789 = 1e-4, "
    return len(text) / widths(figure, [text], size)[0]


def label_width(figure, names):
    """The width in inches that labels at the ends of curves want."""
    return GAP + HANDLE + PAD + max(widths(figure, names, matplotlib.rcParams["legend.fontsize"]), default=0.0)


def label_ends(axes, panel, names, styles, height):
    """Label each curve of a panel right of the axes, near its end; `height` is that of the axes in inches, about.

    A label has the look of the curve. A thin line leads there from where the curve ends, or leaves the axes.
    """
    figure = axes.figure
    right = figure.dpi_scale_trans + ScaledTranslation(1, 0, axes.transAxes)
    place = blended_transform_factory(right, axes.transAxes)
    ends = {series: _end(curve, axes) for series, curve in panel.curves.items()}
    ordered = sorted(ends, key=lambda series: ends[series][1])
    at = {series: min(max(ends[series][1], 0.0), 1.0) for series in ordered}
    rows = spread([at[series] for series in ordered], ROW / height)
    for series, row in zip(ordered, rows, strict=True):
        style, x = styles[series], ends[series][0]
        thin = {"color": style["color"], "linewidth": 0.4, "alpha": 0.6, "clip_on": False, "zorder": 1.2}
        if x < 1.0:
            axes.add_line(Line2D([x, 1.0], [at[series]] * 2, transform=axes.transAxes, **thin))
        axes.add_line(Line2D([0.0, GAP], [at[series], row], transform=place, **thin))
        handle = Line2D([GAP, GAP + HANDLE / 2, GAP + HANDLE], [row] * 3, **style, markevery=[1], transform=place)
        handle.set_clip_on(False)
        axes.add_line(handle)
        text = {"va": "center_baseline", "size": matplotlib.rcParams["legend.fontsize"], "parse_math": False}
        axes.text(GAP + HANDLE + PAD, row, names[series], transform=place, **text)


def _end(curve, axes):
    """(x, y) where a curve comes nearest to the right of the axes, as shares of them: y alone may lie outside."""
    to_shares = axes.transScale + axes.transLimits
    x, y = to_shares.transform(np.column_stack([curve.x, curve.y])).T
    if x[0] > x[-1]:  # the axis is reversed
        x, y = x[::-1], y[::-1]
    return float(np.clip(x[-1], 0.0, 1.0)), float(np.interp(1.0, x, y))


def spread(wanted, gap):
    """Return places near the sorted `wanted` ones in [0, 1], at least `gap` apart, where that many have room."""
    places, last = [], -gap
    for place in wanted:
        last = max(place, last + gap)
        places.append(last)
    last = max(1.0, (len(places) - 1) * gap) + gap
    for number in reversed(range(len(places))):
        last = places[number] = min(places[number], last - gap)
    return places


def shared(figure, names, styles, width):
    """Return a legend with as few rows as the width in inches allows, the rows as even as can be."""
    size = matplotlib.rcParams["legend.fontsize"]
    texts = [textwrap.fill(names[series], max(int(width * 12), 20)) for series in styles]
    around = sum(matplotlib.rcParams[f"legend.{part}"] for part in ("handlelength", "handletextpad", "columnspacing"))
    room = [around * size / 72.0 + one for one in widths(figure, texts, size)]
    for rows in range(1, len(texts) + 1):
        columns = -(-len(texts) // rows)
        if sum(max(column) for column in np.array_split(room, columns)) <= width:
            break
    handles = [Line2D([], [], **style, label=text) for style, text in zip(styles.values(), texts, strict=True)]
    legend = figure.legend(
        handles=handles,
        ncols=columns,
        loc="lower center",
        frameon=False,
        borderaxespad=0.2,
    )
    legend.set_in_layout(False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend
