"""The method of multipliers by semismooth Newton steps, for losses of linear pieces [Li, Sun and Toh 2018]."""

from functools import partial

import numpy as np

from rrmbench.numerics.jit import kernel
from rrmbench.numerics.sparse_rows import axpy, dot, sample_at
from rrmbench.parameters import Auto, Positive
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import WIDTH, squares_of
from rrmbench.solvers.second_order.gram import add_gram, solver_of
from rrmbench.solvers.second_order.growing import growing_samples, too_many_features
from rrmbench.solvers.second_order.multipliers import LEAST, ROUNDING, flat_step, next_weight
from rrmbench.stages.starting_values import starting_values

INEXACT = 0.5  # of (mu/2n) ||b - c||^2: a step with no greater slope ends a stage
FAR = 2.0  # times the last movement of the outputs: where b is constant so far to both sides, a sample may rest

NEEDS = frozenset({"rows", "Zero", "scalar", "separable", "strongly_convex", "piecewise_linear"})
FEW = 1000  # features: with more, H takes longer than the steps of first-order methods


def is_best_for(traits, n, d):
    """Whether no other solver is surer to certify a problem of these traits on data (n, d)."""
    return traits >= NEEDS and d <= min(n, FEW)


@solver(needs=NEEDS, gives={"gap", "full_steps"}, too_large=too_many_features)
def ssnal(problem, start, rng, *, mu: Positive | Auto = "auto"):
    """w = argmin (1/n) sum max_b [b x_i.w - phi*(b) - (mu/2) (b - c_i)^2] + Psi(w); c = b, mu halves, and again

    The proximal point method on the dual problem, which is the method of multipliers on z = X w. [Rockafellar 1976]
    The minimized function is smooth and its derivative has kinks: w+ = w - t H^-1 g, with H of the samples alone whose
    b is on a slope, and t by a search along the outputs, which touches no data. A stage ends when a step has a slope
    g^T H^-1 g, twice the decrease of the quadratic model, of at most half of (mu/2n) ||b - c||^2. At first c is the b
    of the start, or 0; from w = 0 the first stages have 1/64, 1/16 and 1/4 of the samples. After a stage in which b
    stood still but for rounding, mu doubles, as b is known to the rounding of the outputs divided by mu, and X^T b is
    computed anew.

    Samples rest whose b is constant up to twice the last movement of the outputs around theirs. Rows at rest are not
    read until the outputs of the others have moved as far, or the stage seems to be over; a stage ends with all
    outputs known. Where the b of a resting sample has changed by then, samples rest at twice the distance from then on;
    and if the minimized function may have risen, w goes back to where the rest began, and nobody rests in this stage.

    For few features: products of pairs of entries count as the entries that they read, as in `newton`; outputs half a
    pass, X^T b half a pass of the rows whose b has changed. Yields after each of these; w waits for its step.

    mu : of the first stage; "auto" is (P(0) - D(0))/(2 D), as in `adapt_smooth`, of which mu is never less than 2^-20

    Raises RrmbenchError for d > 3000.
    """
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    (_, scale), _ = yield from starting_values(None, problem, Iterate(problem.start()), None, "auto")
    outputs, mu, radius = Outputs(problem), scale if mu == "auto" else max(mu, LEAST * scale), np.inf
    if start is not None and start.b is not None:
        outputs.c[:] = start.b
    # on no row, so that the few passes of a warm-up call all kernels
    outputs.sum_anew()
    outputs.move(np.arange(0), mu, w, 1, -1.0, 1.0)
    for samples, is_last in growing_samples(problem, w, rng):
        if radius == np.inf and w.any():
            outputs.see(samples, w)
        w, radius, stands = yield from _stage(problem, outputs, w, samples, mu, radius)
        if is_last:
            outputs.c[:] = outputs.b
        else:
            radius = np.inf
        if stands:
            outputs.sum_anew()
        mu = next_weight(mu, scale, stands)


