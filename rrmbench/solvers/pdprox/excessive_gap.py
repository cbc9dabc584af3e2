"""Nesterov's excessive gap technique in composite form: the baseline "Pdexg" of [Pdprox, section 5.4].

With A = X/n, conj(b) = (1/n) sum (phi^mu)*(b_i), a centre w0 and b0, and two smoothing parameters, let

    f(w; mu2) = Psi(w) + max_b  b.(A w) - conj(b) - (mu2/2) ||b - b0||^2       at most mu2 D2 below P
    g(b; mu1) = -conj(b) + min_w  Psi(w) + b.(A w) + (mu1/2) ||w - w0||^2

    D1 >= ||w* - w0||^2/2,    D2 >= ||b - b0||^2/2 for all b in the domain of conj.

All iterates keep the excessive gap f(w; mu2) <= g(b; mu1), from which

    P(w) - P(w*) <= f(w; mu2) + mu2 D2 - P(w*) <= g(b; mu1) + mu2 D2 - P(w*) <= mu1 D1 + mu2 D2,

and each step multiplies one of mu1, mu2 by 1 - tau, where tau^2/(1 - tau) = (mu1 + s) (mu2 + gamma/n) / ||A||^2: the
greatest tau for which the proofs hold, s being the strong convexity of Psi and gamma that of phi*.

The proximal steps take Psi and conj as they are, neither linearized nor smoothed. The paper's version writes the
regularizer as a maximum too and smooths it, so that w has no zeros; the version here is the stronger opponent.
"""

from itertools import islice
from math import inf, sqrt

import numpy as np

from rrmbench.numerics.whole_arrays import toward
from rrmbench.parameters import Auto, Positive
from rrmbench.problem.constants import NoTheorem
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.pdprox.begin import free_v, origin

ROUNDING = 1e-20  # of s: a mu1 that is less makes no difference beside it, and has an inverse that may overflow
GREATEST_RADIUS = 1e150  # a bound of ||w*|| that says something, and whose square is finite


def excessive_gap_bound(constants, passes, *, radius, step_scale):
    """mu1 ||w0 - w*||^2 / 2 + mu2 D2 after the steps that so many passes hold, as at the head of this file.

    For a start with b = 0, and step_scale <= 1. [Nesterov 2005b, sections 6 and 7]
    """
    s, gamma = constants.s, constants.gamma / constants.n
    if step_scale > 1.0:
        raise NoTheorem("excessive_gap", "the theorem needs step_scale <= 1", step_scale=step_scale)
    if gamma == 0.0 and constants.D2 == inf:
        raise NoTheorem("excessive_gap", "the theorem needs a smooth or a Lipschitz loss")
    norm2 = constants.S / (constants.n * step_scale**2)
    reach = constants.reach if radius == "auto" else radius
    first = mu_at_first(norm2, s, gamma, lambda: D1_and_D2(reach, constants.D2))
    k = steps_in(np.asarray(passes, dtype=float) - 0.5, s, gamma, constants.start, radius)
    mu = np.array(list(islice(mu_after(*first, norm2, s, gamma), 1 + int(np.max(k, initial=0.0)))))
    bound = 0.5 * constants.distance * mu[:, 0]
    if gamma == 0.0:
        bound += 0.5 * constants.D2 * mu[:, 1]
    return np.where(k >= 0.0, bound[np.maximum(k, 0.0).astype(int)], inf)


def steps_in(passes, s, gamma, start, radius):
    """The steps in so many passes beside those of the first pair, or less; `start` is 0.5 where X w0 is a product."""
    if gamma > 0.0:
        return np.floor(passes - start)
    if s > 0.0:
        return np.floor(passes)
    passes = passes - (start if radius == "auto" else 0.0)
    begun = passes % 3.0  # two steps: one ends after a pass, and one after two and a half
    return np.where(passes < 0.0, -1.0, 2.0 * np.floor(passes / 3.0) + (begun >= 1.0) + (begun >= 2.5))


def D1_and_D2(reach, squares):
    """D1 of a bound of ||w0 - w*|| that says something, else of 1; D2 of one of ||b - b0||^2, 1 where b0 is alone."""
    return 0.5 * reach**2 if 0.0 < reach < GREATEST_RADIUS else 0.5, 0.5 * squares or 1.0


def mu_at_first(norm2, s, gamma, distances):
    """(mu1, mu2) of the first pair; D1 and D2 are those of distances(), for which there may be a product to make."""
    if gamma > 0.0:
        return norm2 / gamma, 0.0
    if s > 0.0:
        return 0.0, norm2 / s
    D1, D2 = distances()
    norm, ratio = sqrt(norm2), sqrt(D2 / D1)
    return norm * ratio, norm / ratio


def mu_after(mu1, mu2, norm2, s, gamma):
    """Yield (mu1, mu2) after 0, 1, 2, ... steps."""
    lowers_mu2 = gamma == 0.0
    while True:
        yield mu1, mu2
        left = 1.0 - part(mu1, mu2, norm2, s, gamma)
        mu1, mu2 = (mu1, mu2 * left) if lowers_mu2 else (mu1 * left, mu2)
        lowers_mu2 = gamma == 0.0 and (s > 0.0 or not lowers_mu2)


def part(mu1, mu2, norm2, s, gamma):
    """The tau of a step."""
    c = (mu1 + s) * (mu2 + gamma) / norm2
    return 2.0 / (1.0 + sqrt(1.0 + 4.0 / c)) if c > 0.0 else 0.0


