"""proto"""

import numpy as np

from rrmbench.numerics import quadratic_descent as qd
from rrmbench.numerics import restricted as rs
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
import os
FLOOR = int(os.environ.get("FLOOR", 100))
EPS = float(os.environ.get("EPS", 1e-2))
LEAST = 1e-6
GRAM = float(os.environ.get("GRAM", 10))
GROW = float(os.environ.get("GROW", 1))
MEM = 1 << 23
DEBUG = int(os.environ.get("DEBUG", 0))
import time


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
    rs.gradient_and_sqnorms(rows, b, g, sqnorms, counts)
    touched = nnz
    g /= n
    bound = problem.smoothness
    L = sqnorms * (bound / n)
    L = np.maximum(L, 1e-12 * L.max() if L.max() > 0 else 1.0)
    W = np.zeros(0, np.int64)
    part = None
    gram = None
    P = problem.primal(w, z)
    while True:
        if DEBUG:
            ta = time.thread_time()
        total = L + s
        step = problem.regularization.prox((L * w - g + linear) / total, 1.0) if False else None
        step = prox_each(problem.regularizer, (L * w - g + linear) / total, 1.0 / total) - w
        potential = total * step * step
        greatest = potential.max()
        tolerance = EPS * greatest
        # growth
        outside = potential.copy()
        outside[W] = 0.0
        cand = np.flatnonzero(outside > tolerance)
        room = max(FLOOR, int(GROW * W.size))
        grown = False
        if d <= FLOOR or W.size + min(cand.size, room) > d // 2:
            if W.size < d and cand.size:
                new = np.arange(d)
                grown = True
        elif cand.size:
            if cand.size > room:
                cand = cand[np.argpartition(outside[cand], -room)[-room:]]
            new = np.sort(np.concatenate([W, cand]))
            grown = True
        if grown:
            fresh = np.ones(new.size, np.bool_)
            old = np.searchsorted(new, W)
            fresh[old] = False
            if gram is not None:
                g2 = np.zeros((new.size, new.size))
                g2[np.ix_(old, old)] = gram
                gram = g2
            W = new
            subnnz = int(counts[W].sum())
            if W.size == d:
                part = rs.Part(rows.indptr, rows.indices, rows.data)
            else:
                place = np.full(d, -1, np.int32)
                place[W] = np.arange(W.size)
                part = rs.Part(np.empty(n + 1, rows.indptr.dtype), np.empty(subnnz, np.uint32), np.empty(subnnz))
                rs.chosen_rows(rows, place, part)
                touched += nnz
            columns = None
            rent, price = 0, rs.pairs(part, n)
            if gram is not None:
                if W.size**2 > MEM:
                    gram = None
                else:
                    touched += rs.add_fresh_products(part, np.full(n, bound / n), fresh, gram)
                    rs.mirror(gram)
        if DEBUG:
            tb = time.thread_time()
        # model
        e = 1e-4
        h = (problem.loss_dual(z + e) - problem.loss_dual(z - e)) / (2 * e)
        exact = bool((h > (1 - 1e-6) * bound).all())
        if exact:
            weights = np.full(n, bound / n)
        else:
            weights = np.maximum(h, 1e-4 * bound) / n
        small = W.size**2 <= MEM
        use = small and (gram is not None or price <= GRAM * subnnz or rent >= price)
        if use:
            if gram is None or not exact:
                gram = np.zeros((W.size, W.size))
                rs.add_products(part, weights, gram)
                rs.mirror(gram)
                touched += price
            state = np.zeros(W.size)
            A = qd.ByMatrix(gram)
            curv = np.diag(gram).copy()
        else:
            root = np.sqrt(weights)
            if columns is None or not exact:
                indptr = np.zeros(W.size + 1, np.int64)
                np.cumsum(counts[W], out=indptr[1:])
                columns = rs.Part(indptr, np.empty(subnnz, np.uint32), np.empty(subnnz))
                rs.weighted_columns(part, root, columns)
                touched += subnnz
            state = np.zeros(n)
            A = qd.ByColumns(*columns)
            curv = sqnorms_of(columns) if not exact else L[W]
        curv = np.maximum(curv, 1e-12 * curv.max())
        wl, w0, gl = w[W], w[W], g[W]
        tc = time.thread_time()
        tot = 0
        while True:
            read, done = qd.descend(A, problem.regularizer, s, linear[W], curv, gl, w0, wl, state, tolerance, 20 * nnz if use else 2 * nnz)
            tot += read
            if not use:
                touched += read
                rent += read
            if done or not exact:
                break
            wn = w.copy(); wn[W] = wl
            if use:
                break
            u = state / root
            w = wn
            b = problem.loss_dual(z + u)
            yield Iterate(w, b, problem.X.passes + touched / nnz / 2)
            if small and rent >= price:
                break
        td = time.thread_time()
        delta = wl - w0
        if use:
            u = np.empty(n)
            rs.outputs(part, delta, u)
            touched += subnnz
        else:
            u = state / root
        D = gl @ delta + problem.psi_of(wl, w0) if False else None
        t = 1.0
        wb = w.copy() if True else w
        wb[W] = w0
        for _ in range(30):
            wn = wb.copy()
            wn[W] = w0 + t * delta
            zn = z + t * u
            Pn = problem.primal(wn, zn)
            if exact or Pn <= P + 1e-15 * abs(P):
                break
            t *= 0.5
        w, z, P = wn, zn, Pn
        b = problem.loss_dual(z)
        g = problem.X.adjoint(b) / n
        te = time.thread_time()
        if DEBUG:
            print(f"{te-t0:.3f} W {W.size} nz {np.count_nonzero(w)} P {P:.9f} pot {greatest:.2e} use {use} exact {exact} t {t:.3f} read/nnz {tot/nnz:.2f} price/nnz {price/nnz:.2f} sub {subnnz/nnz:.2f} | grow {tb-ta:.4f} model {tc-tb:.4f} inner {td-tc:.4f} rest {te-td:.4f}", flush=True)
        yield Iterate(w, b, problem.X.passes + touched / nnz / 2)


def sqnorms_of(columns):
    return np.add.reduceat(columns.data**2, columns.indptr[:-1]) if columns.data.size else np.zeros(columns.indptr.size-1)


from rrmbench.numerics.jit import kernel

@kernel
def prox_each(regularizer, x, t):
    out = np.empty(x.shape)
    for j in range(x.shape[0]):
        out[j] = regularizer.prox(x[j], t[j])
    return out
