"""The checks of a solver: what its iterates are, what it counts, what it leaves alone, and where it goes."""

import math
import random
import threading
import warnings
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, islice
from unittest import SkipTest

import numpy as np
from numba import _helperlib

from rrmbench import plugin_files
from rrmbench.components import alternatives, lacking
from rrmbench.errors import nearest, shown
from rrmbench.extending import problems, theorems, variants
from rrmbench.extending.progress import REDUCED, approaches, approaches_reduced
from rrmbench.extending.runs import first_iterates, measured
from rrmbench.extending.touched import Touched, kernels_in_memory
from rrmbench.extending.verdicts import Broken, Doubt, located
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem

PASSES = 12.0  # of a run whose iterates are looked at one by one
MOST = 200  # iterates of such a run
OF_ITS_OWN = "draw from rng alone, not from numpy.random or random, and keep nothing from one run to the next"
SHARED = "random", "numpy.random"
SKIPS = 1.3  # times what was touched: steps that do not move, rare for smooth losses, may leave out their update
COUNTING = "a product with X is half a pass, one with X^T too, n steps on single rows are one; see docs/timing.md"


def named_checks(component):
    """(name, function) of each check of a solver."""
    yield "its form", lambda: form(component)
    yield "every iterate", lambda: each_run(component, iterates)
    yield "passes are what was touched", lambda: each_run(component, counted)
    yield "the seed", lambda: each_run(component, seeded)
    if component.plugin:  # a file that can be executed anew
        yield "nothing is kept from another problem", lambda: forgets(component)
    yield "data and start are left alone", lambda: each_run(component, leaves_alone)
    yield "it goes on from a start", lambda: each_run(component, goes_on)
    yield "rows without entries", lambda: on_empty_rows(component)
    if "dual" in component.gives:
        yield 'gives "dual"', lambda: each_run(component, is_pair)
    if "gap" in component.gives:
        yield 'gives "gap"', lambda: each_run(component, has_objectives)
    for number, (loss, psi) in enumerate(problems.taken_by(component.needs)):
        for kind in ("dense rows", "sparse rows"):
            label = f"it reaches the optimum: {loss}, {psi['name']}, {kind}"
            yield label, lambda kind=kind, at=number: approaches(component, _plain(component), kind, at)
    for what in REDUCED:
        label = f"it minimizes what reductions make of a problem: {what}"
        yield label, lambda what=what: approaches_reduced(component, _plain(component), what)
    if component.bound is not None:
        yield "its bound", lambda: theorems.bound_holds(component)


def form(component):
    """What it needs are traits, and some problem has them all."""
    variants.tell_refused(component, component.solver)
    traits = problems.known_traits()
    for need in component.needs:
        for word in chain.from_iterable(alternatives(need)):
            if word not in traits:
                raise Broken(
                    f"needs: found '{word}', which no problem has{nearest(word, traits)}",
                    f"traits: {', '.join(traits)}; the name of a class of your losses and regularizers is one where "
                    "this file has or imports them",
                )
    if not problems.taken_by(component.needs):
        raise SkipTest(f"no small problem here has {', '.join(sorted(component.needs))}: only its form was looked at")


def _plain(component):
    return component.solver(variants.defaults(component))


def each_run(component, check):
    """check(solve, problem) for the variants of the parameters on dense and sparse rows of the first problem taken."""
    taken = problems.taken_by(component.needs)
    if not taken:
        raise SkipTest("no small problem here has what it needs")
    loss, psi = taken[0]
    for values, solve in variants.built(component, component.solver):
        for kind in ("dense rows", "sparse rows"):
            p = problems.problem_of(kind, loss, psi)
            if not lacking(solve.needs, p.traits):
                with located(f"{component.name}{variants.shown(values)} on {loss}, {psi['name']}, {kind}"):
                    check(solve, p)


def iterates(solve, problem):
    """Finite float arrays of the right shapes, counts that grow, a first one for nothing, one per pass; no end."""
    first = next(iter(solve(problem, None, Rng(0))), None)
    if first is not None and getattr(first, "passes", 0.0) > 0.0:
        raise Broken(
            f"the first iterate counts {first.passes:g} passes", "yield the start before any work: Iterate(w), 0 passes"
        )
    trace, rows = measured(solve, problem, PASSES, every=0.0)
    if trace.status == "diverged":
        raise Broken(trace.reason, "a step that is too long, or a division by 0")
    before, begun = set(threading.enumerate()), set()
    for x in islice(solve(problem, None, Rng(0)), len(rows)):
        begun |= set(threading.enumerate()) - before
        if x.b is not None and not np.isfinite(x.b).all():
            raise Broken(f"b is not finite after {x.passes:g} passes, though w is", "b = None where there is none")
    if begun:
        warnings.warn(
            Doubt("it yields while a thread of its own runs: no clock sees what that does meanwhile"), stacklevel=2
        )
    if trace.reason == "ended" and rows[-1]["gap"] > 1e-12:
        raise Broken(
            f"it stopped by itself after {rows[-1]['passes']:g} passes", "a solver goes on for ever: while True"
        )
    if solve.counts_passes:
        steps = np.diff([row["passes"] + row["checks"] for row in rows])
        longest = max(np.diff([row["passes"] for row in rows]), default=0.0)
        if longest > 1.0 + 1e-9:
            raise Broken(
                f"{longest:g} passes between two iterates, at most one is allowed", "yield at least once per pass"
            )
        if not steps.any():
            raise Broken("it counts no work at all", "Iterate(w, b, passes)")


