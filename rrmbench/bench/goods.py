"""What workers of a cluster are sent: folders of the cache, named by their content, in pieces, checked on arrival.

`data/<key>` are prepared data. `plugins/<key>` are the plug-in files of an experiment with the local modules that they
import, and files that parameters name. A folder has a `header.json` that holds the checksums of its other files, and a
`Goods` the checksum of that header.
"""

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rrmbench import fingerprint, loaded_code, registry
from rrmbench.data import cache
from rrmbench.errors import RrmbenchError
from rrmbench.folders import cache_root, writing_to

PIECE = 2**24  # bytes of a message
HEADER = "header.json"


@dataclass(frozen=True)
class Goods:
    """A folder of the cache: its kind ("data" or "plugins"), its name there, and the sha256 of its header."""

    kind: str
    key: str
    seal: str

    @property
    def folder(self):
        return cache_root() / self.kind / self.key

    def here(self):
        """Whether the cache of this machine has the folder, as it was when it was sealed."""
        try:
            return _seal(self.folder) == self.seal and _SOUND[self.kind](self.folder)
        except (OSError, ValueError, KeyError):
            return False

    def pieces(self):
        """Yield (name, offset, bytes) of all files, of an empty one too."""
        for file in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            name, size = file.relative_to(self.folder).as_posix(), file.stat().st_size
            with file.open("rb") as stream:
                for offset in range(0, max(size, 1), PIECE):
                    yield name, offset, stream.read(PIECE)

    def receive(self, sender, name, offset, piece):
        """Write a piece beside the folder, which appears when all are there; RrmbenchError where it cannot be."""
        with writing_to(self.folder.parent):
            path = self._arriving(sender) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("r+b" if offset else "wb") as out:
                out.seek(offset)
                out.write(piece)

    def complete(self, sender):
        """Check what has arrived from `sender` and put it into its place; RrmbenchError for anything else than sent."""
        fresh = self._arriving(sender)
        try:
            with writing_to(fresh.parent):
                if _seal(fresh) != self.seal or not _SOUND[self.kind](fresh):
                    raise RrmbenchError(f"{self.kind} {self.key}: what arrived is not what was sent")
                _replace(fresh, self.folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _arriving(self, sender):
        return self.folder.parent / f".new-{sender}-{self.key}"


def prepared(key):
    """The Goods of prepared data, which are in the cache of this machine."""
    return Goods("data", key, _seal(cache_root() / "data" / key))


def plugins(files, specs):
    """The Goods of plug-in `files` and of what runs of `specs` need beside them, written to the cache of this machine.

    None where runs need nothing but the package. Raises RrmbenchError for two modules of one name.
    """
    contents, places = {}, {}
    if files:
        modules = {*fingerprint.sources_of(*files), *loaded_code.unforeseen}
        for file in sorted(module for module in modules if not fingerprint.is_shipped(module)):
            name = fingerprint.name_of(file)
            if contents.setdefault(name, file.read_bytes()) != file.read_bytes():
                raise RrmbenchError(f"{file}: another module of the plug-ins is {name} as well; rename one of the two")
            places[str(file)] = name
        places |= {str(file): places[str(Path(file).resolve())] for file in files}
    for file in sorted({file for spec in specs for file in registry.parameter_files(spec)}):
        content = Path(file).read_bytes()
        places[file] = name = f"files/{hashlib.sha256(content).hexdigest()[:16]}/{Path(file).name}"
        contents[name] = content
    if not contents:
        return None
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    header = json.dumps({"files": sums, "places": places}, sort_keys=True).encode()
    seal = hashlib.sha256(header).hexdigest()
    goods = Goods("plugins", seal[:32], seal)
    if not goods.here():
        for name, content in ({HEADER: header} | contents).items():
            goods.receive(str(os.getpid()), name, 0, content)
        goods.complete(str(os.getpid()))
    return goods


def localized(value, goods):
    """`value` with every path that `goods` have a place for as the path of the file in the cache of this machine."""
    if goods is None:
        return value
    places = json.loads((goods.folder / HEADER).read_bytes())["places"]
    return _localized(value, {path: str(goods.folder / name) for path, name in places.items()})


def _localized(value, places):
    if isinstance(value, dict):
        return {key: _localized(inner, places) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_localized(inner, places) for inner in value)
    return places.get(value, value) if isinstance(value, str) else value


def _seal(folder):
    return hashlib.sha256((folder / HEADER).read_bytes()).hexdigest()


def _sound_plugins(folder):
    sums = json.loads((folder / HEADER).read_bytes())["files"]
    return all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == found for name, found in sums.items())


def _replace(fresh, folder):
    """Put `fresh` where `folder` is, or was."""
    if os.path.lexists(folder):
        former = tempfile.mkdtemp(dir=folder.parent, prefix=".old-")
        with suppress(FileNotFoundError):  # another process was faster
            os.rename(folder, os.path.join(former, folder.name))
        shutil.rmtree(former, ignore_errors=True)
    try:
        os.rename(fresh, folder)
    except OSError:
        if not folder.is_dir():
            raise


_SOUND = {"data": cache.sound, "plugins": _sound_plugins}
