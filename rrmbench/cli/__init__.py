"""The command line: every command a thin adapter over one function. Heavy imports are inside the commands.

A module per family of commands.
"""

import sys

# each adds its commands to the app
from rrmbench.cli import catalogue, comparing, gating, reading, reporting, running  # noqa: F401
from rrmbench.cli.app import app


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
