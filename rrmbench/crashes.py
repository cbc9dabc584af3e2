"""What a user's own code does that is no result: where an exception came from, and no end without a word."""

import multiprocessing
import os
import re
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from rrmbench.errors import printable

# how the lines of a message of numba begin that say what is wrong
_SAID = re.compile(r"\w+Error: |Unknown|Unsupported|No implementation|Untyped|Use of|Cannot|Invalid|Incompatible|Can't")

# of children of the server of all runs, which is what multiprocessing would start, the clock of a run sees nothing
_INSTEAD = "a run starts no processes by multiprocessing; on its clock are threads, and what subprocess starts"

_end = os._exit
_blocks, _counting = Counter(), threading.Lock()  # how many blocks of each process (by its id) refuse os._exit


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
    """ "ZeroDivisionError: division by zero", or "MemoryError"; an exception's own code may fail to say more."""
    try:
        message = str(error)
    except BaseException as another:
        message = f"its message cannot be had, {type(another).__name__}"
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"{text}; {_INSTEAD}" if _is_of_refused_process(error) else text


def _is_of_refused_process(error):
    """Whether multiprocessing refuses a process to one that is a run's: the innermost frame is its own."""
    trace, file = error.__traceback__, ""
    while trace is not None:
        trace, file = trace.tb_next, trace.tb_frame.f_code.co_filename
    return isinstance(error, AssertionError) and file == multiprocessing.process.__file__


def is_of_compiler(error):
    """Whether an exception is numba's, whose frames are none of the code that cannot be compiled."""
    return type(error).__module__.startswith("numba.")


def not_compiled(text, files):
    """What numba's message says of a line of one of the files: "my_loss.py:11: ...", else its first lines."""
    names = {Path(file).name for file in files}
    for place in re.finditer(r'File "(?:[^"]*/)?([^"/]+)", line (\d+):', text):
        if place[1] in names:
            before = [line.strip() for line in text[: place.start()].splitlines()]
            said = [line for line in before if _SAID.match(line) and "Failed in" not in line]
            return f"{place[1]}:{place[2]}: {said[-1] if said else 'cannot be compiled'}"
    return "\n".join([line.strip() for line in text.splitlines() if line.strip()][:4])


@contextmanager
def in_the_same_process():
    """Undo what the block did to this process that the command rests on.

    Relative paths are the user's, modules are imported as they are needed, and what the command says is read: back come
    the working directory, the standard streams, what was taken out of `sys.path`, and a higher recursion limit.
    """
    directory, streams = _working_directory(), {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    places, depth = list(sys.path), sys.getrecursionlimit()
    try:
        yield
    finally:
        if directory is not None and _working_directory() != directory:
            os.chdir(directory)
        for name, stream in streams.items():
            setattr(sys, name, stream)
        sys.path += [place for place in places if place not in sys.path]
        sys.setrecursionlimit(max(depth, sys.getrecursionlimit()))


def _working_directory():
    """Its path, or None where nobody can tell, as of one that was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


@contextmanager
def without_processes():
    """Let multiprocessing refuse processes in the block, as it does in a run."""
    process = multiprocessing.current_process()
    before, process.daemon = process.daemon, True
    try:
        yield
    finally:
        process.daemon = before


@contextmanager
def without_sudden_end():
    """Let `os._exit` in the block raise SystemExit: it would end the command without a word, with any exit code."""
    os._exit, process = _exit, os.getpid()  # which stays, and is the true one while no block of any thread is open
    with _counting:
        _blocks[process] += 1
    try:
        yield
    finally:
        with _counting:
            _blocks[process] -= 1


def _exit(status):
    if not _blocks[os.getpid()]:  # as in a process that the user's code has forked
        _end(status)
    raise SystemExit(f"os._exit({status})")
