"""What stands below the panels of a figure: the legend that they share, and the small print."""

import textwrap

from rrmbench.report.plots import legend
from rrmbench.report.plots.page import SMALL

LINE = 1.35  # times its size, a line of small print
AROUND = 0.05  # inches above the legend, and above the small print


def add(figure, styles, labels, notes):
    """Make a figure of constrained layout higher by a legend and small print, and put them there.

    styles : {series: looks}; labels : {series: name}, None for no legend; notes : lines, which are wrapped
    """
    width, height = figure.get_size_inches()
    line, most = LINE * SMALL / 72.0, int((width - 0.12) * legend.per_inch(figure, SMALL))
    lines = [part for note in notes for part in textwrap.wrap(note, most)]
    print_height = line * len(lines) + AROUND * bool(lines)
    shared = None if labels is None else legend.shared(figure, labels, styles, width - 0.1)
    legend_height = 0.0 if shared is None else shared.get_window_extent().height / figure.dpi + AROUND
    total = height + print_height + legend_height
    figure.set_size_inches(width, total)
    figure.get_layout_engine().set(rect=(0, 1 - height / total, 1, height / total))
    if shared is not None:
        shared.set_bbox_to_anchor((0.5, print_height / total), transform=figure.transFigure)
    if lines:
        text = "\n".join(lines)
        style = {"fontsize": SMALL, "color": "0.35", "va": "bottom", "linespacing": LINE, "parse_math": False}
        figure.text(0.06 / width, 0.04 / total, text, **style)
