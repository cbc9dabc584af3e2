"""`rrmbench show --traceback`: where the failed runs of results failed."""

from itertools import groupby

from rrmbench.errors import printable
from rrmbench.report import naming
from rrmbench.report.results import readable, runs_of
from rrmbench.report.select import select_each


def tracebacks(path, only=()):
    """Yield the lines of the stored tracebacks of the runs at `path`; runs of one traceback share it.

    only : texts KEY=VALUE that select runs. Raises RrmbenchError if there is no experiment.
    """
    stored = {experiment: runs_of(experiment, referred=False) for experiment in readable(path)}
    for experiment, runs in select_each(stored, only).items():
        failed = [run for run in runs if run.status == "failed"]
        if len(stored) > 1 or not failed:
            yield f"{printable(experiment.name)}: {len(failed)} failed runs"
        for (text, reason), alike in groupby(sorted(failed, key=_text), _text):
            yield from (printable(f"failed: {naming.run(run.keys)}: {reason}") for run in alike)
            yield from printable(text or "no traceback was stored").rstrip().split("\n")
            yield ""


def _text(run):
    """(traceback or "", reason) of a failed run; a forged file may hold anything."""
    text = run.result.info.get("traceback")
    return text if isinstance(text, str) else "", run.result.reason or "no reason was recorded"
