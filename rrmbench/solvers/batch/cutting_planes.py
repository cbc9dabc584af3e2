"""Cutting planes: the mean loss is bounded from below by planes, and Psi is taken as it is."""

from functools import partial

import numpy as np

from rrmbench.numerics.golden_section import GOLDEN_SECTION
from rrmbench.numerics.simplex_quadratic import maximizer
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver

AHEAD = 0.1  # of the way from the best model to the newest, where a plane is added
TRIALS = 6  # of P on this way; they take no product
IDLE = 100  # the newest planes, which stay even with the weight 0
FALL = 0.9  # of the gap, at which b is formed anew: it takes as long as many steps
NEWTON_STEPS = 5  # for the weights of the planes, after each plane
HALVINGS = 30  # of a Newton step, at most
DAMPING = 1e-6  # of a Newton step, over what the weights leave
INNER = 0.3  # of the gap, which the weights of the planes may still leave
ROUNDING = 1e-15  # of the terms of D_t, relative
APART = 1e-4  # how far a difference quotient of grad Psi* may move its argument v/s to each side, over the size of u


@solver(needs={"strongly_convex"}, gives={"gap"}, deterministic=True)
def cutting_planes(problem, start, rng):
    """The minimizer of Psi plus the greatest of all known linear bounds of the mean loss f; each step adds two bounds.

    With b = f'(X w) at any w, v = -(1/n) X^T b and c = -(1/n) sum phi*(b_i), f(u) >= c - v.u for every u. Of t such
    planes, the model's dual is a problem of t weights a on the simplex [Teo et al. 2010, section 2.3]

        max_a  D_t(a) = c.a - Psi*(sum_t a_t v_t) <= D(b),    b = sum_t a_t b_t

    solved by Newton steps, whose quadratic models on the simplex are maximized exactly. u = grad Psi*(v) minimizes the
    model. The best w is the best point found on the way from the last best one to u, and planes are added at u and, for
    stable progress, at `AHEAD` of the way from w to u [Franc and Sonnenburg 2009]. Where the mean loss has finitely
    many pieces, as `f1`, `m3n` and `max_row`, the method ends at the optimum once it has met the pieces there.

    A step is a product with X and two with X^T, so 1.5 passes. Planes that have the weight 0 and are not new are left
    out.
    """
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    z = problem.outputs(w)
    best, planes = (w, z, problem.primal(w, z)), Planes(problem)

    def known():
        """The best model and the b of the planes, whose objectives take no product."""
        return Iterate(best[0], planes.b, problem.X.passes, objectives=partial(planes.objectives, best[2]))

    if start is not None and start.b is not None:
        planes.add(start.b)
        yield known() if planes.b is not None else Iterate(w, None, problem.X.passes)
    planes.add(problem.loss_dual(z))
    yield known()
    while True:
        u = planes.minimizer(best[2])
        z = problem.outputs(u)
        best = between(problem, best, u, z)
        planes.form_b(best[2])
        planes.add(problem.loss_dual(best[1] + AHEAD * (z - best[1])))
        yield known()
        planes.add(problem.loss_dual(z))
        yield known()


