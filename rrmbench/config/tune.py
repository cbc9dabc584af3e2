"""`tune:`: one run per value of a grid, for every parameter that a component has and the file does not set.

A grid is a list of numbers or a text such as "2^[-10..10]" or "{1,3}*10^[-6..0]".
"""

import math
import re
from itertools import product

from rrmbench import registry
from rrmbench.config import schema
from rrmbench.errors import RrmbenchError, nearest, shown

_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
_WHOLE = r"-?[0-9]{1,4}"  # no power of a base beyond these is a number that differs from 0 and 1
_POWERS = re.compile(
    rf"(?:\{{(?P<factors>[^{{}}]+)\}}\s*\*\s*)?(?P<base>{_NUMBER})\s*\^\s*"
    rf"\[\s*(?P<low>{_WHOLE})\s*\.\.\s*(?P<high>{_WHOLE})\s*\]"
)
_ALLOWED = "a list of numbers or a text like '2^[-10..10]' or '{1,3}*10^[-6..0]', exponents of at most 4 digits"


class Tuner:
    """The `tune:` section of one file; remembers which of its keys found a parameter, and one to tune."""

    def __init__(self, tree, places):
        self.places, self.used, self.owned = places, set(), set()
        self.settings = schema.check(schema.Tune, tree["tune"], ("tune",), places) if "tune" in tree else None
        grids = self.settings.grid.items() if self.settings else ()
        self.grids = {tuple(key.split(".")): self._values(key, grid) for key, grid in grids}

    def count(self, kind, mapping):
        """Return how many mappings `expand` yields, without making them."""
        return math.prod(len(self.grids[key]) for key in self._keys(kind, mapping))

    def given(self, kind):
        """The keys of the grids for one kind of component, without that kind: ("sigma",), ("inside", "mu")."""
        return [key[1:] for key in self.grids if key[0] == kind]

    def expand(self, kind, mapping):
        """Yield (mapping, tuned keys) for all values of the grids of one checked component."""
        keys = self._keys(kind, mapping)
        for point in product(*(self.grids[key] for key in keys)):
            changed = mapping
            for key, value in zip(keys, point, strict=True):
                changed = _with(kind, changed, key[1:], value, self._where(key))
            yield changed, [".".join(key) for key in keys]

    def _keys(self, kind, mapping):
        """The keys of the grids for parameters that the component has and the file does not set."""
        owners = {key: owner for key in self.grids if (owner := _owner(kind, mapping, key)) is not None}
        self.owned.update(owners)
        free = [key for key, owner in owners.items() if key[-1] not in owner]
        self.used.update(free)
        return free

    def _where(self, key):
        return self.places.where(("tune", "grid", ".".join(key)))

    def check_used(self):
        """Raise RrmbenchError for a grid that tunes nothing: no component has its parameter, or the file sets it."""
        for key in self.grids.keys() - self.used:
            name = ".".join(key)
            if key in self.owned:
                why = f"the file sets {name} wherever a {key[0]} has it, so that the grid tunes nothing"
                raise RrmbenchError(f"{self._where(key)}: {why}; remove one of the two")
            elsewhere = [other.name for other in registry.components(key[0]) if key[-1] in other.parameters]
            hint = f"; it is one of {', '.join(elsewhere)}" if elsewhere else nearest(name, _keys_of(key[0]))
            raise RrmbenchError(f"{self._where(key)}: no {key[0]} of this file has such a parameter{hint}")

    def check_not_set(self, both):
        """Raise RrmbenchError where the values {key: value} of one run are set in one place and of a grid in another.

        A run is of one method: where it is one by itself, the best of the grid would be chosen without its value.
        """
        for key, value in sorted(both.items()):
            where, kind = self._where(tuple(key.split("."))), key.partition(".")[0]
            found = f"found {value:g}, which the file sets for the same {kind} elsewhere"
            raise RrmbenchError(f"{where}: {found}: one run would be a method by itself and of the grid; remove one")

    def check_gap(self, specs):
        """Raise RrmbenchError for a gap to which no passes are counted, and where a tuned spec has none to count to."""
        if self.settings is None:
            return
        gap, counted = self.settings.gap, self.settings.by == "passes_to_gap"
        if gap is not None and not counted:
            where = self.places.where(("tune", "gap"))
            raise RrmbenchError(f"{where}: found {shown(gap)}, allowed is a gap with 'by: passes_to_gap' alone")
        if gap is None and counted and any("gap" not in spec["stop"] for spec in specs):
            where = self.places.where(("tune", "by"))
            raise RrmbenchError(f"{where}: passes_to_gap needs a gap: tune.gap, or stop.gap of every run that is tuned")

    def _values(self, key, grid):
        where = self._where((key,))
        if "." not in key or key.startswith("dataset."):
            raise RrmbenchError(f"{where}: found '{key}', allowed is {schema.PARAMETER}")
        grid = schema.check_value(str | list[float], grid, ("tune", "grid", key), self.places, _ALLOWED)
        values = grid if isinstance(grid, list) else _powers(grid, where)
        if not values:
            raise RrmbenchError(f"{where}: the grid is empty; needed is at least one value")
        return values


def _powers(grid, where):
    """The values of a text such as "{1,3}*10^[-6..0]"."""
    match = _POWERS.fullmatch(grid.strip())
    factors = re.split(r"\s*,\s*", ((match and match["factors"]) or "1").strip())
    if match is None or not all(re.fullmatch(rf"-?(?:{_NUMBER})(?:[eE][-+]?[0-9]{{1,3}})?", f) for f in factors):
        raise RrmbenchError(f"{where}: found {shown(grid)}, allowed is {_ALLOWED}")
    return [
        _value(factor, match["base"], exponent, where)
        for exponent in range(int(match["low"]), int(match["high"]) + 1)
        for factor in factors
    ]


def _value(factor, base, exponent, where):
    try:
        value = float(factor) * float(base) ** exponent
    except (OverflowError, ZeroDivisionError):
        value = math.inf
    if math.isinf(value) or (value == 0.0 and float(factor) and float(base)):
        found = shown(f"{factor} * {base}^{exponent}")[1:-1]
        raise RrmbenchError(f"{where}: found {found}, allowed are values from 5e-324 to 1.7e308")
    return float(f"{value:.12g}")  # by way of text, so that 3e-4 of a grid is the 3e-4 of a file


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


def _with(kind, mapping, rest, value, where):
    if len(rest) == 1:
        parameter = registry.lookup(kind, mapping["name"]).parameters[rest[0]]
        return mapping | {rest[0]: parameter.check(value, where)}
    return mapping | {"inside": _with(kind, mapping["inside"], rest[1:], value, where)}


def _keys_of(kind):
    return {f"{kind}.{parameter}" for component in registry.components(kind) for parameter in component.parameters}
