"""Proximal coordinate descent on the primal, as in glmnet, lightning and celer."""

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.lines import axpy
from rrmbench.numerics.restricted import Part
from rrmbench.numerics.sparse_rows import entries
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.subproblems.quadratic import positive

FULL_EVERY = 10  # sweeps, of which the first is over all coordinates, the others over those that are not 0


@solver(needs={"smooth", "scalar", "coordinate", "rows"}, deterministic=True)
def coordinate_descent(problem, start, rng):
    """One proximal gradient step with step 1/L_j per coordinate, L_j = smoothness ||X_j||^2 / n, in cyclic order.

    A sweep over all columns is followed by sweeps over the columns with w_j != 0. The outputs z = X w are kept up to
    date, and with them b = phi'(z), the dual candidate. Every visited column counts as read twice, though a column
    whose w_j does not move is read once; X w of a start that is not zero is half a pass. Checks are the transposed copy
    and the norms of its columns, half a pass each.
    """
    problem = problem.counted()
    n, nnz = problem.n, max(problem.X.nnz, 1)
    w = problem.start(start)
    yield Iterate(w)
    transposed = problem.X.columns()
    columns, sqnorms = part_of(transposed), np.asarray(transposed.multiply(transposed).sum(axis=0)).ravel()
    curvatures = problem.smoothness * sqnorms / n
    if problem.strong_convexity == 0.0:
        curvatures = positive(curvatures)
    yield Iterate(w, checks=1.0)
    z, touched = problem.outputs(w), 0
    if problem.X.passes > 0.0:  # a sweep is a pass
        yield Iterate(w, problem.loss_dual(z), problem.X.passes, checks=1.0)
    linear = problem.center_term()
    while True:
        for cycle in range(FULL_EVERY):
            every = np.arange(w.size) if cycle == 0 else np.flatnonzero(w)
            touched += sweep(
                columns,
                problem.y,
                problem.loss,
                problem.mu,
                problem.regularizer,
                problem.strong_convexity,
                linear,
                curvatures,
                every,
                w,
                z,
            )
            yield Iterate(w, problem.loss_dual(z), problem.X.passes + touched / nnz, checks=1.0)


def part_of(columns):
    """scipy's CSC as kernels see it."""
    return Part(columns.indptr, columns.indices.astype(np.uint32), columns.data)


@kernel
def sweep(columns, y, loss, mu, regularizer, s, linear, curvatures, every, w, z):
    """A step for each coordinate of `every` (m,), changing w (d,) and z = X w (n,); return the number of entries read.

    columns : the columns of X (n, d)
    y : (n,); linear, curvatures : (d,) kappa center and L_j
    """
    n, touched = y.shape[0], 0
    for j in every:
        curvature = curvatures[j]
        begin, end = columns.indptr[j], columns.indptr[j + 1]
        touched += end - begin
        g = 0.0
        for e in entries(begin, end):
            i = columns.indices[e]
            g += columns.data[e] * loss.dual_point(z[i], y[i], mu)
        total = curvature + s
        new = regularizer.prox((curvature * w[j] - g / n + linear[j]) / total, 1.0 / total)
        step = new - w[j]
        if step != 0.0:
            w[j] = new
            axpy(columns.indices, columns.data, begin, end, step, z)
    return touched
