"""Phase one: the YAML file and the `--set` options as one tree, without importing any component."""

from dataclasses import dataclass
from pathlib import Path

from rrmbench.config import entries, overrides, shipped
from rrmbench.config.schema import CASE_KEYS, TOP_KEYS, check_keys
from rrmbench.errors import RrmbenchError, shown
from rrmbench.kinds import COMPONENTS, KINDS
from rrmbench.matching import check_apart
from rrmbench.yaml_reader import Places, dumped, load, parse

DEFAULTS = {
    "regularizer": {"name": "none"},
    "reduction": {"name": "none"},
    "seed": 0,
    "stop": {"passes": 100},
    "trace": {},
}
DICT = "configuration"  # what messages call one that is no file; its paths are relative to the working directory
_NEEDED = ("dataset", "loss", "solver")


@dataclass(frozen=True)
class Raw:
    """A configuration as written: every component a mapping, every path of its own absolute.

    plugins : the plug-in files of the mathematics, by which kernels are cached
    makers : further ones, which make data sets
    """

    path: Path
    tree: dict
    places: Places
    plugins: tuple
    makers: tuple

    @property
    def folder(self):
        return self.path.absolute().parent

    def blocks(self):
        """Yield (keys, key path of each) for every case, or for the whole file if it has none."""
        top = {key: value for key, value in self.tree.items() if key in CASE_KEYS}
        cases = self.tree.get("cases")
        for index, case in enumerate([{}] if cases is None else cases):
            paths = {key: ("cases", index, key) if key in case else (key,) for key in CASE_KEYS}
            block = DEFAULTS | top | case
            for key in _NEEDED:
                if key not in block:
                    at = self.places.where(() if cases is None else ("cases", index))
                    raise RrmbenchError(f"{at}: the key '{key}' is missing (needed: {', '.join(_NEEDED)})")
            yield block, paths


def read(path, sets=()):
    """Read a configuration (a file, the name of a shipped one, a dict) and apply the `--set` texts KEY=VALUE (`sets`).

    Raises RrmbenchError for bad YAML, unknown top-level keys, and what is neither name nor mapping.
    """
    if isinstance(path, dict):
        document, path = parse(dumped(path, f"{DICT}: "), DICT), Path(DICT)
    else:
        path = shipped.find(path)
        document = load(path)
    tree, places = document.value, document.places
    if tree is None:
        raise RrmbenchError(f"{path}: the file is empty (needed: {', '.join(_NEEDED)})")
    check_keys(tree, TOP_KEYS, (), places)
    _check_cases(tree, places)
    folder = path.absolute().parent
    _normalise(tree, places, folder)
    check_apart(sets)
    for text in sets:
        overrides.apply(tree, places, folder, text)
        _check_cases(tree, places)
        _normalise(tree, places, folder)
    plugins = _plugins(tree, KINDS)
    return Raw(path, tree, places, plugins, tuple(f for f in _plugins(tree, ("dataset",)) if f not in plugins))


def _check_cases(tree, places):
    cases = tree.get("cases", [{}])
    if not isinstance(cases, list) or not cases:
        raise RrmbenchError(f"{places.where(('cases',))}: found {shown(cases)}, allowed is a list of mappings")
    for index, case in enumerate(cases):
        for key in case if isinstance(case, dict) else ():
            if key in TOP_KEYS and key not in CASE_KEYS:
                at = places.where(("cases", index, key))
                raise RrmbenchError(f"{at}: this key is for the whole file, not for a case")
        check_keys(case, CASE_KEYS, ("cases", index), places)


def _component_values(tree):
    for base, block in [((), tree), *((("cases", i), case) for i, case in enumerate(tree.get("cases", [])))]:
        for kind in COMPONENTS:
            if kind in block:
                yield block, kind, (*base, kind)


def _normalise(tree, places, folder):
    for block, kind, path in _component_values(tree):
        block[kind] = entries.normal(kind, block[kind], path, places, folder)


def _plugins(tree, kinds):
    named = [(kind, block[kind]) for block, kind, _ in _component_values(tree) if kind in kinds]
    return tuple(dict.fromkeys(file for kind, value in named for file in entries.plugins(kind, value)))
