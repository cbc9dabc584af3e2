"""`--set KEY=VALUE`: replace a key of the file, and of every case that has its own value for it."""

from rrmbench.config import entries
from rrmbench.config.schema import TOP_KEYS
from rrmbench.errors import RrmbenchError, shortened, shown
from rrmbench.kinds import COMPONENTS
from rrmbench.matching import key_value
from rrmbench.yaml_reader import dotted

GRID = ("tune", "grid")


def apply(tree, places, folder, text):
    """Change `tree` and `places` as `--set text` says; components may be names after it."""
    keys, value = key_value("--set", text, TOP_KEYS)
    setting = _Setting(keys, value, f"--set {shortened(text)}", places, folder)
    for path, block in _targets(tree, keys[0]):
        setting.into(block, 0, path)


def _targets(tree, key):
    """Yield the blocks to change: those that have the key, and the top level if some case lacks it."""
    cases = [(("cases", i), case) for i, case in enumerate(tree.get("cases", []))]
    having = [(path, case) for path, case in cases if key in case]
    if key in tree or len(having) < max(len(cases), 1):
        yield (), tree
    yield from having


class _Setting:
    """One KEY=VALUE on its way into nested mappings."""

    def __init__(self, keys, value, place, places, folder):
        if keys[:2] == GRID and len(keys) > 2:  # a grid has the whole key of its parameter
            keys = (*GRID, ".".join(keys[2:]))
        self.keys, self.value, self.place = keys, value, place
        self.places, self.folder = places, folder

    def into(self, holder, depth, path):
        """Set the key of this depth in the mapping `holder`, which stands at `path`."""
        key = self.keys[depth]
        path = (*path, key)
        if depth == len(self.keys) - 1:
            holder[key] = self._leaf(holder.get(key), path)
            return
        if key not in holder:
            holder[key] = {}
            self.places.replace(path, self.place)
        inner = holder[key]
        if isinstance(inner, list) and self._is_component(depth):
            for index, entry in enumerate(inner):
                self.into(entry, depth + 1, (*path, index))
        elif isinstance(inner, dict):
            self.into(inner, depth + 1, path)
        else:
            key = self.keys[depth + 1]
            raise RrmbenchError(f"{self.place}: {dotted(path)} is {shown(inner)} and has no key {shown(key)}")

    def _is_component(self, depth):
        """Whether the keys up to this depth name a component: `solver`, or `reduction.inside.inside`."""
        return self.keys[0] in COMPONENTS and (
            depth == 0 or (entries.has_inside(self.keys[0]) and set(self.keys[1 : depth + 1]) == {"inside"})
        )

    def _leaf(self, old, path):
        bare_name = isinstance(self.value, str) and self._is_component(len(self.keys) - 1)
        if bare_name and old is not None:
            return self._renamed(old, path)
        self.places.replace(path, self.place)
        return self.value

    def _renamed(self, old, path):
        """A bare name takes the place of the name or path of every entry, whose parameters stay.

        The place of such a parameter says that it was kept: the new component may not have it.
        """
        if isinstance(old, list):
            return [self._renamed(entry, (*path, i)) for i, entry in enumerate(old)]
        name = entries.named(self.keys[0], self.value, self.folder, f"{self.place}: {dotted(path)}")
        self.places.replace((*path, *name), self.place)
        kept = {key: value for key, value in old.items() if key not in ("name", "path")}
        for key in kept:
            where = self.places.place((*path, key))
            self.places.replace((*path, key), f"{self.place}, which keeps the {key} of {where}")
        return name | kept
