"""Commands that read results: plot, show, export, verify."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli.app import (
    READ,
    LevelTexts,
    Only,
    Quantity,
    Relative,
    Results,
    Trust,
    app,
    console,
    levels_of,
    output_path,
    trust_plugins_of,
)


@app.command(rich_help_panel=READ)
def plot(
    results: Results,
    x: Annotated[str | None, typer.Option("--x", help="passes, work, seconds or cpu_seconds")] = None,
    y: Annotated[str | None, typer.Option("--y", help="suboptimality, gap, objective or a metric")] = None,
    xscale: Annotated[str | None, typer.Option("--xscale", help="log or linear (default: log for seconds)")] = None,
    only: Only = None,
    formats: Annotated[
        str, typer.Option("--format", help="png, pdf, svg, pgf (by LaTeX); several with commas")
    ] = "png,pdf",
    style: Annotated[str, typer.Option("--style", help="screen, or paper: the sizes and fonts of print")] = "screen",
    width: Annotated[str | None, typer.Option("--width", help="of paper: column (3.3 in) or page (6.9 in)")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PATH", parser=output_path, help="folder of the figures")
    ] = None,
    theory: Annotated[bool, typer.Option("--theory", help="add the bounds that the papers prove")] = False,
    trust: Trust = False,
):
    """Draw the figures of the results."""
    from rrmbench.errors import printable
    from rrmbench.report import plots
    from rrmbench.report.plots.section import formats_of

    if trust:
        trust_plugins_of(results)
    kinds = formats_of(formats, plots.FORMATS)
    options = {"x": x, "y": y, "xscale": xscale, "theory": theory, "trust": trust}
    page = {"style": style, "width": width}
    for path in plots.plot(results, formats=kinds, out=output, only=only or (), tell=_tell, **page, **options):
        print(printable(str(path)))


def _tell(line):
    from rrmbench.errors import printable

    print(f"rrmbench: {printable(line)}", file=sys.stderr)


@app.command(rich_help_panel=READ)
def show(
    results: Results,
    levels: LevelTexts = None,
    relative: Relative = False,
    y: Quantity = "gap",
    sort: Annotated[
        str | None, typer.Option(metavar="KEY", help="name, gap, suboptimality, objective, seconds, ..., or a level")
    ] = None,
    only: Only = None,
    runs: Annotated[bool, typer.Option("--runs", help="a row per run, not one per method")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON (docs/reading.md has the fields)")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="print a LaTeX table (booktabs)")] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="print where the failed runs failed, and nothing else")
    ] = False,
):
    """Show what each method needs to reach each gap, in passes and seconds, and who needs least."""
    if traceback:
        from rrmbench.commands.show import tracebacks

        given = {"--levels": levels, "--relative": relative, "--sort": sort, "--runs": runs}
        tracebacks(results, only or (), given | {"--json": as_json, "--latex": as_latex}, console())
        return
    from rrmbench.commands.show import show as print_standings

    forms = ["json"] * as_json + ["latex"] * as_latex
    print_standings(results, levels_of(levels, y, relative), only or (), sort, runs, forms, console())


@app.command(rich_help_panel=READ)
def export(
    results: Results,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="FILE.csv or FILE.parquet")],
):
    """Write all trace points as one tidy table."""
    from rrmbench.report.tidy import export as write

    write(results, to)
    print(to)


@app.command(rich_help_panel=READ)
def verify(
    results: Results,
    trust: Trust = False,
    against: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="results of the same runs, executed again: compare all points too"),
    ] = None,
):
    """Recompute every final objective and certificate without the kernels; exit code 1 for what does not follow."""
    from rrmbench.commands.verify import verify as verdicts

    if trust:
        trust_plugins_of(results)
    sys.exit(verdicts(results, trust, console(), against))
