"""The figures of an experiment for the page: the panels and styles of `rrmbench plot`, over all axes at once."""

import numpy as np

from rrmbench.bench.columns import MEASURES, METRICS
from rrmbench.errors import printable
from rrmbench.report import plots
from rrmbench.report.html.thinning import Pool, thinned
from rrmbench.report.plots import curves, layout, style
from rrmbench.report.plots.draw import X_LABELS, Y_LABELS
from rrmbench.report.plots.notes import notes
from rrmbench.report.tuning import choices

NUMBERS = 1_500_000  # that all curves of a page may have: about 16 MB of text
POINTS = 40, 400  # the fewest and the most points of a curve; a panel is about 400 pixels wide
PROVEN = "passes", "suboptimality"  # what the theorems are about


def points_per_curve(found):
    """Return how many points a curve may keep on a page of the runs `found`, so that the page opens."""
    lines = len({tuple((key, repr(value)) for key, value in run.keys.items() if key != "seed") for run in found})
    ways = len(plots.X), len(_measured(found))
    arrays = 3 * ways[0] * ways[1] if lines < len(found) else sum(ways)
    return int(np.clip(NUMBERS / max(lines * arrays, 1), *POINTS))


def charts(experiment, stored, found, most, theory=False, trust=False):
    """Return all figures of an experiment as one mapping for JSON: figures, axes, labels, and the pool of arrays.

    stored : all its runs that have a result; found : those of them that the page is about; most : points of a curve

    A figure has one view per pair of axes, "passes suboptimality" say; a view has what each panel shows. Curves are
    lists [series, x, y] or [series, x, y, low, high] of numbers of arrays in `arrays`.
    """
    manifest = experiment.manifest()
    asked = plots._section(manifest.get("plot") or {})
    pending = len({entry["spec_id"] for entry in manifest["runs"]}) - len(stored)
    runs, rivals = plots._one_series_per_choice(found, choices(manifest, found))
    bound = plots._bound_of(experiment, trust) if theory else None
    facets = layout.facets(runs, asked)
    pool = Pool()
    figures = [
        _Figure(members, rivals, facets, asked, pending, bound, most, pool).described(experiment.name)
        for members in layout.groups(runs, facets["figure"]).values()
    ]
    shown = [y for y in MEASURES if any(f"{x} {y}" in figure["views"] for figure in figures for x in plots.X)]
    return {
        "figures": figures,
        "x": {x: X_LABELS[x] for x in plots.X},
        "y": {y: Y_LABELS.get(y, y.replace("_", " ")) for y in shown},
        "shown": [asked["x"], asked["y"]],
        "limits": [asked["xlim"], asked["ylim"]],
        "theory": theory,
        "arrays": pool.texts,
    }


def _measured(found):
    """What the runs may show: the metrics that some of them has, and all that is no metric."""
    columns = {name for run in found for name in run.result.trace}
    return [y for y in MEASURES if y not in METRICS or y in columns]


class _Figure:
    """The runs of one figure in their panels; what they show on given axes."""

    def __init__(self, runs, rivals, facets, asked, pending, bound, most, pool):
        self.runs, self.rivals, self.facets, self.asked = runs, rivals, facets, asked
        self.pending, self.bound, self.most, self.pool = pending, bound, most, pool
        self.placed = facets["rows"] + facets["columns"]
        self.cells, self.rows, self.columns = layout.grid(runs, facets["rows"], facets["columns"])
        self.series = curves.series_of(list(self.cells.values()), self.placed)
        self.numbers = {one: number for number, one in enumerate(dict.fromkeys(self.series.values()))}

    def described(self, name):
        where = layout.title(self.runs[0], self.facets["figure"])
        title = plots._title(printable(name), self.runs, where, self.placed + self.facets["figure"])
        wanted = f"{self.asked['x']} {self.asked['y']}"
        measures = dict.fromkeys([*_measured(self.runs), self.asked["y"]])
        views = {f"{x} {y}": self._view(curves.Axes(x, y)) for x in plots.X for y in measures}
        return {
            "where": where,
            "title": self.asked.get("title") or title,
            "rows": self.rows,
            "columns": self.columns,
            "series": self._legend(),
            "panels": [
                {"row": row, "column": column, "title": layout.title(members[0], self.placed)}
                for (row, column), members in self.cells.items()
            ],
            "views": {at: view for at, view in views.items() if at == wanted or _shows(view)},
        }

    def _legend(self):
        several = len({one.solver for one in self.numbers}) > 1
        drawn = style.styles(list(self.numbers))
        return [{"name": layout.series_label(one, several)} | _line(drawn[one]) for one in self.numbers]

    def _view(self, axes):
        bound = self.bound if (axes.x, axes.y) == PROVEN else None
        panels = [
            curves.panel_of("", members, self.rivals, self.series, axes, bound) for members in self.cells.values()
        ]
        tuned = [self.rivals[run] for run in self.runs if run in self.rivals]
        return {
            "panels": [self._panel(panel, axes) for panel in panels],
            "notes": notes(self.runs, tuned, panels, self.pending, axes),
            "unproven": list(dict.fromkeys(reason for panel in panels for reason in panel.unproven)),
        }

    def _panel(self, panel, axes):
        return {
            "curves": [self._curve(*pair) for pair in panel.curves.items()],
            "faint": [self._curve(one, curves.Curve(curve.x, curve.y)) for one, curve in panel.faint],
            "proven": [self._curve(*pair) for pair in panel.proven],
            "floor": panel.floor,
            "optimum": panel.optimum if panel.optimum is not None and np.isfinite(panel.optimum) else None,
            "remark": panel.remark,
            "frame": _frame(panel, axes),
        }

    def _curve(self, one, curve):
        kept = thinned(curve.y, self.most)
        arrays = [curve.x, curve.y] if curve.low is None else [curve.x, curve.y, curve.low, curve.high]
        return [self.numbers[one], *(self.pool.add(array[kept]) for array in arrays)]


def _shows(view):
    return any(panel["curves"] for panel in view["panels"])


def _line(drawn):
    """The style of a line for the browser, from keyword arguments of matplotlib."""
    from matplotlib.colors import to_hex

    dash, width = drawn["linestyle"], drawn["linewidth"]
    lengths = [] if isinstance(dash, str) else [round(length * width, 2) for length in dash[1]]
    return {
        "color": to_hex(drawn["color"]),
        "width": width,
        "dash": lengths,
        "marker": drawn.get("marker", ""),
    }


def _frame(panel, axes):
    """[low, high] of y that frames the curves on a logarithmic axis as `rrmbench plot` does, else None."""
    if not axes.logarithmic or not panel.curves:
        return None
    lowest = min((curve.y if curve.low is None else curve.low).min() for curve in panel.curves.values())
    highest = max(curve.y.max() for curve in panel.curves.values())
    bottom = lowest / 1.6
    if panel.floor > 0 and lowest <= 10 * panel.floor:
        bottom = min(bottom, panel.floor / 2)
    top = 1.6 * max([min(highest, 10 * panel.start), *(least for _, least in panel.near_bounds)])
    return [bottom, top] if bottom > 0.0 and np.isfinite(top) else None