@solver(needs={"conjugate_prox"}, aliases=["pdexg"], bound=excessive_gap_bound, deterministic=True)
def excessive_gap(problem, start, rng, *, radius: Positive | Auto = "auto", step_scale: Positive = 1.0):
    """The excessive gap technique: a pair (w, b) whose smoothed objectives have changed sides. [Nesterov 2005b]

    The strong convexity of the problem decides which of mu1 and mu2 are used and decrease:

        phi smooth    mu2 = 0, mu1 falls: O(1/k^2), and faster for s > 0
        s > 0         mu1 = 0, mu2 falls: O(1/k^2) [Nesterov 2005b, section 7]
        else          mu2 and mu1 fall in turn, from mu1 mu2 = ||A||^2 and mu1 D1 = mu2 D2:
                      P(w) - P(w*) <= 4 ||A|| sqrt(D1 D2) / k about, after k steps [Nesterov 2005b, section 6]

    ||A||^2 is bounded by (1/n^2) sum ||x_i||^2 <= R^2/n; D2 = n G^2/2 or less, four times that from a start with
    b != 0. In the last case a step and the product that it leaves to be made cost one and a half passes, else a step
    costs one.

    radius : the r of D1 = r^2/2, which matters in the last case only. "auto" derives it as the paper does: psi(w*) is
        at most P(w0) minus the least value of the losses, which bounds ||w*||, to which ||w0|| is added; where it does
        not, r = 1.
    step_scale : divides the bound of ||A||. For more than bound/||A|| there is no theorem.

    The centre is the start. mu1 and mu2 do not know that it may be good.
    """
    pair = Pair(problem, start, radius, step_scale)
    yield Iterate(pair.w0, pair.b0)
    pair.begin()
    while True:
        yield Iterate(pair.w, pair.b, pair.passes)
        if pair.gamma > 0.0:
            pair.lower_mu1()
        elif pair.s > 0.0:
            pair.lower_mu2()
        else:
            pair.lower_mu2()
            yield Iterate(pair.w, pair.b, pair.passes)
            pair.find_v()
            yield Iterate(pair.w, pair.b, pair.passes)
            pair.lower_mu1()
            yield Iterate(pair.w, pair.b, pair.passes)
            pair.find_z()


class Pair:
    """w and b with f(w; mu2) <= g(b; mu1), and z = X w and v = -(1/n) X^T b where these are known."""

    def __init__(self, problem, start, radius, step_scale):
        self.problem, self.radius = problem.counted(), radius
        at = origin(problem, start)
        self.w0, self.b0 = at.w, at.b
        # without data any bound is right
        self.norm2 = problem.S / (problem.n * step_scale**2)
        self.s, self.gamma = problem.strong_convexity, 1.0 / (problem.smoothness * problem.n)

    @property
    def passes(self):
        return self.problem.X.passes

    def begin(self):
        """The first pair, for the mu1 and mu2 of the docstring above."""
        self.mu1, self.mu2 = mu_at_first(self.norm2, self.s, self.gamma, self.distances)
        if self.gamma > 0.0:
            self.b = self.best_b(self.problem.outputs(self.w0))
            self.v = free_v(self.problem, self.b)
            self.w, self.z = self.best_w(self.v), None
            return
        self.w = self.best_w(free_v(self.problem, self.b0))
        self.z = self.problem.outputs(self.w)
        self.b, self.v = self.best_b(self.z), None

    def distances(self):
        """D1 and D2."""
        reach = self.problem.reach(self.w0) if self.radius == "auto" else self.radius
        return D1_and_D2(reach, self.problem.dual_squares * (4.0 if self.b0.any() else 1.0))

    def lower_mu1(self):
        """A step with f's prox-gradient step at the end: mu1 = (1 - tau) mu1; needs v."""
        tau, p = self.tau(), self.problem
        w = toward(self.w, self.best_w(self.v), tau)
        b = self.best_b(self.problem.outputs(w))
        v, L = free_v(self.problem, b), self.norm2 / (self.mu2 + self.gamma)
        self.w, self.z = p.prox(w + v / L, 1.0 / L), None
        self.b, self.v = toward(self.b, b, tau), toward(self.v, v, tau)
        mu1 = self.mu1 * (1.0 - tau)
        self.mu1 = mu1 if mu1 > ROUNDING * self.s else 0.0

    def lower_mu2(self):
        """A step with g's prox-gradient step at the end: mu2 = (1 - tau) mu2; needs z."""
        tau, p = self.tau(), self.problem
        b = toward(self.b, self.best_b(self.z), tau)
        w = self.best_w(free_v(self.problem, b))
        z, q = self.problem.outputs(w), p.n * self.norm2 / (self.mu1 + self.s)
        self.b, self.v = p.losses.dual_point(p.mu, z + q * b, q), None
        self.w, self.z = toward(self.w, w, tau), toward(self.z, z, tau)
        self.mu2 *= 1.0 - tau

    def tau(self):
        return part(self.mu1, self.mu2, self.norm2, self.s, self.gamma)

    def best_w(self, v):
        """The minimizer in g(b; mu1)."""
        return self.problem.regularized(self.mu1, self.w0).primal_point(v)

    def best_b(self, z):
        """The maximizer in f(w; mu2)."""
        q = self.problem.n * self.mu2
        return self.problem.losses.dual_point(self.problem.mu, z + q * self.b0, q)

    def find_z(self):
        self.z = self.problem.outputs(self.w)

    def find_v(self):
        self.v = free_v(self.problem, self.b)
