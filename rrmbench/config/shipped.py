"""The configurations that are installed with the package, which are run by name: `quickstart`, `pdprox/figure2`."""

import logging
import os
import re
from pathlib import Path

from rrmbench.data import places
from rrmbench.errors import RrmbenchError, nearest, quoted

log = logging.getLogger("rrmbench.config")
SUFFIX = ".yaml"
YEAR = re.compile(r" \([^()]*\d{4}\)")
END = re.compile(r"\.(?=\s|$)|:(?=\s*$)")


def names():
    """The sorted names: paths below the folder of shipped configurations, without the suffix."""
    folder = places.shipped("configs")
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob(f"*{SUFFIX}"))


def find(text):
    """Return the path of the configuration that `text` names.

    A file comes before a shipped configuration, as it is or with the suffix .yaml; the latter is said in a log line.
    Raises RrmbenchError with the nearest match where `text` is neither a file nor a name.
    """
    text = os.fspath(text)
    path, own = Path(text), Path(text + SUFFIX)
    is_folder = os.path.isdir(path)
    if os.path.lexists(path) and not is_folder:
        return path
    known = names()
    if text in known and places.is_file(own):
        log.warning("%s: the file %s of this folder, and not the shipped configuration of this name", text, own)
        return own
    if text in known:
        return places.shipped("configs") / own
    if is_folder:
        return path
    bare = text.removeprefix("configs/").removesuffix(SUFFIX)
    hint = f"; did you mean '{bare}'?" if bare in known else nearest(bare, known)
    raise RrmbenchError(
        f"{quoted(text)}: no such file, and no shipped configuration of this name{hint} "
        "('rrmbench list configs' shows them)"
    )


def path_of(name):
    """The file of the shipped configuration of this name; RrmbenchError with the nearest match if there is none."""
    if name not in (known := names()):
        hint = nearest(name, known)
        raise RrmbenchError(
            f"{quoted(name)}: no shipped configuration of this name{hint} ('rrmbench list configs' shows them)"
        )
    return places.shipped("configs") / (name + SUFFIX)


def text_of(name):
    """The text of a shipped configuration; RrmbenchError as of `path_of`."""
    return path_of(name).read_text(encoding="utf-8")


def summary(text):
    """The first sentence of the comment that a configuration begins with, without the years of papers."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").rstrip())
    comment = " ".join(lines)
    end = END.search(comment)
    return YEAR.sub("", comment[: end.start()] if end else comment)
