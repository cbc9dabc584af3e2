"""The method of multipliers by semismooth Newton steps, for losses of linear pieces on k classes."""

from functools import partial
from math import sqrt

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.lines import whole_axpy
from rrmbench.numerics.sparse_rows import axpy
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import squares_of
from rrmbench.solvers.second_order.gram import of_a_pass, solver_of, told_ahead
from rrmbench.solvers.second_order.growing import on_growing_samples, too_many_entries
from rrmbench.solvers.second_order.multipliers import ROUNDING, flat_step, next_weight
from rrmbench.stages.starting_values import starting_values

INEXACT = 0.1  # of (q/2n) ||b - c||^2: a step with no greater slope ends a stage
FAR = 2.0  # times the last movement of the columns of w is the reach of those at rest; above 1, so that it can grow
FULL = 0.5  # of the entries of a row, from which on it is multiplied with its zeros
PER_ENTRY = 4  # samples of a stage at least, times d sqrt(k)

FEW, PER_NUMBER = 1000, 4  # numbers of the model, samples for each: beyond, H takes longer than first-order methods

NEEDS = frozenset({"rows", "Zero", "separable", "strongly_convex", "prox_slopes"})


def is_best_for(traits, n, size):
    """Whether no other solver is surer to certify a problem of these traits on n samples, for models of this size."""
    return traits >= NEEDS and size <= min(n // PER_NUMBER, FEW)


@solver(needs=NEEDS, gives={"gap", "full_steps"}, too_large=too_many_entries)
def ssnal_multiclass(problem, start, rng):
    """w = argmin (1/n) sum max_b [b.z_i - phi*(b) - (q/2) ||b - c_i||^2] + Psi(w), z = X w; c = b, q halves, and again

    The method of multipliers of `ssnal`, for losses on the scores of k classes. The minimized function is smooth and
    its derivative has kinks: w+ = w - t H^-1 g, and t by a search along the outputs, which touches no data. H = (1/n)
    sum D_i (x) x_i x_i^T + diag(S), S the squares of Psi, D_i = diag(s_i) - s_i s_i^T / sum(s_i), where s_i is positive
    for the classes alone that have a share of b_i: most samples have one, and D_i = 0. A stage ends when a step has a
    slope g^T H^-1 g of at most a tenth of (q/2n) ||b - c||^2. q of the first stage is (P(0) - D(0))/(2 D), as mu of
    `adapt_smooth`; at first c is the b of the start, or 0. From w = 0 the first stages have 1/64, 1/16 and 1/4 of the
    samples, 4 d sqrt(k) at least. After a stage in which b stood still but for rounding, q doubles.

    Where at most half of the samples have a b_i that may change while no column of w moves farther than twice as far as
    lastly, the others rest: Newton steps are made on copies of those, and end where a column has moved so far.

    For few features and classes: the product of two entries of a row, for two of its a classes with a share, counts as
    that of an entry with a number of the model, of which a pass has 2 k for each entry. So a row of m entries counts m
    and a m (a m + 1)/(2 k) for H; outputs, X^T b and the copies are half a pass of these rows each. Cholesky's factors
    of H (d k, d k) touch no data; the clock includes them. Yields after X^T b, each part of H and each step; iterates
    have b where that of all samples is known.

    Raises RrmbenchError for d k > 3000.
    """
    w = problem.start(start)
    yield Iterate(w)
    _rehearse(problem, w)
    (_, scale), _ = yield from starting_values(None, problem, Iterate(problem.start()), None, "auto")
    d, k = w.shape
    stages = Stages(scale, None if start is None else start.b)
    yield from on_growing_samples(problem, w, rng, stages.steps, PER_ENTRY * d * sqrt(k))


def _rehearse(problem, w):
    """Call on no row the kernels that few passes over few rows may not call."""
    none = np.zeros((0, w.shape[1]))
    rise_along(problem.loss, problem.mu, 1.0, none, problem.y[:0], none, none, none, 1.0)
    add_second_derivatives(problem.X.rows, np.zeros(0, dtype=np.int64), none, np.zeros((1, 1, 1, 1)))


class Stages:
    """The proximal steps of the dual: their weight q, and their centre c, (n, k) or None for 0.

    scale : the weight of the first
    """

    def __init__(self, scale, c):
        self.q, self.scale, self.c = scale, scale, c

    def steps(self, problem, w, is_last):
        """Yield the iterates of one stage on some samples, or of one after the other on all."""
        while True:
            c = self.c if is_last and self.c is not None else np.zeros((problem.n, problem.shape[1]))
            w, b, stands = yield from _stage(problem, w, c, self.q)
            self.q = next_weight(self.q, self.scale, stands)
            if not is_last:
                return
            self.c = b


def _stage(problem, w, c, q):
    """One stage from w on a problem with a counting view of X.

    Returns the w of its end, b there, and whether b stands where c is but for rounding.
    """
    z, reach, least, is_over = problem.outputs(w), np.inf, 0.0, False
    every = Awake(problem, problem.n, q, c, z)
    rounding = ROUNDING * abs(problem.primal(w, z))
    while not is_over:
        near = every.update(reach)
        yield Iterate(w, every.b, every.passes, objectives=partial(every.objectives, w))
        if not 0 < 2 * near.size <= problem.n:
            w, moved, is_over = yield from every.step(w, np.inf, least)
        else:
            awake, moved = every.on(near), 0.0
            while not is_over and moved < reach:
                if moved:
                    awake.update(np.inf)
                w, way, is_over = yield from awake.step(w, reach - moved, least)
                moved, least = moved + way, rounding
            problem.X.passes = awake.passes
            every.b[near] = awake.b
            if not is_over:
                every.z = problem.outputs(w)
        reach, least = FAR * moved, rounding  # a stage whose slope is rounding has one step
    return w, every.b, INEXACT * every.distance() <= rounding


class Awake:
    """The samples of a stage that are not at rest: their outputs z, b, slopes s and c (m, k), and v = sum b_i (x) x_i.

    problem : on these samples, with a counting view of X
    n, q : the samples of the stage, and the weight of its proximal term
    before, share : the passes made before, and how many a pass of these samples is
    """

    def __init__(self, problem, n, q, c, z, before=0.0, share=1.0):
        self.problem, self.n, self.q, self.c, self.z = problem, n, q, c, z
        self.before, self.share = before, share
        self.of_rest = 0.0, 0.0  # of the samples at rest: their constant part of v, and of sum ||b_i - c_i||^2
        self.b, self.s, self.shares = np.zeros(z.shape), np.zeros(z.shape), np.zeros(len(z), dtype=np.int64)

    @property
    def passes(self):
        return self.before + self.share * self.problem.X.passes

    def distance(self):
        """(q/2n) sum ||b_i - c_i||^2 over the samples of the stage."""
        return self.q / (2.0 * self.n) * (float(np.sum((self.b - self.c) ** 2)) + self.of_rest[1])

    def objectives(self, w):
        """(P(w), D(b)) of a stage on all samples, none of which rests, where z are the outputs of w."""
        problem = self.problem
        return problem.primal(w, self.z), problem.dual_at(-self.v / problem.n, self.b)[0]

    def update(self, reach):
        """Compute b and s at z, and v; return the samples whose b_i may change while no column of w moves that far."""
        problem, near = self.problem, np.zeros(len(self.z), dtype=np.bool_)
        update_duals(
            problem.loss, problem.mu, self.q, self.z, problem.y, self.c,
            problem.X.rows.sqnorms, reach, self.b, self.s, self.shares, near,
        )  # fmt: skip
        self.v = self.of_rest[0] + problem.X.adjoint(self.b)
        return np.flatnonzero(near)

    def on(self, near):
        """Some of the samples, on copies of their rows; the others are at rest."""
        part = self.problem.on(near).counted()
        share = part.X.nnz / max(self.problem.X.nnz, 1)
        some = Awake(part, self.n, self.q, self.c[near], self.z[near], before=self.passes + 0.5 * share, share=share)
        some.b, some.s, some.shares, some.v = self.b[near], self.s[near], self.shares[near], self.v
        of_others = float(np.sum((self.b - self.c) ** 2) - np.sum((some.b - some.c) ** 2))
        some.of_rest = self.v - part.X.adjoint(some.b), max(of_others, 0.0)
        return some

    def step(self, w, reach, least):
        """A Newton step by which no column of w moves farther than `reach`, to where b is not known yet.

        Yields iterates. Returns w+, the greatest movement of a column, and whether the stage is over.

        least : a slope that ends it, too
        """
        problem, (d, k), squares = self.problem, w.shape, squares_of(self.problem)
        yield Iterate(w, passes=self.passes)
        H = np.zeros((k, d, k, d))
        for _ in self._add_second_derivatives(H):
            yield Iterate(w, passes=self.passes)
        g = self.v / self.n + squares * w - problem.center_term()
        p = -self._solved(H, squares, g)
        slope, bend = float(np.vdot(g, p)), float(np.vdot(squares * p, p))
        if -slope <= max(INEXACT * self.distance(), least):
            return w, 0.0, True
        along, length = problem.X.forward(p), float(np.sqrt(np.max(np.sum(p**2, axis=0))))
        fixed = problem.loss, problem.mu, self.q, self.z, problem.y, self.c, self.b, along
        longest = reach / length
        t = flat_step(lambda t: slope + t * bend + rise_along(*fixed, t) / self.n, slope, longest)
        self.z = self.z + t * along
        yield Iterate(w + t * p, passes=self.passes)
        return w + t * p, reach if t == longest else t * length, t == 0.0

    def _solved(self, H, squares, g):
        """The (d, k) solution of (H/n + diag(squares)) p = g; H (k, d, k, d) has the half that is written, and is lost.

        As D_i 1 = 0, the matrix is diagonal on what the columns of p have in common. Squares below the rounding of the
        rest would be lost there to Cholesky's factors: the matrix is made greater, and the mean of p is that of g over
        the squares.
        """
        d, k = g.shape
        flat, each = H.reshape(d * k, d * k), np.arange(d)
        flat += np.triu(flat, 1).T
        flat /= self.n
        flat.flat[:: d * k + 1] += squares.T.reshape(-1)
        H[:, each, :, each] += np.diag(flat).reshape(k, d).mean(axis=0)[:, np.newaxis, np.newaxis] / k
        p = np.ascontiguousarray(solver_of(flat)(g.T.reshape(-1)).reshape(k, d).T)
        return p + ((g / squares).mean(axis=1) - p.mean(axis=1))[:, np.newaxis]

    def _add_second_derivatives(self, H):
        """Add sum D_i (x) x_i x_i^T to H, see `add_second_derivatives`. Yields after each part of the work."""
        X, k = self.problem.X, self.z.shape[1]
        bent = np.flatnonzero(self.shares > 1)
        m = np.diff(X.rows.indptr)[bent].astype(np.int64)
        size = self.shares[bent] * np.where(FULL * X.shape[1] <= m, X.shape[1], m)
        before, a_pass = X.passes, 2.0 * max(X.nnz, 1)
        reads = np.concatenate(([0.0], np.cumsum(m + size * (size + 1) / (2.0 * k))))
        for begin, end in of_a_pass(reads, a_pass):
            after = before + float(reads[end]) / a_pass
            yield from told_ahead(X, after)
            add_second_derivatives(X.rows, bent[begin:end], self.s, H)
            X.passes = after
            yield


@kernel
def update_duals(loss, mu, q, z, y, c, sqnorms, reach, b, s, shares, near):
    """Write b_i = argmax_b b.z_i - (phi^mu)*(b) - (q/2) ||b - c_i||^2 and its slopes s_i to b and s (m, k).

    Writes how many classes have a slope to `shares` (m,). `near` (m,) are the samples with several, and those with one
    whose b_i is another where this class has lost, and all others have gained, ||x_i|| times reach.
    """
    k = z.shape[1]
    at, other = np.empty(k), np.empty(k)
    for i in range(z.shape[0]):
        for j in range(k):
            at[j] = z[i, j] + q * c[i, j]
        loss.dual_point_row(at, y[i], mu, q, b[i])
        loss.prox_slopes_row(b[i], y[i], mu, q, s[i])
        shares[i], own = 0, 0
        for j in range(k):
            if s[i, j] > 0.0:
                shares[i], own = shares[i] + 1, j
        near[i] = shares[i] > 1 or reach == np.inf
        if not near[i]:
            way = np.sqrt(sqnorms[i]) * reach
            for j in range(k):
                at[j] += way if j != own else -way
            loss.dual_point_row(at, y[i], mu, q, other)
            for j in range(k):
                near[i] = near[i] or other[j] != b[i, j]


@kernel
def rise_along(loss, mu, q, z, y, c, b, along, t):
    """The sum of (b_i(t) - b_i).along_i, b_i(t) the b_i where the outputs are z_i + t along_i."""
    k, total = z.shape[1], 0.0
    at, there = np.empty(k), np.empty(k)
    for i in range(z.shape[0]):
        for j in range(k):
            at[j] = z[i, j] + t * along[i, j] + q * c[i, j]
        loss.dual_point_row(at, y[i], mu, q, there)
        for j in range(k):
            total += (there[j] - b[i, j]) * along[i, j]
    return total


@kernel
def add_second_derivatives(rows, samples, s, H):
    """Add the sum of D_i (x) x_i x_i^T over the samples, D_i = diag(s_i) - s_i s_i^T / sum(s_i), to H (k, d, k, d).

    To one half of it: the blocks [j, :, l, :] with j <= l, and of those with j = l what is on and above the diagonal.
    Rows of which at least FULL is stored are multiplied with their zeros.
    """
    k, d = H.shape[0], H.shape[1]
    classes, x = np.empty(k, dtype=np.int64), np.empty(d)
    for r in range(samples.shape[0]):
        i = samples[r]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        m, count, total = np.int64(end) - np.int64(begin), 0, 0.0
        indices, is_full = rows.indices[begin:end], m >= FULL * d
        x[:] = 0.0
        for a in range(m):
            x[indices[a] if is_full else a] = rows.data[begin + a]
        for j in range(k):
            if s[i, j] > 0.0:
                classes[count] = j
                count, total = count + 1, total + s[i, j]
        for a in range(count):
            j = classes[a]
            for e in range(a, count):
                l = classes[e]
                weight = (s[i, j] if l == j else 0.0) - s[i, j] * s[i, l] / total
                for u in range(d if is_full else m):
                    first = u if l == j else 0
                    if is_full:  # without indices, which is several times as fast
                        whole_axpy(x, first, weight * x[u], H[j, u, l, first:])
                    else:
                        axpy(indices, x, first, m, weight * x[u], H[j, indices[u], l])
