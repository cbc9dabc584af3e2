"""Accelerated coordinate ascent on the rows whose dual variable moves, between passes of Prox-SDCA over all rows."""

import numpy as np

from rrmbench.numerics.jit import WARM_UP_ROWS, kernel
from rrmbench.numerics.random import Rng
from rrmbench.numerics.tolerances import SUM_ROUNDING
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.sdca.apcg import apcg_steps, combine, convexity_root
from rrmbench.solvers.sdca.output import INSIDE, DualState
from rrmbench.solvers.sdca.prox_sdca_shrinking import entries_of, thirds
from rrmbench.solvers.sdca.steps import Exact, psi_of

FIRST_PASSES = 5  # of prox_sdca_shrinking, after which few rows change between moving and resting
FEWEST, FIRST_EPOCHS = 5, 10
EPS = 2.0**-52  # of the rounding of b_i
GUESS = 3.0  # sqrt(sigma) = GUESS / epochs: APCG's own bound falls by e^-GUESS in these epochs


@solver(needs={"strongly_convex", "separable", "coordinate or row_norms", "rows"}, gives={"dual"})
def apcg_shrinking(problem, start, rng):
    """Prox-SDCA and, on the rows that it still moves, restarted APCG with a guess of the strong convexity of -D.

    Where phi* has a bounded domain most b_i end at a bound, and the exact step of Prox-SDCA leaves them there. On the
    others -D is nearly quadratic, badly conditioned, and Prox-SDCA slow. After FIRST_PASSES passes of
    `prox_sdca_shrinking` a cycle is

        a pass of Prox-SDCA with option I over all rows, in random order; F are the rows i whose b_i it changed
        so many epochs of APCG on the b_i with i in F, each in random order, from z = x = b

    with sigma = (GUESS/epochs)^2, or that of `apcg` where this is greater and there is one output per sample. APCG
    needs no true sigma for its restarts to converge: a guess that is too great by a factor costs more restarts only
    [Fercoq and Qu 2020]. The epochs end where D does not rise from one pass or epoch to the next; the last b with a
    greater D stays, so D never falls, and as all rows have a step in every cycle the method converges as Prox-SDCA
    does. The epochs of the next cycle are twice as many where they were all made and gained more of D per row than the
    pass before them; half as many (at least FEWEST) where D fell early and they gained less.

    For k outputs per sample a row b_i is one block of APCG, and all of phi* is in the proximal step.

    Passes count the entries of the rows visited, over all. D costs no product, v being kept. Yields after a pass at
    most, or a round that `prox_sdca_shrinking` yields after.
    """
    state, n = DualState(problem, Exact(problem.loss, problem.mu), start), problem.n
    visits, read, epochs, entries = 0, 0, FIRST_EPOCHS, entries_of(problem)
    total = entries.sum()

    def reported():
        return Iterate(*state.present(), passes=read / total, checks=state.checks)

    yield reported()
    if n <= WARM_UP_ROWS:
        rehearse(problem)
    for seen, more in thirds(state, rng, entries):
        visits, read = visits + seen, read + more
        yield reported()
        if visits >= FIRST_PASSES * n or n <= WARM_UP_ROWS:
            break
    while True:
        before, first, order = state.b.copy(), dual_of(state), rng.epoch(n)
        state.run(order)
        read += total
        yield reported()
        moving = np.flatnonzero((state.b != before).reshape(n, -1).any(axis=1)).astype(order.dtype)
        if moving.size == 0:
            continue
        middle, visited, rose = dual_of(state), 0, True
        cost = entries[moving].sum()
        for made, gained in ascent(state, rng, moving, epochs, max(1, min(n // moving.size, total // max(cost, 1)))):
            read, visited, rose = read + made * cost, visited + made * moving.size, gained
            yield reported()
        better = (dual_of(state) - middle) * n > (middle - first) * visited
        if rose and better:
            epochs *= 2
        elif not (rose or better):
            epochs = max(FEWEST, epochs // 2)


def rehearse(problem):
    """Call on the first row the kernels of a cycle, to which few passes over few rows may not come.

    A stage of a reduction may end before it, and there may be nothing left to move.
    """
    apart, rng = DualState(problem, Exact(problem.loss, problem.mu), None), Rng(0)
    first = rng.epoch(1)
    apart.run(first)
    for _ in ascent(apart, rng, first, 1, 1):
        pass


def dual_of(state):
    """D(b) of a `DualState`, from its w and v = s u - kappa center: less than half the time of `dual_at` for many d."""
    problem = state.problem
    w, b = state.present()
    inner = problem.strong_convexity * float(np.vdot(state.u, w))
    if problem.center is not None:
        inner -= float(np.vdot(problem.center_term(), w))
    return problem.Psi(w) - inner - problem.mean_conjugate(b)


def ascent(state, rng, moving, epochs, at_once):
    """APCG on the rows `moving` (m,); yield (epochs made, whether D rose) after `at_once` epochs each time.

    `state` is changed where D rose, or fell by rounding alone: close to the optimum, steps are right that D does not
    tell from none. It ends where D fell by more, or after so many epochs of m steps.
    """
    problem, b, u, m = state.problem, state.b, state.u, moving.size
    s, best, r = problem.strong_convexity, dual_of(state), 1.0
    known = convexity_root(problem) if b.ndim == 1 else 0.0  # of the smooth part, which for rows has gamma = 0
    root = max(known, GUESS / epochs)
    fixed = (problem.X.rows, problem.y, problem.loss, problem.mu, psi_of(problem), s, root, m)
    uv, pq = (np.stack((np.zeros_like(a), a), axis=1) for a in (b, u))
    best_b, best_u = b.copy(), u.copy()
    while epochs > 0:
        some = min(epochs, at_once)
        r = apcg_steps(*fixed, rng.orders(moving, some), r, uv, pq)
        epochs -= some
        combine(r, uv, b)
        combine(r, pq, u)
        put_inside(problem.loss, problem.y, moving, b)
        value = dual_of(state)
        rose = value > best - SUM_ROUNDING * abs(best)
        if rose:
            best, best_b[:], best_u[:] = max(best, value), b, u
        else:
            b[:], u[:] = best_b, best_u
        yield some, rose
        if not rose:
            return


@kernel
def put_inside(loss, y, moving, b):
    """Put each b_i, i of `moving` (m,), that rounding has carried out of the domain of phi* back into it.

    A number is scaled by a hair. A row (k,) goes to its proximal point argmin_t phi*(t) + ||t - b_i||^2 / (2 eps),
    which is in the domain, and not farther than about eps from the point of the domain that is nearest to b_i.
    """
    for i in moving:
        if b.ndim == 1:  # known to the compiler
            if loss.conjugate(b[i], y[i]) == np.inf:
                b[i] *= INSIDE
        elif loss.conjugate_row(b[i], y[i]) == np.inf:
            loss.dual_point_row(b[i] / EPS, y[i], 0.0, 1.0 / EPS, b[i])