def counted(solve, problem):
    """Never less than was touched at any iterate; more only where products with 0 or steps that do not move are."""
    if not solve.counts_passes:
        raise SkipTest("it counts no passes: @solver(counts_passes=False)")
    start, skips = None, SKIPS if "smooth" in problem.traits else 2.0 * SKIPS
    with kernels_in_memory():
        for _ in range(2):
            X, call, touched = Touched(problem.X), 0.0, 0.0
            for x in islice(solve(replace(problem, X=X), start, Rng(0)), MOST):
                call, touched = touched if x.restarted else call, X.passes
                _compare(x, X, touched - call, skips)
                if x.passes >= 1.0 and start is None:
                    start = x.copied()._replace(passes=0.0, checks=0.0)
                if x.passes + x.checks > PASSES:
                    break


def _compare(x, X, touched, skips):
    """Broken where fewer passes are counted than were touched, or far more.

    touched : the passes since the start, or of the one call that a `restarted` iterate is of, whose time it has
    """
    found, free = x.passes + x.checks, X.zeros / 2.0
    text = (
        f"it counts {found:g} passes where it has touched {touched:.6g}{' since it restarted' * x.restarted}: in all "
        f"{X.products} products, {X.zeros} of them with 0, and {X.reads[0]:,} entries of rows"
    )
    most = touched if X.reads[0] == 0 else skips * touched
    if found < touched - 1e-9 or found > most + free + 1e-9:
        raise Broken(text, COUNTING)
    if skips == SKIPS and found > 1.05 * touched + free and found > PASSES:
        warnings.warn(Doubt(f"{text}; right where steps that do not move leave out their update"), stacklevel=2)


def seeded(solve, problem):
    """The same seed gives the same bits; if steps draw random numbers, another seed gives other iterates."""
    runs, drawn, left = [], False, []
    for seed in (3, 3, 4):
        random.random(), np.random.random()  # noqa: NPY002 - what all code shares is elsewhere at the start of each run
        rng, run, states = Rng(seed), [], []
        for x in islice(solve(problem, None, rng), 40 if solve.counts_passes else 6):
            run.append((x.w.tobytes(), b"" if x.b is None else x.b.tobytes()))
            states.append((int(rng.state[0]), _state_of_kernels()))
        runs.append(run)
        left.append(states_of_all())
        drawn = len(set(states[1:])) > 1  # not in the set-up alone, as a bound of ||X|| may be
    if runs[0] != runs[1]:
        raise Broken("two runs with the same seed differ", OF_ITS_OWN)
    for of, first, _, last in zip(SHARED, *left, strict=True):
        if first == last:
            raise Broken(f"it seeds the random numbers of {of}, which all code shares, whatever its seed", OF_ITS_OWN)
    if drawn and runs[0] == runs[2] and len(set(runs[0])) > 3:
        raise Broken("another seed gives the same iterates, though random numbers are drawn", "use what rng gives")


def states_of_all():
    """The states of the random numbers of the modules `SHARED`."""
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 - whether it is seeded is the question
    return random.getstate(), (state["key"].tobytes(), state["pos"])


def _state_of_kernels():
    """The state of the random numbers that `numpy.random` draws in compiled code, which are not those of Python's."""
    place, words = _helperlib.rnd_get_state(_helperlib.rnd_get_np_state_ptr())
    return place, *words


def forgets(component):
    """After a problem of the same shape its bits are those that a second execution of its file gives at once.

    Modules that the file imports are not executed anew.
    """
    for loss, psi in problems.taken_by(component.needs, most=1):
        for kind in ("dense rows", "sparse rows"):
            p = problems.problem_of(kind, loss, psi)
            solve = _plain(component)
            if lacking(solve.needs, p.traits):
                continue
            other = Problem(3.0 * problems.DATA[kind]()[::-1], p.y, loss, psi)
            first_iterates(solve, p, 20)
            after = [x.w.tobytes() for x in first_iterates(solve, other, 20)]
            alone = _anew(component, other)
            if after == alone:
                continue
            where = f"on {loss}, {psi['name']}, {kind}"
            if alone != _anew(component, other):
                raise Broken(
                    f"{where} two executions of its file give two runs with the same seed that differ", OF_ITS_OWN
                )
            raise Broken(
                f"{where} its iterates are others after those of another problem",
                "keep nothing outside of the function: a run begins with a few rows, to compile, off the clock",
            )


