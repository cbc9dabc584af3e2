"""Sizes of files and of memory in words."""


def megabytes(size):
    """A number of bytes in words."""
    for unit, factor in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
