"""`rrmbench plot`: the papers' grids of panels, from result files to image files.

runs -> layout (which panel) -> curves (which line) -> draw (matplotlib) -> files: a module each.
"""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

from rrmbench.bench.columns import MEASURES
from rrmbench.bench.store import experiments
from rrmbench.errors import RrmbenchError, nearest, printable
from rrmbench.files import replacing
from rrmbench.report import naming
from rrmbench.report.plots import curves, layout, style
from rrmbench.report.plots.notes import notes
from rrmbench.report.results import runs_of
from rrmbench.report.tuning import choices

X = ("passes", "work", "seconds", "cpu_seconds")
FORMATS = ("png", "pdf", "svg")
LARGEST = 1e100  # of an axis limit; matplotlib squares and subtracts them


def plot(path, x=None, y=None, formats=("png", "pdf"), out=None, theory=False, trust=False):
    """Draw the experiments at `path` and return the paths of the files written.

    `x` and `y` override the experiment's `plot:` section. `theory` adds the bounds that the papers prove for the
    runs, over passes and for the suboptimality; `trust` loads the plug-in files that these name. Files go to `out`,
    or to `figures/` of each experiment; each is named after the experiment, the values of its `figure:` keys, and
    its axes. Raises RrmbenchError for an unknown axis or format and where no run has ended yet.
    """
    _check("--x", x, (None, *X))
    _check("--y", y, (None, *MEASURES))
    for one in formats:
        _check("--format", one, FORMATS)
    read = experiments(path)
    written = [file for experiment in read for file in _experiment(experiment, x, y, formats, out, theory, trust)]
    if not written:
        raise RrmbenchError(f"{path}: no run has ended yet, there is nothing to plot")
    return written


def _check(option, value, allowed):
    if value not in allowed:
        names = [name for name in allowed if name]
        raise RrmbenchError(f"{option}: found '{value}', allowed is {', '.join(names)}{nearest(value, names)}")


def _experiment(experiment, x, y, formats, out, theory, trust):
    folder = experiment.figures if out is None else Path(out)
    taken = set()
    for where, sheet in sheets(experiment, x, y, theory, trust):
        stem = _stem(experiment.name, where, sheet.axes, taken)
        yield from _save(sheet, folder, stem, formats)


def sheets(experiment, x=None, y=None, theory=False, trust=False):
    """Yield (where, Sheet) for each figure; `where` names the values of the `figure:` keys."""
    manifest = experiment.manifest()
    asked = _section(manifest.get("plot") or {})
    found = runs_of(experiment)
    pending = len({entry["spec_id"] for entry in manifest["runs"]}) - len(found)
    found, rivals = _one_series_per_choice(found, choices(manifest, found))
    axes = curves.Axes(x or asked["x"], y or asked["y"], asked["xlim"], asked["ylim"])
    if theory and (axes.x, axes.y) != ("passes", "suboptimality"):
        raise RrmbenchError(
            f"--theory: the theorems bound the suboptimality over passes, found {axes.y} over {axes.x}; "
            "say --x passes --y suboptimality"
        )
    bound = _bound_of(experiment, trust) if theory else None
    facets = layout.facets(found, asked)
    placed = facets["rows"] + facets["columns"]
    for runs in layout.groups(found, facets["figure"]).values():
        where = layout.title(runs[0], facets["figure"])
        title = asked.get("title") or _title(printable(experiment.name), runs, where, placed + facets["figure"])
        yield where, _sheet(title, runs, rivals, facets, placed, axes, pending, bound)


def _one_series_per_choice(found, tuned):
    """Return the runs without the trials, what was tuned called so, and {first kept run: Choice}."""
    trials = {run for choice in tuned for run in choice.trials}
    renamed = {
        run: replace(run, keys=run.keys | dict.fromkeys(choice.values, "tuned"))
        for choice in tuned
        for run in choice.kept
    }
    rivals = {renamed[choice.kept[0]]: choice for choice in tuned}
    return [renamed.get(run, run) for run in found if run not in trials], rivals


