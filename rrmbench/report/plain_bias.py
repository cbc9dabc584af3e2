"""The bias that minimizes a mean of scalar losses, in plain Python with exact sums."""

import math
from itertools import count

import numpy as np

ROUNDING = 2e-15  # a sum is zero if it is at most this part of the sum of magnitudes
FARTHEST = 1e308


def minimizers(loss, mu, z, y):
    """One beta or two adjacent ones, of which one minimizes (1/n) sum phi^mu(z_i + beta); none if the search fails.

    The derivative is the mean of b_i(beta) = argmax_b  b (z_i + beta) - phi*(b) - (mu/2) b^2, which does not decrease.
    z, y : (n,)
    """
    search = _Search(loss, mu, z, y)
    beta, step = 0.0, 1.0
    while not search.done and not search.bracketed:
        search.look(beta)
        if abs(beta) >= FARTHEST:
            return []
        beta = float(np.clip(beta + (step if search.last < 0.0 else -step), -FARTHEST, FARTHEST))
        step *= max(4.0, 1e-6 * step)
    for k in count():
        if search.done or not search.low < (beta := search.between(k)) < search.high:
            break
        search.look(beta)
    return [search.root] if search.done else [search.low, search.high]


class _Search:
    """A bracket low < high of a root of the sum of the b_i, and the samples whose b_i differ at its ends."""

    def __init__(self, loss, mu, z, y):
        self.loss, self.mu = loss, mu
        self.low, self.high, self.root, self.last = -math.inf, math.inf, math.nan, 0.0
        self.below = self.above = 0.0  # the sums at the ends
        self.samples = [(u, t, None, None) for u, t in zip(z.tolist(), y.tolist(), strict=True)]  # z, y, b at the ends
        self.fixed = self.size = 0.0  # the sum of the b_i of all other samples, and of their magnitudes

    @property
    def done(self):
        return not math.isnan(self.root)

    @property
    def bracketed(self):
        return -math.inf < self.low and self.high < math.inf

    def look(self, beta):
        """Make beta an end of the bracket, or the root."""
        b = [self.loss.dual_point(u + beta, t, self.mu) for u, t, _, _ in self.samples]
        total = self.last = math.fsum([self.fixed, *b])
        if abs(total) <= ROUNDING * math.fsum([self.size, *map(abs, b)]) or math.isnan(total):
            self.root = beta
        elif total < 0.0:
            self.low, self.below = beta, total
            self.samples = [(u, t, new, end) for (u, t, _, end), new in zip(self.samples, b, strict=True)]
        else:
            self.high, self.above = beta, total
            self.samples = [(u, t, end, new) for (u, t, end, _), new in zip(self.samples, b, strict=True)]
        settled = [s[2] for s in self.samples if s[2] is not None and s[2] == s[3]]
        if settled:
            self.samples = [s for s in self.samples if s[2] is None or s[2] != s[3]]
            self.fixed = math.fsum([self.fixed, *settled])
            self.size = math.fsum([self.size, *map(abs, settled)])

    def between(self, k):
        """The next beta: by turns the secant's, and the middle, which for far ends is that of the exponents."""
        low, high = self.low, self.high
        if k % 2 == 0:
            beta = low - self.below * ((high - low) / (self.above - self.below))
            if low < beta < high:
                return beta
        if k > 100 and low < 0.0 < high:
            return 0.0
        near, far = sorted((abs(low), abs(high)))
        if k > 100 and near < 0.25 * far:
            return math.copysign(math.sqrt(max(near, 5e-324)) * math.sqrt(far), low + high)
        return 0.5 * low + 0.5 * high
