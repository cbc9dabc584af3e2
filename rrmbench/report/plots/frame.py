"""Which part of the plane a panel shows: the range of its strong curves; and what lies beyond. Draws nothing."""

from dataclasses import dataclass
from statistics import median_low

import numpy as np

from rrmbench.columns import METRICS
from rrmbench.report.plots.curves import DEEPEST, FALLING, Curve
from rrmbench.report.plots.section import LARGEST

FAR = 100.0  # times the start of a panel, above which a theorem's curve or a metric would squeeze all others
BAND = 0.1  # of the height of a panel, which the grey band below the certified accuracy takes
WIDEST = 1e5  # the ratio of the ends of a logarithmic x axis


@dataclass(frozen=True)
class Frame:
    """The ends of both axes, whether each is logarithmic, and what leaves them.

    beyond : {series: greatest y outside, or None if the curve goes on to the right or below}
    faint_beyond : how many of the faint curves leave the axes
    bounds_beyond : how many of the theorems' curves lie above
    loose : whether the reference is too loose for the range that is shown
    """

    x: tuple
    y: tuple
    log_x: bool
    log_y: bool
    beyond: dict
    faint_beyond: int
    bounds_beyond: int
    loose: bool


def frame_of(panel, axes):
    """Return the Frame of a Panel that has a curve."""
    strong = _strong(panel.curves, axes)
    start = median_low([float(curve.y[0]) for curve in strong])
    x, log_x = _x_range(panel.curves.values(), axes)
    near = [curve.y.min() for _, curve in panel.proven if curve.y.min() <= FAR * start]
    y = _y_range(panel, strong, start, near, axes)
    x, y = _ends(axes.xlim, x, log_x), _ends(axes.ylim, y, axes.logarithmic)
    after = _late(panel.curves.values()) if axes.y in METRICS else -np.inf
    end = np.inf if axes.xlim else max(x)  # who asked for an end knows that curves go on beyond it
    left = {series: _outside(curve, x, end, y, after) for series, curve in panel.curves.items()}
    faint = sum(_outside(curve, x, end, y, after) is not None for _, curve in panel.faint)
    return Frame(
        x,
        y,
        log_x,
        axes.logarithmic,
        {series: most for series, most in left.items() if most is not None},
        faint,
        len(panel.proven) - len(near),
        _is_loose(panel, start, y, axes),
    )


def _strong(curves, axes):
    """The curves that make the frame: of each method the one that ends lowest; all curves of what need not fall.

    Objectives are of one problem where they start alike. Of a metric those that do not end far above where the others
    begin, as after divergence.
    """
    if axes.y in METRICS:
        highest = FAR * median_low([float(curve.y[0]) for curve in curves.values()])
        return [curve for curve in curves.values() if curve.y[-1] <= highest] or list(curves.values())
    if axes.y not in FALLING:
        return list(curves.values())
    best = {}
    for series, curve in curves.items():
        kind = series.method, curve.y[0] if axes.y == "objective" else None
        if kind not in best or curve.y[-1] < best[kind].y[-1]:
            best[kind] = curve
    return list(best.values())


def _x_range(curves, axes):
    """Return ((left, right), whether the axis is logarithmic): without any x above 0 it cannot be."""
    least, right = min(curve.x.min() for curve in curves), max(curve.x.max() for curve in curves)
    above = np.concatenate([curve.x[curve.x > 0.0] for curve in curves])
    if axes.logarithmic_x and len(above):
        return (max(above.min(), right / WIDEST) / 1.3, 1.1 * right), True
    left = min(least, 0.0)
    return (left, right + 0.03 * (right - left) if right > left else left + 1.0), False


