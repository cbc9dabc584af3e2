"""`tune:`: one run per value of a grid, for every parameter that a component has and the file does not set.

A grid is a list of numbers or a text such as "2^[-10..10]" or "{1,3}*10^[-6..0]".
"""

import re
from itertools import product

from rrmbench import registry
from rrmbench.config import schema
from rrmbench.errors import RrmbenchError, nearest

_POWERS = re.compile(
    r"(?:\{(?P<factors>[^{}]+)\}\s*\*\s*)?(?P<base>[0-9.]+)\s*\^\s*\[\s*(?P<low>-?\d+)\s*\.\.\s*(?P<high>-?\d+)\s*\]"
)
_ALLOWED = "a list of numbers or a text like '2^[-10..10]' or '{1,3}*10^[-6..0]'"


class Tuner:
    """The `tune:` section of one file; remembers which of its keys found a parameter to tune."""

    def __init__(self, tree, places):
        self.places, self.used = places, set()
        self.settings = schema.check(schema.Tune, tree["tune"], ("tune",), places) if "tune" in tree else None
        grids = self.settings.grid.items() if self.settings else ()
        self.grids = {tuple(key.split(".")): self._values(key, grid) for key, grid in grids}

    def expand(self, kind, mapping):
        """Yield (mapping, tuned keys) for all values of the grids of one checked component."""
        axes = []
        for key, values in self.grids.items():
            owner = _owner(kind, mapping, key)
            if owner is None:
                continue
            self.used.add(key)
            if key[-1] not in owner:
                axes.append([(key, value) for value in values])
        for point in product(*axes):
            changed = mapping
            for key, value in point:
                changed = _with(kind, changed, key[1:], value)
            yield changed, [".".join(key) for key, _ in point]

    def check_used(self):
        """Raise RrmbenchError for a key that no component has: a typing error would tune nothing, silently."""
        for key in self.grids:
            if key not in self.used:
                where = self.places.where(("tune", "grid", ".".join(key)))
                known = [f"{key[0]}.{name}" for name in _parameters(key[0])]
                raise RrmbenchError(
                    f"{where}: no {key[0]} of this file has such a parameter{nearest('.'.join(key), known)}"
                )

    def _values(self, key, grid):
        where = self.places.where(("tune", "grid", key))
        if "." not in key or key.startswith("dataset."):
            raise RrmbenchError(f"{where}: found '{key}', allowed is a parameter of a component, like reduction.sigma")
        if isinstance(grid, list):
            values = grid
        else:
            match = _POWERS.fullmatch(grid.strip())
            if match is None:
                raise RrmbenchError(f"{where}: found '{grid}', allowed is {_ALLOWED}")
            try:
                factors = [float(f) for f in (match["factors"] or "1").split(",")]
            except ValueError:
                raise RrmbenchError(f"{where}: found '{grid}', allowed is {_ALLOWED}") from None
            exponents = range(int(match["low"]), int(match["high"]) + 1)
            # by way of text, so that 3e-4 of a grid is the 3e-4 of a file
            values = [float(f"{f * float(match['base']) ** e:.12g}") for e in exponents for f in factors]
        if not values:
            raise RrmbenchError(f"{where}: the grid is empty; needed is at least one value")
        return values


def _owner(kind, mapping, key):
    """The mapping (of the component or one inside it) whose component has the parameter `key`, or None."""
    if key[0] != kind:
        return None
    for part in key[1:-1]:
        if part != "inside" or "inside" not in mapping:
            return None
        mapping = mapping["inside"]
    known = registry.lookup(kind, mapping["name"]).parameters
    return mapping if key[-1] in known else None


def _with(kind, mapping, rest, value):
    if len(rest) == 1:
        return mapping | {
            rest[0]: registry.lookup(kind, mapping["name"]).parameters[rest[0]].check(value, f"tune.{rest[0]}")
        }
    return mapping | {"inside": _with(kind, mapping["inside"], rest[1:], value)}


def _parameters(kind):
    return {p for name in registry.names(kind) for p in registry.lookup(kind, name).parameters}
