"""Whether the theorem that a solver declares, its `bound`, lies above what it does."""

from functools import partial
from unittest import SkipTest

import numpy as np

from rrmbench.components import lacking
from rrmbench.extending import problems, variants
from rrmbench.extending.verdicts import Broken, located
from rrmbench.numerics.random import Rng
from rrmbench.problem.constants import NoTheorem, constants

PASSES = 60.0
SEEDS = 20  # of which the mean stands for the expectation
SPREADS = 4.0  # standard errors of this mean


def bound_holds(component):
    """P(w) - P(w*) is at most bound(constants, passes) where the theorem says something.

    On small problems of every kind with the defaults, and on the first with the `variants`.
    """
    reason, looked_at = "no small problem here has what it needs", False
    for where, values, solve, problem, (least, minimizer, greatest) in _cases(component):
        known, at = constants(problem, minimizer), component.told(component.bound_at, values)
        with located(where):
            try:
                places = at(known, PASSES) if at else None
                _holds(solve, problem, partial(solve.bound, known), places, least, greatest)
                looked_at = True
            except NoTheorem as no:
                reason = str(no)
    if not looked_at:
        raise SkipTest(reason)


def _cases(component):
    """Yield (where, parameters, Solver, Problem, its optimum) of the problems whose minimizer is known."""
    usual, *others = variants.built(component, component.solver)
    for at, (loss, psi) in enumerate(problems.taken_by(component.needs)):
        problem = problems.problem_of("dense rows", loss, psi)
        optimum = problems.optimum_of("dense rows", loss, psi)
        for values, solve in [usual, *(others if at == 0 else ())]:
            if optimum[1] is not None and not lacking(solve.needs, problem.traits):
                where = f"{component.name}{variants.shown(values)} on {loss}, {psi['name']}"
                yield where, values, solve, problem, optimum


def _holds(solve, problem, bound, places, least, greatest):
    """Of a randomized method the mean over seeds, by more than its own errors, stands for the expectation.

    places : the passes after which there has been an iterate that the theorem is about, or None for all iterates. Which
        of those so far it is nothing says: the best of them is no worse
    """
    bound(np.zeros(1))
    runs = [_run(solve, problem, seed) for seed in range(1 if solve.deterministic else SEEDS)]
    end = min(passes[-1] for passes, _ in runs)
    passes = runs[0][0] if places is None else places
    passes = passes[passes <= end]
    most = np.broadcast_to(np.asarray(bound(passes), dtype=float), passes.shape)
    away = np.array([_at(passes, *run, so_far=places is not None) for run in runs]) - least
    mean, error = away.mean(axis=0), away.std(axis=0) / np.sqrt(len(runs))
    slack = max(least - greatest, 0.0) + 1e-12 * (1.0 + abs(least))
    above = np.flatnonzero(~(mean - SPREADS * error <= most * (1.0 + 1e-9) + slack))
    if above.size:
        at = above[np.argmax(mean[above] - most[above])]
        of = "" if len(runs) == 1 else f" in the mean over {len(runs)} seeds"
        raise Broken(
            f"P(w) - P(w*) is {mean[at]:.4g}{of} after {passes[at]:g} passes, its bound there is {most[at]:.4g}",
            "bound(constants, passes) bounds P(w) - P(w*), in expectation; raise NoTheorem where it says nothing",
        )


def _at(places, passes, primal, so_far):
    """P(w) of the last iterates up to `places`, or the least `so_far`."""
    last = np.searchsorted(passes, places, side="right") - 1
    return (np.minimum.accumulate(primal) if so_far else primal)[last]


def _run(solve, problem, seed):
    """(passes, P(w)) of the iterates."""
    found = []
    for x in solve(problem, None, Rng(seed)):
        found.append((float(x.passes), problem.primal(x.w)))
        if not x.passes < PASSES:
            break
    return np.array(found).T
