"""The process of Golub and Kahan: orthonormal u_1, u_2, ... and v_1, v_2, ... in which X is upper bidiagonal.

    X v_k = beta_(k-1) u_(k-1) + alpha_k u_k,    X^T u_k = alpha_k v_k + beta_k v_(k+1)

With X V = U B, the greatest singular values of B after k steps approach those of X. Rounding loses the orthogonality
after a while. Which vectors a new one is made orthogonal to is for the two bases to say.
"""

import numpy as np


def bidiagonalization(forward, adjoint, left, right):
    """Yield (alpha_k, beta_k), k = 1, 2, ...; u_1 .. u_k have entered `left` then, and v_1 .. v_(k+1) `right`.

    forward, adjoint : v -> X v and u -> X^T u
    left, right : two `LastVector` or two `AllVectors`, the first empty, the second with v_1
    """
    beta = 0.0
    while True:
        alpha = left.extend(forward(right.last), beta)
        beta = right.extend(adjoint(left.last), alpha)
        yield alpha, beta


class LastVector:
    """The basis of which the last vector is kept: the three-term recurrence as it stands, for arrays of any shape."""

    last = 0.0

    def extend(self, x, coefficient=0.0):
        """Let x - coefficient * last, normalized, be the last vector; return its norm. Zeros stay as they are."""
        x = x - coefficient * self.last
        norm = float(np.linalg.norm(x))
        self.last = x / norm if norm > 0.0 else x
        return norm


class AllVectors:
    """The basis of at most `size` vectors (m,), to all of which a new one is made orthogonal.

    tiny : the size of rounding errors in x
    random : the numpy Generator of what continues a basis where nothing is left of x
    """

    def __init__(self, size, m, tiny, random):
        self._vectors, self._count, self._tiny, self._random = np.empty((size, m)), 0, tiny, random

    @property
    def vectors(self):
        """(k, m) of the k vectors so far."""
        return self._vectors[: self._count]

    @property
    def last(self):
        return self._vectors[self._count - 1]

    def extend(self, x, coefficient=0.0):
        """Add x (m,) without its part in the span of the basis, normalized; return its norm before that.

        Where nothing is left, add a random vector in its place and return 0. The part `coefficient * last` is among
        those that are removed.
        """
        rest, norm = self._rest(x)
        known = norm > 100.0 * self._tiny
        if not known:
            rest, size = self._rest(self._random.standard_normal(x.shape[0]))
        self._vectors[self._count] = rest / (norm if known else size)
        self._count += 1
        return norm if known else 0.0

    def _rest(self, x):
        for _ in range(2):  # once is not enough where little is left
            x = x - (self.vectors @ x) @ self.vectors
        return x, np.linalg.norm(x)
