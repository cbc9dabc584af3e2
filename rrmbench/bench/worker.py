"""One run in one child process: build the problem, warm the kernels up, trace the solver, send it all home.

The child sends ("row", dict) for every trace point as it is measured, so that a run that is killed leaves its partial
curve, and at the end ("end", status, reason, facts). It ends by itself when its parent dies.
"""

import fcntl
import multiprocessing
import os
import random
import signal
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from textwrap import shorten
from time import perf_counter  # a plug-in that changes the module changes no clock

import numpy as np

from rrmbench import crashes, fingerprint, loaded_code, plugin_files, registry
from rrmbench.bench import memory, pinning, yardstick
from rrmbench.bench.contract import Failure
from rrmbench.bench.metrics import metrics_of
from rrmbench.bench.problems import problem_of
from rrmbench.bench.rules import Schedule, StopRule
from rrmbench.bench.trace import Contradiction, Trace
from rrmbench.bench.unseen import Unseen
from rrmbench.bench.warming import warm_up
from rrmbench.data.cache import open_cached
from rrmbench.errors import RrmbenchError, printable
from rrmbench.loaded_code import OtherCode
from rrmbench.numerics.random import Rng
from rrmbench.problem.pairs import held_to_pairs


@dataclass(frozen=True)
class Task:
    """What a child needs to know: the resolved spec, where its prepared data are, and the code that it is to run.

    stamps : `rrmbench.fingerprint.stamps` of its files when the run got its id: of code, and those that parameters name
    core : the only one to run on, or None
    """

    spec: dict
    data_key: str
    plugins: tuple = ()
    stamps: dict = field(default_factory=dict)
    core: int | None = None


def child(task, connection):
    """The main function of a child process."""
    end_with_parent()
    os.dup2(2, 1)  # what a plug-in prints must not mix with what the command prints
    held = []  # generators that are never closed: what a solver does with GeneratorExit is no part of its run
    os.register_at_fork(after_in_child=connection.close)  # a solver that forks has copies, which tell nothing
    try:
        memory.give_way()
        pinning.pin(task.core)
        _check_code(task)
        for plugin in task.plugins:
            plugin_files.load_plugin(plugin)
        end = _run(task, connection, held)
    except OtherCode as failure:
        end = "failed", str(failure), {"other_code": True}
    except (Failure, RrmbenchError) as failure:  # the message says it all
        end = "failed", str(failure), {"contradiction": True} if isinstance(failure, Contradiction) else {}
    except BaseException as error:  # a solver may raise anything, SystemExit and KeyboardInterrupt included
        end = "failed", _reason_of(error, task.plugins), {"traceback": _traceback_of(error)}
    status, reason, facts = end
    with suppress(AttributeError, ValueError, OSError):  # there may be no standard output, or a closed one
        sys.stdout.flush()
    with suppress(OSError):  # the parent is gone
        connection.send(("end", status, printable(reason), facts))
    os._exit(0)  # whatever threads and exit handlers a plug-in left behind


def _reason_of(error, plugins):
    """The exception in one line, and the place in a plug-in, or in what it imports, that it comes from."""
    text = crashes.text_of(error)
    files = {*fingerprint.sources_of(*plugins), *loaded_code.unforeseen} if plugins else ()
    own = [file for file in files if not fingerprint.is_shipped(file)]
    if own and crashes.is_of_compiler(error):
        return shorten(crashes.not_compiled(text, own), 200)
    place, text = crashes.place_of(error, own), shorten(text, 200)
    return f"{place}: {text}" if place else text


def _traceback_of(error):
    try:
        return printable(traceback.format_exc())
    except BaseException:
        return printable("".join(traceback.format_tb(error.__traceback__)))


def _check_code(task):
    """An id stands for the code that it was computed from, and for the content of the files that parameters name."""
    loaded_code.check_unchanged(task.stamps)
    if task.stamps and fingerprint.EVERY_RUN[0] not in task.stamps:
        raise OtherCode(f"this process runs {fingerprint.PACKAGE}, and not the package that started it")


