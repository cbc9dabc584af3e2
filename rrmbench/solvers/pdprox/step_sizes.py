"""The step sizes of Pdprox, and the two proximal steps taken with them.

With K = X/n, so that P(w) = max_b  b.K w - (1/n) sum (phi^mu)*(b_i) + Psi(w), all that Pdprox asks of the data is a
c >= ||K||^2 [Pdprox, Lemma 3]. The step length 1/sqrt(2 c) is that of [Pdprox, Theorem 6], the duality gap of the
averages after T iterations, and of [Pdprox, Corollary 8], P(w) - P(w*) <= (D_1 + D_2) sqrt(c/2) / T.

    data      R^2/n, R = max ||x_i||. [Pdprox, Appendix A] There the generalized hinge has (a^2 + 1) R^2/n and
              2 a^2 R^2/n, since its conjugate is written with two variables per sample, one of which multiplies
              a x_i; the one variable of a loss here multiplies x_i alone, so that R^2/n holds for every loss.
              Where b sums to 0 (a bias that is minimized, max_row) a move of b sees no mean of the rows, and c is
              (1/n^2) sum ||x_i - mean||^2, which is less.
    spectral  ||X||^2/n^2 by 20 steps of the Lanczos process, a pass each
"""

from itertools import islice
from math import inf, log, pi, sqrt
from typing import Literal

import numpy as np
from scipy.linalg import svdvals

from rrmbench.numerics.bidiagonalization import LastVector, bidiagonalization

LANCZOS_STEPS = 20  # of a product with X and one with X^T each
FAILURE = 1e-3  # the probability that ||X|| is more than the bound
ENDED = 1e-12  # relative to s, the beta with which the Lanczos process has seen all that X does to its start
MARGIN = 1.1  # of a c that has been found too small
STILL = 1e-10  # a way, over the longest one
FARTHEST = 10.0  # that sqrt(sigma/tau) is from the ratio of the ways that b and w have gone, as a factor
GREATEST = 1e300  # of 2 s tau, where more would make theta 0
MOVE_ROUNDING = 1e-8  # moves of X w or X^T b less than this, relative to their size, prove nothing

Constant = Literal["data", "spectral"]


class StepSizes:
    """The step lengths tau of w and sigma of b, and the proximal steps with them

        primal(w, v)  argmin_u  tau Psi(u) + ||u - w - tau v||^2 / 2              v = -K^T b
        dual(b, z)    argmin_u  sigma/n sum (phi^mu)*(u_i) + ||u - b - sigma/n z||^2 / 2      z = X w

    where w, v and u are shaped like the model, and b, z and u like the outputs. Both return a new array.

    tau = sigma = step_scale sqrt(1/(2 c)), the step length of [Pdprox, Theorem 6] for step_scale = 1. With `ratio` =
    tau/sigma, sqrt(tau sigma) = step_scale sqrt(1/c), the limit tau sigma <= 1/c of [Pdprox, section 4.4; Chambolle
    and Pock 2011].

    strong_convexity : s > 0 makes `advance` change tau and sigma by [Chambolle and Pock 2011, Algorithm 2], whose
        distance to the optimum is O(1/T) [Chambolle and Pock 2011, Theorem 2]
    guarded : whether c is an estimate, which `shorten_if_unsafe` corrects
    """

    def __init__(self, problem, c, step_scale=1.0, ratio=None, strong_convexity=0.0, guarded=False):
        self.problem, self.c, self.strong_convexity, self.guarded = problem, c, strong_convexity, guarded
        product, share = (0.5, 1.0) if ratio is None else (1.0, ratio)
        self.tau, self.sigma = (step_scale * sqrt(product * r / c) for r in (share, 1.0 / share))
        self._last = None

    def primal(self, w, v):
        x = self.tau * v
        x += w
        return self.problem.prox(x, self.tau)

    def dual(self, b, z):
        t = self.sigma / self.problem.n
        u = t * z
        u += b
        return self.problem.loss_prox(u, t)

    def advance(self):
        """theta of the step to come; with s > 0 it is 1/sqrt(1 + 2 s tau), tau shrinks and sigma grows by it."""
        theta = 1.0 / sqrt(1.0 + min(2.0 * self.strong_convexity * self.tau, GREATEST))
        self.tau *= theta
        self.sigma /= theta
        return theta

    def rebalance(self, ways, whole):
        """Move omega = sqrt(sigma/tau) to its geometric mean with the ratio of `ways`, tau sigma as it is.

        ways, whole : pairs (of w, of b). omega moves no farther than a factor FARTHEST away from the ratio of `whole`

        Where one of both did not move at all, as a w that the proximal step keeps at 0, omega moves by the factor
        FARTHEST towards longer steps of the other one. It stays where what moves does so by rounding only, as at the
        optimum.
        """
        omega = sqrt(self.sigma / self.tau)
        if all(way <= STILL * far for way, far in zip(ways, whole, strict=True)):
            return
        if min(ways) == 0.0:
            new = omega * (FARTHEST if ways[1] > 0.0 else 1.0 / FARTHEST)
        else:
            central, new = whole[1] / whole[0], sqrt(omega * ways[1] / ways[0])
            new = min(max(new, min(omega, central / FARTHEST)), max(omega, central * FARTHEST))
        length = sqrt(self.tau * self.sigma)
        self.tau, self.sigma = length / new, length * new

    def shorten_if_unsafe(self, x, image, scale=1.0):
        """Shorten the steps if `scale * image` = K x (or -K^T x) moved by more than sqrt(c) times as much as x.

        The proofs need c for the moves of the iterates only, so that with this an estimate of ||K||^2 that is too small
        does no more harm than a few steps.
        """
        if not self.guarded:
            return
        if self._last is not None:
            moved = float(np.sum((x - self._last[0]) ** 2))
            seen = scale**2 * float(np.sum((image - self._last[1]) ** 2))
            if seen > self.c * moved and seen > (MOVE_ROUNDING * scale) ** 2 * float(np.sum(image**2)):
                shorter = sqrt(self.c * moved / (MARGIN * seen))
                self.tau, self.sigma, self.c = shorter * self.tau, shorter * self.sigma, self.c / shorter**2
        self._last = x, image