def _stage(problem, outputs, w, samples, mu, radius):
    """One stage from w, all of whose outputs are known.

    Returns the w of its end, the radius for the next stage, and whether b stands where c is but for rounding.
    """
    X, n, d = problem.X, samples.size, w.size
    squares, center = squares_of(problem), problem.center_term()
    rounding = ROUNDING * abs(problem.primal(w, outputs.z))
    awake, moved, t = samples, 0.0, None
    known, may_rest = w, True  # where all outputs were known last, and whether samples may rest
    while True:
        bent, slopes, near, wrong = outputs.update(awake, mu, radius)
        g = outputs.v / n + squares * w - center
        if wrong:
            outputs.far *= 2.0
            if float(g @ (known - w)) < 0.0:  # else the function, being convex, is not greater here
                w, may_rest = known, False
                outputs.see(samples, w)
                continue
        at = Iterate(w, passes=X.passes)
        if n == problem.n:
            at = at._replace(b=outputs.b, objectives=partial(outputs.objectives, w) if awake.size == n else None)
        yield at
        allowed = INEXACT * mu / (2.0 * n) * outputs.movement(samples)
        H = np.zeros((d, d))
        for _ in add_gram(X, True, H, bent, slopes):
            yield at._replace(passes=X.passes)
        H /= n
        H.flat[:: d + 1] += squares
        p = -solver_of(H)(g)
        slope, bend = float(g @ p), float(squares * p @ p)
        is_over = t is not None and (t == 0.0 or -slope <= max(allowed, rounding))
        if not is_over:
            if may_rest and awake.size == n and 2 * near.size <= n:
                known, awake = w, near.copy()
                outputs.rest(samples, awake)
            t, way = outputs.move(awake, mu, p, n, slope, bend)
            w = w + t * p
            moved += way
            yield Iterate(w, passes=X.passes)
        elif awake.size == n:
            return w, radius, allowed <= rounding
        if awake.size == n or is_over or moved > radius:
            if awake.size < n:
                moved = max(moved, outputs.see(samples, w))
                awake = samples
            radius, moved = outputs.far * moved or radius, 0.0


class Outputs:
    """The outputs z = X w (n,) with their b and c (n,), and v = sum_i b_i x_i.

    problem : with a counting view of X, whose passes grow
    far : times the movement of the outputs is the radius in which the b of a sample at rest is constant
    """

    def __init__(self, problem):
        n = problem.n
        self.problem, self.far, self.v = problem, FAR, np.zeros(problem.shape)
        self.z, self.b, self.c, self.along, self.slopes = (np.zeros(n) for _ in range(5))
        self.bent, self.near = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.is_resting = np.zeros(n, dtype=np.bool_)
        self.lengths, self.a_pass = np.diff(problem.X.rows.indptr), 2.0 * max(problem.X.nnz, 1)

    def see(self, samples, w):
        """Compute the outputs of the samples at w; return how far the one moved that moved most."""
        return self._write(samples, w, self.z)

    def rest(self, samples, awake):
        """Let the samples rest but the awake."""
        self.is_resting[samples] = True
        self.is_resting[awake] = False

    def update(self, awake, mu, radius):
        """Compute b at the outputs of the awake, and v.

        Returns the samples whose b is on a slope, these slopes, the samples whose b is not constant in the radius, and
        how many were at rest and have another b than before. The arrays are valid until the next call.
        """
        problem = self.problem
        bent, near, read, wrong = update_duals(
            problem.loss, mu, problem.X.rows, awake, self.z, problem.y, self.c, radius, self.is_resting,
            self.b, self.v, self.bent, self.slopes, self.near,
        )  # fmt: skip
        problem.X.passes += read / self.a_pass
        return self.bent[:bent], self.slopes[:bent], self.near[:near], wrong

    def sum_anew(self):
        """Compute v without the rounding of its changes."""
        X, moved = self.problem.X, np.flatnonzero(self.b)
        self.v[:] = 0.0
        add_combination(X.rows, moved, self.b[moved], self.v)
        X.passes += float(self.lengths[moved].sum()) / self.a_pass

    def objectives(self, w):
        """(P(w), D(b)), where the outputs are those at w."""
        problem = self.problem
        return problem.primal(w, self.z), problem.dual_at(-self.v / problem.n, self.b)[0]

    def movement(self, samples):
        """sum_i (b_i - c_i)^2 over the samples."""
        return squared_distance(self.b, self.c, samples)

    def move(self, awake, mu, p, n, slope, bend):
        """Move the outputs of the awake to those at w + t p; return t and the greatest |t x_i.p|.

        The minimized function, of n samples, has the slope `slope` + t `bend` + (1/n) `rise_along` on the way.
        """
        self._write(awake, p, self.along)
        problem = self.problem
        fixed = problem.loss, mu, awake, problem.y, self.z, self.c, self.b, self.along
        t = flat_step(lambda t: slope + t * bend + rise_along(*fixed, t) / n, slope)
        return t, move_along(awake, self.along, t, self.z)

    def _write(self, samples, w, z):
        X = self.problem.X
        X.passes += float(self.lengths[samples].sum()) / self.a_pass
        return renew_outputs(X.rows, samples, w, z)


