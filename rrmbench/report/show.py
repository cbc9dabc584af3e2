"""`rrmbench show`: one table per experiment, with each run's passes and seconds to each gap."""

from itertools import chain

import numpy as np

from rrmbench.bench.store import experiments
from rrmbench.errors import printable
from rrmbench.report import naming
from rrmbench.report.results import LEVELS, passes_to, runs_of
from rrmbench.report.tuning import choices

_COLOURS = {"done": "green", "diverged": "yellow", "timeout": "yellow", "interrupted": "yellow"}


def summary(path):
    """Return what `rrmbench show` prints for the results at `path`, as one rich renderable.

    One section per problem, two lines per run: passes above, seconds below, at the first trace point whose
    certified gap is at most 1e-2, ..., 1e-8. Raises RrmbenchError if there is no experiment.
    """
    from rich.console import Group

    return Group(*(block for experiment in experiments(path) for block in _blocks(experiment)))


def _blocks(experiment):
    from rich.text import Text

    manifest = experiment.manifest()
    found = runs_of(experiment)
    tuned = choices(manifest, found)
    trials = {run for choice in tuned for run in choice.trials}
    found = [run for run in found if run not in trials]
    differ = set(naming.varying(run.keys for run in found))
    yield Text(_headline(experiment, manifest, found, len(trials), differ), style="bold")
    if found:
        yield _table(found, differ)
        yield Text("upper line: passes, lower line: seconds, until the certified duality gap is at most ...")
    yield from map(Text, _timing(found))
    if any(_uncertified(run) for run in found):
        yield Text(
            "* no certificate: this method or problem gives no dual bound; the levels are of the"
            " suboptimality against the reference, where one is known"
        )
    for choice in tuned:
        yield Text(f"tuned: {choice.text}")
    for run in found:
        if run.status != "done":
            reason = run.result.reason or "no reason was recorded"
            yield Text(f"{run.status}: {naming.run(run.keys)}: {reason}")
    yield Text("")


def _timing(found):
    """How seconds were measured, where some are those of `run --timing`."""
    timed = [run for run in found if run.result.info.get("timing")]
    if not timed:
        return
    facts = [run.result.info["timing"] for run in timed]
    worst = max(range(len(timed)), key=lambda i: facts[i]["spread"])
    repeats = sorted({fact["repeats"] for fact in facts})
    times = str(repeats[0]) if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    which = (
        "all runs" if len(timed) == len(found) else f"{len(timed)} of {len(found)} runs, of the others of a single one"
    )
    yield f"seconds: medians of {times} repeats on one core of {which}"
    last = facts[worst].get("seconds") or [0.0]
    yield (
        f"greatest spread of the repeats: {100 * facts[worst]['spread']:.3g} % ({min(last):.3g} to {max(last):.3g} s), "
        f"{naming.method(timed[worst].keys)}"
    )


def _headline(experiment, manifest, found, trials, differ):
    asked, done = len({entry["spec_id"] for entry in manifest["runs"]}), len(found) + trials
    parts = [f"{done} of {asked} runs, {asked - done} not done yet"]
    if done == asked:
        parts = [f"{asked} run{'s' * (asked != 1)}"]
    if trials:
        parts.append(f"{trials} of them trials of tuning, not shown")
    if manifest.get("skipped"):
        parts.append(f"{len(manifest['skipped'])} combinations skipped")
    same = _common_problem(found, differ)
    return f"{printable(experiment.name)}: {', '.join(parts)}" + (f"  ({same})" if same else "")


def _common_problem(found, differ):
    if not found:
        return ""
    keys = {key: value for key, value in found[0].keys.items() if key not in differ}
    return ", ".join(naming.component(keys, kind) for kind in naming.PROBLEM if kind not in differ)


def _table(found, differ):
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="bold")
    table.add_column("run", overflow="fold", min_width=18)
    table.add_column("status")
    table.add_column("gap\nP(w)", justify="right")
    for level in LEVELS:
        table.add_column(naming.short(level), justify="right", no_wrap=True)
    for heading, members in _by_problem(found, differ).items():
        table.add_section()
        if heading:
            table.add_row(Text(heading, style="bold"))
        for run in members:
            table.add_row(*_cells(run, differ))
    return table


def _by_problem(found, differ):
    """Group the runs by problem; inside one, the seeds of a method stand together."""
    problems = {}
    for run in found:
        methods = problems.setdefault(naming.problem_difference(run.keys, differ), {})
        methods.setdefault(naming.method(run.keys, differ), []).append(run)
    return {heading: list(chain(*methods.values())) for heading, methods in problems.items()}


def _cells(run, differ):
    seed = ""
    if "seed" in differ:
        seed = "  deterministic: once" if run.result.info.get("deterministic") else f"  seed {run.keys['seed']}"
    star = "*" if _uncertified(run) else ""
    rule = run.result.reason if run.status == "done" else ""
    return [
        _two_lines(naming.method(run.keys, differ) + star, seed),
        _two_lines(run.status, rule, _COLOURS.get(run.status, "red")),
        _two_lines(_last(run, "gap", ".1e"), _last(run, "primal", "#.5g")),
        *(_reached(point) for point in passes_to(run, LEVELS, "suboptimality" if star else "gap")),
    ]


def _two_lines(upper, lower, style=""):
    from rich.text import Text

    return Text.assemble((upper, style), ("\n" + lower, "dim")) if lower else Text(upper, style)


def _reached(point):
    if point is None:
        return "-"
    passes, seconds = point
    upper = "" if np.isnan(passes) else f"{passes:.4g}"
    return _two_lines(upper, f"{seconds:.0f}s" if seconds >= 99.5 else f"{seconds:.2g}s")


def _last(run, name, form):
    values = run.column(name)
    if not len(values):
        return ""
    return "none" if name == "gap" and np.isinf(values[-1]) else f"{values[-1]:{form}}"


def _uncertified(run):
    gaps = run.column("gap")
    return len(gaps) > 0 and not np.isfinite(gaps).any()
