"""The regression gate: check."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli.app import READ, Results, app, console
from rrmbench.errors import RrmbenchError, listed, printable


@app.command(rich_help_panel=READ)
def check(
    results: Results,
    baseline: Annotated[Path, typer.Option(help="JSON file of passes to each gap")],
    update: Annotated[bool, typer.Option("--update", help="write the baseline from the results")] = False,
    seconds: Annotated[
        bool, typer.Option("--seconds", help="times to each gap too, in units of the reference kernel of each run")
    ] = False,
    tolerance: Annotated[
        float | None, typer.Option(help="with --seconds: the factor by which a time may grow [default: 1.5]")
    ] = None,
):
    """Compare the results with a baseline; exit code 1 if a run needs more passes (or time) or is missing."""
    from rrmbench.report import check as checks
    from rrmbench.report.check_seconds import tolerated

    allowed = tolerated(seconds, tolerance)
    if update:
        if tolerance is not None:
            raise RrmbenchError("--tolerance: found beside --update, which compares nothing")
        bad = checks.update(results, baseline, seconds)
        print(f"{baseline} written")
        if bad:
            said = f"WARNING: check will call {len(bad)} of its runs a regression until done"
            print(printable(f"{said}: {listed(bad, 5)}"))
        return
    report = checks.check(results, baseline, allowed)
    console().print(report)
    sys.exit(int(report.regressed))
