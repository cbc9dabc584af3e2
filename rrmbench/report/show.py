"""`rrmbench show`: one section per experiment, one row per method, with what each accuracy costs."""

from dataclasses import replace

import numpy as np

from rrmbench.errors import RrmbenchError, listed, nearest
from rrmbench.report import naming, plug_ins, resources, timing
from rrmbench.report.levels import CERTIFIED_GAPS
from rrmbench.report.methods import COSTS, FINAL
from rrmbench.report.show_table import table
from rrmbench.report.standings import other_seeds, standings_at


def summary(path, levels=CERTIFIED_GAPS, only=(), sort=None, per_run=False):
    """Return what `rrmbench show` prints for the results at `path`, as one rich renderable.

    levels, only : as `standings_at` takes them
    sort : None for the order of the manifest, or a key of `ordered`
    per_run : one row per run, not per method

    Raises RrmbenchError if there is no experiment, no run that matches, or no such key to sort by.
    """
    from rich.console import Group

    found = [ordered(one, sort) for one in standings_at(path, levels, only)]
    return Group(*(block for one in found for block in _blocks(one, levels, bool(only), per_run)))


def ordered(standings, sort=None):
    """Return Standings whose methods stand, inside each problem, in the order that `sort` names.

    `name`; the final `gap`, `suboptimality`, `objective`, `passes`, `work` or `seconds`; or a level: `1e-4` (its
    passes), `work@1e-4`, `seconds@1e-4`. The least comes first. Raises RrmbenchError for another key.
    """
    if sort is None:
        return standings
    cost = _cost(sort, next((method.levels for method in standings.methods), CERTIFIED_GAPS))
    problems = (replace(p, methods=tuple(sorted(p.methods, key=cost))) for p in standings.problems)
    return replace(standings, problems=tuple(problems))


def _cost(sort, levels):
    if sort == "name":
        return lambda method: method.name
    if sort in FINAL:
        return lambda method: _last(method.final(sort).median)
    name, at, text = sort.rpartition("@")
    name = name if at else "passes"
    number = _number_of(text, levels)
    if name in COSTS and number is not None:
        return lambda method: _last(getattr(method.reached[number], name).median)
    allowed = ("name", *FINAL, *levels.texts, f"seconds@{levels.texts[0]}")
    raise RrmbenchError(f"--sort: found '{sort}', allowed is {', '.join(allowed)}{nearest(sort, allowed)}")


def _number_of(text, levels):
    """The number of the level that `text` spells, or None."""
    try:
        return levels.values.index(float(text))
    except ValueError:
        return None


def _last(value):
    return np.inf if np.isnan(value) else value


def _blocks(standings, levels, filtered, per_run):
    from rich.text import Text

    methods = standings.methods
    yield Text(_headline(standings, filtered), style="bold")
    if methods:
        yield table(standings, levels, per_run)
    runs = [run for method in methods for run in method.runs]
    yield from map(Text, () if per_run else other_seeds(standings.problems))
    yield from map(Text, (*timing.told(runs), *resources.told(runs), *plug_ins.told(runs)))
    if any(not method.certified for method in methods):
        yield Text(
            "* no certificate: this method or problem gives no dual bound; the levels are of the"
            " suboptimality against the reference, where one is known"
        )
    if levels.quantity == "suboptimality":
        yield from map(Text, _unknown(standings, levels))
    for choice in standings.tuned:
        yield Text(f"tuned: {choice.text}")
    yield from map(Text, _endings(standings.runs))
    yield Text("")


def _endings(runs):
    """A line for the runs that ended badly in one way and differ in their seed alone."""
    endings = naming.bad_endings(runs, lambda run: f"{naming.problem(run.keys)}, {naming.method(run.keys)}")
    for (status, what, reason), seeds in endings.items():
        why = reason or "no reason was recorded"
        yield f"{status}: {what}, seed{'s' * (len(seeds) > 1)} {listed(seeds)}: {why}"


def _headline(standings, filtered):
    """How many runs there are, are shown and are outstanding, and what they have in common."""
    asked, stored = standings.asked, standings.stored
    pending = asked - stored
    parts = [f"{stored} of {asked} runs, {pending} not done yet" if pending else f"{asked} run{'s' * (asked != 1)}"]
    if filtered:
        parts.append(f"{standings.wanted} match --only")
    if standings.trials:
        parts.append(f"{standings.trials} of them trials of tuning, not shown")
    if standings.skipped:
        parts.append(f"{standings.skipped} combination{'s' * (standings.skipped != 1)} skipped")
    return f"{standings.experiment}: {', '.join(parts)}" + (f"  ({standings.shared})" if standings.shared else "")


def _unknown(standings, levels):
    """A line for each problem whose reference is too wide for some level."""
    for problem in standings.problems:
        where = f"{problem.heading}: " if problem.heading else ""
        if not np.isfinite(problem.width):
            yield f"{where}no reference optimum is known, so no suboptimality is"
            continue
        starts = [abs(run.column("primal")[0]) for m in problem.methods for run in m.runs if run.result.points]
        scale = max(starts, default=1.0) if levels.relative else 1.0
        if min(levels.values) * scale < problem.width:
            yield (
                f"{where}the optimum is known to within {problem.width:.1e}: no suboptimality below it can be shown;"
                " a reference of more seconds narrows it"
            )
