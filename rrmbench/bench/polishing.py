"""Better lower bounds of P, for which the evaluation of a run spends a few passes of its own.

They are of the methods of `ascents`, which change nothing of the run: it is the same with and without them, but for its
bounds. P at the models that they yield tells what a better b could still give: where this is a small part of the gap,
the rest is the run's.
"""

import math
import time
from typing import NamedTuple

import numpy as np

from rrmbench import crashes
from rrmbench.bench import newton
from rrmbench.bench.ascents import BETWEEN, DENSE, MANY, SECONDS, TIMED, Method, ascend_by_program, methods_for
from rrmbench.problem.certificate import Certifier
from rrmbench.problem.problem import Problem

SHARE = 0.5  # of the passes of the run, which all polishing takes at most, but on little data
ALONG = 0.25  # of this share, which it takes before the last point, where a gap ends the run
AFTER = 0.5  # of this share, which it takes at the last point of a run that its gap has ended
UNCOUNTED = 60.0  # passes at the last point of a solver that counts none
WIDE = 1e-8  # gap over P, from which more may go at the last point of a run on little data:
LITTLE, READS = 500.0, 4e8  # so many passes in all, as far as they read so many numbers: half a second
FURTHER = 2.0  # times the passes of the run, which all may come to at its last point, on any data,
FAR = 5.0  # where the gap is more than so many times P(w) - P(m), m the best model known
WORTH = 1e-8  # gap over P, at which the bound of a run that its gap has ended is near enough
SHORTEST = 2.5 + BETWEEN  # passes, with fewer nothing is begun
LOOKS = 1.25  # factor of the passes between two looks at the gap, or at P
MET, NEAR = 0.25, 0.5  # of `READS`, and the part of the last gap, at the last point of a run that its gap has ended
PART = 1e-3  # of the last gap, which a better b may still give where nothing more is spent


class Aim(NamedTuple):
    """What is enough at a point of a run: D >= `enough`, or a gap of which a better b may give at most a `part`.

    primal : P at the point
    ends : the D that would end the run; a part does not count while D may still come to it
    """

    primal: float
    enough: float
    ends: float
    part: float


def warm_up(problem: Problem, tiny: Problem) -> None:
    """Compile the kernels of the methods that runs on `problem` may get, by a few of their steps on `tiny`."""
    polisher, nothing = Polisher(tiny, Certifier(tiny)), Aim(math.inf, math.inf, math.inf, 0.0)
    steps = max(SHORTEST, min(MANY, READS / polisher.reads_of_a_pass()))  # a proximal step may read far more than X
    for method in dict.fromkeys(m for passes in (MANY, LITTLE) for m in methods_for(problem, passes)):
        polisher.follow(method, np.zeros(tiny.shape), nothing, steps)


