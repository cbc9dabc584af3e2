"""`rrmbench plot`: the papers' grids of panels, from result files to image files.

runs -> layout (which panel) -> curves (which line) -> frame (which range) -> draw (matplotlib) -> files: a module each.
"""

import hashlib
import re
import unicodedata
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from rrmbench.errors import RrmbenchError, printable
from rrmbench.report import naming
from rrmbench.report.plots import curves, layout, style
from rrmbench.report.plots.frame import frame_of
from rrmbench.report.plots.notes import notes
from rrmbench.report.plots.page import page_of
from rrmbench.report.plots.section import Options, check, limits_of, section_of
from rrmbench.report.results import readable, runs_of
from rrmbench.report.select import select
from rrmbench.report.tuning import among, choices

FORMATS = ("png", "pdf", "svg", "pgf")


def plot(path, formats=("png", "pdf"), out=None, only=(), style="screen", width=None, tell=None, **options):
    """Draw the experiments at `path` and return the paths of the files written.

    formats : of "png", "pdf", "svg" and "pgf"; the last is for LaTeX, which must be installed
    out : the folder of the files, by default `figures/` of each experiment; each is named after the experiment, the
        values of its `figure:` keys, and its axes
    tell : called with a line of text for each figure that has nothing to show, and for letters that the font has not
    only, style, width and `options` : as for `figures`

    Raises RrmbenchError for an unknown axis, format or key, and where there is nothing to draw.
    """
    from rrmbench.report.plots.files import save_all

    for one in formats:
        check("--format", one, FORMATS)
    figures, taken = [], set()
    try:
        for experiment, where, sheet in sheets(path, only, style, width, tell, **options):
            folder = experiment.figures if out is None else Path(out)
            stem = _stem(experiment.name, where, sheet.axes, folder, taken)
            figures.append((sheet, page_of(style, width, sheet.columns), folder, stem, formats))
    finally:  # what was found is drawn, whatever comes after it
        written, letters = save_all(figures)
    if letters and tell is not None:
        tell(f"boxes in place of {' '.join(sorted(letters))}, which the font of the figures has not")
    return written


def figures(path, only=(), style="screen", width=None, tell=None, **options):
    """Return the figures of the experiments at `path`, matplotlib Figures, for notebooks; nothing is written.

    only : texts KEY=VALUE; the runs that match are drawn: same key or, different keys and
    style : "screen", or "paper" for print: small, without a title that was not asked for
    width : of paper, "column" (3.3 inches) or "page" (6.9 inches); by default what the panels need
    options : x, y and xscale ("log", "linear") override the `plot:` section of an experiment; theory=True adds the
        bounds that the papers prove for the runs, over passes and for the suboptimality; trust=True loads the plug-in
        files that these name

    A notebook shows a Figure that a cell ends with. `figure.savefig` saves it. No pyplot is imported. Raises
    RrmbenchError for an unknown axis or key, and where there is nothing to draw.
    """
    from rrmbench.report.plots.draw import draw

    found = sheets(path, only, style, width, tell, **options)
    return [draw(sheet, page_of(style, width, sheet.columns)) for _, _, sheet in found]


def sheets(path, only=(), style="screen", width=None, tell=None, **options):
    """Yield (experiment, where, Sheet) for each figure that shows a curve; RrmbenchError if that is none.

    `where` names the values of the `figure:` keys; the arguments are as for `figures`.
    """
    options = Options(**options)
    page_of(style, width, 1)  # a wrong style is refused before anything is read
    read = readable(path)
    stored = {experiment: runs_of(experiment) for experiment in read} if only else {}
    kept = set(select([run for runs in stored.values() for run in runs], only))
    empty, drawn = [], 0
    for experiment in read:
        found = stored.pop(experiment) if only else runs_of(experiment)
        chosen = [run for run in found if run in kept] if only else found
        for where, sheet in _sheets(experiment, found, chosen, options, only, empty):
            yield experiment, where, sheet
            drawn += 1
    if not drawn:
        raise RrmbenchError("\n  ".join(empty or [f"{path}: no run has ended yet, there is nothing to plot"]))
    for line in empty:
        if tell is not None:
            tell(line)


def _sheets(experiment, found, chosen, options, only, empty):
    """Yield (where, Sheet) of the `chosen` among the runs `found` of an experiment.

    A figure without a curve adds a line to `empty`.
    """
    manifest = experiment.manifest()
    asked = section_of(manifest)
    x, y = options.x or asked["x"], options.y or asked["y"]
    axes = curves.Axes(x, y, *limits_of(asked, x, y), options.xscale or asked["xscale"])
    if options.theory and (axes.x, axes.y) != ("passes", "suboptimality"):
        raise RrmbenchError(
            f"--theory: the theorems bound the suboptimality over passes, found {axes.y} over {axes.x}; "
            "say --x passes --y suboptimality"
        )
    if not chosen:
        return
    pending = len({entry["spec_id"] for entry in manifest["runs"]}) - len(found)
    about = [f"only {', '.join(only)}"] if only else []
    about += [f"{pending} run{'s' * (pending != 1)} of this experiment not done yet"] if pending else []
    made = arranged(manifest, asked, found, chosen)
    bound = bound_of(experiment, options.trust) if options.theory else None
    for where, group, each in made.figures:
        titles = layout.titles((members[0] for members in each.values()), made.placed)
        panels = {
            at: curves.panel_of(title, members, made.rivals, made.series, axes, bound)
            for title, (at, members) in zip(titles, each.items(), strict=True)
        }
        title = asked["title"] or title_of(printable(experiment.name), group, where, made.constant)
        if any(panel.curves for panel in panels.values()):
            shown = [run for at, members in each.items() if panels[at].curves for run in members]
            tuned = [made.rivals[run] for run in shown if run in made.rivals]
            yield where, sheet_of(title, asked["title"] is not None, panels, group, tuned, made.styles, axes, about)
        else:
            why = ", ".join(dict.fromkeys(panel.remark for panel in panels.values()))
            empty.append(f"{title}: no figure of {axes.y} over {axes.x}: {why}")


