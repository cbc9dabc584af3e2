"""The support vector machine with a bias: apcg_shrinking in proximal point stages of the bias alone."""

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
    number is the root of the mean ||x_i||^2, so kappa is s over that mean. A stage ends where its gap is at most 0.1 of
    the square of how far beta went. Without a minimized bias it is `apcg_shrinking`.

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
    length = float(np.sqrt(problem.X.sqnorms.mean())) or 1.0
    X, s = bordered(problem.X.rows, problem.shape[0], length), problem.strong_convexity
    center, at, spent = np.append(problem.shift(), 0.0), None, 0.0
    if start is not None:
        center[-1] = problem.beta(problem.outputs(w)) / length
        at = None if start.b is None else Iterate(np.append(w, center[-1]), start.b)
    looks = 0.5 + problem.X.passes
    while True:
        stage, due = Problem(X, problem.y, problem.loss, mu=problem.mu).regularized(s, center), SHORTEST
        for x in apcg_shrinking(stage, at, rng):
            yield Iterate(x.w[:-1], x.b, spent + x.passes, looks + x.checks)
            if x.passes < due:
                continue
            due, looks = LOOKS * x.passes, looks + 1.0
            if stage.gap(x.w, x.b) <= ACCURACY * 0.5 * s * (x.w[-1] - center[-1]) ** 2:
                break
        spent, looks = spent + x.passes, looks + x.checks
        at = Iterate(x.w.copy(), x.b.copy())
        center = np.append(center[:-1], at.w[-1])


def bordered(rows, d, number):
    """The operator of the rows with one more column, of `number` in every row."""
    X = csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr), shape=(rows.indptr.size - 1, d))
    return CSR.of(hstack([X, np.full((X.shape[0], 1), number)], format="csr"))
