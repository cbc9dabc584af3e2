"""Commands that read results: plot, show, export, verify."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli.app import Results, Trust, app, console, trust_plugins_of


@app.command()
def plot(
    results: Results,
    x: Annotated[str | None, typer.Option("--x", help="passes, work or seconds")] = None,
    y: Annotated[str | None, typer.Option("--y", help="suboptimality, gap, objective or a metric")] = None,
    formats: Annotated[str, typer.Option("--format", help="png, pdf, svg; several with commas")] = "png,pdf",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="folder of the figures")] = None,
    theory: Annotated[bool, typer.Option("--theory", help="add the bounds that the papers prove")] = False,
    trust: Trust = False,
):
    """Draw the figures of the results."""
    from rrmbench.errors import printable
    from rrmbench.report import plots

    if trust:
        trust_plugins_of(results)
    kinds = tuple(kind.strip() for kind in formats.split(","))
    for path in plots.plot(results, x=x, y=y, formats=kinds, out=output, theory=theory, trust=trust):
        print(printable(str(path)))


@app.command()
def show(
    results: Results,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="print where the failed runs failed, and nothing else")
    ] = False,
):
    """Show each run's status, its passes and seconds to each gap, and its final certified gap."""
    if traceback:
        from rrmbench.commands import PLAIN
        from rrmbench.report.tracebacks import tracebacks

        for line in tracebacks(results):
            console().print(line, **PLAIN)
        return
    from rrmbench.report.show import summary

    console().print(summary(results))


@app.command()
def export(
    results: Results,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="FILE.csv or FILE.parquet")],
):
    """Write all trace points as one tidy table."""
    from rrmbench.report.results import export as write

    write(results, to)
    print(to)


@app.command()
def verify(results: Results, trust: Trust = False):
    """Recompute every final objective and certificate without the kernels; exit code 1 for what does not follow."""
    from rrmbench.commands.verify import verify as verdicts

    if trust:
        trust_plugins_of(results)
    sys.exit(verdicts(results, trust, console()))