class Arrangement(NamedTuple):
    """What stands where in the figures of an experiment.

    figures : (values of the `figure:` keys in words, runs, {(row, column): runs}) of each
    rivals : {first kept run: Choice}; series, styles : {run: Series}, and how each of these looks
    placed, constant : the keys of rows and columns, and those of figures as well
    """

    figures: list
    rivals: dict
    series: dict
    styles: dict
    placed: tuple
    constant: tuple


def arranged(manifest, asked, stored, chosen):
    """The Arrangement of the runs `chosen`, as the section `asked` wants it; all that are `stored` share the styles."""
    runs, rivals = one_series_per_choice(chosen, among(choices(manifest, stored), chosen))
    facets = layout.facets(runs, asked)
    placed = facets["rows"] + facets["columns"]
    constant = placed + facets["figure"]
    if "seed" in constant:
        runs, rivals = _in_every_seed(runs, rivals)
    groups = layout.groups(runs, facets["figure"]).values()
    cells = [layout.cells(group, facets["rows"], facets["columns"]) for group in groups]
    series = curves.series_of([members for each in cells for members in each.values()], constant)
    methods = dict.fromkeys(curves.method_of(run, constant) for run in stored)
    styles = style.styles(list(dict.fromkeys(series.values())), methods)
    names = layout.titles((group[0] for group in groups), facets["figure"])
    return Arrangement([*zip(names, groups, cells, strict=True)], rivals, series, styles, placed, constant)


def _in_every_seed(runs, rivals):
    """The runs and their rivals, where deterministic ones, which are done once, stand for each seed of the others."""
    once = {run for run in runs if run.result.info.get("deterministic") is True}
    seeds = dict.fromkeys(run.keys["seed"] for run in runs if run not in once)
    placed = {run: [replace(run, keys=run.keys | {"seed": seed}) for seed in seeds] for run in once if seeds}
    in_all = [one for run in runs for one in placed.get(run, [run])]
    return in_all, {one: choice for run, choice in rivals.items() for one in placed.get(run, [run])}


def one_series_per_choice(found, tuned):
    """Return the runs without the trials, what was tuned called so, and {first kept run: Choice}."""
    trials = {run for choice in tuned for run in choice.trials}
    renamed = {
        run: replace(run, keys=run.keys | dict.fromkeys(choice.values, "tuned"))
        for choice in tuned
        for run in choice.kept
    }
    rivals = {renamed[choice.kept[0]]: choice for choice in tuned}
    return [renamed.get(run, run) for run in found if run not in trials], rivals


def sheet_of(title, titled, panels, runs, tuned, styles, axes, about):
    from rrmbench.report.plots.draw import Sheet

    shown, rows, columns = layout.packed({at: panel for at, panel in panels.items() if panel.curves})
    frames = {at: frame_of(panel, axes) for at, panel in shown.items()}
    drawn = {one: looks for one, looks in styles.items() if any(one in panel.curves for panel in shown.values())}
    names = layout.labels(drawn)
    empty = [panel for panel in panels.values() if not panel.curves]
    views = [(shown[at], frames[at]) for at in shown]
    small_print = notes(runs, tuned, views, empty, names, axes, about)
    return Sheet(title, titled, shown, frames, rows, columns, axes, drawn, names, small_print)


def bound_of(experiment, trust):
    """The function from a run to what is Proven by its theorem, or to the NoTheorem that says why there is none."""
    from rrmbench.bench import identity
    from rrmbench.problem.constants import NoTheorem
    from rrmbench.report.theory import bound_curve, constants_of  # which bring the components, that no other needs

    measured = cache(partial(constants_of, experiment))

    def bound(run):
        method = naming.method(run.keys)
        if run.reference is None or "primal_run" not in run.reference:
            return NoTheorem(method, "the constants of the theorems need a reference, and there is none")
        try:
            if trust:
                identity.load_plugins(run.result.spec)
            return bound_curve(run, measured) or NoTheorem(method, "no theorem gives a bound at these passes")
        except NoTheorem as reason:
            return reason
        except Exception as error:  # whatever a foreign spec makes the mathematics raise
            return NoTheorem(method, str(error))

    return bound


def title_of(name, runs, where, placed):
    """Return what all panels share: the experiment, the figure's values, loss, regularizer, a lone solver."""
    differ = naming.varying(run.keys for run in runs)
    kinds = [kind for kind in (*naming.PROBLEM, "solver") if kind not in differ and kind not in placed]
    return ", ".join(part for part in (name, where, *(runs[0].keys[kind] for kind in kinds)) if part)


def _in_letters(text):
    """The text with the names of Greek letters in their place: sigma, lambda."""

    def name(letter):
        return unicodedata.name(letter[0]).rpartition(" ")[2].lower().replace("lamda", "lambda")

    return re.sub("[α-ω]", name, text)


def _stem(name, where, axes, folder, taken):
    """Return a file name without suffix that no other figure in the folder has."""
    slug = re.sub(r"[^a-zA-Z0-9.=_-]+", "-", _in_letters(where.replace(" = ", "="))).strip("-")
    stem = "_".join(part for part in (name, slug, axes.y, "over", axes.x) if part)
    if (folder, stem) in taken:
        stem = f"{stem}_{hashlib.sha256(where.encode()).hexdigest()[:6]}"
    taken.add((folder, stem))
    return stem
