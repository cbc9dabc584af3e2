"""Views of data operators that count products, so that passes are what was touched."""


class Counted:
    """A view of a data operator that counts its products in `passes`: half a pass for each one with X or with X^T.

    Everything else is the operator's: what a kernel reads of `rows` is for its solver to count. A view of a view counts
    for both. `Problem.counted` makes one.
    """

    def __init__(self, X):
        self._X, self.shape, self.passes = X, X.shape, 0.0

    def __getattr__(self, name):
        if name.startswith("_"):  # of a view that is being copied, which has no X yet
            raise AttributeError(name)
        return getattr(self._X, name)

    def forward(self, w):
        """z = X w."""
        self.passes += 0.5
        return self._X.forward(w)

    def adjoint(self, b):
        """X^T b."""
        self.passes += 0.5
        return self._X.adjoint(b)

    @property
    def magnitudes(self):
        """The function of b that gives |X|^T |b|, where X has it."""
        product = self._X.magnitudes

        def counted(b):
            self.passes += 0.5
            return product(b)

        return counted


class Audited(Counted):
    """A view that counts in `passes` what no solver can call free: its products with what is not 0.

    A copy is the view itself, so that products through a copied problem count.
    """

    def __copy__(self):
        return self

    def __deepcopy__(self, known):
        return self

    def forward(self, w):
        """z = X w."""
        return super().forward(w) if w.any() else self._X.forward(w)

    def adjoint(self, b):
        """X^T b."""
        return super().adjoint(b) if b.any() else self._X.adjoint(b)

    def part(self, samples):
        """The operator of copies of some rows, whose products are passes in their share of the entries."""
        return _Part(self, self._X.part(samples))


class _Part(Audited):
    """A view of copies of some rows, whose products count in `passes`, and as so much less in those of the `whole`."""

    def __init__(self, whole, X):
        self._whole, self._share, self._passes = whole, X.nnz / max(whole.nnz, 1), 0.0
        super().__init__(X)

    @property
    def passes(self):
        return self._passes

    @passes.setter
    def passes(self, passes):
        self._whole.passes += self._share * (passes - self._passes)
        self._passes = passes
