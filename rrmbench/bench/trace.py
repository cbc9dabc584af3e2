"""The trace: an iterator around a solver whose clock runs only inside the solver."""

import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter, process_time  # a plug-in that changes the module changes no clock
from typing import Any

import numpy as np

from rrmbench.bench import polishing
from rrmbench.bench.contract import Contract, Failure
from rrmbench.bench.metrics import model_of
from rrmbench.bench.rules import ENDED, NO_PROGRESS, ROUNDING, Row, Schedule, StopRule
from rrmbench.bench.unseen import of_ended_processes, of_other_threads
from rrmbench.numerics import jit_cache
from rrmbench.numerics.tolerances import SUM_ROUNDING
from rrmbench.numerics.whole_arrays import is_finite
from rrmbench.problem.certificate import BELOW, Certifier, contradict, rounding_of, size_of_terms, suspects
from rrmbench.problem.counted import Audited
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem

AT_REST = 6  # calls of a black box in a row that end at the same P, after which greater budgets are of no use
UNMOVED = 12  # calls in a row that end at the same w: a library meets several falling tolerances at once
UNMOVED_AT_0 = 50  # the same at w = 0, where loose tolerances may leave it
ALL_CALLS = 100  # times the seconds of the rule that calls of a black box take together, if none reaches it alone
STALLED = 1000  # iterates without work after which a solver is given up


class Contradiction(Failure):
    """A dual bound was above an objective: nothing that was computed with these functions bounds anything."""


