"""The support vector machine with a bias: apcg_shrinking in proximal point stages of the bias alone."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, hstack

from rrmbench.errors import RrmbenchError
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import CSR
from rrmbench.problem.problem import Problem
from rrmbench.registry import solver
from rrmbench.solvers.sdca.apcg_shrinking import apcg_shrinking

ACCURACY = 0.1  # of a stage: its gap over (kappa/2) (beta - c)^2, at which the centre moves
LOOKS = 1.25  # factor of the passes of a stage between two looks at its gap
SHORTEST = 3.0  # passes of a stage


def is_best_for(traits):
    """Whether a problem of these traits is of losses with kinks on rows, a squared norm and a minimized bias."""
    wanted = {"Zero", "scalar", "strongly_convex", "minimized_bias"}
    return wanted <= traits and not traits & {"smooth", "kernel", "matrix"}


@solver(needs={"Zero", "strongly_convex", "scalar", "rows or minimized_bias"})
def apcg_bias(problem, start, rng):
    """Squared norms with a minimized bias beta: the bias gets a square around its last value, stage after stage.

    A stage is the problem in (w, beta), with a centre c for beta,

        min  (1/n) sum phi(x_i.w + beta) + Psi(w) + (kappa/2) (beta - c)^2

    so one more column of X, the same number in all rows, and `apcg_shrinking` solves it. Then c is beta: the proximal
    point method [Rockafellar 1976] on min_w P(w, beta), a function of one number, which is steep in comparison. The
    number is the root of the mean ||x_i||^2, so kappa is s over that mean. A stage ends where its gap is at most
    0.1 (kappa/2) (beta - c)^2. Without a minimized bias it is `apcg_shrinking`.

    Passes count the entries of the rows visited, with that of the bias, over all. The copy of X is a check of half a
    pass, as is the bias of a start that is not zero; a look at the gap of a stage is one of a pass.
    """
    if not problem.minimized_bias:
        yield from apcg_shrinking(problem, start, rng)
        return
    if not hasattr(problem.X, "rows") or len(problem.shape) > 1:
        raise RrmbenchError("apcg_bias: found no matrix X of rows, for one model w; needed is one")
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w, None if start is None else start.b)
    rehearse(replace(problem, minimized_bias=False))
    length = root_mean_square(problem)
    X, center, at = bordered(problem, np.full(problem.n, length)), 0.0, None
    if start is not None:
        center = problem.beta(problem.outputs(w)) / length
        at = None if start.b is None else Iterate(np.append(w, center), start.b)
    spent, looks = 0.0, 0.5 + problem.X.passes
    while True:
        for x in stage(problem, X, problem.loss, center, center, at, rng, spent, looks):
            yield x._replace(w=x.w[:-1])
        at, spent, looks, center = Iterate(x.w.copy(), x.b.copy()), x.passes, x.checks, x.w[-1]


def root_mean_square(problem):
    """The root of the mean ||x_i||^2, or 1 where it is 0."""
    return float(np.sqrt(problem.X.sqnorms.mean())) or 1.0


def bordered(problem, column):
    """The operator of the rows of X with one more column (n,)."""
    rows = problem.X.rows
    X = csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr), shape=(problem.n, problem.shape[0]))
    return CSR.of(hstack([X, column[:, None]], format="csr"))


def rehearse(problem):
    """Call on one row the kernels of a look at the gap, to which a warm-up of few passes over few rows may not come."""
    first = problem.on(np.arange(1))
    first.gap(first.start(), np.zeros(1))


def stage(problem, X, loss, target, center, at, rng, spent, checked):
    """Yield the points of `apcg_shrinking` from `at` on the problem in (w, beta) with the square around the target.

    The last has a gap of at most ACCURACY (s/2) (beta - center)^2. `passes` and `checks` go on from those `spent` and
    `checked` before; checks count a look at the gap with its point.
    """
    s, due, looks = problem.strong_convexity, SHORTEST, 0.0
    around = np.append(problem.shift(), target)
    bounded = Problem(X, problem.y, loss, mu=problem.mu).regularized(s, around)
    for x in apcg_shrinking(bounded, at, rng):
        is_due = x.passes >= due
        looks += is_due
        yield Iterate(x.w, x.b, spent + x.passes, checked + (looks + x.checks))
        if is_due:
            due = LOOKS * x.passes
            if bounded.gap(x.w, x.b) <= ACCURACY * 0.5 * s * (x.w[-1] - center) ** 2:
                return
