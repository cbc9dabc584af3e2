"""Newton's method with the whole second derivative, on samples that grow [Mokhtari et al. 2016]."""

import numpy as np

from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import curvatures, gradient_of, longest_step
from rrmbench.solvers.second_order.gram import renew_gram, solver_of
from rrmbench.solvers.second_order.growing import end_of_stage, is_settled, on_growing_samples, too_many_features


@solver(
    needs={"rows", "Zero", "scalar", "smooth", "strongly_convex"}, gives={"full_steps"}, too_large=too_many_features
)
def newton(problem, start, rng):
    """w+ = w + t p, p = -H^-1 g, g and H the derivatives of P on a stage: 1/64, 1/16, 1/4 of the samples, then all.

    A stage ends with the first step whose slope g^T H^-1 g, twice the fall of the quadratic model, is at most |P|/20 or
    the rounding of P(0), or that is cut to none; the last stage goes on. From the optimum of a quarter of the samples,
    Newton's method on all of them converges quadratically, so that two steps mostly do. [Mokhtari et al. 2016, where
    stages double and the regularizer shrinks with them] t is the first of 1, 1/2, 1/4 ... with a decrease by Armijo's
    rule; X p is known then, so that a trial of t touches no data. Samples are drawn once; each stage has those of the
    one before and 8 samples per feature at least. A start that is not zero goes to the last stage.

    For few features: products of pairs of entries count as the entries that they read, m (m + 3)/2 for a row of m with
    curvature, or for one whose curvature changed where these count less; outputs, gradient and the copy of a stage's
    rows are half a pass each. A dense matrix counts about d/4 passes for H. Cholesky's factors of H (d, d) touch no
    data; the clock includes them. Yields after the gradient, each part of H and each step; after a full step, one that
    promises at most |P|/20 also before X p.

    Raises RrmbenchError for d > 3000.
    """
    w = problem.start(start)
    yield Iterate(w)
    yield from on_growing_samples(problem, w, rng, _steps)


def _steps(problem, w, is_last):
    X, d = problem.X, w.size
    z = problem.outputs(w)
    P, t, ends = problem.primal(w, z), 1.0, end_of_stage(problem, is_last)
    gram, weights = np.zeros((d, d)), np.zeros(problem.n)
    while True:
        g = X.adjoint(problem.loss_dual(z)) / problem.n
        yield Iterate(w, passes=X.passes)
        for _ in renew_gram(X, gram, weights, curvatures(problem, z)):
            yield Iterate(w, passes=X.passes)
        g, H = gradient_of(problem, g, w), gram / problem.n
        H.flat[:: d + 1] += problem.strong_convexity
        p = -solver_of(H)(g)
        slope = float(g @ p)
        if is_settled(slope, P) and t == 1.0:  # a step that can be trusted before its P is known
            yield Iterate(w + p, passes=X.passes)
            if not is_last:
                return
        t, w, z, P = longest_step(problem.primal, w, z, p, X.forward(p), P, slope)
        yield Iterate(w, passes=X.passes)
        if ends(slope, P, t):
            return