def _check_clock(unseen, trace, cpu, last=False):
    """Raise Failure where the solver works beside its clock."""
    if fault := unseen.fault(trace.threads_seconds, trace.processes_seconds, cpu, last):
        raise Failure(fault)


def end_with_parent():
    """End this process, and those that a solver starts, when its parent dies, of which the end of a pipe tells.

    A thread waits for it, but cannot run while a solver holds the interpreter's lock; there, on Linux, the system
    sends SIGIO, which ends the whole process group.
    """
    os.setpgid(0, 0)
    pipe = multiprocessing.parent_process().sentinel
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)

    def watch():
        wait([pipe])
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def _run(task, connection, held):
    started, imported = perf_counter(), set(sys.modules)
    spec = task.spec
    prepared = open_cached(task.data_key)
    problem = problem_of(spec, prepared)
    beta = problem.beta if problem.minimized_bias else None
    metrics = metrics_of(prepared, getattr(problem.loss, "predict", None), beta)
    solve = registry.build_solver(spec["solver"], spec["reduction"])
    loaded = perf_counter()
    stop = StopRule(**spec["stop"])
    warm, fault = warm_up(problem, solve)
    held.append(warm)
    warmed = perf_counter()
    names = spec["loss"]["name"], spec["regularizer"]["name"]
    pairs = held_to_pairs(problem, *names)
    if pairs.broken:
        raise Contradiction(pairs.broken)
    _check_code(task)  # of which all has been read by now, but for what is imported later
    facts = {"load_seconds": loaded - started, "warmup_seconds": warmed - loaded}
    if fault:
        facts["warmup_fault"] = printable(fault)
    if pairs.unchecked:
        facts["unchecked_pair"] = printable(pairs.unchecked)
    if solve.deterministic:
        facts["deterministic"] = True
    if solve.declared["restarts"]:
        facts["restarts"] = True
    memory.settle(problem.X.nnz)
    facts["yardstick_cpu_seconds"] = [yardstick.measure()]
    connection.send(("start", facts))
    # a solver draws from its Rng alone; where a library draws from these, a seed gives the same numbers again, and
    # another seed others, which the copies of one parent's would not
    random.seed(spec["seed"])
    np.random.seed(spec["seed"] % 2**32)  # noqa: NPY002, which is the generator in question
    apart = problem.apart()  # what the solver does to its problem, evaluation is not shown
    held.append(solve(apart, None, Rng(spec["seed"])))
    unseen, priority = Unseen(), pinning.priority()
    trace = Trace(
        problem, held[-1], stop, Schedule(**spec["trace"]), metrics, names=names, audited=apart.X, **solve.declared
    )
    try:
        for row in trace:
            connection.send(("row", row))
            _check_clock(unseen, trace, row["cpu_seconds"])
    finally:
        loaded_code.check_imports(imported, task.stamps)
    _check_clock(unseen, trace, row["cpu_seconds"], last=True)
    if fault := pinning.fault(task.core, priority):
        raise Failure(fault)
    facts["yardstick_cpu_seconds"].append(yardstick.measure())
    facts["memory"] = memory.of_this_process()
    facts |= {"evaluation_seconds": trace.evaluation_seconds, "evaluation_passes": trace.evaluation_passes}
    facts["bound_seconds"] = trace.bound_seconds
    facts["rounding"] = trace.rounding
    facts["helped"] = [[point, gap if np.isfinite(gap) else None] for point, gap in trace.helped.items()]
    if trace.compiled:
        facts["compiled"] = True
    if trace.evaluation_fault:
        facts["evaluation_fault"] = printable(trace.evaluation_fault)
    facts["w"] = np.array(trace.w)
    if trace.b is not None:
        facts["b"] = trace.b
    return trace.status, trace.reason, facts