class Trace:
    """Measure the iterates of a solver on `problem`, whatever problem the solver itself was given.

    Iterating yields one row (a dict) per trace point. Afterwards `status` is "done" or "diverged", `reason` says why,
    and `w`, `b` are the last iterate and the best certificate. `evaluation_passes` is what `rrmbench.bench.polishing`
    took for the latter. Raises Failure where the solver breaks its contract, and whatever the solver raises.

    problem : the original Problem
    iterates : the running solver
    stop, schedule : StopRule and Schedule
    metrics : f(model, z) -> dict of further columns, of the model that predicts labels; z = X model, or None
    counted : whether the solver counts passes, as `@solver(counts_passes=...)` says
    names : of the loss and the regularizer, for messages; None for the names of their classes
    restarts : whether iterates of a solver that counts passes may be `restarted`
    audited : the X of the problem that the solver was given, if that is `Problem.apart`: its products are the least
        that the solver can count
    """

    def __init__(
        self,
        problem: Problem,
        iterates: Iterable[Iterate],
        stop: StopRule,
        schedule: Schedule,
        metrics: Callable[[np.ndarray, np.ndarray | None], Row] = lambda w, z: {},
        counted: bool = True,
        names: tuple[str, str] | None = None,
        restarts: bool = False,
        audited: Audited | None = None,
    ) -> None:
        self.problem, self.stop, self.schedule, self.metrics = problem, stop, schedule, metrics
        self._names, self._restarts = names, restarts or not counted
        self._contract = Contract(problem, counted, self._restarts)
        self.status: str | None = None
        self.reason: str | None = None
        self.w: Any = None  # an array after the first point
        self.b: np.ndarray | None = None
        self.compiled = False  # whether the clock has the compilation of a kernel, or the import of a module
        self.evaluation_seconds = 0.0
        self.helped: dict[int, float] = {}  # of points with a bound that evaluation found: the gap without it
        self._points = 0
        self._iterates = iter(iterates)
        self._audited, self._before = audited, 0.0  # the passes of products before the call that an iterate is of
        self._certifier = Certifier(problem)
        self._polisher = polishing.Polisher(problem, self._certifier)
        self._seconds = self._cpu = 0.0
        self.threads_seconds = 0.0  # of the processor, of other threads while the clock stood
        self.processes_seconds = 0.0  # of the processor, on the clock, of processes that ended in it
        self._threads = of_other_threads()
        self._spent = 0.0  # seconds of all calls of a black box
        self._first_primal, self._least_primal, self._gap = math.nan, math.inf, math.inf
        self._nearest = np.zeros(problem.shape)  # the w of the least P
        self._unmoved = 0  # calls of a black box since w last changed
        self._recent: deque[float] = deque(maxlen=AT_REST)  # P after the last calls of a black box

    def __iter__(self) -> Iterator[Row]:
        due, work, passes, still, pending = 0.0, None, 0.0, 0, None
        while self.status is None:
            x = self._next()
            if x is None:
                yield from self._end(work, pending)
                return
            made = self._audited.passes - self._before if self._audited else 0.0
            self._contract.check(x, work, passes, made)
            still = still + 1 if work is not None and x.passes <= passes else 0
            # products with 0 are free, and 0 is optimal
            if still >= STALLED and self._gap <= ROUNDING * abs(self._least_primal):
                self.status, self.reason = "done", ENDED
                return
            if still >= STALLED:
                without = "a pass, with checks alone" if x.checks else "touching the data"
                raise Failure(f"the solver yielded {STALLED} iterates in a row without {without}")
            work, passes = x.passes + x.checks, x.passes
            if x.passes < due and x.passes < self.stop.passes and self._seconds < self.stop.seconds:
                pending = x.copied()  # as it was yielded, whatever the solver does before it ends
                continue
            due, pending = self.schedule.after(x.passes), None
            yield self._measure(x)

    def _end(self, work: float | None, pending: Iterate | None) -> Iterator[Row]:
        """The solver stopped by itself: its last iterate is a trace point, also where none was due."""
        if work is None:
            raise Failure("the solver ended without yielding an iterate")
        if pending is not None:
            yield self._measure(pending)
        if self.status is None:
            self.status, self.reason = "done", ENDED
            if math.isnan(self._last[0].passes) and (better := self._with_last_bound()) is not None:
                yield better

    def _with_last_bound(self) -> Row | None:
        """The last row of a black box again with the bound that is looked for at the end of a run, if it is better.

        Before its end there is none for a black box, and that it ends is known only after its last point.
        """
        started, (x, row) = perf_counter(), self._last
        self._seconds, self._cpu = row["seconds"], row["cpu_seconds"]  # what came after the point is not in it
        better = self._polished(x, row)
        found = None if better is row else self._completed(x, better)
        self.evaluation_seconds += perf_counter() - started
        return found

    def _next(self) -> Iterate | None:
        products = self._audited.passes if self._audited else 0.0
        before, processes = _prepared(), of_ended_processes()
        self.threads_seconds += of_other_threads() - self._threads
        wall, cpu, x = perf_counter(), process_time(), None
        try:
            x = next(self._iterates, None)
        finally:
            if self._restarts and getattr(x, "restarted", False):
                self._seconds = self._cpu = 0.0
                self._before = products
            self._seconds += (took := perf_counter() - wall)
            self._spent += took
            self._cpu += process_time() - cpu + (ended := of_ended_processes() - processes)
            self.processes_seconds += ended
            self._threads = of_other_threads()
        self.compiled = self.compiled or _prepared() != before
        return x

    @property
    def last(self) -> Iterate:
        """The iterate of the last point, with the b that the solver itself has."""
        return self._last[0]

    @property
    def evaluation_passes(self) -> float:
        """The passes that were spent on better bounds, beside those of the solver."""
        return self._polisher.passes

    @property
    def bound_seconds(self) -> float:
        """The part of `evaluation_seconds` that these passes took."""
        return self._polisher.seconds

    @property
    def evaluation_fault(self) -> str | None:
        """What went wrong in the search for better bounds, or None."""
        return self._polisher.fault

    @property
    def rounding(self) -> float:
        """What the least P and the greatest D may be off by, see `rounding_of`."""
        return rounding_of(self.problem.X, self._nearest, self._certifier.b)

    def _measure(self, x: Iterate) -> Row:
        started = perf_counter()
        primal, z = math.nan, None
        if is_finite(x.w):
            z = self.problem.X.forward(x.w)
            primal = float(self.problem.primal(x.w, z))
            if math.isfinite(primal) and (x.b is None or is_finite(x.b)):
                self._certifier.update(x, z)
        row = self._row(x, primal)
        self._judge(row)
        if self.status is None and x.restarted:
            self._look_for_rest(x.w, primal)
        if self.status != "diverged":
            ended = self.status is not None
            row = self._polished(x, row)
            if self.status is not None and not ended:  # its bound made this the last point, on which more is spent
                row = self._polished(x, row)
        row = self._completed(x, row, z)
        self.evaluation_seconds += perf_counter() - started
        return row

    def _completed(self, x: Iterate, row: Row, z: np.ndarray | None = None) -> Row:
        """The row with the metrics of its point, which is kept as the last one; z = X w where it is known."""
        self.w, self.b, self._gap = x.w.copy(), self._certifier.b, row["gap"]  # a copy: the solver may go on
        self._last = x._replace(w=self.w), row
        self._points += 1
        if is_finite(x.w):
            known = np.zeros(self.problem.output_shape) if self.b is None else self.b
            model = model_of(self.problem.loss, x.w, known)
            if model is not x.w or hasattr(self.problem.loss, "operator"):  # z is of another model, or of more than X
                z = None
            row |= self.metrics(model, z)
        return row

    def _row(self, x: Iterate, primal: float) -> Row:
        """What is known of this point, the metrics aside."""
        dual = float(self._certifier.dual)
        self._check_promise(x.w, primal, dual)
        return {
            "passes": float(x.passes),
            "checks": float(x.checks),
            "seconds": self._seconds,
            "cpu_seconds": self._cpu,
            "primal": primal,
            "dual": dual,
            "gap": primal - dual,
            "nonzeros": float(np.count_nonzero(x.w)),
        }

    def _polished(self, x: Iterate, row: Row) -> Row:
        """The row with a better bound, where the passes of evaluation find one.

        It may meet the rule of the gap. A run that another rule has ended has met that one: on its last point more is
        spent than on those before, which does not tell that the rule of the gap would have ended it there.
        """
        wanted, threads = self.stop.wanted_gap(self._first_primal), of_other_threads()
        self._polisher.polish(x.w, row["primal"], x.passes + x.checks, wanted, self.status is not None)
        self._threads += of_other_threads() - threads  # libraries may have some of their own
        if self._certifier.dual > row["dual"]:
            self.helped.setdefault(self._points, row["gap"])
            row = self._row(x, row["primal"])
            if self.status is None and row["gap"] <= wanted:
                self._judge(row)
        return row

    def _check_promise(self, w: np.ndarray, primal: float, dual: float) -> None:
        """Raise Contradiction where a bound D is above some P: one of them is wrong, and no gap means anything."""
        if -math.inf < primal < self._least_primal:
            self._least_primal, self._nearest = primal, w.copy()
        if math.isnan(self._first_primal):
            self._first_primal = primal
        found = self._least_primal, dual, size_of_terms(self._first_primal)
        if contradict(*found) and contradict(*found, self.rounding):  # which reads the data, and is seldom asked for
            names = self._names or (type(part).__name__ for part in (self.problem.loss, self.problem.regularizer))
            bounds = f"P(w) = {self._least_primal:.12g} {BELOW} D(b) = {dual:.12g}"
            raise Contradiction(f"{bounds}: {suspects(*names)}")

    def _judge(self, row: Row) -> None:
        """Set status and reason of a run that goes on so far, where this row is the last."""
        if not math.isfinite(row["primal"]):
            self.status = "diverged"
            spent = f"{row['seconds']:.3g} s" if math.isnan(row["passes"]) else f"{row['passes']:g} passes"
            self.reason = f"the objective is {row['primal']} after {spent}"
            return
        self.reason = self.stop.reached(row, self._first_primal)
        self.status = "done" if self.reason else None

    def _look_for_rest(self, w: np.ndarray, primal: float) -> None:
        """End a black box whose calls with greater and greater budgets do not change P(w), or w itself, any more."""
        if np.array_equal(w, self.w):
            self._unmoved += 1
            rests = self._unmoved >= (UNMOVED if w.any() else UNMOVED_AT_0)
        else:
            self._unmoved = 0
            self._recent.append(primal)
            if not w.any():
                self._recent.clear()
            rests = len(self._recent) == AT_REST and max(self._recent) - min(self._recent) <= SUM_ROUNDING * abs(primal)
        if rests or self._spent >= ALL_CALLS * self.stop.seconds:  # budgets that do not grow never meet the rule
            self.status, self.reason = "done", NO_PROGRESS


def _prepared() -> tuple[int, int]:
    """How many signatures of kernels this process has compiled or loaded, and how many modules it has."""
    return jit_cache.counted["signatures"], len(sys.modules)
