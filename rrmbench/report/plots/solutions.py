"""Figures of Solutions, which are no results on disk, by the same curves and the same drawing."""

from rrmbench.bench.bounds import bounds
from rrmbench.bench.store import Result
from rrmbench.errors import RrmbenchError
from rrmbench.keys import keys
from rrmbench.report.origins import tell_apart
from rrmbench.report.plots import curves, layout, sheet_of, style
from rrmbench.report.plots.page import page_of
from rrmbench.report.plots.section import Options
from rrmbench.report.results import StoredRun


def figure(solutions, **options):
    """Return the matplotlib Figure of pairs (label or None, Solution): a panel for each problem.

    Solutions without a label that differ in nothing but the seed are seeds of one method.

    options : x, y and xscale as of `rrmbench plot`
    """
    from rrmbench.report.plots.draw import draw

    if not solutions:
        raise RrmbenchError("plot: found no Solution, needed is one at least")
    asked = Options(**options)
    axes = curves.Axes(asked.x or "passes", asked.y or "suboptimality", xscale=asked.xscale)
    runs = _runs(solutions)
    columns = ("dataset",) if len({run.keys["dataset"] for run in runs}) > 1 else ()
    cells = layout.cells(runs, (), columns)
    series = curves.series_of(list(cells.values()), columns)
    styles = style.styles(list(dict.fromkeys(series.values())), dict.fromkeys(one.method for one in series.values()))
    titles = layout.titles((members[0] for members in cells.values()), columns)
    panels = {
        at: curves.panel_of(title, members, {}, series, axes, None)
        for title, (at, members) in zip(titles, cells.items(), strict=True)
    }
    if not any(panel.curves for panel in panels.values()):
        why = ", ".join(dict.fromkeys(panel.remark for panel in panels.values()))
        raise RrmbenchError(f"plot: no curve of {axes.y} over {axes.x}: {why}")
    title = "" if columns else runs[0].keys["dataset"]
    sheet = sheet_of(title, False, panels, runs, [], styles, axes, [])
    return draw(sheet, page_of("screen", None, sheet.columns))


def _runs(solutions):
    """The Solutions as StoredRuns; those of one problem share the greatest dual and the least primal value known."""
    problems = list({id(one.problem): one.problem for _, one in solutions}.values())
    several = len(problems) > 1
    found = []
    for label, one in solutions:
        number = next(i for i, problem in enumerate(problems) if problem is one.problem)
        name = f"{number + 1}: {one.problem!r}" if several else repr(one.problem)
        spec = {"dataset": {"name": name}, "loss": "none", "regularizer": "none", **one.spec}
        if label is not None:
            spec |= {"solver": {"name": label}, "reduction": "none"}
        found.append(StoredRun("", _result(one, spec, number), keys(spec), None))
    unnamed = [run for run, (label, _) in zip(found, solutions, strict=True) if label is None]
    tell_apart(unnamed)
    _number_repeats(unnamed)
    known = {number: _reference(found, number) for number in {run.result.problem for run in found}}
    return [StoredRun("", run.result, run.keys, known[run.result.problem]) for run in found]


def _number_repeats(found):
    """Number the Solutions that differ in nothing, not even in the seed, so that each has a curve."""
    alike = {}
    for run in found:
        alike.setdefault(tuple((key, repr(value)) for key, value in run.keys.items()), []).append(run)
    for members in alike.values():
        if len(members) > 1:
            for number, run in enumerate(members):
                run.keys["solution"] = number + 1


def _result(one, spec, number):
    trace = {column: one.trace[column].to_numpy() for column in one.trace}
    about = {"run": "", "spec_id": "", "problem": number, "data": "", "code": "", "spec": spec, "created": ""}
    info = {"concurrent_runs": 1, "environment": ""}
    return Result(**about, status=one.status, reason=one.reason, info=info, trace=trace, w=one.w, b=one.b)


def _reference(runs, number):
    found = [bounds(run.result.trace) for run in runs if run.result.problem == number]
    return {"primal": min(primal for primal, _ in found), "dual": max(dual for _, dual in found)}
