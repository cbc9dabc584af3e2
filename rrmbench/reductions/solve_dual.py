"""Solving the dual: w and b change places."""

from functools import partial

from rrmbench.errors import RrmbenchError
from rrmbench.registry import Solver, reduction

SWAPPED = {"smooth": "strongly_convex", "strongly_convex": "smooth"}


def _swapped(objectives):
    minus_dual, minus_primal = objectives()
    return -minus_primal, -minus_dual


@reduction
def solve_dual(solve):
    """run the solver on the dual of the problem, a problem of its own whose model is b [AGM, section 5.3]

    Psi* is smooth where Psi is strongly convex, and the mean of the conjugates is strongly convex where the losses are
    smooth: the needs of the solver change places. Around it, `adapt_smooth` solves the smoothed dual with ever less
    smoothing, `regularize` serves problems without strong convexity. A product of the dual with X is one with X^T of the
    problem: passes are the same. A method whose iterates have no dual variable yields w = grad Psi*(v(b)), for half a
    check each.
    """
    unfit = solve.needs - set(SWAPPED)
    if unfit:
        raise RrmbenchError(
            f"reduction solve_dual: {solve.name} needs a problem with the traits {', '.join(sorted(unfit))}, which a dual "
            "has not; needed is a method for full gradients, as agm_ef, fista, gd, agd"
        )
    ground = set() if "ground" in solve.gives else {"conjugate_prox"}

    def reduced(problem, start, rng):
        given = None if start is None or start.b is None else start._replace(w=start.b, b=start.w)
        w, paired, checks = problem.start(start), False, 0.0
        for x in solve(problem.dualized(), given, rng):
            if x.b is not None:
                w, paired = x.b, True
            elif not paired and x.w.any():
                w = problem.primal_point(problem.v(x.w))
                checks += 0.5
            objectives = None if x.objectives is None else partial(_swapped, x.objectives)
            yield x._replace(w=w, b=x.w, checks=x.checks + checks, objectives=objectives)

    needs = frozenset(SWAPPED[need] for need in solve.needs) | ground
    return Solver(reduced, f"solve_dual({solve.name})", needs, solve.gives & {"gap"}, counts_passes=solve.counts_passes)
