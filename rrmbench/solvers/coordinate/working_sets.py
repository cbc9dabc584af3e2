"""proto"""

import os
import time

import numpy as np

from rrmbench.numerics import restricted
from rrmbench.numerics.quadratic_descent import ByMatrix
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.coordinate.chosen import Chosen
from rrmbench.solvers.coordinate.quadratic import Quadratic

FLOOR = int(os.environ.get("FLOOR", 100))
EPS = float(os.environ.get("EPS", 1e-2))
GEPS = float(os.environ.get("GEPS", 1e-2))
GROW = float(os.environ.get("GROW", 1))
MARGIN = float(os.environ.get("MARGIN", 1.0))
SHIFT, LEAST = 1e-4, 1e-4
DEBUG = int(os.environ.get("DEBUG", 0))


@solver(needs={"smooth", "scalar", "coordinate", "rows"}, deterministic=True)
def working_sets(problem, start, rng):
    """proto"""
    problem = problem.counted()
    n, d, nnz = problem.n, problem.shape[0], max(problem.X.nnz, 1)
    rows = problem.X.rows
    s = problem.strong_convexity
    w = problem.start(start)
    t0 = time.thread_time()
    yield Iterate(w)
    z = problem.outputs(w)
    b = problem.loss_dual(z)
    linear = np.zeros(d) if problem.center is None else problem.kappa * problem.center
    g, sqnorms, counts = np.zeros(d), np.zeros(d), np.zeros(d, np.int64)
    restricted.gradient_and_sqnorms(rows, b, g, sqnorms, counts)
    g /= n
    bound = problem.smoothness
    L = sqnorms * (bound / n)
    L = np.maximum(L, 1e-12 * (L.max() or 1.0))
    chosen = Chosen(rows, n, counts)
    chosen.read += nnz
    P = problem.primal(w, z)
    out = np.empty(d)

    def passes():
        return problem.X.passes + chosen.read / nnz / 2

    while True:
        ta = time.thread_time()
        total = L + s
        def potentials(g):
            restricted.proximal_steps(problem.regularizer, (L * w - g + linear) / total, 1.0 / total, out)
            return total * (out - w) ** 2
        potential = potentials(g)
        greatest = potential.max()
        tolerance = EPS * greatest
        W = chosen.numbers
        outside = potential.copy()
        outside[W] = 0.0
        if MARGIN > 1 and (outside > tolerance).any():
            outside = potentials(MARGIN * g)
            outside[W] = 0.0
        cand = np.flatnonzero(outside > tolerance)
        room = max(FLOOR, int(GROW * W.size))
        if cand.size:
            if W.size + min(cand.size, room) > d // 2:
                new = np.arange(d)
            else:
                if cand.size > room:
                    cand = cand[np.argpartition(outside[cand], -room)[-room:]]
                new = np.sort(np.concatenate([W, cand]))
            chosen.grow(new)
            W = new
        tb = time.thread_time()
        h = (problem.loss_dual(z + SHIFT) - problem.loss_dual(z - SHIFT)) / (2 * SHIFT)
        exact = bool((h > (1 - 1e-6) * bound).all())
        h = np.full(n, bound) if exact else np.maximum(h, LEAST * bound)
        H, curvatures, state = chosen.form(h, exact)
        curvatures = np.maximum(curvatures, 1e-12 * (curvatures.max(initial=0.0) or 1.0))
        model = Quadratic(H, curvatures, state, problem.regularizer, s, linear[W], g[W], w[W])
        tc = time.thread_time()
        seen = read = 0
        at = passes()
        use = isinstance(H, ByMatrix)
        for _ in model.descend(tolerance * (GEPS / EPS if use and exact else 1.0)):
            chosen.spent(H, model.read - read)
            read = model.read
            if passes() - at > 0.25:
                at = passes()
                if exact:
                    w[W] = model.w
                    b = problem.loss_dual(z + chosen.outputs(H, None, model.state))
                yield Iterate(w, b, at)
        td = time.thread_time()
        away = model.w - model.w0
        u = chosen.outputs(H, away, model.state)
        t = 1.0
        before = w.copy()
        for _ in range(30):
            w[W] = model.w0 + t * away
            zn = z + t * u
            Pn = problem.primal(w, zn)
            if exact or Pn <= P + 1e-15 * abs(P):
                break
            t *= 0.5
        z, P = zn, Pn
        b = problem.loss_dual(z)
        g = problem.X.adjoint(b) / n
        te = time.thread_time()
        if DEBUG:
            print(f"{te-t0:.3f} W {W.size} nz {np.count_nonzero(w)} P {P:.9f} pot {greatest:.2e} use {use} exact {exact} t {t:.3f} read/nnz {model.read/nnz:.2f} price/nnz {chosen._price/nnz:.2f} sub {chosen.nnz/nnz:.2f} len {model._length} | grow {tb-ta:.4f} model {tc-tb:.4f} inner {td-tc:.4f} rest {te-td:.4f}", flush=True)
        yield Iterate(w, b, passes())
