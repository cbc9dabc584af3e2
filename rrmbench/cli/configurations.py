"""The shipped configurations: config."""

import sys
from typing import Annotated

import typer

from rrmbench.cli.app import FIND, app


@app.command(rich_help_panel=FIND)
def config(name: Annotated[str, typer.Argument(metavar="NAME", help="as 'rrmbench list configs' shows it")]):
    """Print a shipped configuration as it is, with its comments, to start from."""
    from rrmbench.config import shipped

    sys.stdout.write(shipped.text_of(name))
