"""Grids: a parameter whose value is a list stands for one component per value."""

from dataclasses import dataclass, field
from itertools import product
from math import prod

from rrmbench.config.entries import has_inside
from rrmbench.errors import RrmbenchError


@dataclass(frozen=True)
class At:
    """Where a mapping is written: its key path, and by each of its keys where its value is, as a key path or an At."""

    path: tuple
    inner: dict = field(default_factory=dict)


def count(kind, value):
    """Return how many mappings `expand` yields, without making them; an empty grid, which it refuses, counts as 1."""
    if isinstance(value, list):
        return sum(count(kind, entry) for entry in value)
    return prod(
        count(kind, held) if _nests(kind, key) else max(len(held), 1) if isinstance(held, list) else 1
        for key, held in value.items()
    )


def expand(kind, value, path, places):
    """Yield (mapping, its At) for every combination of the grids of an entry or of a list of entries."""
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from expand(kind, entry, (*path, index), places)
        return
    axes = [_axis(kind, key, held, (*path, key), places) for key, held in value.items()]
    for point in product(*axes):
        yield (
            {key: held for key, (held, _) in zip(value, point, strict=True)},
            At(path, {key: at for key, (_, at) in zip(value, point, strict=True)}),
        )


def _nests(kind, key):
    return key == "inside" and has_inside(kind)


def _axis(kind, key, value, path, places):
    if _nests(kind, key):
        return list(expand(kind, value, path, places))
    if not isinstance(value, list):
        return [(value, path)]
    if not value:
        raise RrmbenchError(f"{places.where(path)}: the grid is empty; needed is at least one value")
    return [(held, (*path, index)) for index, held in enumerate(value)]
