"""Data sets: their registry, where their files are, the LibSVM reader, preparation and the array cache.

Nothing heavy is imported before it is needed: `spec`, `catalogue` and `places` work without numpy.
"""


def load(block, labels="binary"):
    """Return the prepared data of a `dataset:` block; see `rrmbench.data.prepare.load`."""
    from rrmbench.data import prepare

    return prepare.load(block, labels)
