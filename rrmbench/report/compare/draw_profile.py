"""The figure of a Profile: steps over log2 tau, in the styles of the other figures."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator

from rrmbench.errors import listed
from rrmbench.files import replacing
from rrmbench.report import naming
from rrmbench.report.plots import below, style
from rrmbench.report.plots.page import SCREEN

FORMATS = ("png", "pdf", "svg")
SIZE = 4.8, 3.2  # inches, without legend and small print
_DECADE = 1.15  # how far the axis goes beyond the last step


def save(profile, folder, formats):
    """Write the figure to files in `folder`, one per format (png, pdf, svg), and return their paths."""
    folder, written = Path(folder), []
    level = naming.short(profile.levels.values[0])
    quantity = ("relative_" if profile.levels.relative else "") + profile.levels.quantity
    figure = draw(profile)
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    for kind in formats:
        file = folder / f"profile_{profile.cost}_to_{quantity}_{level}.{kind}"
        with matplotlib.rc_context(SCREEN.rc), replacing(file) as stream:
            figure.savefig(stream, format=kind, dpi=200, metadata=undated.get(kind))
        written.append(file)
    return written


def draw(profile):
    """Return the matplotlib Figure of a Profile."""
    with matplotlib.rc_context(SCREEN.rc):
        styles = style.styles(list(profile.series), list(dict.fromkeys(one.method for one in profile.series)))
        finite = profile.ratios[np.isfinite(profile.ratios)]
        end = max(float(finite.max(initial=1.0)) ** _DECADE, 2.0)
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        for number, series in enumerate(profile.series):
            _steps(axes, *profile.steps(number), end, styles[series], profile.labels[number], number)
        _frame(axes, profile, end)
        below.add(figure, styles, dict(zip(profile.series, profile.labels, strict=True)), _notes(profile))
        return figure


def _steps(axes, taus, rho, end, looks, label, number):
    """Draw one profile, with markers at some of its steps, so that lines that cover each other are told apart."""
    start = [] if len(taus) and taus[0] == 1.0 else [1.0]
    x, y = (
        np.concatenate([start, taus, [end]]),
        np.concatenate([np.zeros(len(start)), rho, rho[-1:] if len(rho) else [0.0]]),
    )
    every = max(len(x) // 8, 1)
    axes.plot(x, y, drawstyle="steps-post", label=label, markevery=(number % every, every), clip_on=False, **looks)


def _frame(axes, profile, end):
    axes.set_xscale("log", base=2)
    axes.set_xlim(1.0, end)
    axes.set_ylim(0.0, 1.02)
    exponents = np.arange(0, np.floor(np.log2(end)) + 1)
    if len(exponents) >= 3:
        axes.xaxis.set_major_locator(FixedLocator(2.0 ** exponents[:: max(len(exponents) // 7, 1)]))
    else:
        axes.xaxis.set_major_locator(FixedLocator(np.unique(np.round(np.geomspace(1.0, end, 5), 1))))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_locator(MultipleLocator(0.25))
    axes.grid(True)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"tau: {profile.cost}, as a multiple of the least")
    axes.set_ylabel("share of problems within tau")
    of = f"{profile.levels.quantity} {naming.short(profile.levels.values[0])}"
    of += " of P(0)" if profile.levels.relative else ""
    count = len(profile.problems)
    axes.set_title(f"{count} problem{'s' * (count != 1)}, {profile.cost} to {of}", parse_math=False)


def _notes(profile):
    if profile.unsolved:
        yield f"{profile.unsolved} of {len(profile.problems)} problems: solved by none"
    named = zip(profile.labels, profile.missing.tolist(), strict=True)
    absent = [f"{label} ({count})" for label, count in named if count]
    if absent:
        yield f"not run on some problems, which count as never solved: {listed(absent, 5)}"
    late = [f"{label} ({n})" for label, n in zip(profile.labels, profile.bounded.tolist(), strict=True) if n]
    if late:
        yield f"at the level by a bound of evaluation, unknown since when, which counts as never: {listed(late, 5)}"
    if profile.uncounted:
        yield f"not shown, as passes are not counted: {listed(profile.uncounted, 5)}"
    if profile.uncertified:
        yield f"no certified gap, which counts as never solved: {listed(profile.uncertified, 5)}"
    yield from profile.other_seeds
    if profile.cost == "seconds" and profile.concurrent > 1:
        yield f"timed with up to {profile.concurrent} runs at the same time"
