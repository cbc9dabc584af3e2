"""Newton's method by conjugate gradients, preconditioned by the second derivative of a few samples."""

from functools import partial

import numpy as np
from scipy.linalg import lapack

from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import (
    Curvature,
    DirectionalCurvature,
    curvatures,
    gradient_of,
    longest_step,
    rehearse,
    squares_of,
)
from rrmbench.solvers.second_order.gram import add_gram
from rrmbench.solvers.second_order.growing import LARGEST, end_of_stage, on_growing_samples, too_many_features
from rrmbench.solvers.second_order.newton_cg import ConjugateGradients

FORCING = 0.3  # the greatest residual of a step, relative to the gradient
PER_FEATURE = 4  # samples of the preconditioner at least
AFFORDED = 1.0  # passes, for which it has more
RIDGE = 1e-13  # of the diagonal of a block: more than the rounding of its factors
ROUNDING = 1e-7  # of curvatures: those along equal changes of all outputs are 0 below it
NEEDS = frozenset({"rows", "Zero", "smooth", "strongly_convex"})


def is_best_for(traits, n, size):
    """Whether no other solver is faster to certify a problem of these traits on n samples, for models of this size."""
    return traits >= NEEDS and "scalar" not in traits and size <= LARGEST


@solver(needs=NEEDS, gives={"full_steps"}, too_large=too_many_features)
def newton_pcg(problem, start, rng):
    """w+ = w + t p, where p solves H p = -g so far that the residual is min(0.3, sqrt(|g|/|g_0|)) |g|.

    g and H are the derivatives of P on samples that grow from stage to stage, as in `newton`. Conjugate gradients are
    preconditioned by M^-1, M the H of few samples drawn at random, which H on all of them is close to [Zhang and Xiao
    2015]. Of k outputs M has the diagonal blocks (d, d) alone, one for each output. Where equal changes of all outputs
    change no loss, H is l2 along them: there M is l2 too, and its blocks are for what is left, without which conjugate
    gradients need up to ten times as many steps. The samples are 4 for each feature or those that a pass pays for. M is
    computed anew at each stage, and when a step has needed more passes than M. t is the first of 1, 1/2, 1/4 ... with a
    decrease by Armijo's rule, which touches no data.

    A product of two entries for M counts as an entry read, as in `newton`, m (m + 3)/2 for a row of m; copies of rows
    count half a pass of them. The inverses of M's blocks touch no data; the clock includes them. Yields after the
    gradient, each step of conjugate gradients, each part of M and each step; w waits for its step.

    Raises RrmbenchError for d > 3000.
    """
    w = problem.start(start)
    yield Iterate(w)
    if "scalar" in problem.traits:
        rehearse(problem)
    rng.permutation(0)  # draws nothing, by a kernel that few rows do not call
    yield from on_growing_samples(problem, w, rng, partial(_steps, rng))


def _steps(rng, problem, w, is_last):
    X, n = problem.X, problem.n
    z, precondition, first, needed, cost = problem.outputs(w), None, None, 0.0, 0.0
    P, b, ends = problem.primal(w, z), problem.loss_dual(z), end_of_stage(problem, is_last)
    while True:
        g = gradient_of(problem, X.adjoint(b) / n, w)
        norm = float(np.linalg.norm(g))
        first = first or norm
        at = Iterate(w, b, X.passes)
        yield at
        if precondition is None or needed > cost:
            before = X.passes
            precondition = yield from _preconditioner(problem, z, b, rng, at)
            cost = X.passes - before
        goal = min(FORCING, np.sqrt(norm / first)) * norm if first else 0.0
        before = X.passes
        system = ConjugateGradients(_curvature(problem, z, b), g, precondition)
        p, outputs = yield from system.solve(goal, at)
        needed, slope = X.passes - before, float(np.vdot(g, p))
        t, w, z, P = longest_step(problem.primal, w, z, p, outputs, P, slope)
        b = problem.loss_dual(z)
        yield Iterate(w, b, X.passes)
        if ends(slope, P, t):
            return


def _curvature(problem, z, b):
    if "scalar" in problem.traits:
        return Curvature(problem, z, squares_of(problem))
    return DirectionalCurvature(problem, z, b, squares_of(problem), 0.0)


def _preconditioner(problem, z, b, rng, at):
    """Return the function r -> M^-1 r; M has one block for each output."""
    n, d = problem.n, problem.shape[0]
    few, part = int(max(PER_FEATURE * d, AFFORDED * 4.0 * n / d)), problem
    if few < n:
        drawn = np.sort(rng.permutation(n)[:few])
        part, z, b = problem.on(drawn), z[drawn], b[drawn]
        problem.X.passes += part.X.nnz / (2.0 * max(problem.X.nnz, 1))
        yield at._replace(passes=problem.X.passes)
    if z.ndim == 1:
        weights, is_invariant = curvatures(part, z)[np.newaxis], False
    else:
        curvature = DirectionalCurvature(part, z, b, 0.0, 0.0)
        weights = np.ascontiguousarray(curvature.diagonals().T)
        is_invariant = float(np.abs(curvature.slopes(np.ones(z.shape))).max()) <= ROUNDING * float(weights.max())
    inverses = yield from _inverses(problem, part, np.maximum(weights, 0.0), at)

    def precondition(r):
        r = r.reshape(d, -1)
        mean = r.mean(axis=1, keepdims=True) if is_invariant else 0.0
        y = np.matmul(inverses, (r - mean).T[:, :, np.newaxis])[:, :, 0].T
        if is_invariant:
            y = y - y.mean(axis=1, keepdims=True) + mean / problem.strong_convexity
        return y.reshape(problem.shape)

    return precondition


def _inverses(problem, part, weights, at):
    """Return the inverses (k, d, d) of (1/m) sum_i weights_ji x_i x_i^T + s I over the m samples of a part."""
    X, d, k = problem.X, problem.shape[0], len(weights)
    if np.abs(weights - weights[0]).max() <= ROUNDING * weights.max():  # as at the start
        weights = weights[0]
    G, before, share = np.zeros((*weights.shape[:-1], d, d)), X.passes, part.X.nnz / max(X.nnz, 1)
    view = part.counted()
    for _ in add_gram(view.X, True, G, np.arange(part.n), weights):
        X.passes = before + share * view.X.passes
        yield at._replace(passes=X.passes)
    inverses = [_inverse(H / part.n + problem.strong_convexity * np.eye(d)) for H in G.reshape(-1, d, d)]
    return np.broadcast_to(inverses, (k, d, d))


def _inverse(G):
    """G^-1 of a positive definite G, whose units may differ; of one that is singular to rounding, of one near it."""
    scale = 1.0 / np.sqrt(np.diagonal(G))
    G *= scale[:, np.newaxis] * scale
    G.flat[:: len(G) + 1] += RIDGE
    upper = np.triu(lapack.dpotri(lapack.dpotrf(G)[0])[0])
    return (upper + np.triu(upper, 1).T) * (scale[:, np.newaxis] * scale)
