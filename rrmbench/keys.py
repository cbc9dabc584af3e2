"""The flat keys of a run: what readers call it, and what `plot:` and `--only` name it by."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rrmbench.errors import printable
from rrmbench.kinds import COMPONENTS

RULES = ("stop", "trace")
ORIGINS = (*RULES, "timing", "code", "solution")  # in the order of a table


def keys(spec: dict) -> dict:
    """Return the flat, readable keys of a run's spec: names of the components, their parameters, the seed.

    Of a path there is the name of the file, see `unplaced`.
    """
    names: dict = {}
    parameters: dict = {}
    for kind in COMPONENTS:
        component = spec.get(kind, "none")
        component = {"name": component} if isinstance(component, str) else unplaced(component)
        path = component.pop("path", None)
        names[kind] = line(component.pop("name", None) or Path(path).stem)
        parameters |= flat(kind, component)
    return names | parameters | {"seed": spec.get("seed")}


def nested(mapping: Any) -> Iterator[dict]:
    """Yield the mapping of a component and those inside of it, the outermost first; nothing of what is no mapping."""
    while isinstance(mapping, dict):
        yield mapping
        mapping = mapping.get("inside")


def is_path(text: str) -> bool:
    """Whether a text of a spec is the path of a file, which is absolute there."""
    return os.path.isabs(text)


def unplaced(value: Any, is_path: Callable[[str], bool] = is_path) -> Any:
    """A spec, or a part of one, with the name of each file in place of its path: what a file holds does not move."""
    if isinstance(value, dict):
        return {key: unplaced(held, is_path) for key, held in value.items()}
    if isinstance(value, list):
        return [unplaced(held, is_path) for held in value]
    return Path(value).name if isinstance(value, str) and is_path(value) else value


def flat(prefix: str, mapping: dict) -> dict:
    """The values of a mapping by dotted keys that begin with `prefix`."""
    found: dict = {}
    for key, value in mapping.items():
        key = f"{prefix}.{line(key)}"
        if isinstance(value, dict):
            rest = dict(value)
            if "name" in rest:  # a component inside a component: `reduction.inside`
                found[key] = line(rest.pop("name"))
                rest.pop("path", None)
            found |= flat(key, rest)
        elif isinstance(value, list):
            found[key] = line(json.dumps(value))
        else:
            found[key] = line(value) if isinstance(value, str) else value
    return found


def line(text: str) -> str:
    """A text of a file as one line that is fit for a terminal."""
    return printable(text).replace("\n", "\\n")


def owner(key: str) -> str:
    """The component or section that a key is of: "dataset" of "dataset.flip"."""
    return key.partition(".")[0]


def is_origin(key: str) -> bool:
    """Whether a key says where a result comes from: its stopping rule, its trace points, its clock or its code.

    `timing` is the number of repeats of `run --timing`, `code` the digest of the code, `solution` the place of one of
    several equal Solutions of a notebook.
    """
    return owner(key) in ORIGINS


def sets_apart(key: str) -> bool:
    """Whether runs that differ in a key are never one curve, though they be of different seeds."""
    return is_origin(key) or key == "dataset.checksum" or key.endswith(".path")