def step_sizes_for(problem, at, rng, constant, **options):
    """Return the StepSizes of a counted problem; yields the Iterate `at` after each pass that they take.

    constant : as in the docstring of this file
    options : of `StepSizes`
    """
    c = squared_norm(problem) / problem.n or 1.0
    if constant == "spectral":
        for bound in norm_bounds(problem.X, rng):  # noqa: B007, the last is used
            yield at._replace(passes=problem.X.passes)
        c = min(c, (bound / problem.n) ** 2) or 1.0
    return StepSizes(problem, c, guarded=constant == "spectral", **options)


def draws_nothing(constant, **parameters):
    """Whether a method whose step sizes are of this `constant` draws no random numbers."""
    return constant == "data"


def squared_norm(problem):
    """A bound of n ||K||^2 on the moves of b: R^2, or less for losses whose b sums to 0."""
    if not (problem.minimized_bias or problem.has_entropic_losses):
        return problem.R**2
    return min(problem.losses.S, float(problem.X.sqnorms.mean()))


def norm_bounds(X, rng):
    """Yield bounds of ||X|| after each step of the Lanczos process of Golub and Kahan, X V = U B, from a random vector.

    The greatest singular value s of the bidiagonal B after k steps has s^2 < (1 - e) ||X||^2 with a probability of at
    most 1.648 sqrt(d) exp(-sqrt(e) (2 k - 1)), d the length of w [Kuczynski and Wozniakowski 1992, Theorem 4.2]. With
    the e that makes this FAILURE the bound is s/sqrt(1 - e), infinite at first; s where the process has ended before.
    """
    right = LastVector()
    right.extend(normal(rng, X.shape[1:]))
    process = bidiagonalization(X.forward, X.adjoint, LastVector(), right)
    B = np.zeros((LANCZOS_STEPS, LANCZOS_STEPS + 1))
    for k, (alpha, beta) in enumerate(islice(process, LANCZOS_STEPS)):
        B[k, k : k + 2] = alpha, beta
        s = svdvals(B[: k + 1, : k + 1])[0]
        if beta <= ENDED * s:
            yield s * (1.0 + ENDED)
            return
        e = (log(1.648 * sqrt(right.last.size) / FAILURE) / (2 * k + 1)) ** 2
        yield s / sqrt(1.0 - e) if e < 1.0 else inf


def normal(rng, shape):
    """Independent standard normal numbers, by the method of Box and Muller."""
    first, second = ((rng.integers(2**31 - 1, int(np.prod(shape))) + 0.5) / 2.0**31 for _ in range(2))
    return (np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * pi * second)).reshape(shape)
