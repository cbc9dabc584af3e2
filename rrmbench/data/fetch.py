"""From the name of a data set to a file on this machine, and the checksum of its content."""

import hashlib
import json
import logging
import os
from pathlib import Path

from rrmbench.atomic import fresh_path
from rrmbench.data import checksums, places
from rrmbench.data.streams import COMPRESSED
from rrmbench.errors import RrmbenchError
from rrmbench.fingerprint import digest
from rrmbench.folders import cache_root, write_text, writing_to

log = logging.getLogger("rrmbench.data")
# whose code makes the files of bundled and synthetic sets
WRITERS = [Path(__file__).with_name(f"{name}.py") for name in ("sources", "draws", "libsvm", "ratings")]


def downloads():
    """The folder with a folder of downloaded files for each url; files that somebody puts into it are found, too."""
    return cache_root() / "downloads"


def obtain(name, entry):
    """Return the path of a data set's file: found, made or downloaded; RrmbenchError if none works."""
    if entry.file is None:
        return _made(name, entry)
    return locate(entry) or _downloaded(name, entry)


def locate(entry):
    """Return the path of a file that is here already, or None.

    The order: the entry's own path, the folders of `$RRMBENCH_DATA`, the cache; with or without compression.
    """
    return None if entry.file is None else _located(entry.file)


def _located(file):
    if file.path is not None and places.is_file(file.path):
        return file.path
    for folder in _folders(file):
        for suffix in ["", *COMPRESSED]:
            path = folder / (file.name + suffix)
            if places.is_file(path):
                return path
    return None


def _folders(file):
    """Where a file is looked for, in this order."""
    return [*places.search_folders(), *([_download_folder(file)] if file.url else []), downloads()]


def _download_folder(file):
    """The folder of what is downloaded from this url: files of one name from different urls are different files."""
    return downloads() / hashlib.sha256(file.url.encode()).hexdigest()[:16]


def obtain_folds(name, entry):
    """Return the path of the file with the folds of a data set; RrmbenchError if it is not here or is another one."""
    path = _located(entry.folds)
    if path is None:
        folders = ", ".join(map(str, _folders(entry.folds)))
        raise RrmbenchError(
            f"the folds of '{name}', {entry.folds.name}, are not in {folders}; 'folds: FILE' names them"
        )
    if entry.folds.sha256 not in (None, checksums.checksum_of(path)):
        raise RrmbenchError(f"{path}: the content is not that of the folds which the registry entry of '{name}' says")
    return path


def content_checksum(name, entry, path, anew=False):
    """The sha256 of the content; RrmbenchError if the entry or the first download's record says another."""
    found = checksums.checksum_of(path, anew)
    expected, source = expected_checksum(entry, path)
    if expected not in (None, found):
        raise RrmbenchError(
            f"{path}: the content has sha256 {found}, but {source} of '{name}' says {expected}: the file is "
            f"damaged or another version; remove it and run 'rrmbench data get {name}', or use it by its path"
        )
    return found


def expected_checksum(entry, path):
    """(sha256, who says so) for the content of `path`; (None, "") if nothing is known."""
    if entry.file is not None and entry.file.sha256:
        return entry.file.sha256, "the registry entry"
    if downloads() in path.parents:
        recorded = _recorded(path)
        return recorded, "the record of the first download" if recorded else ""
    return None, ""


def _record(path):
    return path.with_name(path.name + ".sha256")


def _recorded(path):
    """The checksum in the record of a file that was downloaded or made, or None."""
    record = _record(path)
    return record.read_text(encoding="utf-8", errors="replace").strip() if record.is_file() else None


def _made(name, entry):
    from rrmbench.data import sources

    settings = entry.bundled or entry.synthetic
    recipe = [settings.model_dump(), digest(*WRITERS)]
    recipe = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()
    return made(name, recipe, lambda path: sources.write(settings, path))


def made_file(name, recipe):
    """Where `made` keeps a file."""
    return cache_root() / "made" / f"{name}-{recipe[:16]}"


def made(name, recipe, write):
    """Return the path of a file that write(path) makes, kept under its `recipe` (hex digits) while it is undamaged."""
    path = made_file(name, recipe)
    if path.is_file():
        if _recorded(path) == checksums.checksum_of(path):
            return path
        log.warning("%s: the file is damaged; it is made again", path)
    with writing_to(path.parent) as folder:
        temporary = fresh_path(folder)
        try:
            write(temporary)
            write_text(_record(path), checksums.checksum_of(temporary, anew=True) + "\n")
            os.replace(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    return path


def _downloaded(name, entry):
    if entry.file.url is None:
        note = f" ({entry.note})" if entry.note else ""
        raise RrmbenchError(_not_here(name, entry) + f"; it has no public url{note}")
    import requests

    from rrmbench.data.download import download

    suffix = next((suffix for suffix in COMPRESSED if entry.file.url.endswith(suffix)), "")
    path = _download_folder(entry.file) / (entry.file.name.removesuffix(suffix) + suffix)
    with writing_to(path.parent):
        try:
            download(entry.file.url, path, entry.file.sha256)
        except requests.RequestException as error:
            raise RrmbenchError(
                f"{_not_here(name, entry)}; downloading {entry.file.url} failed ({_reason(error)}): "
                f"with a network, 'rrmbench data get {name}' downloads it and goes on where it stopped"
            ) from error
    if entry.file.sha256 is None:
        found = checksums.checksum_of(path)
        write_text(_record(path), found + "\n")
        log.warning("%s: no checksum is known for '%s'; recorded sha256 %s of this first download", path, name, found)
    return path


def _reason(error):
    """`HTTP 404` if a server answered, else the kind of failure."""
    return type(error).__name__ if error.response is None else f"HTTP {error.response.status_code}"


def _not_here(name, entry):
    own = [entry.file.path] if entry.file.path else []
    searched = ", ".join(str(folder) for folder in [*own, *_folders(entry.file)])
    return (
        f"data set '{name}': the file '{entry.file.name}' (or .gz, .bz2, .xz) is not here "
        f"(searched: {searched}); RRMBENCH_DATA may name a folder that has it"
    )
