"""Grids: a parameter whose value is a list stands for one component per value."""

from itertools import product

from rrmbench.errors import RrmbenchError


def expand(value, path, places):
    """Yield (mapping, key path) for every combination of the grids of an entry or of a list of entries."""
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from expand(entry, (*path, index), places)
        return
    axes = [_axis(key, held, (*path, key), places) for key, held in value.items()]
    for point in product(*axes):
        yield dict(zip(value, point, strict=True)), path


def _axis(key, value, path, places):
    if key == "inside":
        return [mapping for mapping, _ in expand(value, path, places)]
    if not isinstance(value, list):
        return [value]
    if not value:
        raise RrmbenchError(f"{places.where(path)}: the grid is empty; needed is at least one value")
    return value
