"""The data operator of losses whose dual variable says more of itself than its product with X needs."""

import numpy as np


class Lifted:
    """The outputs z = X w with zeros after them, where b has entries of which X^T knows nothing.

    Parameters
    ----------
    X : data operator with vector outputs (n,)
    entries : how many entries b has after the first n
    """

    of_loss = True

    def __init__(self, X, entries):
        self._X, self._entries, self.shape = X, entries, X.shape

    @property
    def nnz(self):
        return self._X.nnz

    @property
    def sqnorms(self):
        return self._X.sqnorms

    def head(self, n):
        """The operator of copies of the first n rows."""
        return Lifted(self._X.head(n), self._entries)

    def forward(self, w):
        """z = (X w, 0)."""
        return np.append(self._X.forward(w), np.zeros(self._entries))

    def adjoint(self, b):
        """X^T of the first n entries of b."""
        return self._X.adjoint(b[: self.shape[0]])
