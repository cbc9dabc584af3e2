"""Data sets: their registry, where their files are, the LibSVM reader, preparation and the array cache.

Nothing heavy is imported before it is needed: `spec`, `catalogue` and `places` work without numpy.
"""


def labels_for(needs):
    """The `labels` argument of `load` for a loss with these needs."""
    return next((mode for mode in ("binary", "classes") if mode in needs), "any")


def load(block, labels="binary"):
    """Return the prepared data of a `dataset:` block; see `rrmbench.data.prepare.load`."""
    from rrmbench.data import prepare

    return prepare.load(block, labels)