def _anew(component, problem):
    """The bits of the first iterates on a problem of the solver that an execution of its file makes for them."""
    with ExitStack() as stack:
        try:
            new = stack.enter_context(plugin_files.executed_anew(component))
        except Exception as error:
            raise SkipTest(f"its file cannot be executed a second time: {error}") from None
        return [x.w.tobytes() for x in first_iterates(_plain(new), problem, 20)]


def leaves_alone(solve, problem):
    """Data, labels and the start stay as they are, and what is yielded is not the start itself."""
    start = first_iterates(solve, problem, 3)[-1]._replace(passes=0.0, checks=0.0)
    kept = start.copied()
    center = np.full(problem.shape, 0.1)
    p = problem.regularized(0.3, center)
    before = [part.tobytes() for part in _parts(p)]
    for x in islice(solve(p, start, Rng(0)), 8):
        if np.shares_memory(x.w, start.w) or (
            x.b is not None and start.b is not None and np.shares_memory(x.b, start.b)
        ):
            raise Broken(
                "it yields an array of the start itself", "w = problem.start(start) is a new array; copy start.b"
            )
    if not np.array_equal(start.w, kept.w, equal_nan=True) or (
        start.b is not None and not np.array_equal(start.b, kept.b, equal_nan=True)
    ):
        raise Broken("it changes the start that it is given", "w = problem.start(start) is a new array; copy start.b")
    if [part.tobytes() for part in _parts(p)] != before:
        raise Broken("it changes the problem's data, labels or centre")


def _parts(p):
    rows = list(p.X.rows) if hasattr(p.X, "rows") else []
    return [*rows, p.y, p.center]


def goes_on(solve, problem):
    """From an Iterate that it is given it begins there, at 0 passes or what its products cost."""
    start = first_iterates(solve, problem, 12)[-1]._replace(passes=0.0, checks=0.0)
    first = first_iterates(solve, problem, 1, start)[0]
    if first.passes > 1.0:
        raise Broken(
            f"with a start, its first iterate counts {first.passes:g} passes", "passes begin at 0 in each call"
        )
    if not np.allclose(first.w, start.w, rtol=0.0, atol=1e-9 * (1.0 + np.abs(start.w).max())):
        raise Broken(
            f"with a start, its first iterate is {np.abs(first.w - start.w).max():.3g} away from it",
            "begin with w = problem.start(start); a method on the dual with start.b",
        )


def on_empty_rows(component):
    """Rows and columns without entries, and a single sample, are no division by 0."""
    solve = _plain(component)
    for loss, psi in problems.taken_by(component.needs, most=1):
        whole = problems.problem_of("rows without entries", loss, psi)
        for rows in (5, 1):
            p = whole if rows == 5 else replace(whole, X=whole.X.head(rows), y=_head(whole.y, rows))
            for x in first_iterates(solve, p, 10):
                if not (np.isfinite(x.w).all() and (x.b is None or np.isfinite(x.b).all())):
                    what = "rows without entries" if rows == 5 else "a single row without entries"
                    raise Broken(f"{loss}, {psi['name']}: on {what} w or b is not finite", "||x_i|| or R may be 0")


def _head(y, rows):
    head = y[:rows].copy()
    head.flags.writeable = False
    return head


def is_pair(solve, problem):
    """w = grad Psi*(-(1/n) X^T b) in each iterate that has a b."""
    if "dual" not in solve.gives:
        return
    found = [x for x in first_iterates(solve, problem, 40) if x.b is not None]  # before an epoch ends there may be none
    if not found:
        raise Broken('gives={"dual"} promises a b, found None in 40 iterates')
    for x in found:
        w = problem.primal_point(problem.v(x.b))
        if not np.allclose(x.w, w, rtol=0.0, atol=1e-8 * (1.0 + np.abs(w).max())):
            raise Broken(
                f'gives={{"dual"}} promises w = grad Psi*(-(1/n) X^T b); after {x.passes:g} passes w is '
                f"{np.abs(x.w - w).max():.3g} away from it"
            )


def has_objectives(solve, problem):
    """objectives() is (P(w), D(b)) where it is there."""
    for x in islice(solve(problem, None, Rng(0)), 10):
        if "gap" in solve.gives and x.objectives is not None:
            if not callable(x.objectives):
                raise Broken(
                    f"objectives is {shown(x.objectives)}, not a function",
                    "Iterate(w, b, passes, objectives=lambda: (P, D)), which is called where they are needed",
                )
            primal, dual = x.objectives()
            if not math.isclose(primal, problem.primal(x.w), rel_tol=1e-8, abs_tol=1e-10) or dual > primal + 1e-9:
                raise Broken(f"objectives() = ({primal:.8g}, {dual:.8g}), P(w) = {problem.primal(x.w):.8g}")
