"""The theorems' curves: what the papers prove of a solver on the very problem of a run, from its measured constants."""

import math
from functools import lru_cache

import numpy as np

from rrmbench import registry
from rrmbench.bench import identity
from rrmbench.bench.problems import problem_of
from rrmbench.errors import RrmbenchError
from rrmbench.problem.constants import NoTheorem, constants

LONGEST = 1000  # epochs of a reduction that are looked at


def bound_curve(run, experiment):
    """Return (passes, bound of P(w) - P*) proven for a run, arrays, or None for a method without a theorem.

    For a solver without a reduction, its theorem at the passes of the trace. For AdaptReg, AdaptSmooth and the joint
    form with given starting values and `inner: theory`, their theorem at the ends of their epochs, which last as long
    as the solver's theorem says it takes to quarter P(w) - P(w*), the paper's HOOD; up to the first epoch that the
    solver's theorem is not about. For the proximal point method with `output: epoch`, its theorem at the points of the
    trace, after as many epochs as the objective has changed: one that no point of the trace shows is not counted, so
    the bound is at least that of the theorem. The distance ||w0 - w*||^2 is to the model of the reference.

    Raises NoTheorem where the theorem is not about this run.
    """
    if run.reference is None or "primal_run" not in run.reference:
        return None
    spec = run.result.spec
    problem, known = _constants(experiment, run.reference["primal_run"])
    solver, parameters = registry.from_mapping("solver", spec["solver"])
    reduction, values = registry.from_mapping("reduction", spec["reduction"])
    plain, quarters = reduction.name == "none", "inner" in reduction.parameters
    if (solver.bound if plain else reduction.bound and (not quarters or solver.passes_to_quarter)) is None:
        return None
    if isinstance(spec["reduction"], dict) and "inside" in spec["reduction"]:
        raise NoTheorem(reduction.name, "no theorem is about nested reductions")
    passes = run.column("passes")
    if plain:
        return _positive(passes, proven(solver, known, passes, parameters))
    values = {name: values.get(name, parameter.default) for name, parameter in reduction.parameters.items()}
    if not quarters:
        return _positive(*_after_measured_epochs(run, solver, reduction, values, known))
    start = _starting_values(reduction, values)
    if "dual" in solver.gives:
        reason = f"the theorem needs a solver that quarters P(w) - P(w*) (HOOD), {solver.name} quarters D(b*) - D(b)"
        raise NoTheorem(reduction.name, reason)
    ends = _epoch_ends(problem, solver, parameters, passes.max(initial=0.0), **start)
    return _positive(ends, reduction.bound(known, np.arange(1, len(ends) + 1), **start))


def _starting_values(reduction, values):
    """sigma and mu of an adaptive reduction; NoTheorem where its theorem is not about these parameters."""
    if values["inner"] != "theory":
        raise NoTheorem(reduction.name, "the theorem is about inner: theory", inner=values["inner"])
    return _given(reduction, {key: values[key] for key in ("sigma", "mu") if key in values})


def _given(reduction, start):
    if "auto" in start.values():
        raise NoTheorem(reduction.name, "the bound needs given values, not auto", **start)
    return start


def _after_measured_epochs(run, solver, reduction, values, known):
    """(passes, bound) where at least one epoch is over; NoTheorem where the theorem is not about the run."""
    if "dual" not in solver.gives:
        raise NoTheorem(reduction.name, f"the theorem needs a solver whose w belongs to its b, {solver.name} is none")
    if not {"output", "sigma", "decay"} <= values.keys():
        raise NoTheorem(reduction.name, "drawn are theorems of reductions with inner, or with output, sigma and decay")
    if values["output"] != "epoch":
        raise NoTheorem(reduction.name, "the theorem is about output: epoch", output=values["output"])
    given = _given(reduction, {key: values[key] for key in ("sigma", "decay")})
    epochs = np.cumsum(np.diff(run.column("objective"), prepend=run.column("objective")[:1]) != 0.0)
    over = epochs > 0
    if not over.any():
        return np.zeros(0), np.zeros(0)
    return run.column("passes")[over], reduction.bound(known, epochs[over], **given)


def proven(solver, constants, passes, given):
    """The theorem of a solver (a Component) at arrays of passes, with the parameters `given` or their defaults."""
    return solver.solver(given).bound(constants, passes)


def _epoch_ends(problem, solver, parameters, last, sigma=0.0, mu=0.0):
    """The passes at which the epochs end by theory, up to `last`; NoTheorem where the first one is not covered."""
    center, total, ends = problem.start(), 0.0, []
    for epoch in range(LONGEST):
        stage = problem.smoothed(0.5**epoch * mu).regularized(0.5**epoch * sigma, center)
        if stage.strong_convexity == 0.0:
            raise NoTheorem(solver.name, "what it takes to quarter P(w) - P(w*) is known under strong convexity")
        try:
            if solver.bound is not None:
                proven(solver, constants(stage), np.zeros(1), parameters)
            # the solver ends it at an iterate: after whole passes, or half a pass more where it starts with X^T b
            total += math.ceil(solver.solver(parameters).passes_to_quarter(stage) + 0.5)
        except NoTheorem:
            if epoch == 0:
                raise
            break
        if total > last:
            break
        ends.append(total)
    return np.array(ends)


def _positive(passes, bound):
    bound = np.broadcast_to(np.asarray(bound, dtype=float), np.shape(passes))
    shown = np.isfinite(bound) & (bound > 0.0)
    return (np.asarray(passes)[shown], bound[shown]) if shown.any() else None


@lru_cache(maxsize=32)
def _constants(experiment, primal_run):
    best = experiment.read(primal_run)
    problem = problem_of(best.spec, identity.data_of(best.spec))
    if best.w is None or best.w.shape != problem.shape:
        raise RrmbenchError(f"run {primal_run} of the reference has no w of shape {problem.shape}")
    return problem, constants(problem, best.w)
