"""The `dataset:` block of a configuration: which keys it has and which values they take."""

from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Lt

from rrmbench.data import catalogue
from rrmbench.errors import RrmbenchError, nearest
from rrmbench.parameters import Fraction, PositiveInt
from rrmbench.registry import Parameter

Seed = Annotated[int, Ge(0), Lt(2**63)]
KEYS = {
    "name": str,
    "path": str,
    "scale": Literal["none", "unit_rows", "mean_norm", "max_abs"],
    "bias": Literal["none", "regularized"],
    "positive": int | float,
    "subset": PositiveInt,
    "subset_seed": Seed,
    "test": str,
    "flip": Fraction,
    "flip_seed": Seed,
    "split": Annotated[float, Gt(0), Lt(1)],
    "split_seed": Seed,
    "zero_based": bool,
}
SEED_OF = {"subset_seed": "subset", "flip_seed": "flip", "split_seed": "split"}
LATER = ("tasks", "format", "kernel")


def check(block, where="dataset", folder=None):
    """Return one `dataset:` block as a mapping with valid values, only of the keys that were set.

    `block` is a mapping, or a bare string: a registered name, else a path. Paths are absolute in the result;
    relative ones are taken from `folder` (default: the current one). Raises RrmbenchError naming `where.key`.
    """
    folder = Path.cwd() if folder is None else Path(folder)
    if isinstance(block, str):
        return _source(block, where, folder)
    if not isinstance(block, dict):
        raise RrmbenchError(f"{where}: found {block!r}, allowed is a data set name, a path, or a mapping of keys")
    for key in block:
        _check_key(key, where)
    checked = {key: _check_value(key, value, where) for key, value in block.items()}
    _check_together(checked, where)
    if "name" in checked:
        catalogue.get(checked["name"], f"{where}.name")
    else:
        checked["path"] = _existing(checked["path"], f"{where}.path", folder)
    if "test" in checked:
        (checked["test"],) = _source(checked["test"], f"{where}.test", folder).values()
    return checked


def _check_key(key, where):
    if key in LATER:
        raise RrmbenchError(f"{where}.{key}: the key '{key}' is not available yet")
    if key not in KEYS:
        raise RrmbenchError(f"{where}.{key}: unknown key '{key}'{nearest(key, KEYS)} (allowed: {', '.join(KEYS)})")


def _check_value(key, value, where):
    try:
        value = Parameter(key, KEYS[key]).check(value, f"{where}.{key}")
    except RrmbenchError as error:
        choices = getattr(KEYS[key], "__args__", ()) if isinstance(value, str) else ()
        raise RrmbenchError(f"{error}{nearest(value, choices)}") from None
    # 1 and 1.0 are one label, and must give one identity
    return int(value) if key == "positive" and float(value).is_integer() else value


def _check_together(block, where):
    if ("name" in block) == ("path" in block):
        found = "both" if "name" in block else "neither"
        raise RrmbenchError(f"{where}: found {found} of 'name' and 'path', exactly one is needed")
    for seed, key in SEED_OF.items():
        if seed in block and key not in block:
            raise RrmbenchError(f"{where}.{seed}: has no effect without '{key}'")
    if "test" in block and "split" in block:
        raise RrmbenchError(f"{where}: found both 'test' and 'split'; a test part comes from one of them")
    if "zero_based" in block and "name" in block:
        raise RrmbenchError(
            f"{where}.zero_based: only for a path; the registry fixes the index base of '{block['name']}'"
        )


def _source(text, where, folder):
    names = catalogue.names()
    if text in names:
        return {"name": text}
    path = _absolute(text, folder)
    if not path.is_file():
        raise RrmbenchError(
            f"{where}: found '{text}', which is neither a registered data set{nearest(text, names)} "
            f"nor a file ({path}); 'rrmbench list datasets' shows the names"
        )
    return {"path": str(path)}


def _existing(text, where, folder):
    path = _absolute(text, folder)
    if not path.is_file():
        raise RrmbenchError(f"{where}: no such file: {path}")
    return str(path)


def _absolute(text, folder):
    return (folder / Path(text).expanduser()).resolve()
