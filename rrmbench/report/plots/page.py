"""The sizes of a figure: on a screen, or in print at the width of a column or of a page."""

from dataclasses import dataclass

from rrmbench.errors import RrmbenchError
from rrmbench.report.plots.section import check

STYLES = ("screen", "paper")
WIDTHS = {"column": 3.3, "page": 6.9}  # inches, of papers in two columns
NARROWEST_PANEL = 1.5  # inches, with labels

_SHARED = {
    "axes.titley": 1.0,  # where titles are anyway; left to itself, matplotlib measures all ticks to find that out
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "0.88",
    "pdf.fonttype": 42,  # TrueType, embedded: publishers refuse type 3
    "svg.hashsalt": "rrmbench",
}
_SCREEN = _SHARED | {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "figure.titlesize": 9.5,
    "legend.fontsize": 8,
    "legend.handlelength": 2.8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.4,
}
_PAPER = _SHARED | {
    "font.family": ["STIXGeneral", "DejaVu Sans"],  # the second for what the first has no sign of
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "figure.titlesize": 9,
    "legend.fontsize": 7.5,
    "legend.columnspacing": 1.4,
    "legend.handlelength": 2.4,
    "legend.labelspacing": 0.35,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.linewidth": 0.5,
    "grid.linewidth": 0.3,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "xtick.major.pad": 2,
    "ytick.major.pad": 2,
    "axes.labelpad": 2,
}
SMALL = 7  # points, the small print


@dataclass(frozen=True)
class Page:
    """How large things are.

    rc : of matplotlib; title : whether a figure without a title of its own gets one
    width : inches of the figure, None for as much as its panels take
    lines : factor on the widths of lines and markers
    """

    rc: dict
    title: bool
    width: float | None
    lines: float

    def columns(self, wanted):
        """How many columns of panels there is room for."""
        return wanted if self.width is None else max(1, min(wanted, int(self.width / NARROWEST_PANEL)))

    def panel(self, columns):
        """(width, height) of a panel in inches, with labels."""
        if self.width is None:
            return 3.2, 2.6
        width = self.width / columns
        return width, min(max(0.8 * width, 1.6), 2.3)


SCREEN = Page(_SCREEN, title=True, width=None, lines=1.0)


def page_of(style, width, columns):
    """Return the Page of a style and, for paper, of a width; None is a column for one column of panels, else a page.

    Raises RrmbenchError for a style or a width that there is not, or for a width without paper.
    """
    check("--style", style, STYLES)
    check("--width", width, (None, *WIDTHS))
    if style == "screen":
        if width is not None:
            raise RrmbenchError(f"--width {width}: a figure for the screen takes what it needs; say --style paper")
        return SCREEN
    width = width or ("column" if columns == 1 else "page")
    return Page(_PAPER, title=False, width=WIDTHS[width], lines=0.75)
