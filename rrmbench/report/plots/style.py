"""Colours, dashes and markers: the papers' for reductions of one solver, else ones that survive grey printing.

A method has one colour and one marker in all panels and figures of an experiment; its settings differ in lightness and
dash. Where there is one method, data sets or other names have colours instead. No two series have the same colour, dash
and marker.
"""

from itertools import count, cycle

from rrmbench.report.naming import varying

# Okabe and Ito's palette, safe for colour-blind readers, without the yellow that white paper swallows
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d")  # 7, 13 and 4 have no common factor
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
REDS = ("#CB181D", "#FB6A4A", "#67000D", "#EF3B2C")
ADAPTIVE_DASHES = ((0, (4, 1.5)), (0, (1.5, 1)), (0, (7, 1.5)), (0, (4, 1, 1, 1)))
GREENS = ("#238B45", "#00441B", "#41AB5D", "#006D2C")
LIGHTEST = 0.45  # luminance of a line on white paper, of at most 1

CLASSICAL = {"regularize": "reduction.sigma", "smooth": "reduction.mu"}
ADAPTIVE = ("adapt_reg", "adapt_smooth", "joint_adapt")
PROXIMAL = ("proximal_point", "joint_proximal_point")


def styles(series, methods):
    """Return {series: keyword arguments of matplotlib's `plot`}, in the order of the legend.

    `methods` are all of the experiment (`Series.method`), in an order that its figures share.
    """
    chosen = _reduction_study(series) if is_reduction_study(series) else _distinct(series, methods)
    taken, result = set(), {}
    for one, style in chosen.items():
        for dash in _alternatives(style["linestyle"]):
            looks = style["color"], dash, style["marker"]
            if looks not in taken:
                break
        taken.add(looks)
        result[one] = style | {"linestyle": dash}
    return result


def _alternatives(dash):
    """Yield a dash and then ever longer ones."""
    yield dash
    yield from ((0, (2 + number, 1.5, 1, 1.5)) for number in count())


def is_reduction_study(series):
    """Whether one solver is shown under classical reductions of fixed strength, and maybe adaptive ones."""
    reductions = [one.reduction for one in series]
    family = all(name in (*CLASSICAL, *ADAPTIVE, *PROXIMAL, "none") for name in reductions)
    nested = any("reduction.inside" in dict(one.keys) for one in series)
    return family and not nested and len({one.solver for one in series}) == 1 and _is_mixed(reductions)


def _is_mixed(reductions):
    fixed = sum(name in CLASSICAL for name in reductions)
    adaptive = sum(name in ADAPTIVE + PROXIMAL for name in reductions)
    return fixed >= 1 and fixed + adaptive >= 2


def _reduction_study(series):
    """Fixed strengths: solid blue, the weaker the darker. Adaptive: dashed red; proximal: green. Neither: black."""
    fixed = sorted((one for one in series if one.reduction in CLASSICAL), key=_strength, reverse=True)
    neither = [one for one in series if one.reduction == "none"]
    result, dashes = {}, cycle(ADAPTIVE_DASHES)
    for number, (one, shade) in enumerate(zip(fixed, _blues(len(fixed)), strict=True)):
        result[one] = _line(shade, "-", MARKERS[number % len(MARKERS)], 1.2, markersize=3.0)
    for names, colours in ((ADAPTIVE, REDS), (PROXIMAL, GREENS)):
        for number, one in enumerate(one for one in series if one.reduction in names):
            result[one] = _line(colours[number % len(colours)], next(dashes), "", 1.9, zorder=3)
    for number, one in enumerate(neither):
        result[one] = _line("#000000", DASHES[::-1][number % len(DASHES)], "", 1.2)
    return result


def _line(colour, dash, marker, width, markersize=3.6, zorder=2):
    line = {"color": colour, "linestyle": dash, "linewidth": width, "zorder": zorder}
    return line | {"marker": marker, "markersize": markersize, "markeredgewidth": 0}


def _strength(one):
    value = dict(one.keys).get(CLASSICAL[one.reduction])
    return value if isinstance(value, (int, float)) else 0.0  # `auto` goes last


def _blues(number):
    from matplotlib import colormaps

    return [colormaps["Blues"](1 - 0.57 * i / max(number - 1, 1)) for i in reversed(range(number))]


def _distinct(series, methods):
    """A colour and a marker per method, whose settings differ in lightness and dash."""
    kinds = {one: one.method for one in series} if len(methods) > 1 else _names(series)
    order = dict.fromkeys(methods if len(methods) > 1 else kinds.values())
    numbers = {kind: number for number, kind in enumerate(order)}
    members = {}
    for one, kind in kinds.items():
        members.setdefault(kind, []).append(one)
    result = {}
    for kind, settings in members.items():
        number = numbers[kind]
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
        for i, (one, shade) in enumerate(zip(settings, shades(colour, len(settings)), strict=True)):
            result[one] = _line(shade, DASHES[(number + i) % len(DASHES)], marker, 1.4)
    return {one: result[one] for one in series}


def _names(series):
    """{series: its value of the first key in which they differ by names, as of data sets; else its method}."""
    keys = [dict(one.keys) for one in series]
    for key in varying(keys):
        if all(isinstance(each.get(key), str) for each in keys):
            return {one: each[key] for one, each in zip(series, keys, strict=True)}
    return {one: one.method for one in series}


def shades(colour, number):
    """Return so many shades of a colour: itself, or from dark to as light as paper bears."""
    from matplotlib.colors import to_rgb

    rgb = to_rgb(colour)
    if number == 1:
        return [rgb]
    darkest = -0.5 if any(rgb) else 0.0
    # below 0 towards black, above 0 towards white
    mixes = [darkest + (0.5 - darkest) * i / (number - 1) for i in range(number)]
    return [_mixed(rgb, mix) for mix in mixes]


def _mixed(rgb, mix):
    if mix <= 0.0:
        return tuple(channel * (1.0 + mix) for channel in rgb)
    light = luminance(rgb)
    mix *= 2.0 * max(LIGHTEST - light, 0.05) / (1.0 - light)
    return tuple(channel + (1.0 - channel) * mix for channel in rgb)


def luminance(rgb):
    """The relative luminance of an sRGB colour, 0 black to 1 white: how a colour is printed in grey."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