def between(problem, best, u, z):
    """(w, X w, P(w)) of the best point seen on the way from `best` to u, z = X u, by golden section."""
    w, Xw, _ = best

    def at(t):
        x, Xx = w + t * (u - w), Xw + t * (z - Xw)
        return x, Xx, problem.primal(x, Xx)

    end = at(1.0)
    best = min(best, end, key=_value)
    low, high = 0.0, 1.0
    left, right = 1.0 - GOLDEN_SECTION, GOLDEN_SECTION
    at_left, at_right = at(left), at(right)
    for _ in range(TRIALS - 2):
        if at_left[2] <= at_right[2]:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN_SECTION * (high - low)
            at_left = at(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN_SECTION * (high - low)
            at_right = at(right)
    return min(best, at_left, at_right, key=_value)


def _value(point):
    return point[2] if np.isfinite(point[2]) else np.inf


class Planes:
    """The planes c_t - v_t.w, their weights a, and b = sum a_t b_t, v its v(b).

    D : D_t(a) of the last `minimizer`
    """

    def __init__(self, problem):
        self.problem, self.D = problem, -np.inf
        self.b, self.v, self._gap = None, None, np.inf
        self._room = np.empty((IDLE, int(np.prod(problem.shape))))
        self._v, self._c, self._a = self._room[:0], np.zeros(0), np.zeros(0)
        self._parts = []  # (places, values) of the entries of b_t that are not 0
        self._is_square = "Zero" in problem.traits and not problem.free_bias
        no_square = problem.l2 + problem.kappa == 0.0
        self._is_exact = no_square and hasattr(problem.regularizer, "conjugate_curvature")
        self._H = np.zeros((0, 0))  # v_t.v_s, where Psi is a square

    def add(self, b):
        """The plane of b; nothing where it is there already, or b is outside of the domain of the conjugates."""
        c = -self.problem.mean_conjugate(b)
        if not np.isfinite(c):
            return
        if self._c.size > IDLE:
            self._leave_out()
        v, t = self.problem.v(b).reshape(-1), self._c.size
        if any(np.array_equal(self._v[same], v) for same in np.flatnonzero(self._c == c)):
            return
        if t == len(self._room):
            self._room = np.concatenate([self._room, np.empty_like(self._room)])
        self._room[t] = v
        self._v, self._c = self._room[: t + 1], np.append(self._c, c)
        self._a = np.append(self._a, 0.0 if self._a.size else 1.0)
        where = np.flatnonzero(b)
        self._parts.append((where, b.reshape(-1)[where]))
        if self._is_square:
            row = self._v @ v
            self._H = np.block([[self._H, row[:-1, None]], [row[None, :]]])
        if self.b is None:
            self.b, self.v = b.copy(), v.copy().reshape(self.problem.shape)

    def _leave_out(self):
        kept = (self._a > 0.0) | (np.arange(self._a.size) >= self._a.size - IDLE)
        if np.count_nonzero(~kept) < IDLE // 4:
            return
        self._room[: np.count_nonzero(kept)] = self._v[kept]
        self._v, self._c, self._a = self._room[: np.count_nonzero(kept)], self._c[kept], self._a[kept]
        self._parts = [part for part, keeps in zip(self._parts, kept, strict=True) if keeps]
        if self._is_square:
            self._H = self._H[np.ix_(kept, kept)]

    def minimizer(self, P):
        """u of the weights that nearly maximize D_t, which are kept; P is the best value known.

        A Newton step is on the planes that have a weight, and those that would raise D_t.
        """
        v, u, D, _ = self._at(self._a)
        damping = DAMPING
        for _ in range(NEWTON_STEPS):
            slopes, mean, left = self._slopes(self._a, u)
            if left <= INNER * max(P - D, 0.0):
                break
            near = np.flatnonzero((self._a > 0.0) | (slopes > mean))
            H, here = self._curvature(v, u, near), self._a[near]
            if not self._is_square:  # grad Psi* may stand still
                H.flat[:: near.size + 1] += damping * left
            aim = np.zeros(self._a.size)
            aim[near] = maximizer(H, slopes[near], here) - here
            t = 1.0
            for _ in range(HALVINGS):
                a = self._a + t * aim
                new_v, new_u, new_D, rounding = self._at(a)
                # near the maximum D stands still before u does, of which P is a function with kinks
                if new_D > D or (new_D >= D - rounding and self._slopes(a, new_u)[2] < 0.5 * left):
                    self._a, v, u, D = a, new_v, new_u, new_D
                    break
                t *= 0.5
            else:
                if self._is_square or damping > 1.0:
                    break
                t = 0.0
            damping = damping * 100.0 if t < 0.1 else DAMPING
        self.D = D
        return u

    def _at(self, a):
        """(v, grad Psi*(v), D_t, its rounding) at the weights a."""
        v = (a @ self._v).reshape(self.problem.shape)
        u = self.problem.primal_point(v)
        Psi = self.problem.Psi(u)
        D = float(a @ self._c) - float(np.vdot(v, u)) + Psi
        return v, u, D, ROUNDING * (float(a @ np.abs(self._c)) + float(np.abs(v * u).sum()) + abs(Psi))

    def _slopes(self, a, u):
        """(the derivatives of D_t by the weights at a, their mean over a, how much the greatest is above the mean)."""
        slopes = self._c - self._v @ u.reshape(-1)
        mean = float(slopes @ a)
        return slopes, mean, float(slopes.max()) - mean

    def _curvature(self, v, u, which):
        """(k, k): v_t times the derivative of grad Psi* along v_r, for t and r in `which`, at v where it is u."""
        if self._is_square:
            return self._H[np.ix_(which, which)] / self.problem.strong_convexity
        planes = self._v[which]
        if self._is_exact:
            x = self.problem.regularizer.conjugate_curvature(u).reshape(-1)
            means = planes @ x
            return (planes * x) @ planes.T - np.outer(means, means) / max(float(x.sum()), np.finfo(float).tiny)
        s = self.problem.strong_convexity
        size = float(np.abs(u).max()) or float(np.abs(v).max()) / s or 1.0  # data of other units have other models
        h = APART * s * size / max(float(np.abs(planes).max()), np.finfo(float).tiny)
        ways = np.empty(planes.shape)
        for t, way in enumerate(planes):
            away = h * way.reshape(v.shape)
            ways[t] = (self.problem.primal_point(v + away) - self.problem.primal_point(v - away)).reshape(-1)
        H = planes @ ways.T / (2.0 * h)
        return 0.5 * (H + H.T)

    def form_b(self, P):
        """Have b of the present weights, if the gap to P has fallen."""
        gap = P - self.D
        if not gap <= FALL * self._gap:
            return
        b, low, high = np.zeros((3, self.b.size))
        for a, (where, values) in zip(self._a, self._parts, strict=True):
            if a > 0.0:
                b[where] += a * values
                low[where] = np.minimum(low[where], values)
                high[where] = np.maximum(high[where], values)
        np.clip(b, low, high, out=b)  # rounding may carry a mixture of vertices out of the domain, whose D is -inf
        self.b, self._gap = b.reshape(self.b.shape), gap
        self.v = (self._a @ self._v).reshape(self.problem.shape)

    def objectives(self, P):
        """(P, D(b)), for no product."""
        return P, self.problem.dual_at(self.v, self.b)[0]
