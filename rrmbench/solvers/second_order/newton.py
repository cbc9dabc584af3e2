"""Newton's method with the whole second derivative, on samples that grow [Mokhtari et al. 2016]."""

from functools import partial

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics import whole_arrays
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.sparse_rows import axpy
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import derivatives, gradient_of, longest_step, slopes, write_outputs
from rrmbench.solvers.second_order.gram import add_gram, solver_of
from rrmbench.solvers.second_order.growing import growing_samples

LARGEST = 3000  # entries of w
SETTLED = 0.05  # of P, the decrease promised by a step from which on one step ends a stage


@solver(needs={"rows", "Zero", "scalar", "smooth", "strongly_convex"}, gives={"full_steps"})
def newton(problem, start, rng):
    """w+ = w + t p, p = -H^-1 g, g and H the derivatives of P on a stage: 1/64, 1/16, 1/4 of the samples, then all.

    A stage ends with the first step that promises a decrease g^T H^-1 g of at most P/20; the last stage goes on. From
    the optimum of a quarter of the samples, Newton's method on all of them converges quadratically, so that two steps
    mostly do. [Mokhtari et al. 2016, where stages double and the regularizer shrinks with them] t is the first of 1,
    1/2, 1/4 ... with a decrease by Armijo's rule; X p is known then, so that a trial of t touches no data. Samples are
    drawn once; each stage has those of the one before and 8 samples per feature at least. A start that is not zero goes
    to the last stage.

    For few features: products of pairs of entries count as the entries that they read, m (m + 3)/2 for a row of m with
    curvature, outputs and gradient half a pass each; a dense matrix counts about d/4 passes for H. Cholesky's factors
    of H (d, d) touch no data; the clock includes them. Yields after the gradient, each part of H and each step; after a
    full step, one that promises at most P/20 also before X p.

    Raises RrmbenchError for d > 3000.
    """
    d = problem.shape[0]
    if d > LARGEST:
        raise RrmbenchError(f"newton: found {d} features, allowed are at most {LARGEST}")
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    none = np.zeros(0, dtype=np.int64)  # so that the few rows of a warm-up, which have one stage, call both kernels
    write_outputs(problem.X.rows, none, w, np.zeros(problem.n))
    add_combination(problem.X.rows, none, np.zeros(0), np.zeros(d))
    for samples, is_last in growing_samples(problem, w, rng):
        w = yield from _stage(problem, w, samples, is_last)


def _stage(problem, w, samples, is_last):
    """Newton's steps on some samples from w; returns the w of the end, which the last stage does not have."""
    X, rows, d = problem.X, problem.X.rows, w.size
    y, share = problem.y[samples], float(np.diff(rows.indptr)[samples].sum()) / max(X.nnz, 1)
    derivative = partial(derivatives, problem, y)

    def outputs(w):
        if is_last:
            return X.forward(w)
        z = np.zeros(problem.n)
        write_outputs(rows, samples, w, z)
        X.passes += 0.5 * share
        return z[samples]

    def gradient(b):
        if is_last:
            return X.adjoint(b)
        g = np.zeros(d)
        add_combination(rows, samples, b, g)
        X.passes += 0.5 * share
        return g

    def primal(w, z):
        return whole_arrays.mean_loss(problem.loss, problem.mu, z, y) + problem.Psi(w)

    z = outputs(w)
    P, t = primal(w, z), 1.0
    while True:
        g, H = gradient(derivative(z)), np.zeros((d, d))
        yield Iterate(w, passes=X.passes)
        c = slopes(derivative, z, problem.smoothness)
        bent = c > 0.0
        for _ in add_gram(X, True, H, samples[bent], c[bent]):
            yield Iterate(w, passes=X.passes)
        g = gradient_of(problem, g / samples.size, w)
        H /= samples.size
        H.flat[:: d + 1] += problem.strong_convexity
        p = -solver_of(H)(g)
        slope = float(g @ p)
        if -slope <= SETTLED * P and t == 1.0:  # a step that can be trusted before its P is known
            yield Iterate(w + p, passes=X.passes)
            if not is_last:
                return w + p
        t, w, z, P = longest_step(primal, w, z, p, outputs(p), P, slope)
        yield Iterate(w, passes=X.passes)


@kernel
def add_combination(rows, samples, b, g):
    """Add sum_i b_i x_i over the samples (m,), b (m,), to g (d,)."""
    for s in range(samples.shape[0]):
        axpy(rows.indices, rows.data, rows.indptr[samples[s]], rows.indptr[samples[s] + 1], b[s], g)