def _section(asked):
    """Check the `plot:` section of a manifest and return it with its defaults."""
    section = dict.fromkeys(("rows", "columns", "figure", "title", "xlim", "ylim"))
    section |= {"x": "passes", "y": "suboptimality"} | {key: asked[key] for key in asked if asked[key] is not None}
    _check("plot.x", section["x"], X)
    _check("plot.y", section["y"], MEASURES)
    for name in "rows", "columns", "figure":
        keys = section[name] if isinstance(section[name], list) else [section[name] or ""]
        _require(name, section, all(isinstance(key, str) for key in keys), "a key or a list of keys")
    title = section["title"]
    _require("title", section, title is None or isinstance(title, str), "text")
    for name in "xlim", "ylim":
        ends = section[name]
        _require(name, section, ends is None or _are_limits(ends), "two different finite numbers [low, high]")
    return section | {"title": title and printable(title)}


def _require(name, section, holds, allowed):
    if not holds:
        raise RrmbenchError(f"plot.{name}: found {section[name]!r}, allowed is {allowed}")


def _are_limits(ends):
    plain = isinstance(ends, list) and len(ends) == 2 and all(type(end) in (int, float) for end in ends)
    return plain and all(abs(end) < LARGEST for end in ends) and ends[0] != ends[1]


def _bound_of(experiment, trust):
    """The function from a run to (passes, bound) of its theorem, to the NoTheorem that says why not, or to None."""
    from rrmbench.bench import identity
    from rrmbench.problem.constants import NoTheorem
    from rrmbench.report.theory import bound_curve  # brings the components with it, which no other figure needs

    def bound(run):
        try:
            if trust:
                identity.load_plugins(run.result.spec)
            return bound_curve(run, experiment)
        except NoTheorem as reason:
            return reason
        except Exception as error:  # whatever a foreign spec makes the mathematics raise
            return NoTheorem(naming.method(run.keys), str(error))

    return bound


def _sheet(title, runs, rivals, facets, placed, axes, pending, bound):
    from rrmbench.report.plots.draw import Sheet

    cells, rows, columns = layout.grid(runs, facets["rows"], facets["columns"])
    series = curves.series_of(list(cells.values()), placed)
    panels = {
        at: curves.panel_of(layout.title(members[0], placed), members, rivals, series, axes, bound)
        for at, members in cells.items()
    }
    shown = {one for panel in panels.values() for one in panel.curves}
    drawn = [one for one in dict.fromkeys(series.values()) if one in shown]
    several = len({one.solver for one in drawn}) > 1
    names = {one: layout.series_label(one, several) for one in drawn}
    tuned = [rivals[run] for run in runs if run in rivals]
    small_print = notes(runs, tuned, list(panels.values()), pending, axes)
    return Sheet(title, panels, rows, columns, axes, style.styles(drawn), names, small_print)


def _title(name, runs, where, placed):
    """Return what all panels share: the experiment, the figure's values, loss, regularizer, a lone solver."""
    differ = naming.varying(run.keys for run in runs)
    kinds = [kind for kind in (*naming.PROBLEM, "solver") if kind not in differ and kind not in placed]
    return ", ".join(part for part in (name, where, *(runs[0].keys[kind] for kind in kinds)) if part)


def _save(sheet, folder, stem, formats):
    import matplotlib

    from rrmbench.report.plots.draw import RC, draw

    figure = draw(sheet)
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": None}
    for kind in formats:
        file = folder / f"{stem}.{kind}"
        with matplotlib.rc_context(RC), replacing(file) as stream:
            figure.savefig(stream, format=kind, dpi=200, metadata=undated[kind])
        yield file


def _stem(name, where, axes, taken):
    """Return a file name without suffix that no other figure of the experiment has."""
    slug = re.sub(r"[^a-zA-Z0-9.=_-]+", "-", where.replace(" = ", "=")).strip("-")
    stem = "_".join(part for part in (name, slug, axes.y, "over", axes.x) if part)
    if stem in taken:
        stem = f"{stem}_{hashlib.sha256(where.encode()).hexdigest()[:6]}"
    taken.add(stem)
    return stem