class Polisher:
    """Offers a Certifier better b, at the cost of a share of the passes of the run.

    passes, seconds : what it took so far, the products for the bounds included
    fault : the last exception of a method, in words, which costs the run nothing but better bounds; None without any
    """

    def __init__(self, problem: Problem, certifier: Certifier) -> None:
        self.passes = self.seconds = 0.0
        self.fault: str | None = None
        self._problem, self._certifier = problem.counted(), certifier
        self._look = 0.0, math.inf  # the passes and the gap at the last look
        self._least, self._nearest = math.inf, np.zeros(problem.shape)  # P at the best model of a method, the model
        self._is_optimal = False  # the bound, of a linear program
        self._left = SECONDS  # which are left for the methods of `TIMED`

    def polish(self, w: np.ndarray, primal: float, work: float, target: float, last: bool) -> None:
        """Improve the bound of P at w, where the gap does not get small by itself.

        primal : P(w), finite
        work : the passes of the run so far, checks included; NaN of a solver that counts none
        target : the gap that ends the run, or -inf
        last : whether this is the last point of the run, at which all of the share may go. Before, where there is a
            target, the gap is looked at whenever the passes have grown by a quarter, and a quarter of the share may go
            where it has not fallen to a half. Where the gap has ended the run, half of the share may go, and more on
            little data while the gap is far above what is known of the distance; where nothing has ended it and this
            holds, four times the share on any data
        """
        gap, ends = primal - self._certifier.dual, primal - target
        met = gap <= target
        part = AFTER if met else 1.0 if last else ALONG if target > -math.inf else 0.0
        if (met or last) and target > -math.inf:  # nothing is saved for later
            target = min(target, WORTH * abs(primal))
        end, more = self._end(work, part), part == 1.0 and not math.isnan(work)
        if gap <= max(target, 0.0) or not (more or met or end - self.passes >= SHORTEST):
            return
        if not last and not self._is_stuck(work, gap):
            return
        # before the end, a bound that is nearer than it need be saves a later one
        aim = Aim(primal, primal - target, ends, PART if met or last else 0.0)
        self._spend(w, aim, end)
        if more and primal - self._certifier.dual > WIDE * abs(primal):
            self._spend(w, aim, self._few(READS))
        if met and self._is_far(aim):
            self._spend(w, aim._replace(part=NEAR), self._few(MET * READS))
        if more and self.passes and self._is_far(aim):
            self._spend(self._nearest if self._least < primal else w, aim, FURTHER * work)
        self._look = work, primal - self._certifier.dual

    def _is_far(self, aim: Aim) -> bool:
        """Whether the gap is more than `FAR` times P(w) - P(m), m the best model of a method, and not small."""
        return aim.primal - self._certifier.dual > max(WORTH * abs(aim.primal), FAR * (aim.primal - self._least))

    def _is_stuck(self, work: float, gap: float) -> bool:
        """Whether the gap has not fallen to a half since the last look, if one is due."""
        passes, before = self._look
        if work < LOOKS * passes:
            return False
        self._look = work, gap
        return gap > 0.5 * before

    @staticmethod
    def _end(work: float, part: float) -> float:
        """What `passes` may come to by a part of the share; of a solver that counts none, at its last point only."""
        if math.isnan(work):
            return UNCOUNTED if part == 1.0 else 0.0
        return SHARE * work * part

    def _few(self, reads: float) -> float:
        """The passes that little data may get in all, as far as they read so many numbers."""
        return min(LITTLE, reads / self.reads_of_a_pass())

    def reads_of_a_pass(self) -> float:
        """The numbers that a pass reads: X twice, for each output of a sample, and those of a proximal step."""
        problem = self._problem
        outputs = max(math.prod(problem.output_shape) // problem.n, 1)
        step = getattr(problem.regularizer, "reads", math.prod)(problem.shape)
        return 2.0 * max(problem.X.nnz, 1) * outputs + step

    def _spend(self, w: np.ndarray, aim: Aim, end: float) -> None:
        """Offer the b of all methods until the aim is met, or `passes` have come to `end`."""
        for method in methods_for(self._problem, end - self.passes):
            left = end - self.passes
            if left >= SHORTEST and not self._is_met(aim):
                found = self.follow(method, w, aim, DENSE * left if method is newton.ascend else left)
                self._is_optimal = found and method is ascend_by_program

    def _is_met(self, aim: Aim) -> bool:
        """Whether D is enough, optimal, or so near to P* <= `_least` that the gap is nearly all of P(w) - P*."""
        dual = self._certifier.dual
        near = -math.inf < dual and self._least - dual <= aim.part * (aim.primal - dual)
        return self._is_optimal or dual >= aim.enough or (near and not dual < aim.ends <= self._least)

    def follow(self, method: Method, w: np.ndarray, aim: Aim, passes: float) -> bool:
        """Offer the b of a method until the aim is met, or it has taken so many passes; return whether it had any."""
        problem, known = self._problem, self._certifier.b
        start = np.zeros(problem.output_shape) if known is None else known
        end, products, asked, found = self.passes + passes, problem.X.passes, 0.0, False
        begun, limit = time.perf_counter(), {"seconds": self._left} if method in TIMED else {}
        if self._left <= 0.0 and limit:
            return False
        try:
            with np.errstate(all="ignore"):
                for b, model, more in method(problem, w.copy(), start, passes, **limit):
                    found = True
                    self._certifier.offer(b, problem)
                    self.passes += more
                    spent = self.passes + problem.X.passes - products
                    if spent >= LOOKS * asked:
                        asked = spent
                        if (P := problem.primal(model)) < self._least:
                            self._least, self._nearest = P, model.copy()
                    if self._is_met(aim) or spent >= end:
                        break
        except Exception as error:  # a plug-in's loss fails at what its solver does not ask
            self.fault = crashes.text_of(error)
        self.passes += problem.X.passes - products
        self.seconds += (took := time.perf_counter() - begun)
        if limit:
            self._left -= took
        return found
