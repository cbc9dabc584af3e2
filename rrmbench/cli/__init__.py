"""The command line: every command a thin adapter over one function. Heavy imports are inside the commands.

A module per family of commands, which it adds to the app when it is imported.
"""

import sys

from rrmbench.cli import (
    catalogue,
    comparing,
    completion,
    configurations,
    extending,
    gating,
    reading,
    reporting,
    running,
    upkeep,
)
from rrmbench.cli.app import PANELS, app

app.registered_commands.sort(key=lambda command: PANELS.index(command.rich_help_panel))


def run_app():
    """Run the command line; an RrmbenchError is one message and exit code 2."""
    from rrmbench.errors import RrmbenchError, printable

    try:
        app()
    except RrmbenchError as error:
        print(f"rrmbench: {printable(str(error))}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
