"""The small print under a figure: what is not in it, and what a reader must know about what is."""

import numpy as np

from rrmbench.errors import printable, shortened
from rrmbench.report import naming, plug_ins
from rrmbench.report.levels import Levels
from rrmbench.report.plots.frame import FAR
from rrmbench.report.plots.section import LARGEST
from rrmbench.report.plots.timing import timing

LONGEST = 6  # lines about runs that ended badly, names of curves, bounds that are not drawn; the rest is counted
MOST_BANDS = 12  # curves of a panel, beyond which bands of quartiles would bury them
CLIFF = 2.0  # times that a gap falls from a trace point to the next, which is seen as a cliff
MOST_SERIES = 30  # of a panel, beyond which nobody can read it


def notes(runs, tuned, views, empty, names, axes, about):
    """Return the lines of small print for a figure of `runs`.

    `tuned` are the Choices among its runs; `views` the (Panel, Frame)s that are drawn, `empty` the panels that are
    not; `names` the labels of the series; `about` are lines about the experiment.
    """
    runs, tuned = _once(runs), [*dict.fromkeys(tuned)]
    panels = [panel for panel, _ in views]
    lines = [*_aggregation(panels), *_theory(panels, views), *_tuning(tuned), *timing(runs, axes)]
    lines += [
        *_floor(views),
        *_beyond(views, names),
        *_limits(views, axes),
        *_largest(views),
        *_start(views),
        *_cliffs(runs, axes),
        *_many(panels),
        *_mixed(panels),
    ]
    lines += [f"left out: {panel.title or 'a panel'}: {panel.remark}" for panel in empty]
    without = sorted({run.keys["solver"] for run in runs if run.lacks(axes.x)})
    if without:
        lines.append(f"not shown, as they count no {axes.x}: {', '.join(without)}")
    lines += _unmeasured(runs, axes)
    lines += plug_ins.told(runs, (axes.x,))
    return lines + about + _first(_endings(runs), "; `rrmbench show` lists all")


def _once(runs):
    """Each result once: a deterministic one is in the panels of all seeds."""
    found = {}
    for run in runs:
        found.setdefault(run.result.run, run)
    return [*found.values()]


def _unmeasured(runs, axes):
    """Say which methods of some have no value of what is drawn, a gap say."""
    lacking = {run for run in runs if run.lacks(axes.y)}
    measured = {run.keys["solver"] for run in runs if run.result.points and run not in lacking}
    without = {run.keys["solver"] for run in lacking} - measured
    if measured and without:
        yield f"not shown, as they have no {axes.y}: {', '.join(sorted(without))}"


def _first(lines, more=""):
    rest = [f"... and {len(lines) - LONGEST} more{more}"] if len(lines) > LONGEST else []
    return lines[:LONGEST] + rest


def _aggregation(panels):
    seeds = {curve.seeds for panel in panels for curve in panel.curves.values() if curve.low is not None}
    banded = [len(panel.curves) for panel in panels if any(curve.low is not None for curve in panel.curves.values())]
    if banded:
        without = "" if min(banded) <= MOST_BANDS else f", not drawn for more than {MOST_BANDS} curves"
        many = f"{min(seeds)}" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"
        yield f"lines: medians over {many} seeds, bands: quartiles{without}"


def _theory(panels, views):
    if any(panel.proven for panel in panels):
        yield "fine dots: the bound proven for the method on this problem (constants measured, w* of the reference)"
    above = sum(frame.bounds_beyond for _, frame in views)
    if above:
        yield f"{above} bound{'s lie' if above > 1 else ' lies'} above the panels, beyond {FAR:g} times the start"
    methods = {}
    for text in dict.fromkeys(text for panel in panels for text in panel.unproven):
        method, _, reason = text.partition(": ")
        methods.setdefault(reason, []).append(method)
    yield from _first([f"no bound for {printable(', '.join(them))}: {printable(why)}" for why, them in methods.items()])


