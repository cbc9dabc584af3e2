"""Where an axis has its ticks, and what they say: at least three with a label on every logarithmic axis."""

import matplotlib
import numpy as np
from matplotlib.lines import TICKDOWN, TICKLEFT, Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from rrmbench.report.naming import short

FEWEST = 3
MOST_MINOR = 8  # decades that have ticks at 2, 3, ..., 9 times a power of ten
_STEPS = (1, 2, 2.5, 5, 10)


def set_log_ticks(axis, ends, most):
    """Put at least three and, where there is room, at most `most` labelled ticks on a logarithmic axis."""
    low, high = sorted(ends)
    major = log_ticks(low, high, most)
    axis.set_major_locator(FixedLocator(major))
    axis.set_major_formatter(FixedFormatter(labels(major)))
    axis.set_minor_locator(NullLocator())
    _mark(axis, _minor(low, high, major))


def set_linear_ticks(axis, ends, most):
    """Put round numbers on a linear axis, about `most`; each says its whole value, none stands beside the axis."""
    low, high = sorted(ends)
    values = MaxNLocator(max(most, FEWEST), steps=_STEPS).tick_values(low, high)
    slack = 1e-9 * (high - low)  # 3 times 0.2 is more than 0.6
    values = values[(values >= low - slack) & (values <= high + slack)]
    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(FixedFormatter(linear_labels(values)))
    axis.set_minor_locator(NullLocator())


def log_ticks(low, high, most):
    """Return the labelled values of a logarithmic axis from `low` to `high`, sorted: three or more, all inside.

    Powers of ten, every k-th of them if they are many; between few decades 1, 2, 5 or 1, 3; and within less than
    a decade round numbers at equal distances.
    """
    powers = np.arange(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    decades = [
        _inside(10.0 ** powers[powers % step == rest].astype(float), low, high)
        for step in range(1, len(powers) + 1)
        for rest in range(step)
    ]
    parts = [_inside(np.outer(10.0**powers, subs).ravel(), low, high) for subs in ((1, 3), (1, 2, 5))]
    rounds = [_inside(MaxNLocator(n, steps=_STEPS).tick_values(low, high), low, high) for n in range(3, 12)]
    for kind in decades, parts, rounds:
        enough = [ticks for ticks in kind if len(ticks) >= FEWEST]
        if enough:
            return next((ticks for ticks in enough if len(ticks) <= most), min(enough, key=len))
    return np.geomspace(low, high, FEWEST)


def _inside(values, low, high):
    slack = 1.0 + 1e-9
    return np.sort(values[(values * slack >= low) & (values <= high * slack)])


def _minor(low, high, major):
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1.0)
    decades = np.log10(high / low)
    if decades < 1.0 and len(_inside(10.0**powers, low, high)) < 2:
        return []  # between ticks at equal distances those of a decade would mislead
    values = np.outer(10.0**powers, np.arange(1, 10) if decades <= MOST_MINOR else [1]).ravel()
    return [value for value in _inside(values, low, high) if not np.isclose(value, major, rtol=1e-9, atol=0.0).any()]


def _mark(axis, values):
    """Put minor ticks at the values, all as one artist: matplotlib has five for each of its own, and moves them all."""
    name, rc = axis.axis_name, matplotlib.rcParams
    style = {"markersize": rc[f"{name}tick.minor.size"], "markeredgewidth": rc[f"{name}tick.minor.width"]}
    style |= {"color": rc[f"{name}tick.color"], "linestyle": "none"}
    zeros = np.zeros(len(values))
    if name == "x":
        marks = Line2D(values, zeros, marker=TICKDOWN, transform=axis.axes.get_xaxis_transform(), **style)
    else:
        marks = Line2D(zeros, values, marker=TICKLEFT, transform=axis.axes.get_yaxis_transform(), **style)
    marks.set_in_layout(False)  # labels lie farther out
    axis.figure.add_artist(marks)  # the lines of the axes are curves


def linear_labels(values):
    """Return the text of each of some equally spaced values: as many decimals as tell them, or a power of ten."""
    step = np.min(np.diff(values), initial=np.inf)
    if not np.isfinite(step):
        return [_set(f"{value:.6g}") for value in values]
    values = np.where(np.abs(values) < 1e-6 * step, 0.0, values)  # what is left of a sum that is 0
    first, last = (int(np.floor(np.log10(value) + 1e-9)) for value in (np.abs(values).max(), step))
    last -= not np.allclose(values / 10.0**last, np.round(values / 10.0**last), rtol=0.0, atol=1e-6)
    if -4 <= first < (5 if last >= 3 else 8):
        texts = [f"{value:.{max(-last, 0)}f}" for value in values]
    else:
        texts = [f"{value / 10.0**first:.{first - last}f}e{first}" if value else "0" for value in values]
    return [_set(text) for text in texts]


def labels(values):
    """Return the text of each value: as people write numbers, with digits to tell them."""
    exponents = np.log10(values)
    powers = np.allclose(exponents, np.round(exponents), rtol=0.0, atol=1e-9)
    if powers and (np.min(values) < 0.02 or np.max(values) > 1000.0):
        return [_set(f"1e{round(exponent)}") for exponent in exponents]
    plain = np.min(values) >= 1e-3 and np.max(values) < 1e5
    for digits in range(2, 16):
        rounded = [f"{value:.{digits}g}" for value in values]
        texts = [f"{float(text):g}" if plain and digits < 6 else short(float(text)) for text in rounded]
        texts = rounded if digits >= 6 else texts
        close = np.allclose([float(text) for text in texts], values, rtol=1e-3, atol=0.0)
        if close and len(set(texts)) == len(texts):
            break
    return [_set(text) for text in texts]


def _set(text):
    """The text of a number as papers set it, 2e-5 as 2 x 10^-5 and 1e-5 as 10^-5."""
    digits, _, exponent = text.partition("e")
    if not exponent:
        return text.replace("-", "\N{MINUS SIGN}")
    factor = "" if digits == "1" else rf"{digits}\times"
    return rf"$\mathdefault{{{factor}10^{{{int(exponent)}}}}}$"
