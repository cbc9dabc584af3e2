"""`rrmbench show --traceback`: where the failed runs of results failed."""

from itertools import groupby

from rrmbench.bench.store import experiments
from rrmbench.errors import printable
from rrmbench.report import naming
from rrmbench.report.results import runs_of


def tracebacks(path):
    """Yield the lines of the stored tracebacks of the runs at `path`; runs of one traceback share it.

    Raises RrmbenchError if there is no experiment.
    """
    several = len(found := experiments(path)) > 1
    for experiment in found:
        failed = [run for run in runs_of(experiment, referred=False) if run.status == "failed"]
        if several or not failed:
            yield f"{printable(experiment.name)}: {len(failed)} failed runs"
        for (text, reason), runs in groupby(sorted(failed, key=_text), _text):
            yield from (printable(f"failed: {naming.run(run.keys)}: {reason}") for run in runs)
            yield from printable(text or "no traceback was stored").rstrip().split("\n")
            yield ""


def _text(run):
    """(traceback or "", reason) of a failed run; a forged file may hold anything."""
    text = run.result.info.get("traceback")
    return text if isinstance(text, str) else "", run.result.reason or "no reason was recorded"