def _tuning(tuned):
    tuned = [choice for choice in tuned if choice.values]
    sizes = sorted({choice.count - choice.incomplete for choice in tuned})
    if not sizes or sizes[-1] == 1:
        return
    of = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    by = ", or ".join(dict.fromkeys(choice.criterion for choice in tuned))
    yield f"strong: the best of {of} values by {by}, chosen in each panel; faint: the others"
    passes, seconds = (sum(choice.search[name] for choice in tuned) for name in ("passes", "seconds"))
    spent = "" if np.isnan(passes) else f"{passes:,.0f} passes, "
    yield f"all of them took {spent}{seconds:.3g} s"
    edges = sum(choice.at_edge for choice in tuned)
    if edges:
        yield f"{edges} of {len(tuned)} best values lie at the edge of their grid; `rrmbench show` names them"


def _floor(views):
    if any(panel.floor_matters for panel, _ in views):
        yield "grey: below the certified accuracy of the reference optimum"
    if any(panel.optimum is not None for panel, _ in views):
        yield "dashed: the least objective known"
    if any(frame.loose for _, frame in views):
        yield "loose reference: the key `reference`, with enough seconds, may narrow it"


def _beyond(views, names):
    """Say which curves leave the axes, and how far up."""
    found = {}
    for _, frame in views:
        for series, most in frame.beyond.items():
            found.setdefault(series, []).append(most)
    if found:
        texts = [names[series] + _how_far(most) for series, most in found.items()]
        more = [f"{len(texts) - LONGEST} more"] if len(texts) > LONGEST else []
        yield f"beyond the axes: {', '.join(texts[:LONGEST] + more)}"
    faint = sum(frame.faint_beyond for _, frame in views)
    if faint:
        yield f"{faint} of {sum(len(panel.faint) for panel, _ in views)} faint curves leave the axes"


def _how_far(most):
    above = [value for value in most if np.isfinite(value)]
    return f" (up to {max(above):.2g})" if above else ""


def _limits(views, axes):
    """Say which ends that were asked for an axis cannot have."""
    for name, ends, logarithmic in (
        ("xlim", axes.xlim, any(frame.log_x for _, frame in views)),
        ("ylim", axes.ylim, any(frame.log_y for _, frame in views)),
    ):
        if ends is not None and logarithmic and min(ends) <= 0.0:
            yield f"{name}: {min(ends):g} has no place on a logarithmic axis, which ends above 0"


def _largest(views):
    """Say that values are drawn where they are not, for want of room in the numbers of matplotlib."""
    if any(abs(end) >= LARGEST for _, frame in views for end in (*frame.x, *frame.y)):
        yield f"values beyond {LARGEST:g} are drawn there"


def _start(views):
    if any(frame.log_x and (curve.x <= 0.0).any() for panel, frame in views for curve in panel.curves.values()):
        yield "the start, at 0, has no place on a logarithmic axis: curves enter at the left"


def _cliffs(runs, axes):
    """Say of which runs the last point is no progress of the solver, as `show` and `compare` do."""
    count = sum(map(_is_cliff, runs)) if axes.y in ("gap", "dual") else 0
    if count:
        yield (
            f"the gap falls to half or less at the last point of {count} run{'s' * (count > 1)}, on which evaluation"
            " spends most of its passes: that does not tell when the run was there (suboptimality does)"
        )


def _is_cliff(run):
    gap = run.column("gap")
    if len(gap) < 2 or not gap[-1] <= gap[-2] / CLIFF < np.inf:
        return False
    foot = Levels((gap[-2] / CLIFF,))
    return foot.are_late(run, foot.points(run))[0]


def _many(panels):
    most = max(len(panel.curves) for panel in panels)
    if most > MOST_SERIES:
        yield f"{most} curves in one panel: --only KEY=VALUE draws some of them, plot.figure makes more figures"


def _mixed(panels):
    keys = dict.fromkeys(key for panel in panels for key in panel.mixed)
    if keys:
        yield f"curves of one panel are of different problems, which differ in {', '.join(keys)}"


def _endings(runs):
    """Return a line per way of ending badly: "failed: apcg, rcv1_train, seeds 0, 1: ZeroDivisionError"."""
    differ = {key for key in naming.varying(run.keys for run in runs) if key != "seed"}

    def described(run):
        where = naming.problem_difference(run.keys, differ)
        return ", ".join(part for part in (naming.method(run.keys, differ), where) if part)

    return [
        f"{status}: {what}, seed{'s' * (len(seeds) > 1)} {shortened(', '.join(seeds))}: {shortened(reason)}"
        for (status, what, reason), seeds in naming.bad_endings(runs, described).items()
    ]
