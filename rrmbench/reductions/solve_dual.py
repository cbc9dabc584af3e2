"""Solving the dual: w and b change places."""

from functools import partial

from rrmbench.components import Solver
from rrmbench.errors import RrmbenchError
from rrmbench.registry import reduction

# traits that duals have, where the problem has the others of them
FIT = {"smooth", "strongly_convex", "conjugate_prox", "entropy"}


def _swapped(objectives):
    minus_dual, minus_primal = objectives()
    return -minus_primal, -minus_dual


@reduction(deterministic=True)
def solve_dual(solve):
    """run the solver on the dual of the problem, a problem of its own whose model is b [AGM, section 5.3]

    Psi* is smooth where Psi is strongly convex, and the mean of the conjugates is strongly convex where the losses are
    smooth: the needs of the solver change places. Around it, `adapt_smooth` solves the smoothed dual with ever less
    smoothing, `regularize` serves problems without strong convexity. The dual's product with its data is X^T b, so
    passes are what they are. A method whose iterates have no dual variable yields w = grad Psi*(v(b)), for half a
    check each.
    """
    unfit = solve.needs - FIT
    if unfit:
        raise RrmbenchError(
            f"reduction solve_dual: {solve.name} needs a problem with the traits {', '.join(sorted(unfit))}, which "
            "a dual has not; needed is a method for full gradients, as agm_ef, fista, gd, agd"
        )

    def reduced(problem, start, rng):
        given = None if start is None or start.b is None else start._replace(w=start.b, b=start.w)
        w, paired, checks = problem.start(start), False, 0.0
        for x in solve(problem.dualized(), given, rng):
            if x.b is not None:  # out of the domain of Psi it may be by rounding, and where 0 is not in it at the start
                w, paired = problem.prox(x.b, 0.0), True
            elif not paired and x.w.any():
                w = problem.primal_point(problem.v(x.w))
                checks += 0.5
            objectives = None if x.objectives is None else partial(_swapped, x.objectives)
            yield x._replace(w=w, b=x.w, checks=x.checks + checks, objectives=objectives)

    needs = {"strongly_convex"}  # else Psi* is infinite somewhere
    if "strongly_convex" in solve.needs:
        needs.add("smooth")
    if "entropy" in solve.needs:
        needs.add("entropic")
    elif "ground" not in solve.gives:
        needs.add("euclidean")
    gives = solve.gives & {"gap"}
    return Solver(reduced, f"solve_dual({solve.name})", frozenset(needs), gives, counts_passes=solve.counts_passes)
