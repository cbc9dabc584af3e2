"""One minus the F1 measure as a loss over all samples, by the margin of the true labels over all others."""

from typing import NamedTuple

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics import f_measure
from rrmbench.numerics.couplings import greatest_expectation
from rrmbench.numerics.lifted import Lifted
from rrmbench.registry import loss

MOST_BYTES = 4e9
ROUNDING = 1e-9


class F1(NamedTuple):
    """Phi(z) = max over y' in {-1, 1}^n of Delta(y', y) + z.(y' - y)/n, Delta = 1 - F1 of the class +1.

    [AGM, section 5.4] Delta(y', y) = (b + c)/(2 n+ - b + c) for b positive labels of y taken for negative ones by y',
    and c negative ones for positive ones. y, with n+ >= 1 positive labels, is (n,); z and b are (n + 2,).

    b = (-2 y q, n delta, -n H) stands for any distribution over labellings y' in which q_i is the probability that y'_i
    is not y_i, delta <= E Delta, and H <= its entropy; z is 0 there. Averages of b keep both bounds, since these are
    linear in b, and so does t b for 0 <= t <= 1, which is a mixture with the truth. Smoothing by mu is by

        d2(b) = n log 2 - H,    Phi^mu(z) = mu log of the mean over all y' of exp((Delta + z.(y' - y)/n)/mu)

    which is between Phi(z) - mu n log 2 and Phi(z). Euclidean proximal steps on the conjugate are not possible.
    `lipschitz` bounds the |b_i|, so that 2 max ||x_i|| bounds the subgradients.
    """

    conjugate_convexity: float = 0.0
    lipschitz: float = 2.0
    outputs = "whole"
    conjugate_prox = False
    unproven = "the entropy in b, which is in neither P nor D"

    def operator(self, X, y):
        """X with the two last entries of b left out; RrmbenchError without positive labels, or for too many samples."""
        positives = np.count_nonzero(y > 0.0)
        if positives == 0:
            raise RrmbenchError(f"f1: found no positive label among {y.size}, needed is one at least")
        needed = f_measure.checkpoint_bytes(positives, y.size - positives)
        if needed > MOST_BYTES:
            raise RrmbenchError(
                f"f1: found {y.size} samples, of which {positives} are positive, whose smoothing takes {needed:.2g} "
                f"bytes of memory, allowed are {MOST_BYTES:.2g}"
            )
        return Lifted(X, 2)

    def shape(self, X, y):
        return (y.size + 2,)

    def diameter(self, X, y):
        return y.size * np.log(2.0)

    def S(self, X, y):
        """(mean ||x_i||)^2: z.(y' - y)/n has a range of 2 mean |x_i.w|, and a variance of at most its half squared.

        The ||A||^2 of [AGM, (14), (55)], max over y' of ||(1/n) sum x_i (y'_i - y_i)||^2, is four times that where the
        y_i x_i are parallel, and takes a maximum over labellings.
        """
        return float(np.mean(np.sqrt(X.sqnorms))) ** 2

    def value(self, z, y):
        return _Flips(z, y).value

    def smooth_value(self, z, y, mu):
        flips = _Flips(z, y)
        if not flips.can_be_smoothed(mu):
            return flips.value
        return flips.value + mu * (f_measure.soft_sum(*flips.scores, mu, *flips.best) - self.diameter(None, y))

    def conjugate(self, b, y):
        """-delta, which is at least Phi*(b); inf where there are clearly no such labellings."""
        return float("inf") if outside(b, y) else -float(b[-2]) / y.size

    def d2(self, b, y):
        """n log 2 - H."""
        return self.diameter(None, y) + float(b[-1]) / y.size

    def dual_point(self, z, y, mu):
        """The b of the distribution exp((Delta + z.(y' - y)/n)/mu); for mu = 0 of best labellings."""
        flips = _Flips(z, y)
        positives, n = flips.scores[0].size, y.size
        delta = f_measure.delta(*flips.best, positives)
        if flips.can_be_smoothed(mu):
            s, *q, gain = f_measure.soft_flips(*flips.scores, mu, *flips.best)
            delta += gain
            lost = sum(float(np.sum(u[:k])) - float(u @ p) for u, p, k in zip(flips.scores, q, flips.best, strict=True))
            q = flips.in_order(q)
            entropy = min(max(s + (lost - gain) / mu, 0.0), greatest_entropy(q))
        else:
            q = flips.in_order([_best(u, k) for u, k in zip(flips.scores, flips.best, strict=True)])
            entropy = 0.0  # of ties the entropy is more
        return np.concatenate([-2.0 * y * q, [n * delta, -n * entropy]])

    def balanced(self, b, y):
        """The flips of one class undone at random, so that as many are expected of the one as of the other.

        delta and H are those of the mixture, whose other part is bounded from below: Delta(b, 0) is convex in b, and
        Delta(0, c) is concave in c, and 0 for c = 0.
        """
        n, positives = y.size, np.count_nonzero(y > 0.0)
        sums = [float(-0.5 * np.sum(y[y == sign] * b[:n][y == sign])) for sign in (1.0, -1.0)]
        sign, least = (1.0, sums[1]) if sums[0] > sums[1] else (-1.0, sums[0])
        if max(sums) <= 0.0:
            return b.copy()
        t = least / max(sums)
        if sign > 0.0:
            rest = sums[1] / max(n - positives, 1) * f_measure.delta(0, n - positives, positives)
        else:
            rest = f_measure.delta(sums[0], 0.0, positives)
        scaled = np.where(y == sign, t * b[:n], b[:n])
        return np.concatenate([scaled, [t * b[n] + (1.0 - t) * n * rest, t * b[n + 1]]])

    def necessary(self, b, y):
        """What is not true of b for any distribution over labellings, in words; None if nothing is found.

        With `outside`, delta is at most the greatest expectation for the marginals q, so that -delta >= Phi*(b).
        """
        if found := outside(b, y):
            return found
        q = np.clip(-0.5 * y * b[: y.size], 0.0, 1.0)
        most = greatest_expectation(q[y > 0.0], q[y < 0.0])
        if not b[y.size] / y.size <= most + ROUNDING:
            return f"the expected 1 - F1 is {b[y.size] / y.size:g}, allowed is {most:g} at most"
        return None


