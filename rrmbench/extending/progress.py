"""Whether a solver comes near the optimum of a tiny problem, or stands still away from it."""

import warnings
from unittest import SkipTest

import numpy as np

from rrmbench import registry
from rrmbench.bench.rules import ENDED
from rrmbench.components import lacking
from rrmbench.errors import RrmbenchError
from rrmbench.extending import problems
from rrmbench.extending.runs import first_iterates, measured
from rrmbench.extending.verdicts import Broken, Doubt

FIRST, LAST = 300.0, 1500.0  # passes
NEAR = 1e-5  # of the distance at the start: near enough not to be asked for more
SLOW = 0.5  # of it: what even slow methods get below
CLOSE = 0.03  # of it: what a method that smooths by a fixed amount gets below
LATE = 0.1  # of it: what the gap of a solver's own b is less than where w is near
STILL = 0.98  # of the distance after a third of the passes: what stands still there has more after all of them


def approaches(component, solve, kind, number):
    """P(w) - P(w*) falls on the problem of this number, and goes on falling."""
    loss, psi = problems.taken_by(component.needs)[number]
    p = problems.problem_of(kind, loss, psi)
    _falls(component, solve, p, problems.optimum_of(kind, loss, psi), (loss, psi["name"]))


# what reductions make of a problem -> (a reduction that does, the Problem that its solver sees, a hint)
REDUCED = {
    "a square around a centre": (
        {"name": "proximal_point"},
        lambda p: p.regularized(0.3, np.linspace(-2.0, 2.0, np.prod(p.shape)).reshape(p.shape)),
        "Psi has (kappa/2) ||w - center||^2, too: problem.prox, problem.strong_convexity, problem.center_term()",
    ),
    "smoothed losses": (
        {"name": "smooth", "mu": 1.0},
        lambda p: p.smoothed(1.0),
        "losses are smoothed by problem.mu: problem.loss_dual, problem.smoothness, dual_point(z, y, problem.mu)",
    ),
}


def approaches_reduced(component, solve, what):
    """As `approaches`, on the first problem as reductions change it."""
    reduction, change, hint = REDUCED[what]
    try:
        registry.reduce_solver(solve, reduction)
    except RrmbenchError as error:
        raise SkipTest(str(error)) from None
    for loss, psi in problems.taken_by(component.needs):
        p = change(problems.problem_of("dense rows", loss, psi))
        if not lacking(solve.needs, p.traits):
            try:
                _falls(component, solve, p, problems.optimum(p), (loss, psi["name"]))
            except Broken as broken:
                raise Broken(f"{loss}, {psi['name']}: {broken.text}", hint) from None
            return
    raise SkipTest("no small problem here has what it needs when a reduction has changed it")


def _falls(component, solve, p, optimum, names):
    least, _, greatest = optimum
    if not solve.counts_passes:
        _measure_black_box(solve, p, least, greatest)
        return
    for passes in (FIRST, LAST):
        trace, rows = measured(solve, p, passes, names, gap=1e-9)
        if trace.status == "diverged":
            raise Broken(trace.reason, _needs_hint(component, p, "a step that is too long"))
        away = np.minimum.accumulate([row["primal"] for row in rows]) - greatest
        first, last, width = away[0], away[-1], max(least - greatest, 0.0) + 1e-12
        if last <= NEAR * first + 2.0 * width or trace.reason == "relative_gap":
            _look_at_b(p, trace.last, LATE * first)
            return
        if trace.reason == ENDED:
            raise Broken(
                f"it stopped by itself after {rows[-1]['passes']:g} passes, P(w) - P(w*) is {last:.3g}, {first:.3g} at "
                "the start",
                "a solver goes on for ever: while True",
            )
        third = away[np.searchsorted([row["passes"] for row in rows], rows[-1]["passes"] / 3.0)]
        smooths = "smooth" not in p.traits and last <= CLOSE * first  # by itself, by a fixed amount
        if last > STILL * third + width and _has_settled(rows) and not smooths:
            raise Broken(
                f"it stands still: P(w) - P(w*) is {last:.3g} after {rows[-1]['passes']:g} passes and was {third:.3g} "
                f"after a third of them, {first:.3g} at the start",
                _needs_hint(component, p, "a gradient, threshold or scaling that is wrong moves the fixed point"),
            )
    if last > SLOW * first + width:
        raise Broken(
            f"P(w) - P(w*) is {last:.3g} after {rows[-1]['passes']:g} passes, {first:.3g} at the start",
            _needs_hint(component, p, "steps that are too short or not towards the optimum"),
        )
    if last > STILL * third + width:
        text = f"P(w) - P(w*) no longer falls: {last:.3g} after {rows[-1]['passes']:g} passes, {first:.3g} at the start"
        warnings.warn(
            Doubt(
                f"{text}; steps of a stochastic method must get shorter, or their noise smaller; a fixed smoothing is "
                "a bias"
            ),
            stacklevel=2,
        )


def _look_at_b(p, x, late):
    """A Doubt where the solver's own b, of a w near the optimum, has a gap above `late`, and phi'(x_i.w) has not."""
    if x.b is None or not {"smooth", "strongly_convex"} <= p.traits:
        return
    own, other = p.gap(x.w, x.b), p.gap(x.w, p.loss_dual(p.X.forward(x.w)))
    if own > late and not other > late:
        text = f"w is near the optimum and its b is not: their gap is {own:.3g}, with b_i = phi'(x_i.w) {other:.3g}"
        warnings.warn(Doubt(f"{text}; another sign, a factor as 1/n? b = None where there is none"), stacklevel=2)


def _has_settled(rows):
    """Whether P hardly changes in the last third, as at a fixed point; noise would move it."""
    late = np.array([row["primal"] for row in rows])[2 * len(rows) // 3 :]
    return float(np.ptp(late)) <= 1e-6 * (1.0 + float(np.abs(late).max()))


def _needs_hint(component, p, usual):
    """The usual mistake, and the traits that this problem lacks and the solver does not say that it needs."""
    lacks = sorted(lacking({"smooth", "strongly_convex"} - set(component.needs), p.traits))
    return f"{usual}; this problem is not {' and not '.join(lacks)}: is that in needs?" if lacks else usual


def _measure_black_box(solve, p, least, greatest):
    """The last of a few calls of a library with growing budgets."""
    last = first_iterates(solve, p, 12)[-1]
    away, first = p.primal(last.w) - greatest, p.primal(np.zeros(p.shape)) - greatest
    if not away <= 1e-2 * first + 2.0 * max(least - greatest, 0.0):
        raise Broken(f"P(w) - P(w*) is {away:.3g} after its last call, {first:.3g} at 0")
