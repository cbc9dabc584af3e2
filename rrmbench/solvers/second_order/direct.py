"""The exact solution of ridge regression."""

import numpy as np

from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import gradient_of, squares_of
from rrmbench.solvers.second_order.gram import add_gram, solver_of

LARGEST = 3000  # min(n, d), of which n is the number of samples and d the number of entries of w


def too_large(n, d, k=1):
    """What is found and allowed of n samples, d features and k outputs, or None where `direct` takes as many."""
    if min(n, d * k) <= LARGEST:
        return None
    return f"found {n} samples of {d * k} features, allowed are at most {LARGEST} of either"


@solver(needs={"Squared", "Zero", "strongly_convex or free_bias"}, deterministic=True, too_large=too_large)
def direct(problem, start, rng):
    """Squared loss and squared norm: a linear system, by Cholesky's factors of the smaller of X^T X and X X^T.

    For d <= n it is the system of Newton's step, (X^T X/n + S) step = -gradient, with S = diag(l2 + kappa), kappa for a
    free bias; else that of the dual, (X X^T/(s n) + I) b = X shift - y, with w = (kappa center - X^T b/n)/s. A
    bias that nothing bounds is one more unknown. Each further iterate is a step of iterative refinement, for a pass.
    Products of pairs of entries count as the entries that they read, m (m + 3)/2 for a row of m: a dense matrix counts
    about d/4 passes for X^T X. For X X^T the copy of sparse rows by columns is half a pass. The factors of the matrix
    touch no data; the clock includes them.

    Raises RrmbenchError for min(n, d) > 3000.
    """
    n, d = problem.n, int(np.prod(problem.shape))
    problem = problem.counted()
    at = Iterate(problem.start(start))
    yield at
    of_columns = d <= n or problem.l2 + problem.kappa == 0.0
    size = d if of_columns else n
    G = np.zeros((size, size))
    for _ in add_gram(problem.X, of_columns, G):
        yield at._replace(passes=problem.X.passes)
    yield from (_primal if of_columns else _dual)(problem, at.w, G)


def _primal(problem, w, G):
    """Newton's steps from w; G = X^T X."""
    n = problem.n
    G /= n
    G.flat[:: G.shape[0] + 1] += squares_of(problem).reshape(-1)
    if problem.minimized_bias:
        mean = problem.X.adjoint(np.ones(n)).reshape(-1, 1) / n
        G = np.block([[G, mean], [mean.T, np.ones((1, 1))]])
    solve = solver_of(G)
    b = problem.loss_dual(problem.outputs(w))
    yield Iterate(w, passes=problem.X.passes)
    while True:
        gradient = gradient_of(problem, problem.X.adjoint(b) / n, w)
        right = np.zeros(G.shape[0])
        right[: w.size] = gradient.reshape(-1)
        w = w - solve(right)[: w.size].reshape(w.shape)
        b = problem.loss_dual(problem.X.forward(w))
        yield Iterate(w, b, problem.X.passes)


def _dual(problem, w, G):
    """Newton's steps on the dual from b = 0; G = X X^T.

    Where sum b = 0 is asked for, its multiplier is c times a free bias, c being the last column of X.
    """
    n, s, bias = problem.n, problem.l2 + problem.kappa, 0.0
    unbounded = problem.free_bias and problem.kappa == 0.0
    if problem.free_bias:
        unit = np.zeros(problem.shape)
        unit[-1] = 1.0
        c = float(problem.X.forward(unit)[0])
        G += c * c * ((0.0 if unbounded else s / problem.kappa) - 1.0)
    G /= s * n
    G.flat[:: n + 1] += 1.0
    solve, b = solver_of(G), np.zeros(n)
    ones = solve(np.ones(n)) if unbounded or problem.minimized_bias else None
    w = problem.primal_point(np.zeros(problem.shape))
    z = problem.outputs(w)
    while True:
        step = solve(z - problem.y - b)
        if ones is not None:
            multiplier = -(b.sum() + step.sum()) / ones.sum()
            step += multiplier * ones
        b = b + step
        w = problem.primal_point(problem.v(b))
        if unbounded:
            bias += multiplier / c
            w[-1] = bias
        z = problem.X.forward(w)
        yield Iterate(w, b, problem.X.passes)
