"""What a user's own code does that is no result: where an exception came from, and no end without a word."""

import os
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from rrmbench.errors import printable

_end = os._exit
_refusing = ContextVar("refusing", default=None)  # the id of the process in which os._exit is refused


def place_of(error, files):
    """ "my_solver.py:12 in step", the innermost of the error's frames that is in one of `files` (paths), or ""."""
    own, place = {Path(file).resolve() for file in files}, ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if Path(code.co_filename).resolve() in own:
            name = "" if code.co_name == "<module>" else f" in {code.co_name}"
            place = f"{Path(code.co_filename).name}:{trace.tb_lineno}{name}"
        trace = trace.tb_next
    return printable(place)


def text_of(error):
    """ "ZeroDivisionError: division by zero"; an exception's own code may fail to give its message."""
    try:
        message = str(error)
    except BaseException as another:
        message = f"its message cannot be had, {type(another).__name__}"
    return f"{type(error).__name__}: {message}"


@contextmanager
def without_sudden_end():
    """Let `os._exit` in the block raise SystemExit: it would end the command without a word, with any exit code."""
    os._exit = _exit  # which stays, and is the true one outside of such blocks, so that threads can have theirs
    before = _refusing.set(os.getpid())
    try:
        yield
    finally:
        _refusing.reset(before)


def _exit(status):
    if _refusing.get() != os.getpid():  # or in a process that the user's code has forked
        _end(status)
    raise SystemExit(f"os._exit({status})")
