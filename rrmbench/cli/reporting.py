"""The report: one HTML file about results."""

from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli.app import READ, Only, Results, Trust, app, output_path, trust_plugins_of


@app.command(rich_help_panel=READ)
def report(
    results: Results,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.html", parser=output_path, help="by default RESULTS/report.html"),
    ] = None,
    theory: Annotated[bool, typer.Option("--theory", help="add the bounds that the papers prove")] = False,
    trust: Trust = False,
    only: Only = None,
):
    """Write one HTML file about the results: figures to explore, the runs, how they were made. It needs no network."""
    from rrmbench.errors import printable
    from rrmbench.report.html import report as write

    if trust:
        trust_plugins_of(results)
    print(printable(str(write(results, output, theory, trust, only or ()))))
