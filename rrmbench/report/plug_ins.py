"""What readers say of methods that are not shipped: what their own files count, restart and begin with."""

import math
from pathlib import Path

from rrmbench.columns import CLOCKS, COUNTS, X
from rrmbench.errors import listed, printable
from rrmbench.keys import nested

LOWER = 1e-9  # of |P| at which the others begin: a start that is no rounding of theirs


def told(runs, quantities=X):
    """Yield what is only known from plug-in files of some StoredRuns that are read over these quantities."""
    own = [run for run in runs if run.result.points and _files(run)]
    if not own:
        return
    if not {*COUNTS}.isdisjoint(quantities):
        yield from _counted([run for run in own if not _is_uncounted(run)])
    if not {*CLOCKS}.isdisjoint(quantities):
        yield from _restarted([run for run in own if _is_uncounted(run) or run.result.info.get("restarts")])
    yield from _ahead(own, [run for run in runs if run.result.points and not _files(run)])


def _counted(runs):
    for path, names in _by_file(runs):
        yield printable(
            f"passes of {names}: as the plug-in counts them, never less than its products with X; "
            f"`rrmbench test {Path(path).name}` compares them with the rows that it reads too"
        )


def _restarted(runs):
    for _, names in _by_file(runs):
        yield printable(
            f"seconds of {names}: since the last iterate that the plug-in calls restarted; nothing checks that it "
            "began from scratch there"
        )


def _ahead(own, shipped):
    """Which runs of plug-ins are below all shipped methods of their problem before any work."""
    starts = {}
    for run in shipped:
        starts.setdefault(run.result.problem, []).append(float(run.column("primal")[0]))
    ahead = {}
    for run in own:
        others, first = starts.get(run.result.problem), float(run.column("primal")[0])
        if others and not run.column("work")[0] > 0.0 and first < min(others) - LOWER * abs(min(others)):
            ahead[run] = f"{first:.3g} and not {min(others):.3g}"
    for path, names in _by_file(ahead):
        where = listed(dict.fromkeys(text for run, text in ahead.items() if path in _files(run)), 3)
        yield printable(f"{names}: P before any work is lower than that of all other methods: {where}")


def _files(run):
    """{path: name} of the plug-in files of its solver and reductions."""
    parts = (*nested(run.result.spec["solver"]), *nested(run.result.spec["reduction"]))
    return {str(part["path"]): str(part["name"]) for part in parts if "path" in part}


def _by_file(runs):
    """Yield (path, the names of its components) in the order of the paths."""
    found = {}
    for run in runs:
        for path, name in _files(run).items():
            found.setdefault(path, set()).add(name)
    return ((path, ", ".join(sorted(names))) for path, names in sorted(found.items()))


def _is_uncounted(run):
    return math.isnan(run.column("passes")[-1])
