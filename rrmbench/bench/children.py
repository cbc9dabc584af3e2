"""Running tasks in child processes: one fork server, a hard time limit, and nothing left behind."""

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver, resource_tracker
from types import ModuleType

from rrmbench.bench.rows import Rows
from rrmbench.errors import RrmbenchError

GRACE = 2.0  # seconds in which a child that has closed its pipe may end by itself
PATIENCE = 30.0  # seconds in which the fork server must have made a child
IMPORTING = 300.0  # seconds in which a new one must have imported everything
TRIES = 5  # to make a child, each with a new fork server
TICK = 0.05  # seconds between looks at the interrupt flag
AWAY = 1.0  # seconds between looks from which on this process stood still, as after Ctrl-Z or before a full pipe
IMPORT_PATH = ("PYTHONSAFEPATH", "PYTHONPATH")
CALLERS_PATH = "RRMBENCH_CALLERS_PATH"
LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "NUMBA_NUM", "NUMEXPR_NUM", "VECLIB_MAXIMUM")


@dataclass
class Outcome:
    """How a child ended: status and reason as in the store, the rows that it sent, and its last facts.

    wall_seconds : from before its start to its end, with what was off the clock, but for the time in which this process
        stood still
    """

    status: str
    reason: str
    rows: Rows = field(default_factory=Rows)
    facts: dict = field(default_factory=dict)
    concurrent_runs: int = 1
    wall_seconds: float = 0.0
    origin: dict = field(default_factory=dict)  # where it ran, as the header of the result says it


class Children:
    """Starts children one per call, from any thread of this process.

    The fork server has imported everything, so that a child costs milliseconds; it is started at the first use,
    with one thread for every numerical library.
    """

    def __init__(self):
        if multiprocessing.current_process().daemon:
            raise RrmbenchError(
                "this process is daemonic, as those of multiprocessing.Pool are, and may not start those that runs are "
                "executed in; use concurrent.futures.ProcessPoolExecutor, or `rrmbench.solve` here"
            )
        self.interrupted = threading.Event()
        self._active, self._prepared = {}, False
        self._lock = threading.Lock()
        for name in LIBRARIES:
            os.environ[f"{name}_THREADS"] = "1"
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["rrmbench.bench.preload"])

    def prepare(self):
        """Start the fork server and wait until it has imported everything, which no run is to be charged with."""
        if not self._prepared:
            self._prepared = True
            self.run(_nothing, None, IMPORTING)

    def run(self, main, task, limit, on_row=lambda row: None, unwanted=None):
        """Run `main(task, connection)` in a child for at most `limit` seconds; return its Outcome.

        unwanted : a flag that interrupts this one run, where `interrupted` is that of all
        Returns None where the interrupt flag is set before the start.
        """
        flags = (self.interrupted,) if unwanted is None else (self.interrupted, unwanted)
        if self.interrupted.is_set():
            return None
        outcome, tries, began = Outcome("killed", ""), TRIES, time.monotonic()
        with self._counted(outcome):
            while True:
                ours, theirs = self._context.Pipe()
                with ours:
                    try:
                        process = self._start(main, task, theirs)
                    except (OSError, EOFError, RuntimeError) as error:  # no more processes or threads, or it has died
                        tries -= 1
                        time.sleep(TICK * (TRIES - tries))
                        if self.interrupted.is_set():  # which has ended the fork server
                            return None
                        if tries:
                            continue
                        hint = "; TMPDIR is too long a path for sockets" if "AF_UNIX" in str(error) else ""
                        outcome.reason = f"its process could not be started ({type(error).__name__}: {error}{hint})"
                        return outcome
                    self._watch(process, ours, outcome, limit, on_row, flags)
                    outcome.wall_seconds += time.monotonic() - began
                    return outcome

    def _watch(self, process, ours, outcome, limit, on_row, flags):
        """Listen to a child until it ends, then end whatever is left of it."""
        try:
            self._listen(ours, outcome, time.monotonic() + limit, limit, on_row, flags)
            if outcome.status == "killed":
                process.join(GRACE)
                outcome.reason = _end_of(process.exitcode) + _stage(outcome)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what the solver itself has started, too
            process.kill()
            process.join(GRACE)
            if process.is_alive():  # its fork server, which reports its end, stands still
                _end_fork_server()
                process.join(GRACE)

    def _start(self, main, task, connection):
        """The started process. Raises OSError or EOFError where the fork server dies meanwhile, or does not answer.

        RuntimeError where the system has no more threads.
        """
        process = self._context.Process(target=main, args=(task, connection), daemon=True)
        failure = []

        def start():
            try:
                with _without_main():
                    process.start()
            except BaseException as error:
                failure.append(error)

        with connection, self._lock:  # starting is not safe from several threads
            deadline = time.monotonic() + (IMPORTING if _start_fork_server() else PATIENCE)
            starting = threading.Thread(target=start, daemon=True)
            starting.start()
            starting.join(TICK)
            while starting.is_alive():
                if self.interrupted.is_set() or time.monotonic() > deadline:
                    _end_fork_server()
                starting.join(TICK)
            if failure:
                _end_fork_server()  # it may be dying, and not yet dead: the next start needs another one
                raise failure[0]
        return process

    def _listen(self, connection, outcome, deadline, limit, on_row, flags):
        """Take messages until the end of the run, of its pipe, of its time, or an interrupt.

        While this process stands still it reads nothing, and what a child did meanwhile is not held against its limit.
        """
        looked = time.monotonic()
        while True:
            before, looked = looked, time.monotonic()
            if (away := looked - before) > AWAY:
                deadline += away
                outcome.wall_seconds -= away
            if any(flag.is_set() for flag in flags):
                outcome.status, outcome.reason = "interrupted", "interrupted by a signal"
                return
            if looked > deadline:
                outcome.status, outcome.reason = "timeout", f"killed after the limit of {limit:g} s"
                outcome.reason += _stage(outcome)
                return
            try:
                message = connection.recv() if connection.poll(TICK) else None
            except (EOFError, OSError):
                return
            if message is None:
                continue
            if message[0] == "row":
                outcome.rows.append(message[1])
                on_row(message[1])
            elif message[0] == "start":
                outcome.facts |= message[1]
            else:
                outcome.status, outcome.reason = message[1:3]
                outcome.facts |= message[3]
                return

    def renew(self):
        """Let the next child come from a new fork server, which imports the code as it is on disk then."""
        with self._lock:
            _end_fork_server()

    @contextmanager
    def _counted(self, outcome):
        """Write into every outcome the greatest number of runs that were active with it."""
        with self._lock:
            self._active[id(outcome)] = outcome
            for other in self._active.values():
                other.concurrent_runs = max(other.concurrent_runs, len(self._active))
        try:
            yield
        finally:
            with self._lock:
                del self._active[id(outcome)]


