"""The folders of data: where files are looked for, and the cache that rrmbench writes to."""

import os
import re
from pathlib import Path

from platformdirs import user_config_path

from rrmbench.errors import RrmbenchError, quoted, shown
from rrmbench.folders import cache_root

PACKAGE = Path(__file__).resolve().parents[1]


def search_folders():
    """The folders named in `$RRMBENCH_DATA`, in order; they need not exist."""
    named = os.environ.get("RRMBENCH_DATA", "")
    return [Path(folder).expanduser().absolute() for folder in named.split(os.pathsep) if folder]


def own_registry():
    """The user's own registry folder, to which `rrmbench data add` writes."""
    if os.environ.get("RRMBENCH_CACHE"):
        return cache_root() / "datasets"
    return user_config_path("rrmbench") / "datasets"


def shipped(folder):
    """The shipped folder `datasets` or `configs`: inside an installed package, beside it in a checkout."""
    installed = PACKAGE / folder
    return installed if installed.is_dir() else PACKAGE.parent / folder


def file_at(text, folders, where):
    """Return the absolute path of the file `text` in the first of `folders` that has it, or None if none has.

    Raises RrmbenchError, with `where`, if there can be no such file or it may not be looked for.
    """
    try:
        for folder in folders:
            path = Path(os.path.abspath(folder / Path(text).expanduser()))
            if path.is_file():
                return path
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RrmbenchError(f"{where}: found {shown(text)}, which cannot be a file: {reason}") from None
    return None


def why_none(text):
    """Why there is no file at the path `text`, and that path."""
    if re.match("[a-z]+://", text):
        return f"a URL, not a file: {quoted(text)}; download it first"
    if Path(text).is_dir():
        return f"a folder, not a file: {quoted(text)}"
    return f"{'no regular file' if Path(text).exists() else 'no such file'}: {quoted(text)}"


def is_file(path):
    """Whether there is such a file; False also where the path is none that the system takes."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
