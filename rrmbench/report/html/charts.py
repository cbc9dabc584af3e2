"""The figures of an experiment for the page: the panels and styles of `rrmbench plot`, over all axes at once."""

import numpy as np

from rrmbench.columns import MEASURES, METRICS, X
from rrmbench.errors import printable
from rrmbench.report import plots
from rrmbench.report.html.thinning import Pool, thinned
from rrmbench.report.plots import curves, layout
from rrmbench.report.plots.draw import X_LABELS, Y_LABELS
from rrmbench.report.plots.frame import frame_of
from rrmbench.report.plots.notes import MOST_BANDS, notes
from rrmbench.report.plots.section import limits_of, section_of

NUMBERS = 1_500_000  # that all curves of a page may have: about 16 MB of text
POINTS = 40, 400  # the fewest and the most points of a curve; a panel is about 400 pixels wide
PROVEN = "passes", "suboptimality"  # what the theorems are about


def points_per_curve(found):
    """Return how many points a curve may keep on a page of the runs `found`, so that the page opens."""
    lines = len({tuple((key, repr(value)) for key, value in run.keys.items() if key != "seed") for run in found})
    ways = len(X), len(_measured(found))
    arrays = 3 * ways[0] * ways[1] if lines < len(found) else sum(ways)
    return int(np.clip(NUMBERS / max(lines * arrays, 1), *POINTS))


def charts(experiment, stored, found, most, theory=False, trust=False):
    """Return all figures of an experiment as one mapping for JSON: figures, axes, labels, and the pool of arrays.

    stored : all its runs that have a result; found : those of them that the page is about; most : points of a curve

    A figure has one view per pair of axes, "passes suboptimality" say; a view has what each panel shows. Curves are
    lists [series, x, y] or [series, x, y, low, high] of numbers of arrays in `arrays`, those of theorems
    [series, x, y, joined].
    """
    manifest = experiment.manifest()
    asked = section_of(manifest)
    made = plots.arranged(manifest, asked, stored, found)
    bound = plots.bound_of(experiment, trust) if theory else None
    pool = Pool()
    figures = []
    for where, group, each in made.figures:
        title = asked["title"] or plots.title_of(printable(experiment.name), group, where, made.constant)
        figure = _Figure(group, each, made, asked, bound, most, pool)
        figures.append({"where": where, "title": title} | figure.described())
    shown = [y for y in MEASURES if any(f"{x} {y}" in figure["views"] for figure in figures for x in X)]
    axes = {(x, y): _axes(asked, x, y) for x in X for y in shown}
    scale = {False: "linear", True: "log"}
    return {
        "figures": figures,
        "x": {x: [X_LABELS[x], scale[curves.Axes(x, "gap", xscale=asked["xscale"]).logarithmic_x]] for x in X},
        "y": {y: [Y_LABELS.get(y, y.replace("_", " ")), scale[axes[X[0], y].logarithmic]] for y in shown},
        "shown": [asked["x"], asked["y"]],
        "theory": theory,
        "proven": PROVEN,
        "most_bands": MOST_BANDS,
        "arrays": pool.texts,
    }


def _measured(found):
    """What the runs may show: the metrics that some of them has, and all that is no metric."""
    columns = {name for run in found for name in run.result.trace}
    return [y for y in MEASURES if y not in METRICS or y in columns]


def _axes(asked, x, y):
    """The Axes of a view."""
    return curves.Axes(x, y, *limits_of(asked, x, y), asked["xscale"])


class _Figure:
    """The runs of one figure in their panels; what they show on given axes."""

    def __init__(self, runs, cells, made, asked, bound, most, pool):
        self.runs, self.placed, self.rivals, self.series, self.asked = (
            runs,
            made.placed,
            made.rivals,
            made.series,
            asked,
        )
        self.bound, self.most, self.pool = bound, most, pool
        self.cells, self.rows, self.columns = layout.packed(cells)
        present = {made.series[run] for run in runs}
        self.styles = {one: looks for one, looks in made.styles.items() if one in present}
        self.names = layout.labels(self.styles)
        self.numbers = {one: number for number, one in enumerate(self.styles)}

    def described(self):
        wanted = self.asked["x"], self.asked["y"]
        measures = dict.fromkeys([*_measured(self.runs), self.asked["y"]])
        views = {(x, y): self._view(_axes(self.asked, x, y)) for x in X for y in measures}
        return {
            "rows": self.rows,
            "columns": self.columns,
            "series": [{"name": self.names[one]} | _line(looks) for one, looks in self.styles.items()],
            "panels": [
                {"row": row, "column": column, "title": title}
                for (row, column), title in zip(self.cells, self._titles(), strict=True)
            ],
            "views": {" ".join(at): view for at, view in views.items() if at == wanted or _shows(view)},
        }

    def _titles(self):
        return layout.titles((members[0] for members in self.cells.values()), self.placed)

    def _view(self, axes):
        bound = self.bound if (axes.x, axes.y) == PROVEN else None
        panels = [
            curves.panel_of(title, members, self.rivals, self.series, axes, bound)
            for title, members in zip(self._titles(), self.cells.values(), strict=True)
        ]
        frames = [frame_of(panel, axes) if panel.curves else None for panel in panels]
        return {
            "panels": [self._panel(panel, frame) for panel, frame in zip(panels, frames, strict=True)],
            "notes": self._notes(panels, frames, axes),
            "unproven": list(dict.fromkeys(reason for panel in panels for reason in panel.unproven)),
        }

    def _notes(self, panels, frames, axes):
        views = [(panel, frame) for panel, frame in zip(panels, frames, strict=True) if frame]
        if not views:
            return []
        shown = [
            run for panel, members in zip(panels, self.cells.values(), strict=True) if panel.curves for run in members
        ]
        tuned = [self.rivals[run] for run in shown if run in self.rivals]
        empty = [panel for panel in panels if not panel.curves]
        return notes(self.runs, tuned, views, empty, self.names, axes, [])

    def _panel(self, panel, frame):
        known = panel.optimum is not None and np.isfinite(panel.optimum)
        return {
            "curves": [self._curve(*pair) for pair in panel.curves.items()],
            "faint": [self._curve(one, curves.Curve(curve.x, curve.y)) for one, curve in panel.faint],
            "proven": [[*self._curve(one, curve), curve.joined] for one, curve in panel.proven],
            "floor": panel.floor if panel.floor_matters else 0.0,
            "optimum": panel.optimum if known else None,
            "remark": panel.remark,
            "frame": frame and {"x": frame.x, "y": frame.y},
        }

    def _curve(self, one, curve):
        kept = thinned(curve.y, self.most)
        arrays = [curve.x, curve.y] if curve.low is None else [curve.x, curve.y, curve.low, curve.high]
        return [self.numbers[one], *(self.pool.add(array[kept]) for array in arrays)]


def _shows(view):
    return any(panel["curves"] for panel in view["panels"])


def _line(looks):
    """The style of a line for the browser, from keyword arguments of matplotlib."""
    from matplotlib.colors import to_hex

    dash, width = looks["linestyle"], looks["linewidth"]
    lengths = [] if isinstance(dash, str) else [round(length * width, 2) for length in dash[1]]
    return {"color": to_hex(looks["color"]), "width": width, "dash": lengths, "marker": looks["marker"]}
