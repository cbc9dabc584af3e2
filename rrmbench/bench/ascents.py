"""The methods that `polishing` takes better bounds from: which there are for a problem, and those that are solvers.

A method is a function f(problem, w, b, passes) that yields a vector b, which may bound P better than the given one, a
model that is near the optimum as far as b is, and the passes since the last ones that are no products with `problem.X`.
It gets the model w and the best b so far, changes neither, draws from a fixed stream of random numbers, and takes about
`passes` passes at most.

Prox-SDCA is the method where the data are rows. It increases the dual of

    P(w) + (sigma/2) ||w - c||^2

whose b needs little scaling to bound P, since the square vanishes near c; c is w at first, and then follows the primal
point of b, as in the proximal point method, and ahead of it where s is small beside sigma, as in its accelerated form
[Guler 1991; Lin, Mairal and Harchaoui 2015]. Where losses are smooth and s = 0, `working_sets` brings w nearer to the
optimum before; for the squared loss and few features systems of equations do: `rrmbench.bench.newton`. Other
regularizers and biases have `rrmbench.bench.dual_ascent` and then `rrmbench.bench.dual_splitting`, max-margin Markov
networks `bcfw`, other losses whose conjugate has no Euclidean proximal step cutting planes, support vector machines
with a minimized bias `apcg_bias` and with a budget `apcg_budget`, the others `rrmbench.bench.dual_ascent` alone. Small
linear programs are left to HiGHS, whose bound is the optimum.
"""

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator

import numpy as np

from rrmbench import registry
from rrmbench.bench import dual_ascent, dual_splitting, newton
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.solvers.coordinate.working_sets import working_sets
from rrmbench.solvers.peers import clarabel, highs
from rrmbench.solvers.sdca.apcg_bias import apcg_bias
from rrmbench.solvers.sdca.apcg_bias import is_best_for as is_best_for_bias
from rrmbench.solvers.sdca.apcg_budget import apcg_budget
from rrmbench.solvers.sdca.apcg_budget import is_best_for as is_best_for_budget
from rrmbench.solvers.sdca.bcfw import bcfw
from rrmbench.solvers.sdca.output import DualState
from rrmbench.solvers.sdca.steps import option_of

DENSE = 2.0  # times its passes for systems of equations, all or nothing: dense blocks are read four times as fast
STRENGTHS = 0.1, 0.3  # the least and the greatest sigma over L/n, L the mean smoothness of a sample
PASSES = 10.0  # sigma over L/n, times the passes there are: greater is faster, smaller needs less scaling
APART = 1.0  # passes from one bound to the next, where every iterate has another b, as a bound costs half a pass
NEARER = 0.5  # of the passes, in which w is brought nearer to the optimum of smooth losses where s = 0
ALONE = 0.03  # s over L/n, from which losses with kinks need no square
MANY = 15.0  # passes, from which acceleration pays
AHEAD = 0.5  # how far c is ahead of the primal point, over its last way, where this sigma is greater than s
FIRST, FIRST_SMOOTH = 0.5, 0.7  # of the passes, which dual ascent has before splitting
BETWEEN = 3  # passes of Prox-SDCA from one bound to the next, since a bound costs half a pass
ROUNDS = 2.0  # passes of `bcfw` over S/(s n), with fewer cutting planes are nearer
STEP = 2.0  # passes of a step of cutting planes, with its bound
SLIGHT = 0.01  # of the gap, which its first square is at the model, where Psi is not strongly convex
PROGRAMS = ((MANY, 1.5e5), (500.0, 1e6))  # passes, and entries times kinks that HiGHS then has, in 0.3 s and in 3 s
CONES = ((MANY, 4e6), (1000.0, 4e7))  # the same for Clarabel, entries times min(n, d), in 0.3 s and in 2 s
SECONDS = 20.0  # of a run, for programs that take longer than any measured, and for planes of so many features

Found = tuple[np.ndarray, np.ndarray, float]
Method = Callable[..., Iterator[Found]]


