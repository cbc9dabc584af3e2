"""Colours and line styles: the papers' for reductions of one solver, else ones that survive grey printing."""

from itertools import cycle, islice

from rrmbench.report.plots.curves import STRUCTURE

# Okabe and Ito's palette, safe for colour-blind readers, without the yellow that white paper swallows
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
REDS = ("#CB181D", "#FB6A4A", "#67000D", "#EF3B2C")
RED_DASHES = ((0, (4, 1.5)), (0, (1.5, 1)), (0, (7, 1.5)), (0, (4, 1, 1, 1)))

CLASSICAL = {"regularize": "reduction.sigma", "smooth": "reduction.mu"}
ADAPTIVE = ("adapt_reg", "adapt_smooth", "joint_adapt")


def styles(series):
    """Return {series: keyword arguments of matplotlib's `plot`}, in the order of the legend."""
    if is_reduction_study(series):
        return _reduction_study(series)
    return _distinct(series)


def is_reduction_study(series):
    """Whether one solver is shown under classical reductions of fixed strength, and maybe adaptive ones."""
    reductions = [one.reduction for one in series]
    family = all(name in CLASSICAL or name in ADAPTIVE or name == "none" for name in reductions)
    nested = any("reduction.inside" in dict(one.keys) for one in series)
    return family and not nested and len({one.solver for one in series}) == 1 and _is_mixed(reductions)


def _is_mixed(reductions):
    fixed = sum(name in CLASSICAL for name in reductions)
    adaptive = sum(name in ADAPTIVE for name in reductions)
    return fixed >= 1 and fixed + adaptive >= 2


def _reduction_study(series):
    """Fixed strengths: solid blue, the weaker the darker. Adaptive: dashed red. Neither: black."""
    fixed = sorted((one for one in series if one.reduction in CLASSICAL), key=_strength, reverse=True)
    adaptive = [one for one in series if one.reduction in ADAPTIVE]
    neither = [one for one in series if one.reduction == "none"]
    result = {}
    for one, shade in zip(fixed, _blues(len(fixed)), strict=True):
        result[one] = {"color": shade, "linestyle": "-", "linewidth": 1.2, "zorder": 2}
    for one, shade, dash in zip(adaptive, cycle(REDS), cycle(RED_DASHES), strict=False):
        result[one] = {"color": shade, "linestyle": dash, "linewidth": 1.9, "zorder": 3}
    for one, dash in zip(neither, cycle(DASHES[::-1]), strict=False):
        result[one] = {"color": "black", "linestyle": dash, "linewidth": 1.2, "zorder": 2}
    return result


def _strength(one):
    value = dict(one.keys).get(CLASSICAL[one.reduction])
    return value if isinstance(value, (int, float)) else 0.0  # `auto` goes last


def _blues(count):
    from matplotlib import colormaps

    return [colormaps["Blues"](1 - 0.62 * i / max(count - 1, 1)) for i in reversed(range(count))]


def _distinct(series):
    """A colour and a marker per method, whose settings differ in lightness and dash."""
    methods = {}
    for one in series:
        methods.setdefault(tuple(dict(one.keys).get(key) for key in STRUCTURE), []).append(one)
    result = {}
    for number, members in enumerate(methods.values()):
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
        dashes = islice(cycle(DASHES), number % len(DASHES), None)
        shades = _tints(colour, len(members))
        for one, shade, dash in zip(members, shades, dashes, strict=False):
            line = {"color": shade, "linestyle": dash, "linewidth": 1.4, "zorder": 2}
            result[one] = line | {"marker": marker, "markersize": 3.6, "markeredgewidth": 0}
    return {one: result[one] for one in series}


def _tints(colour, count):
    """Return `count` shades of a colour, from itself towards white."""
    from matplotlib.colors import to_rgb

    rgb = to_rgb(colour)
    mixes = [0.6 * i / max(count - 1, 1) for i in range(count)]
    return [tuple(channel + (1 - channel) * mix for channel in rgb) for mix in mixes]
