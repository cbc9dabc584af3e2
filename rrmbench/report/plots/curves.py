"""From runs to curves: which panels and series a figure has, and what each shows. Draws nothing."""

from dataclasses import dataclass

import numpy as np

from rrmbench.columns import CLOCKS
from rrmbench.keys import is_origin, owner, sets_apart
from rrmbench.report import naming
from rrmbench.report.plots.section import LARGEST
from rrmbench.report.results import width
from rrmbench.report.spreads import quantile

ALIKE = 10.0  # times the least width of the references of a panel, up to which one band stands for all of them
MEASURED = ("suboptimality", "gap")  # of which no more is known than P to rounding
FALLING = ("suboptimality", "gap", "objective")  # of these less is better
STRUCTURE = ("solver", "reduction", "reduction.inside")
DEEPEST = 1e-17  # times the greatest value of a curve: where 0 is drawn; times the first: the end of an axis
MOST_POINTS = 500  # of a median; every seed has points of its own


@dataclass(frozen=True)
class Axes:
    """What is drawn over what. `suboptimality`, `gap` and, unless `xscale` says otherwise, seconds are logarithmic."""

    x: str
    y: str
    xlim: tuple | None = None
    ylim: tuple | None = None
    xscale: str | None = None

    @property
    def logarithmic(self):
        return self.y in ("suboptimality", "gap")

    @property
    def logarithmic_x(self):
        return (self.xscale or ("log" if self.x in CLOCKS else "linear")) == "log"


@dataclass(frozen=True)
class Series:
    """What one line stands for: a solver under a reduction, and the keys needed to tell it from the others.

    `keys` holds these keys only. Keys that place panels are left out, and so are the parameters of a method
    that has one setting per panel: a tuned method is one series in the whole figure.
    """

    keys: tuple

    @property
    def solver(self):
        return dict(self.keys).get("solver")

    @property
    def reduction(self):
        return dict(self.keys).get("reduction", "none")

    @property
    def method(self):
        """What a colour stands for: the series without its parameters."""
        keys = dict(self.keys)
        return tuple(keys.get(key) for key in STRUCTURE)


@dataclass(frozen=True)
class Curve:
    """The median over so many seeds at x, with the quartiles (None for a single seed). Arrays (points,).

    joined : whether it says something between its points
    """

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    seeds: int = 1
    joined: bool = True


@dataclass(frozen=True)
class Panel:
    """One set of axes.

    `width` is the certified width of the reference, `floor` the same where curves end at it, else 0. `optimum` is the
    least objective known where the axes show that of one problem, else None. `faint` lists (series, curve) of the
    values that tuning did not keep, `proven` those of theorems; `unproven` says why a theorem has none. `remark` says
    why there is no curve, `mixed` lists the keys in which its problems differ, where no curve is named by them.
    """

    title: str
    curves: dict
    faint: list
    proven: list
    unproven: list
    width: float
    floor: float
    optimum: float | None
    remark: str
    mixed: list

    @property
    def floor_matters(self):
        """Whether a curve comes near to where it says nothing any more."""
        lowest = min((curve.y.min() for curve in self.curves.values()), default=np.inf)
        return self.floor > 0.0 and lowest <= 10.0 * self.floor


def method_of(run, placed):
    """Return the `Series.method` of a run, of the keys that place no panel."""
    return tuple(None if key in placed else run.keys.get(key) for key in STRUCTURE)


def series_of(panels, placed):
    """Return {run: Series} for the runs of `panels` (lists of runs), which the keys `placed` tell apart."""
    structure = [key for key in STRUCTURE if key not in placed]
    varied = naming.varying(run.keys for panel in panels for run in panel)
    told = [key for key in varied if is_origin(key) and key not in placed]
    classes = {}
    for number, panel in enumerate(panels):
        for run in panel:
            method = tuple(run.keys.get(key) for key in structure)
            classes.setdefault(method, []).append((number, run))
    found = {}
    for members in classes.values():
        named = dict.fromkeys([*structure, *_needed_keys(members, {*STRUCTURE, *placed, "seed"}), *told])
        for _, run in members:
            found[run] = Series(tuple((key, run.keys[key]) for key in named if key in run.keys))
    return found


def _needed_keys(members, excluded):
    """Return the keys that tell runs of one method apart within a panel and a seed, as few as possible, and origins."""
    differ = [key for key in naming.varying(run.keys for _, run in members) if key not in excluded]
    needed = [key for key in differ if sets_apart(key)]
    for key in differ:
        if key in needed:
            continue
        values = {}
        for panel, run in members:
            place = (panel, run.keys["seed"], *(repr(run.keys.get(k)) for k in needed))
            values.setdefault(place, set()).add(repr(run.keys.get(key)))
        if any(len(different) > 1 for different in values.values()):
            needed.append(key)
    return needed + _of_those_without(needed, differ, members)


def _of_those_without(needed, differ, members):
    """The keys, set by some only of a panel, of runs that set none of the `needed` of the same component.

    Without them these look like the component with its defaults.
    """
    if not needed:
        return []
    panels = {}
    for panel, run in members:
        panels.setdefault(panel, []).append(run.keys)
    some = [
        key for key in differ if any(0 < sum(key in one for one in inside) < len(inside) for inside in panels.values())
    ]
    named = [(run.keys, {owner(key) for key in needed if key in run.keys}) for _, run in members]
    return [key for key in some if any(key in keys and owner(key) not in shown for keys, shown in named)]


