"""Components as written (a name, a mapping, a list of those) brought to mappings, with absolute paths."""

import os
from pathlib import Path

from rrmbench.components import AROUND
from rrmbench.data import catalogue
from rrmbench.data import places as data_places
from rrmbench.data.makers import is_plugin, spelled
from rrmbench.errors import RrmbenchError, nearest, shown

_ALLOWED = "a name, a mapping {name: ..., parameter: value} or a list of those"


def absolute(text, folder, where):
    """Return the file `text` of the configuration's folder, the working directory or the data folders, else `text`."""
    file = data_places.file_at(text, [folder, Path.cwd(), *data_places.search_folders()], where)
    return text if file is None else str(file)


def named(kind, text, folder, where):
    """Return {"name": text}, or {"path": file} for a data set that is a path and not registered."""
    if kind == "dataset" and catalogue.file_of(text) is None:
        file = absolute(text, folder, where)
        if "/" in text or Path(file).is_absolute():
            return {"path": file}
    return {"name": text}


def has_inside(kind):
    """Whether components of this kind nest, by the key `inside`."""
    return AROUND.get(kind) == "inside"


def normal(kind, value, path, places, folder):
    """Return `value` with every name made a mapping; a list stays a list and a mapping a mapping."""
    if not isinstance(value, list):
        return _entry(kind, value, path, places, folder)
    if not value:
        raise RrmbenchError(f"{places.where(path)}: the list is empty; needed is {_ALLOWED}")
    return [_entry(kind, item, (*path, i), places, folder) for i, item in enumerate(value)]


def _entry(kind, value, path, places, folder):
    if isinstance(value, str):
        value = named(kind, value, folder, places.where(path))
    if not isinstance(value, dict):
        raise RrmbenchError(f"{places.where(path)}: found {shown(value)}, allowed is {_ALLOWED}")

    def each(key, change):
        """{key: its value changed where it is text, also inside a grid}, or {} without the key."""
        where, held = places.where((*path, key)), value.get(key)
        changed = [change(v, where) if isinstance(v, str) else v for v in (held if isinstance(held, list) else [held])]
        return {key: changed if isinstance(held, list) else changed[0]} if key in value else {}

    entry = dict(spelled(value) if kind == "dataset" else value)
    entry |= each("path", lambda text, where: absolute(text, folder, where))
    if kind == "dataset":
        for key in "folds", "y":
            entry |= each(key, lambda text, where: absolute(text, folder, where))
        entry |= each("test", lambda text, where: next(iter(named(kind, text, folder, where).values())))
    _check_identity(kind, entry, path, places)
    if has_inside(kind) and "inside" in entry:
        entry["inside"] = normal(kind, entry["inside"], (*path, "inside"), places, folder)
    return entry


def _check_identity(kind, entry, path, places):
    if "name" not in entry and "path" not in entry:
        hint = next(filter(None, (nearest(key, ("name", "path")) for key in entry)), "")
        raise RrmbenchError(f"{places.where(path)}: found {shown(entry)}, needed is a name or the path of a file{hint}")
    for key in ("name", "path"):
        values = entry.get(key, [])
        for value in values if isinstance(values, list) else [values]:
            where = places.where((*path, key))
            if not isinstance(value, str):
                raise RrmbenchError(f"{where}: found {shown(value)}, allowed is text")
            if key == "path" and not Path(value).is_file():  # of what `absolute` has found
                raise RrmbenchError(f"{where}: {data_places.why_none(value)}")
            if key == "path" and kind != "dataset" and (Path(value).suffix != ".py" or os.pathsep in value):
                # the separator: the files are handed on to other processes as one list of paths
                allowed = f"a Python file (.py) without '{os.pathsep}' in its path"
                raise RrmbenchError(f"{where}: found {shown(value)}, allowed is {allowed}")


def plugins(kind, entries):
    """Return the plug-in files of a component (an entry or a list of entries)."""
    found = []
    for entry in entries if isinstance(entries, list) else [entries]:
        path = entry.get("path", [])
        found += [file for file in (path if isinstance(path, list) else [path]) if is_plugin(file)]
        if has_inside(kind):
            found += plugins(kind, entry.get("inside", []))
    return found