def methods_for(problem: Problem, passes: float) -> list[Method]:
    """The methods for a problem of its traits that so many passes are enough for, the best first."""
    if problem.is_unregularized:
        return []
    found: list[Method] = []
    if {"piecewise_linear", "polyhedral"} <= problem.traits:
        size = highs.entries(problem)
        if any(passes >= least and size <= entries for least, entries in PROGRAMS):
            found.append(ascend_by_program)  # where it fails, or its time is out, the others have their turn
    if newton.fits(problem, DENSE * passes):
        found.append(newton.ascend)
    if {"rows", "coordinate", "separable"} <= problem.traits:
        found.append(ascend_by_rows)
        return found
    if any(passes >= least and _fits_clarabel(problem, most) for least, most in CONES):
        found.append(ascend_by_cones)
    if dual_splitting.fits(problem):
        found += [begin_by_dual_ascent] if passes >= MANY else []
        found.append(dual_splitting.ascend)
    else:
        if is_best_for_bias(problem.traits) and passes >= MANY:
            found.append(ascend_by_apcg)
        if is_best_for_budget(problem.traits) and passes >= MANY:
            found.append(ascend_by_threshold)
        if _labellings_fit(problem, passes):
            return [ascend_by_labellings]
        no_stage = not {"smooth", "conjugate_prox"} & problem.traits  # of `rrmbench.bench.dual_ascent`
        found.append(ascend_by_planes if no_stage else dual_ascent.ascend)
    return found


def _fits_clarabel(problem: Problem, most: float) -> bool:
    n, entries = problem.n, problem.X.nnz * math.prod(problem.output_shape[1:])
    if "labellings" in problem.traits:
        n, entries = math.prod(problem.output_shape), highs.entries(problem)
    return clarabel.fits(problem.traits, n, math.prod(problem.shape), entries, most)


def _labellings_fit(problem: Problem, passes: float) -> bool:
    """Whether so many passes are enough for `bcfw`, which begins anew: those of its rate, and `MANY`."""
    if not {"labellings", "Zero", "strongly_convex"} <= problem.traits:
        return False
    return passes >= max(MANY, ROUNDS * problem.losses.S / (problem.strong_convexity * problem.n))


