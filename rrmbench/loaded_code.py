"""The code that a process has in memory: imported from its text, and held against the digests that name its results.

`fingerprint` tells what code a result should be of, by the files; here is what was imported, and whether it is that.
"""

import builtins
import importlib
import sys
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path

from rrmbench.errors import RrmbenchError
from rrmbench.fingerprint import FOLDERS, digest, file_of, is_local, is_shipped, library_folders, sources_of, unchanged
from rrmbench.syntax import PACKAGE

unforeseen = set()  # files that plug-ins have imported though their text does not say so
_loaded = {}  # {file: its digest} when it was last imported from its text
_read_from_text = set()  # folders


def imported_by(load, plugin):
    """Call `load`, and return the local files of the modules that it has imported for `plugin`, and of theirs.

    What was in memory before counts, too: two plug-ins may share a module that one of them names in no readable way.
    """
    before, asked = set(sys.modules), set()
    statement, function = builtins.__import__, importlib.import_module

    def by_statement(name, scope=None, local=None, wanted=(), level=0):
        module = statement(name, scope, local, wanted, level)
        asked.update([name, *(f"{name}.{part}" for part in wanted or ())] if level == 0 else ())
        return module

    def by_function(name, package=None):
        module = function(name, package)
        asked.add(module.__name__)
        return module

    builtins.__import__, importlib.import_module = by_statement, by_function
    try:
        load()
    finally:
        builtins.__import__, importlib.import_module = statement, function
    parts = [name.split(".") for name in asked]  # an import of a.b executes a, too
    asked = {".".join(words[:end]) for words in parts for end in range(1, len(words) + 1)}
    files = files_of_modules((asked | set(sys.modules) - before) & set(sys.modules))
    local = {file for file in files if _is_plugins(file, [plugin])}
    return {*sources_of(*local)} if local else set()


def files_of_modules(names):
    """The files that modules in memory were read from, as a set."""
    origins = [getattr(sys.modules[name], "__file__", None) for name in names]
    return {file_of(origin) for origin in origins if isinstance(origin, str)}


def _is_plugins(file, plugins):
    """Whether a file is code of one of the files of `plugins`, or of theirs."""
    return not is_shipped(file) and any(is_local(file, start) for start in plugins)


class OtherCode(RrmbenchError):
    """A process runs other code than the digest was taken of that names its results."""


def check_unchanged(kept):
    """Raise OtherCode where a file is not as it was; `kept` are the `stamps` of then."""
    for file, then in kept.items():
        if not unchanged({file: then}):
            raise OtherCode(f"{file} has changed since the command was started; start it again")


def is_as_imported(file):
    """Whether the code of a file of plug-ins is that which this process has imported, if any."""
    return file not in _loaded or _loaded[file] == digest(file)


def check_loaded(files):
    """Raise OtherCode where a file of plug-ins has changed since this process imported it."""
    for file in files:
        if not is_as_imported(file):
            raise OtherCode(f"{file} has changed since this process imported it; start it again")


def check_imports(before, kept):
    """Raise OtherCode where a module that was imported since is not of the code that a digest was taken of.

    before : the names of the modules that were in memory
    kept : the `stamps` of the digest's files, as they were then
    """
    late = files_of_modules(set(sys.modules) - before)
    if not late:
        return
    check_unchanged({file: kept[file] for file in late & kept.keys()})
    plugins = [file for file in kept if not is_shipped(file)]
    for file in sorted(late - kept.keys()):
        if _is_plugins(file, plugins):
            raise OtherCode(
                f"{file} is imported inside a function, in a way that cannot be read from the text: results would not "
                "tell of that code; import it at the top of the plug-in"
            )


def bindings():
    """{its whole name: what it stands for} of the globals in memory of the mathematics, and of what measures it.

    With the attributes of their classes, those that they inherit too: another one may be put before these.
    """
    homes = tuple(f"{PACKAGE.name}.{folder}." for folder in (*FOLDERS, "problem", "bench"))
    modules = {name: vars(module) for name, module in list(sys.modules.items()) if name.startswith(homes)}
    inside = {f"{name}.{key}": value for name, known in modules.items() for key, value in known.items()}
    classes = {key: value for key, value in inside.items() if isinstance(value, type) and value.__module__ in modules}
    return inside | {
        f"{name}.{key}": value
        for name, known in classes.items()
        for one in reversed(known.__mro__)
        for key, value in vars(one).items()
    }


class FromText(SourceFileLoader):
    """Compiles a module from its text, which is what digests are of.

    Python takes bytecode for that of a file if their sizes and the seconds of their last change agree: of two edits
    within one second it may run the first for the second.
    """

    def get_code(self, fullname):
        file = Path(self.path).resolve()
        _loaded[file] = digest(file)  # before the text is read: of a text that changes meanwhile another one is known
        return self.source_to_code(self.get_data(self.path), self.path)


def read_from_text(folder):
    """Import the modules in and below a folder of the user's from their text from now on, other than libraries."""
    if not _read_from_text:
        sys.path_hooks.insert(0, _finder_of_text)
    if folder not in _read_from_text:
        _read_from_text.add(folder)
        sys.path_importer_cache.clear()


def _finder_of_text(path):
    folder = Path(path).resolve()
    around = {folder, *folder.parents}
    if not folder.is_dir() or not _read_from_text & around or PACKAGE in around or library_folders() & around:
        raise ImportError
    return FileFinder(path, (ExtensionFileLoader, EXTENSION_SUFFIXES), (FromText, SOURCE_SUFFIXES))
