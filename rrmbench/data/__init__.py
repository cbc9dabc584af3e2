"""Data sets: their registry, where their files are, the LibSVM reader, preparation and the array cache.

Nothing heavy is imported before it is needed: `spec`, `catalogue` and `places` work without numpy.
"""


def load(block, labels="binary"):
    """Return the prepared data of a `dataset:` block; see `rrmbench.data.prepare.load`."""
    from rrmbench.data import prepare

    return prepare.load(block, labels)


def from_source(block, labels="binary"):
    """Return what `load` returns, read from the source files now; see `rrmbench.data.prepare.from_source`."""
    from rrmbench.data import prepare

    return prepare.from_source(block, labels)


def load_plugin_of(block):
    """Import the plug-in file that makes the data of a `dataset:` block, if any; for blocks that are trusted."""
    from rrmbench import plugin_files
    from rrmbench.data import makers

    if isinstance(block, dict) and makers.is_plugin(block.get("path")):
        plugin_files.load_plugin(block["path"])


def is_here(block):
    """Whether the data of a checked `dataset:` block need no network."""
    from rrmbench.data import origin

    return origin.is_here(block)


def checksum_of(path):
    """The sha256 of a file's uncompressed content."""
    from rrmbench.data import checksums

    return checksums.checksum_of(path)


def traits_of(block):
    """What a checked `dataset:` block says of a problem; see `rrmbench.problem.traits.traits`."""
    from rrmbench.data import spec

    tasks = "tasks" in block or spec.format_of(block) == "ratings"
    free, minimized = (block.get("bias") == kind for kind in ("free", "minimized"))
    tests = {
        "rows": not (tasks or free or minimized),
        "tasks": tasks,
        "kernel": "kernel" in block,
        "free_bias": free,
        "minimized_bias": minimized,
    }
    return frozenset(name for name, holds in tests.items() if holds)
