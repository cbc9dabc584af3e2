"""The command line: every command a thin adapter over one function. Heavy imports are inside the commands.

A module per family of commands, which it adds to the app when it is imported.
"""

import atexit
import codecs
import os
import sys
import threading
import warnings
from contextlib import suppress

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
    """Run the command line; an RrmbenchError is one message and exit code 2, as is what the system refuses."""
    from rrmbench.errors import RrmbenchError, RrmbenchWarning, printable

    _open_streams()
    warnings.simplefilter("always", RrmbenchWarning)
    warnings.showwarning = _in_one_line(warnings.showwarning)
    os.environ["MPLBACKEND"] = "agg"  # figures go to files, whatever draws on this screen
    if getattr(sys.stdout, "errors", "") == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error has it; a path may have any character
    elif getattr(sys.stdout, "errors", "") == "surrogateescape":  # in the locale C, where a path's bytes are its own
        codecs.register_error("rrmbench.escaped", _escaped)
        sys.stdout.reconfigure(errors="rrmbench.escaped")
    try:
        try:
            app()
        finally:
            _flush_output()  # here, where a full disk is a message still
    except BrokenPipeError:
        _forget_output()
        sys.exit(1)
    except (RrmbenchError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError):
            _forget_output()
            if isinstance(error, FileNotFoundError) and error.filename is None:  # which os.getcwd alone leaves out
                text = "the working directory has been removed; change to another one"
        print(f"rrmbench: {printable(text)}", file=sys.stderr)
        sys.exit(2)


def end_beside_threads(code):
    """End this process with an exit code where threads of a plug-in would have it wait for them; a line says so.

    Without such threads it returns.
    """
    left = [
        thread.name for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()
    ]
    if left:
        with suppress(OSError, ValueError):  # nobody is there to read it
            print(f"rrmbench: not waited for: {', '.join(left)}, which the code of a plug-in has left", file=sys.stderr)
            sys.stderr.flush()
        atexit._run_exitfuncs()
        os._exit(code if isinstance(code, int) else int(code is not None))


def _escaped(error):
    """What to write for the first of the characters that cannot be encoded: its byte, if it stands for one."""
    error.end = error.start + 1
    byte = "\udc80" <= error.object[error.start] <= "\udcff"
    return codecs.lookup_error("surrogateescape" if byte else "backslashreplace")(error)


def _in_one_line(shown):
    """What shows a warning as `shown` does, and those of this package as one line."""
    from rrmbench.errors import RrmbenchWarning, printable

    def show(message, category, *where):
        if issubclass(category, RrmbenchWarning):
            with suppress(OSError):  # nobody is there to read it
                print(f"rrmbench: {printable(str(message))}", file=sys.stderr)
        else:
            shown(message, category, *where)

    return show


def _open_streams():
    """Let input, output or errors that are closed go nowhere, so that no file and no pipe gets their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the least number that is free


def _flush_output():
    """Write what is printed so far; RrmbenchError where the code of a plug-in has closed the standard output."""
    from rrmbench.errors import RrmbenchError

    try:
        if sys.stdout is not None:  # as without one, or with a closed one
            sys.stdout.flush()
    except ValueError as error:  # whatever was raised for it before
        raise RrmbenchError(f"standard output: the code of a plug-in has closed it: {error}") from None


def _forget_output():
    """Let what could not be printed go nowhere, which the interpreter would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