@kernel
def renew_outputs(rows, samples, w, z):
    """Write x_i.w of the samples to z (n,); return the greatest change."""
    greatest = 0.0
    for k in range(samples.shape[0]):
        i = sample_at(samples, k)
        output = dot(rows.indices, rows.data, rows.indptr[i], rows.indptr[i + 1], w)
        greatest = max(greatest, abs(output - z[i]))
        z[i] = output
    return greatest


@kernel
def update_duals(loss, mu, rows, awake, z, y, c, radius, is_resting, b, v, bent, slopes, near):
    """Write b_i = argmax b z_i - phi*(b) - (mu/2) (b - c_i)^2 of the awake, and add its changes times x_i to v.

    Writes the samples with a slope of b at z_i, and the slope, and those whose b is another at z_i +- radius; wakes
    samples. Returns the numbers of both, the entries read, and how many at rest have another b than before.
    """
    with_slope, not_constant, read, wrong = 0, 0, 0, 0
    for k in range(awake.shape[0]):
        i = sample_at(awake, k)
        at = z[i] + mu * c[i]
        new = loss.dual_point(at, y[i], mu)
        change = new - b[i]
        if change != 0.0:
            b[i] = new
            wrong += is_resting[i]
            begin, end = rows.indptr[i], rows.indptr[i + 1]
            read += end - begin
            axpy(rows.indices, rows.data, begin, end, change, v)
        is_resting[i] = False
        width = WIDTH * (1.0 + abs(at))
        wide = max(radius, width)
        # counted without jumps, which nobody could foresee: this takes a third of the time
        near[not_constant] = i
        not_constant += loss.dual_point(at + wide, y[i], mu) > loss.dual_point(at - wide, y[i], mu)
        bent[with_slope] = i
        slopes[with_slope] = min(
            (loss.dual_point(at + width, y[i], mu) - loss.dual_point(at - width, y[i], mu)) / (2.0 * width), 1.0 / mu
        )
        with_slope += slopes[with_slope] > 0.0
    return with_slope, not_constant, read, wrong


@kernel
def squared_distance(b, c, samples):
    """sum_i (b_i - c_i)^2 over the samples."""
    total = 0.0
    for k in range(samples.shape[0]):
        i = sample_at(samples, k)
        total += (b[i] - c[i]) ** 2
    return total


@kernel
def rise_along(loss, mu, awake, y, z, c, b, along, t):
    """The sum of (b_i(t) - b_i) along_i over the awake, b_i(t) the b_i where their outputs are z_i + t along_i."""
    total = 0.0
    for k in range(awake.shape[0]):
        i = sample_at(awake, k)
        total += (loss.dual_point(z[i] + t * along[i] + mu * c[i], y[i], mu) - b[i]) * along[i]
    return total


@kernel
def move_along(awake, along, t, z):
    """Add t along_i to z_i of the awake; return the greatest |t along_i|."""
    greatest = 0.0
    for k in range(awake.shape[0]):
        i = sample_at(awake, k)
        z[i] += t * along[i]
        greatest = max(greatest, abs(t * along[i]))
    return greatest


@kernel
def add_combination(rows, samples, b, g):
    """Add sum_i b_i x_i over the samples (m,), b (m,), to g (d,)."""
    for s in range(samples.shape[0]):
        axpy(rows.indices, rows.data, rows.indptr[samples[s]], rows.indptr[samples[s] + 1], b[s], g)
