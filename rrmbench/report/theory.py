"""The theorems' curves: what the papers prove of a solver on the very problem of a run, from its measured constants."""

from typing import NamedTuple

import numpy as np

from rrmbench import registry
from rrmbench.bench import identity
from rrmbench.bench.problems import problem_of
from rrmbench.errors import RrmbenchError
from rrmbench.problem.constants import NoTheorem, constants


class Proven(NamedTuple):
    """The bound of P(w) - P* at some passes, arrays; `joined` unless it is about the iterates there alone."""

    passes: np.ndarray
    bound: np.ndarray
    joined: bool


def bound_curve(run, measured):
    """Return what is Proven for a run, or None for a method without a theorem.

    measured : the function from the run that has the least P of a problem to (problem, constants); see `constants_of`

    For a solver without a reduction, its theorem at the passes of the trace, or where it says that it is about; for a
    reduction, its theorem where it says that epochs are over. The distance ||w0 - w*||^2 is to the model of the
    reference.

    Raises NoTheorem where the theorem is not about this run.
    """
    if run.reference is None or "primal_run" not in run.reference:
        return None
    spec = run.result.spec
    problem, known = measured(run.reference["primal_run"])
    solver, parameters = registry.from_mapping("solver", spec["solver"])
    reduction, values = registry.from_mapping("reduction", spec["reduction"])
    trace = {name: run.column(name) for name in ("passes", "primal")}
    if reduction.name == "none":
        if solver.bound is None:
            return None
        passes = trace["passes"]
        at = solver.bound_at and solver.told(solver.bound_at, parameters)(known, np.max(passes, initial=0.0))
        passes = passes if at is None else at
        return _positive(passes, proven(solver, known, passes, parameters), at is None)
    if reduction.bound is None or reduction.epochs_over is None:
        return None
    if isinstance(spec["reduction"], dict) and "inside" in spec["reduction"]:
        raise NoTheorem(reduction.name, "no theorem is about nested reductions")
    passes, T = reduction.told(reduction.epochs_over, values)(solver.solver(parameters), problem, trace)
    return _positive(passes, reduction.told(reduction.bound, values)(known, T), False) if len(T) else None


def proven(solver, constants, passes, given):
    """The theorem of a solver (a Component) at arrays of passes, with the parameters `given` or their defaults."""
    return solver.solver(given).bound(constants, passes)


def _positive(passes, bound, joined):
    bound = np.broadcast_to(np.asarray(bound, dtype=float), np.shape(passes))
    shown = np.isfinite(bound) & (bound > 0.0)
    return Proven(np.asarray(passes)[shown], bound[shown], joined) if shown.any() else None


def constants_of(experiment, primal_run):
    """(Problem, constants of the theorems) of a stored run of an experiment, whose w stands for the optimum."""
    best = experiment.read(primal_run)
    problem = problem_of(best.spec, identity.data_of(best.spec))
    if best.w is None or best.w.shape != problem.shape:
        raise RrmbenchError(f"run {primal_run} of the reference has no w of shape {problem.shape}")
    return problem, constants(problem, best.w)
