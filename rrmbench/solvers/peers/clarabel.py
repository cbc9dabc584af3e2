"""Clarabel, an interior point method for quadratic programs with cones: all digits of problems that are not large."""

import numpy as np

from rrmbench.components import lacking
from rrmbench.parameters import Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import check_traits
from rrmbench.solvers.peers.dual_program import program_of

UNITS = (100.0, 10.0, 1.0)  # of v, one call for each: how many digits rounding leaves depends on it
TOLERANCE = 1e-12  # of feasibility and of the gap, near to what rounding leaves
LARGEST, READS = 5000, 2e9  # min(n, d), and `reads`, beyond which an iteration may take many seconds

NEEDS = frozenset({"piecewise_linear or Squared", "conic"})


def fits(traits, n, d, entries, most=READS):
    """Whether it knows problems of these traits, and a matrix (n, d) is small enough to be factorized thirty times.

    most : of min(n, d) times the stored entries, which grows as the seconds of a dense factorization
    """
    return not lacking(NEEDS, traits) and min(n, d) <= LARGEST and min(n, d) * entries <= most


@solver(needs=NEEDS, counts_passes=False, deterministic=True)
def clarabel(problem, start, rng, *, time_limit: Positive | None = None):
    """Clarabel's interior point method on the dual, with cones for balls and squares [Goulart and Chen 2024]

    The program of `rrmbench.solvers.peers.dual_program`: its costs are quadratic where the loss is squared or Psi has a
    square, and v is in second-order cones where psi is a sum of Euclidean norms. Three calls, from scratch and in other
    units each: it depends on these how many digits rounding leaves, mostly 10 to 14 after the first call. w is that of
    the least P so far.

    time_limit : seconds after which a call gives up, and the run ends
    """
    check_traits(problem, NEEDS)
    best, least = problem.start(), np.inf
    yield Iterate(best, passes=np.nan)
    for units in UNITS:
        found = _solved(problem, program_of(problem, units), time_limit)
        if found is None:
            return
        w, b = found
        if (P := problem.primal(w)) < least:
            best, least = w, P
        yield Iterate(best, b, passes=np.nan, restarted=True)


def _solved(problem, program, time_limit):
    """(w, b), or None where the time was out."""
    import clarabel as library
    from scipy.sparse import csc_matrix, diags_array, vstack

    settings = library.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.time_limit = np.inf if time_limit is None else time_limit
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = TOLERANCE
    matrices, right, cones = zip(*_constraints(library, program), strict=True)
    solved = library.DefaultSolver(
        csc_matrix(diags_array(program.x.squares)),
        program.x.costs,
        csc_matrix(vstack(matrices)),
        np.concatenate(right),
        [cone for some in cones for cone in some],
        settings,
    ).solve()
    if solved.status == library.SolverStatus.MaxTime:
        return None
    return program.solution(problem, np.array(solved.x), -np.array(solved.z)[: program.right.size])


def _constraints(library, program):
    """Triples (A, b, cones), b - A x in the cones; the equations first."""
    from scipy.sparse import coo_array, eye_array

    x = program.x
    yield x.columns, program.right, [library.ZeroConeT(program.right.size)]
    unit = eye_array(x.costs.size, format="csr")
    for sign, ends in ((1.0, x.upper), (-1.0, x.lower)):
        bounded = np.flatnonzero(np.isfinite(ends))
        yield sign * unit[bounded], sign * ends[bounded], [library.NonnegativeConeT(bounded.size)]
    if program.sums is not None:
        A, limits = program.sums
        yield A, limits, [library.NonnegativeConeT(limits.size)]
    if program.balls is not None:
        first, blocks, radii, grow = program.balls
        sizes = np.bincount(blocks, minlength=radii.size) + 1  # the radius, and then the entries of the block
        tops, total = np.cumsum(sizes) - sizes, sizes.sum()
        places = np.delete(np.arange(total), tops), first + np.argsort(blocks, kind="stable")
        b = np.zeros(total)
        A = coo_array((np.full(blocks.size, -1.0), places), shape=(total, x.costs.size))
        if grow:
            A += coo_array((-radii, (tops, np.full(tops.size, x.costs.size - 1))), shape=A.shape)
        else:
            b[tops] = radii
        yield A, b, [library.SecondOrderConeT(int(size)) for size in sizes]