def _nothing(task, connection):
    """The main function of a child that is only started."""
    with suppress(OSError):  # whoever started it has given it up
        connection.send(("end", "done", "", {}))
    os._exit(0)


@contextmanager
def _without_main():
    """Children run the code of this package: the caller's script, which each would execute anew, is kept from them."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start_fork_server():
    """Make sure that it runs, deaf to SIGINT like its children: Ctrl-C is for this process, which ends them.

    It imports from where this process does. Python would have it look into the working directory first. Returns
    whether it was started now.
    """
    pid = forkserver._forkserver._forkserver_pid
    folders = map(os.path.abspath, sys.path)
    path = os.pathsep.join(folder for folder in folders if os.pathsep not in folder)
    kept = {name: os.environ.get(name) for name in IMPORT_PATH}
    os.environ |= dict(zip(IMPORT_PATH, ("1", path), strict=True)) | {CALLERS_PATH: json.dumps(kept)}
    try:
        resource_tracker.ensure_running()  # the fork server would start it, and lift the block of the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        restore_import_path()
    return forkserver._forkserver._forkserver_pid != pid


def _forget_fork_server():
    """The fork server of the parent is no child of a forked process, which starts one of its own."""
    known = forkserver._forkserver
    if known._forkserver_alive_fd is not None:
        os.close(known._forkserver_alive_fd)  # else it would outlive the parent
    known.__init__()


os.register_at_fork(after_in_child=_forget_fork_server)


def restore_import_path():
    """Give the environment the import path back that it had before `_start_fork_server`."""
    for name, value in json.loads(os.environ.pop(CALLERS_PATH, "{}")).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _end_fork_server():
    """Kill the fork server; `ensure_running` starts another one."""
    pid = forkserver._forkserver._forkserver_pid
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stage(outcome):
    return "" if outcome.facts else ", while it loaded and warmed up"


def _end_of(exitcode):
    if exitcode is None:
        return "the process closed its pipe and went on"
    if exitcode == -signal.SIGKILL:
        return "the process was killed by signal 9, as the system does where memory is out"
    if exitcode < 0:
        return f"the process was killed by signal {-exitcode}"
    return f"the process ended with exit code {exitcode}"
