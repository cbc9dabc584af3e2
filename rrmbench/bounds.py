"""The theorems' curves: what the papers prove of a solver on the very problem of a run, from its measured constants."""

from functools import lru_cache
from inspect import Parameter, signature

import numpy as np

from rrmbench import identity, registry

LONGEST = 1000  # epochs of a reduction that are looked at


def bound_curve(run, experiment):
    """Return (passes, bound of P(w) - P*) proven for a run, arrays, or None where nothing is.

    For a solver without a reduction, its theorem at the passes of the trace. For AdaptReg, AdaptSmooth and the joint
    form with given starting values, their theorem at the ends of epochs that last as long as the solver's theorem says
    it takes to quarter the distance to the optimum. The distance ||w0 - w*||^2 is to the model of the reference.
    """
    if run.reference is None or "primal_run" not in run.reference:
        return None
    spec = run.result.spec
    problem, constants = _constants(experiment, run.reference["primal_run"])
    solver, parameters = registry.from_mapping("solver", spec["solver"])
    reduction, values = registry.from_mapping("reduction", spec["reduction"])
    passes = run.column("passes")
    if reduction.name == "none" and solver.bound is not None:
        return _positive(passes, proven(solver, constants, passes, parameters))
    given = {key: values[key] for key in ("sigma", "mu") if key in values}
    if reduction.bound is None or solver.quartering is None or not given or "auto" in given.values():
        return None
    ends = _epoch_ends(problem, solver, parameters, passes.max(initial=0.0), **given)
    epochs = np.arange(1, len(ends) + 1)
    return _positive(ends, reduction.bound(constants, epochs, **given))


def proven(solver, constants, passes, given):
    """solver.bound with those of the parameters, `given` ones or defaults, that it takes as keyword-only arguments."""
    takes = [p.name for p in signature(solver.bound).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
    values = {name: given.get(name, solver.parameters[name].default) for name in takes}
    return solver.bound(constants, passes, **values)


def _epoch_ends(problem, solver, parameters, last, sigma=0.0, mu=0.0):
    """The passes at which the epochs end by theory, up to `last`."""
    center, total, ends = problem.start(), 0.0, []
    for epoch in range(LONGEST):
        factor = 0.5**epoch
        total += solver.quartering(problem.smoothed(factor * mu).regularized(factor * sigma, center), **parameters)
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
    from rrmbench.theory import constants
    from rrmbench.worker import problem_of

    best = experiment.read(primal_run)
    problem = problem_of(best.spec, identity.data_of(best.spec))
    return problem, constants(problem, best.w)
