"""The regression gate: check."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli.app import Results, app, console


@app.command()
def check(
    results: Results,
    baseline: Annotated[Path, typer.Option(help="JSON file of passes to each gap")],
    update: Annotated[bool, typer.Option("--update", help="write the baseline from the results")] = False,
):
    """Compare the results with a baseline; exit code 1 if a run needs more passes or is missing."""
    from rrmbench.report import check as checks

    if update:
        checks.update(results, baseline)
        print(f"{baseline} written")
        return
    report = checks.check(results, baseline)
    console().print(report)
    sys.exit(int(report.regressed))