def panel_of(title, runs, rivals, series, axes, bound):
    """Return the Panel of some runs: one curve per series that has anything to show on these axes.

    `rivals` maps a run whose parameters were tuned to its Choice; `bound` is None, or a function from a run to (x, y,
    joined) of its theorem, to the NoTheorem that says why it has none, or to None.
    """
    groups = {}
    for run in runs:
        groups.setdefault(series[run], []).append(run)
    curves = {name: curve_of(members, axes) for name, members in groups.items()}
    curves = {name: curve for name, curve in curves.items() if curve is not None}
    widths = [one for run in runs if np.isfinite(one := width(run.reference))]
    widest = max(widths, default=0.0)
    floor = widest if axes.y == "suboptimality" and widest <= ALIKE * min(widths, default=0.0) else 0.0
    faint = [
        (series[run], curve_of(members, axes))
        for run in runs
        if run in rivals
        for members in rivals[run].trials_by_value().values()
    ]
    faint = [(name, curve) for name, curve in faint if curve is not None and name in curves]
    firsts = {name: members[0] for name, members in groups.items() if name in curves}
    bounds = {name: bound(run) for name, run in firsts.items()} if bound else {}
    tuples = ((name, found) for name, found in bounds.items() if isinstance(found, tuple))
    proven = [(name, Curve(*_few(x, y, joined), joined=joined)) for name, (x, y, joined) in tuples]
    unproven = [str(found) for found in bounds.values() if isinstance(found, Exception)]
    optimum = _optimum(runs) if axes.y == "objective" else None
    remark = "" if curves else _why_empty(runs, axes)
    return Panel(title, curves, faint, proven, unproven, widest, floor, optimum, remark, _mixed(runs, curves))


def _few(x, y, joined):
    """The points of a theorem, of those that no line joins as many as can be told apart."""
    kept = slice(None) if joined or len(x) <= MOST_POINTS else np.linspace(0, len(x) - 1, MOST_POINTS).astype(int)
    return x[kept], y[kept]


def _mixed(runs, curves):
    """The keys in which the problems of a panel differ, but for those that name a curve."""
    if len({run.result.problem for run in runs}) == 1:
        return []
    named = {key for series in curves for key, _ in series.keys}
    differ = naming.varying(run.keys for run in runs)
    return [key for key in differ if owner(key) in naming.PROBLEM and key not in named]


def _optimum(runs):
    """The least objective known, if the runs are of one problem that has a reference."""
    known = {run.reference["primal"] for run in runs if run.reference is not None}
    return known.pop() if len(known) == 1 and len({run.result.problem for run in runs}) == 1 else None


def curve_of(runs, axes):
    """Return the Curve of the runs of one series, which differ in their seed, or None if no point is finite.

    Each run is interpolated between its own points (in log y on a logarithmic axis), keeps its last value after its
    end, and has none, which counts as infinite, before its first bound. The curve ends where half of the runs have
    ended, and begins where the median is finite.
    """
    points = [p for p in (_points(run, axes) for run in runs) if len(p[0])]
    if not points:
        return None
    if len(points) == 1:
        return Curve(*points[0][:2])
    end = np.median([x[-1] for x, _, _ in points])
    grid = np.unique(np.concatenate([x for x, _, _ in points]))
    grid = grid[grid < end]
    if len(grid) > MOST_POINTS:
        grid = grid[np.linspace(0, len(grid) - 1, MOST_POINTS).astype(int)]
    grid = np.append(grid, end)
    to, back = (np.log, np.exp) if axes.logarithmic else (np.asarray, np.asarray)
    values = np.sort([np.interp(grid, x, to(y), left=before) for x, y, before in points], axis=0)
    low, middle, high = (back(quantile(values, q)) for q in (0.25, 0.5, 0.75))
    known = np.isfinite(middle)
    if not known.any():
        return None
    return Curve(*(np.minimum(part[known], LARGEST) for part in (grid, middle, low, high)), len(points))


def _points(run, axes):
    """(x, y, what y counts as before the first x: None for y there, inf where there are points without a bound)."""
    x, y = run.column(axes.x), run.known(axes.y) if axes.y in MEASURED else run.column(axes.y)
    shown = np.isfinite(x) & np.isfinite(y)
    if axes.logarithmic:
        above = y[shown & (y > 0.0)]
        shown &= above.size > 0
        if above.size:  # what is measured stands where it is, however far the curve was up before
            y = np.where(y > 0.0, y, min(DEEPEST * above.max(), above.min()))
    begun = np.isfinite(x) & (y == np.inf) if axes.y in FALLING else np.zeros(len(x), dtype=bool)
    x, y, first = np.clip(x[shown], -LARGEST, LARGEST), np.clip(y[shown], -LARGEST, LARGEST), x[begun]
    if run.is_called_anew:  # in this time: a call that took longer may have come less far
        order = np.argsort(x, kind="stable")
        x, y = x[order], np.minimum.accumulate(y[order]) if axes.y in FALLING else y[order]
    return x, y, np.inf if len(x) and (first < x[0]).any() else None


def _why_empty(runs, axes):
    if not any(run.result.points for run in runs):
        return "no run has a point"
    if not any(np.isfinite(run.column(axes.x)).any() for run in runs):
        return f"{axes.x} not counted"
    if axes.y == "suboptimality" and not any(run.reference for run in runs):
        return "no reference yet"
    if axes.logarithmic:
        return "0 from the start" if any(np.isfinite(run.column(axes.y)).any() for run in runs) else "no certificate"
    return f"{axes.y} not measured"