def ascend_by_rows(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[Found]:
    """Prox-SDCA on P + (sigma/2) ||. - c||^2, where c is w, and then that of `AHEAD` after each pass.

    It starts from the better of b and phi'(X w), for this problem, and yields b after every `BETWEEN` passes. Where
    losses have kinks, s is not much below L/n and there are `MANY` passes, it is `apcg_shrinking` without a square;
    where they are smooth and s = 0, w is first brought nearer to the optimum by `working_sets`.
    """
    rng, s = Rng(0), problem.strong_convexity
    if {"smooth", "scalar"} <= problem.traits and s == 0.0 and passes >= MANY:
        w, taken = yield from _nearer(problem, w, NEARER * passes)
        passes -= taken
    z = problem.X.forward(w)
    strength = float(np.clip(PASSES / passes, *STRENGTHS))
    L = dual_splitting.mean_smoothness(problem, w, z) / problem.n
    sigma = max(strength * L, s)
    if not 0.0 < sigma < math.inf:
        return
    kinked = "scalar" in problem.traits and "smooth" not in problem.traits
    alone = kinked and s >= ALONE * L and passes >= MANY
    stage, spent = problem if alone else problem.regularized(sigma, w), 2.0
    b = max(b, problem.loss_dual(z), key=lambda candidate: _finite(stage.dual_value(candidate)))
    if alone:
        yield from ascend_by_apcg(problem, w, b, passes - spent)
        return
    ahead = AHEAD if sigma > s else 0.0
    state = DualState(stage, option_of(stage, "I"), Iterate(w, b))
    while spent + BETWEEN + 0.5 <= passes:
        for _ in range(BETWEEN):
            state.run(rng.epoch(problem.n))
            last, w = w, state.present()[0].copy()
            before, stage = stage, problem.regularized(sigma, w + ahead * (w - last))
            state.u += stage.shift() - before.shift()  # so that no product X^T b is needed
        yield state.b, w, float(BETWEEN)
        spent += BETWEEN + 0.5


def _nearer(problem: Problem, w: np.ndarray, passes: float) -> Generator[Found, None, tuple[np.ndarray, float]]:
    """The derivatives of the losses on the way of `working_sets` from w; returns its last (model, passes).

    There are new ones wherever b is another array, and where sweeps change it in place, after a pass or more.
    """
    view, known, at, before, bounds = problem.counted(), None, 0.0, 0.0, 0
    for x in working_sets(view, Iterate(w), None):
        if x.passes + 0.5 * bounds > passes:
            break
        steps = x.passes - view.X.passes  # products with X are counted where they are made
        if x.b is not known or (x.passes - at >= APART and not np.array_equal(x.w, w)):
            w, known, at, bounds = x.w.copy(), x.b, x.passes, bounds + 1
            yield x.b, w, steps - before
            before = steps
    problem.X.passes += x.passes - view.X.passes - before
    return x.w.copy(), x.passes + 0.5 * bounds


def begin_by_dual_ascent(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[Found]:
    """`rrmbench.bench.dual_ascent` with a part of the passes, before `dual_splitting`, which may stand still alone."""
    return dual_ascent.ascend(problem, w, b, (FIRST_SMOOTH if "smooth" in problem.traits else FIRST) * passes)


def ascend_by_program(
    problem: Problem, w: np.ndarray, b: np.ndarray, passes: float, seconds: float = SECONDS
) -> Iterator[Found]:
    """The b of HiGHS."""
    return _by_library(highs.highs(problem, None, None, time_limit=seconds))


def ascend_by_cones(
    problem: Problem, w: np.ndarray, b: np.ndarray, passes: float, seconds: float = SECONDS
) -> Iterator[Found]:
    """The b of Clarabel."""
    return _by_library(clarabel.clarabel(problem, None, None, time_limit=seconds))


def _by_library(iterates: Iterable[Iterate]) -> Iterator[Found]:
    """The b of a library, which counts no passes."""
    return ((x.b, x.w, 0.0) for x in iterates if x.b is not None)


def ascend_by_planes(
    problem: Problem, w: np.ndarray, b: np.ndarray, passes: float, seconds: float = SECONDS
) -> Iterator[Found]:
    """The best mixtures of b, phi'(X w) and what cutting planes meet from there, whose passes are products with X.

    Where Psi is not strongly convex, they are on P + (sigma/2) ||. - c||^2 for c = w at first, by `proximal_point`.
    Newton steps for their weights may take far longer than the products, so `seconds` end them, too.
    """
    begun = time.perf_counter()
    around: str | dict[str, object] = "none"
    if "strongly_convex" not in problem.traits:
        around = {"name": "proximal_point", "sigma": _slight_square(problem, w, b)}
        passes -= 1.0
    known, bounds = b, 0
    for x in registry.build_solver("cutting_planes", around)(problem, Iterate(w, b), None):
        if x.b is not None and x.b is not known:
            known, bounds = x.b, bounds + 1
            yield known, x.w, 0.0
        if x.passes + 0.5 * bounds + STEP > passes or time.perf_counter() - begun > seconds:
            return


def _slight_square(problem: Problem, w: np.ndarray, b: np.ndarray) -> float | str:
    """sigma = `SLIGHT` gap/||w||^2, from w = 0 with the length of a way down by the gap; takes a pass."""
    gap, length = problem.gap(w, b), float(np.linalg.norm(w))
    if length == 0.0:
        slope = float(np.linalg.norm(problem.v(problem.loss_dual(problem.outputs(w)))))
        length = gap / slope if slope > 0.0 else 0.0
    sigma = SLIGHT * gap / length**2 if 0.0 < length < math.inf else 0.0
    return sigma if 0.0 < sigma < math.inf else "auto"


def ascend_by_apcg(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[Found]:
    """The b of `apcg_bias`, or of `apcg_shrinking` without a bias, from w and b."""
    return _by_visits(problem, apcg_bias, Iterate(w, b), passes)


def ascend_by_threshold(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[Found]:
    """The b of `apcg_budget` from w and b."""
    return _by_visits(problem, apcg_budget, Iterate(w, b), passes)


def ascend_by_labellings(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[Found]:
    """The b of `bcfw`, from the beginning."""
    return _by_visits(problem, bcfw, None, passes)


def _by_visits(
    problem: Problem, solve: Callable[..., Iterator[Iterate]], start: Iterate | None, passes: float
) -> Iterator[Found]:
    """The b of a method that visits samples, one after every `BETWEEN` passes."""
    view, at, before = problem.counted(), 0.0, 0.0
    for x in solve(view, start, Rng(0)):
        spent = x.passes + x.checks
        visits = spent - view.X.passes  # products with X are counted where they are made
        if spent + BETWEEN + 0.5 * spent / BETWEEN > passes:
            problem.X.passes += visits - before
            return
        if spent - at >= BETWEEN:
            yield x.b, x.w, visits - before
            at, before = spent, visits


TIMED = ascend_by_program, ascend_by_cones, ascend_by_planes  # which passes do not bound, and `SECONDS` of a run do


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -math.inf
