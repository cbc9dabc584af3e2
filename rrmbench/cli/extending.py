"""Commands for components of one's own: new, test."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli.app import EXTEND, app, console


@app.command(rich_help_panel=EXTEND)
def new(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="solver, loss, regularizer, reduction or dataset")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="the name for configurations, a Python identifier")],
    output: Annotated[Path, typer.Option("-o", "--output", help="where the files go")] = Path(),
    stochastic: Annotated[bool, typer.Option("--stochastic", help="a solver of steps on single rows")] = False,
):
    """Write a component that works, NAME.py, and its test: a template to change."""
    from rrmbench.commands import extending

    extending.new(kind, name, output, stochastic, console())


@app.command(rich_help_panel=EXTEND)
def test(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a Python file with components; it runs as code")],
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="name every check, show tracebacks")] = False,
):
    """Check what the components of a file promise, on tiny problems; exit code 1 if a promise is broken."""
    from rrmbench.commands import extending

    sys.exit(extending.test(file, verbose, console()))