def _y_range(panel, strong, start, near, axes):
    lowest, highest = min(_lowest(curve) for curve in strong), max(curve.y.max() for curve in strong)
    if axes.logarithmic:
        lowest = max(lowest, DEEPEST * start)
        weak = max(curve.y.max() for curve in panel.curves.values())
        top = 1.6 * max([min(highest, 10.0 * start), min(weak, 4.0 * start), *near])
        if panel.floor_matters:
            return panel.floor * (panel.floor / top) ** (BAND / (1.0 - BAND)), top
        return lowest / 1.6, top
    least = min(_lowest(curve) for curve in strong)
    most = max((curve.y if curve.high is None else curve.high).max() for curve in strong)
    pad = 0.05 * (most - least) or 0.05 * abs(most) or 1.0
    bottom, top = least - pad, most + pad
    if axes.y == "objective" and start > lowest:
        start = max(curve.y[0] for curve in strong)  # each of several problems has one of its own
        least = lowest if panel.optimum is None else min(lowest, panel.optimum)
        return least - 0.05 * (start - lowest), min(top, start + 0.3 * (start - lowest))
    if axes.y in METRICS:
        # the metric of w = 0 would flatten the rest
        after = _late(strong)
        late = np.concatenate([curve.y[curve.x >= min(after, curve.x[-1])] for curve in strong])
        low, high = late.min(), late.max()
        if high > low:
            return max(bottom, low - 0.5 * (high - low)), min(top, high + 0.5 * (high - low))
    return bottom, top


def _late(curves):
    """The x after which a metric counts for the frame: a twentieth of the axis."""
    return 0.05 * max(curve.x[-1] for curve in curves)


def _lowest(curve):
    """The least of a curve and of its band, as far as that is not much lower."""
    least = curve.y.min()
    return least if curve.low is None else max(curve.low.min(), least - 0.9 * abs(least))


def _ends(asked, found, logarithmic):
    """The ends of an axis: those asked for, where the axis can have them."""
    low, high = sorted(found if asked is None else asked)
    if logarithmic:
        low, high = (low, high) if high > 0.0 else found
        low = low if low > 0.0 else min(found[0], high / 10.0)
        low, high = np.clip((low, high), 1.0 / LARGEST, LARGEST)
        low = low if low < high else high / 10.0
    else:
        low, high = np.clip((low, high), -LARGEST, LARGEST)
        high = high if low < high else low + max(1.0, 0.1 * abs(low))
    reverse = asked is not None and asked[0] > asked[1]
    return (float(high), float(low)) if reverse else (float(low), float(high))


def _outside(curve, x, end, y, after):
    """None for a curve inside the axes; else its greatest y above them, or NaN if it leaves below or after `end`."""
    (left, right), (bottom, top) = sorted(x), sorted(y)
    seen = curve.y[(curve.x >= max(after, left)) & (curve.x <= right)]
    if (seen > top).any():
        return float(seen.max())
    return np.nan if (curve.x > end).any() or (seen < bottom).any() else None


def _is_loose(panel, start, y, axes):
    """Whether P(w*) is known too badly for what is drawn."""
    if axes.y == "objective":
        return panel.optimum is not None and panel.width > 0.05 * abs(y[1] - y[0])
    return panel.floor_matters and panel.floor > 0.01 * start


def on_log_axis(curve, left, log_y):
    """Return the part of a Curve right of `left` > 0 as a logarithmic x axis shows it.

    A point at x <= 0 has no place there: the straight line from it to the next point, of a linear axis, is entered at
    `left`, and bends.
    """
    right_of = curve.x > left
    first = int(right_of.argmax())
    if right_of.all():
        return curve
    if not curve.joined:
        return Curve(curve.x[right_of], curve.y[right_of], joined=False)
    if not right_of.any():
        return Curve(np.array([left]), *(v if v is None else v[-1:] for v in (curve.y, curve.low, curve.high)))
    bend = np.geomspace(left, curve.x[first], 20)[:-1]
    to, back = (np.log, np.exp) if log_y else (np.asarray, np.asarray)

    def entered(values):
        if values is None:
            return None
        values = np.asarray(values)
        line = np.interp(bend, curve.x[first - 1 : first + 1], to(values[first - 1 : first + 1]))
        return np.concatenate([back(line), values[first:]])

    return Curve(np.concatenate([bend, curve.x[first:]]), *map(entered, (curve.y, curve.low, curve.high)))
