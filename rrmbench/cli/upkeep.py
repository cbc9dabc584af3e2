"""Commands that keep results and machines in order: merge, clean, doctor."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli.app import UPKEEP, app, console, output_path


@app.command(rich_help_panel=UPKEEP)
def merge(
    sources: Annotated[list[Path], typer.Argument(metavar="RESULTS", help="folders of results")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", parser=output_path, help="where the joined results go")
    ],
):
    """Join results of the same experiments from several folders; exit code 1 if a record had to be left out."""
    from rrmbench.commands.merge import merge as join

    sys.exit(join(sources, output, console(), console(stderr=True)))


@app.command(rich_help_panel=UPKEEP)
def clean(
    results: Annotated[Path | None, typer.Argument(metavar="RESULTS", help="leftovers in this folder")] = None,
    caches: Annotated[
        bool, typer.Option("--caches", help="kernels and prepared data of other code, unused for a day")
    ] = False,
    older: Annotated[bool, typer.Option("--older", help="results of other code than those that are shown")] = False,
    unasked: Annotated[
        bool, typer.Option("--unasked", help="results that the configuration, as it was last run, does not ask for")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="remove what is listed")] = False,
):
    """List what may go and its size; remove it with --apply."""
    from rrmbench.commands.clean import clean as tidy

    sys.exit(tidy(results, caches, older, unasked, apply, console()))


@app.command(rich_help_panel=UPKEEP)
def doctor(as_json: Annotated[bool, typer.Option("--json", help="print the findings as JSON")] = False):
    """Examine what runs and their clocks depend on; exit code 1 for an error."""
    from rrmbench.commands.doctor import doctor as examine

    sys.exit(examine(console(), as_json))