def outside(b, y):
    """What is not true of b and quickly seen, in words, or None: q in [0, 1], bounds of delta and of H.

    0 <= H <= sum of the entropies of the flips, and delta is at most the concave envelope of Delta at the expected b
    and c: p + (1 - p) Delta(0, min(n-, E c/(1 - p))), p = E b/n+, since Delta is convex in b, and 1 for b = n+.
    """
    n = y.size
    q, delta, entropy = -0.5 * y * b[:n], b[n] / n, -b[n + 1] / n
    worst = int(np.argmax(np.abs(q - 0.5)))
    if not abs(q[worst] - 0.5) <= 0.5 + ROUNDING:
        return f"sample {worst} is wrong with the probability {q[worst]:g}, allowed is 0 to 1"
    positives = np.count_nonzero(y > 0.0)
    share = min(max(float(np.mean(q[y > 0.0])), 0.0), 1.0)
    rest = max(float(np.sum(q[y < 0.0])), 0.0)
    c = n - positives if share == 1.0 else min(rest / (1.0 - share), n - positives)
    most = share + (1.0 - share) * f_measure.delta(0.0, c, positives)
    if not delta <= most + ROUNDING:
        return f"the expected 1 - F1 is {delta:g}, allowed is {most:g} at most"
    most = greatest_entropy(q)
    if not -ROUNDING * n <= entropy <= most + ROUNDING * n:
        return f"the entropy is {entropy:g}, allowed is 0 to {most:g}"
    return None


class _Flips:
    """The scores -2 y_i z_i/n of the flips of both classes in decreasing order, and the best labelling.

    scores : (n+,) and (n-,)
    best : how many of each are flipped
    value : Phi(z)
    """

    def __init__(self, z, y):
        scores = (-2.0 / y.size) * y * z[: y.size]
        self._orders = []
        for members in np.flatnonzero(y > 0.0), np.flatnonzero(y < 0.0):
            self._orders.append(members[np.argsort(-scores[members], kind="stable")])
        self.scores = [scores[order] for order in self._orders]
        *self.best, self.value = f_measure.best_flips(*self.scores)

    def can_be_smoothed(self, mu):
        """Whether mu > 0, and the logarithms of the weights do not overflow."""
        if mu == 0.0:
            return False
        size = sum(1.0 + float(np.sum(np.abs(u))) for u in self.scores)
        with np.errstate(over="ignore"):
            return bool(np.isfinite(4.0 * np.float64(size) / mu))

    def in_order(self, q):
        """What belongs to the scores, by sample."""
        result = np.empty(sum(order.size for order in self._orders))
        for order, values in zip(self._orders, q, strict=True):
            result[order] = values
        return result


def _best(u, k):
    """1 for the k greatest of the scores u, in decreasing order; those equal to the last of them share its place."""
    if k == 0:
        return np.zeros(u.size)
    above, ties = u > u[k - 1], u == u[k - 1]
    return above + ties * ((k - np.count_nonzero(above)) / np.count_nonzero(ties))


def greatest_entropy(q):
    """The entropy of independent flips with the probabilities q (n,), which is the greatest with these marginals."""
    q = np.clip(q, 0.0, 1.0)
    terms = [np.where(p > 0.0, p * np.log(np.where(p > 0.0, p, 1.0)), 0.0) for p in (q, 1.0 - q)]
    return -float(np.sum(terms))


@loss(needs={"binary"})
def f1():
    """one minus the F1 measure of the positive class, over all labellings [AGM, section 5.4]; not a sum over samples"""
    return F1()
