"""A plug-in with one solver that does whatever a test asks for."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from itertools import count

import numpy as np

import rrmbench
from rrmbench import Iterate

WARM_UP_ROWS = 8


@rrmbench.solver()
def odd(problem, start, rng, *, how="well", at=3, seconds=0.1):
    """Gradient steps that do something odd after `at` passes; not in the warm-up, but for `how` = early."""
    quiet = problem.n <= WARM_UP_ROWS and how != "early"
    w, eta = np.zeros(problem.shape), 1.0 / (problem.X.rows.sqnorms.max() + 1.0)
    for passes in count():
        if how == "nothing":
            return
        if how == "slow" and not quiet and passes:
            time.sleep(seconds)
        if passes >= at and not quiet:
            yield from ODD.get(how, lambda w, passes: ())(w, passes)
        yield Iterate(w, passes=passes)
        if how in ("ends", "spoils") and passes == at:
            w *= np.nan if how == "spoils" else 1.0
            return
        w = w - eta * problem.X.adjoint(problem.loss_dual(problem.X.forward(w))) / problem.n


def fails(error):
    def act(w, passes):
        raise error

    return act


def does(action):
    def act(w, passes):
        action()
        return ()

    return act


def stands_still(w, passes):
    while True:
        yield Iterate(w, passes=passes)


def yields(iterate):
    def act(w, passes):
        yield iterate(w, passes)

    return act


def leaves_a_thread():
    import threading

    threading.Thread(target=time.sleep, args=(3600,)).start()


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Odd(np.ndarray):
    """A model that cannot be sent to another process."""

    def __reduce__(self):
        raise TypeError("not to be pickled")


def starts_a_process():
    subprocess.Popen(["sleep", "3600"])


BURN = "import time\nwhile time.process_time() < {}: pass"


def works(seconds, waits):
    """Another process, that works for so many seconds of the processor, and the time in which it begins to."""

    def act(w, passes):
        if passes == 3:
            process = subprocess.Popen([sys.executable, "-c", BURN.format(seconds)])
            process.wait() if waits else time.sleep(1.0)
        return ()

    return act


def does_not_close(w, passes):
    try:
        yield Iterate(w, passes=passes)
        yield Iterate(w, passes=passes + 1)
        yield Iterate(w, passes=passes + 2)
    finally:
        time.sleep(3600)


ODD = {
    "mute": fails(Mute()),
    "surrogate": fails(ValueError("\ud800 \x1b[31mred")),
    "odd_array": yields(lambda w, passes: Iterate(w.view(Odd), passes=passes)),
    "float32": yields(lambda w, passes: Iterate(w.astype(np.float32), passes=passes)),
    "integer": yields(lambda w, passes: Iterate(w.astype(int), passes=passes)),
    "endless": yields(lambda w, passes: Iterate(w, passes=np.inf)),
    "worded": yields(lambda w, passes: Iterate(w, passes="many")),
    "uncounted": yields(lambda w, passes: Iterate(w, passes=np.nan)),
    "does_not_close": does_not_close,
    "process": does(starts_a_process),
    "process_of_multiprocessing": does(lambda: multiprocessing.Process(target=len, args=("",)).start()),
    "process_at_work": works(3600, waits=False),
    "process_waited_for": works(0.5, waits=True),
    "raise": fails(ValueError("gone wrong")),
    "SystemExit": fails(SystemExit(0)),
    "KeyboardInterrupt": fails(KeyboardInterrupt()),
    "nan": yields(lambda w, passes: Iterate(np.full_like(w, np.nan), passes=passes)),
    "huge": yields(lambda w, passes: Iterate(np.full_like(w, 1e300), passes=passes)),
    "shape": yields(lambda w, passes: Iterate(np.zeros(1), passes=passes)),
    "b_shape": yields(lambda w, passes: Iterate(w, np.zeros(1), passes=passes)),
    "array": yields(lambda w, passes: w),
    "undercounted": yields(lambda w, passes: Iterate(w, passes=passes - 0.75)),
    "backwards": yields(lambda w, passes: Iterate(w, passes=1)),
    "still": stands_still,
    "sleep": does(lambda: time.sleep(3600)),
    "hang": does(lambda: re.match(r"(a+)+$", "a" * 60 + "b")),  # for ever, and without giving the lock away
    "exit": does(lambda: os._exit(3)),
    "early": does(lambda: os._exit(3)),
    "kill": does(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "print": does(lambda: print("spam " * 10_000, flush=True)),
    "thread": does(leaves_a_thread),
    "fork": does(os.fork),
}


@rrmbench.solver()
def meddler(problem, start, rng, *, target="labels"):
    """Proximal gradient steps on a problem of its own making: other labels, other norms, no regularizer."""
    if target == "labels":
        problem.losses.y = 2.0 * problem.y
    elif target == "operator":
        object.__setattr__(problem.X, "rows", problem.X.rows._replace(sqnorms=np.ones(problem.n)))
        object.__setattr__(problem.X, "forward", lambda w: np.zeros(problem.n))
    else:
        object.__setattr__(problem, "regularization", None)
        object.__setattr__(problem, "Psi", lambda w: 0.0)
    w = np.zeros(problem.shape)
    for passes in count():
        yield Iterate(w, passes=passes)
        w = w - 0.01 * problem.X.adjoint(problem.losses.dual_point(0.0, problem.X.forward(w))) / problem.n


@rrmbench.solver()
def census(problem, start, rng):
    """w_0 counts the threads that numerical libraries would use, w_1 whether the environment says one thread."""
    from threadpoolctl import threadpool_info

    one = all(os.environ[f"{name}_NUM_THREADS"] == "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"))
    w = np.zeros(problem.shape)
    yield Iterate(w.copy())
    w[0], w[1] = max((pool["num_threads"] for pool in threadpool_info()), default=1), one
    yield Iterate(w, passes=1)
