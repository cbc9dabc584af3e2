"""Components as written (a name, a mapping, a list of those) brought to mappings, with absolute paths."""

import os
from pathlib import Path

from rrmbench.data import catalogue
from rrmbench.data import places as data_places
from rrmbench.errors import RrmbenchError

_ALLOWED = "a name, a mapping {name: ..., parameter: value} or a list of those"
_FILES = ("path", "groups")  # keys that may hold a path


def absolute(text, folder):
    """Return the file `text` of the configuration's folder, the working directory or the data folders, else `text`."""
    for base in (folder, Path.cwd(), *data_places.search_folders()):
        candidate = Path(os.path.abspath(base / Path(text).expanduser()))
        if candidate.is_file():
            return str(candidate)
    return text


def named(kind, text, folder):
    """Return {"name": text}, or {"path": file} for a data set that is a path and not registered."""
    if kind == "dataset" and text not in catalogue.names():
        file = absolute(text, folder)
        if "/" in text or Path(file).is_absolute():
            return {"path": file}
    return {"name": text}


def normal(kind, value, path, places, folder):
    """Return `value` with every name made a mapping; a list stays a list and a mapping a mapping."""
    if not isinstance(value, list):
        return _entry(kind, value, path, places, folder)
    if not value:
        raise RrmbenchError(f"{places.where(path)}: the list is empty; needed is {_ALLOWED}")
    return [_entry(kind, item, (*path, i), places, folder) for i, item in enumerate(value)]


def _entry(kind, value, path, places, folder):
    if isinstance(value, str):
        value = named(kind, value, folder)
    if not isinstance(value, dict):
        raise RrmbenchError(f"{places.where(path)}: found {value!r}, allowed is {_ALLOWED}")
    entry = value | {key: _files(value[key], folder) for key in _FILES if key in value}
    if kind == "dataset" and isinstance(entry.get("test"), str):
        (entry["test"],) = named(kind, entry["test"], folder).values()
    _check_identity(entry, path, places)
    if kind == "reduction" and "inside" in entry:
        entry["inside"] = normal(kind, entry["inside"], (*path, "inside"), places, folder)
    return entry


def _check_identity(entry, path, places):
    if "name" not in entry and "path" not in entry:
        raise RrmbenchError(f"{places.where(path)}: found {entry!r}, needed is a name or the path of a file")
    for key in ("name", "path"):
        values = entry.get(key, [])
        for value in values if isinstance(values, list) else [values]:
            if not isinstance(value, str):
                raise RrmbenchError(f"{places.where((*path, key))}: found {value!r}, allowed is text")
            if key == "path" and not Path(value).is_absolute():
                raise RrmbenchError(f"{places.where((*path, key))}: no such file: {value}")


def _files(value, folder):
    if isinstance(value, list):
        return [_files(item, folder) for item in value]
    return absolute(value, folder) if isinstance(value, str) else value


def plugins(entries):
    """Return the plug-in files of a component (an entry or a list of entries)."""
    found = []
    for entry in entries if isinstance(entries, list) else [entries]:
        path = entry.get("path", [])
        found += path if isinstance(path, list) else [path]
        found += plugins(entry.get("inside", []))
    return found
