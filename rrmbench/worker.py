"""One run in one child process: build the problem, warm the kernels up, trace the solver, send it all home.

The child sends ("row", dict) for every trace point as it is measured, so that a run that is killed leaves its partial
curve, and at the end ("end", status, reason, facts). It ends by itself when its parent dies.
"""

import fcntl
import multiprocessing
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isnan
from multiprocessing.connection import wait
from textwrap import shorten

import numpy as np

from rrmbench import registry
from rrmbench.data.cache import open_cached
from rrmbench.errors import RrmbenchError
from rrmbench.metrics import metrics_of
from rrmbench.parts import build_loss, build_regularizer
from rrmbench.problem import Problem
from rrmbench.randomness import Rng
from rrmbench.trace import Failure, Schedule, Stop, Trace

WARM_UP_ROWS = 8
WARM_UP_PASSES = 3.0


@dataclass(frozen=True)
class Task:
    """What a child needs to know: the resolved spec, and where its prepared data are."""

    spec: dict
    data_key: str
    plugins: tuple = ()


def problem_of(spec, prepared):
    """The Problem of a resolved spec on prepared data; its plug-ins are loaded already, or RrmbenchError."""
    free_bias = spec["dataset"].get("bias") == "free"
    (loss, mu), (regularizer, l2) = build_loss(spec["loss"]), build_regularizer(spec["regularizer"])
    return Problem(prepared.operator(), prepared.y, loss, regularizer, l2=l2, mu=mu, free_bias=free_bias)


def child(task, connection):
    """The main function of a child process."""
    _end_with_parent()
    os.dup2(2, 1)  # what a plug-in prints must not mix with what the command prints
    try:
        for plugin in task.plugins:
            registry.load_plugin(plugin)
        status, reason, facts = _run(task, connection)
    except (Failure, RrmbenchError) as failure:  # the message says it all
        status, reason, facts = "failed", str(failure), {}
    except BaseException as error:  # a solver may raise anything, SystemExit and KeyboardInterrupt included
        status, reason = "failed", shorten(f"{type(error).__name__}: {error}", 200)
        facts = {"traceback": traceback.format_exc()}
    with suppress(OSError):  # the parent is gone
        connection.send(("end", status, reason, facts))
        sys.stdout.flush()
    os._exit(0)  # whatever threads and exit handlers a plug-in left behind


def _end_with_parent():
    """End this process when its parent dies, of which the end of a pipe tells.

    A thread waits for it, but cannot run while a solver holds the interpreter's lock; there, on Linux, the system
    sends SIGIO, which ends the process.
    """
    pipe = multiprocessing.parent_process().sentinel
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)

    def watch():
        wait([pipe])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run(task, connection):
    started = time.perf_counter()
    spec = task.spec
    prepared = open_cached(task.data_key)
    problem = problem_of(spec, prepared)
    metrics = metrics_of(prepared, getattr(problem.loss, "predict", None))
    solve = registry.build_solver(spec["solver"], spec["reduction"])
    loaded = time.perf_counter()
    warm_up(problem, solve)
    warmed = time.perf_counter()
    facts = {"load_seconds": loaded - started, "warmup_seconds": warmed - loaded}
    connection.send(("start", facts))
    trace = Trace(
        problem,
        solve(problem, None, Rng(spec["seed"])),
        Stop(**spec["stop"]),
        Schedule(**spec["trace"]),
        metrics,
    )
    for row in trace:
        connection.send(("row", row))
    facts |= {"evaluation_seconds": trace.evaluation_seconds, "w": trace.w}
    if trace.b is not None:
        facts["b"] = trace.b
    return trace.status, trace.reason, facts


def warm_up(problem, solve):
    """Compile, or load from the cache, every kernel that the run will call, by a few passes over a few rows.

    An error here is not reported: the run itself meets it again, with its partial curve.
    """
    n = min(problem.n, WARM_UP_ROWS)
    y = problem.y[:n].copy()
    if y.ndim == 1:
        y[0], y[-1] = problem.y.min(), problem.y.max()  # libraries of classifiers refuse a single class
    tiny = replace(problem, X=problem.X.head(n), y=y)
    try:
        iterates = solve(tiny, None, Rng(0))
        for _ in Trace(tiny, _short(iterates), Stop(passes=WARM_UP_PASSES), Schedule(0.0)):
            pass
        tiny.certificate(np.zeros(tiny.output_shape))
    except BaseException:  # SystemExit and KeyboardInterrupt included
        pass


def _short(iterates):
    """The first iterates; only a few where passes are not counted."""
    for number, x in enumerate(iterates):
        if x.passes > 2.0 * WARM_UP_PASSES or (isnan(x.passes) and number > WARM_UP_PASSES):
            return
        yield x
