"""Which code computes a result: the files that can change a number, their digest, and the kernel cache that it keys.

The files of a run are those that are reached by imports, in whatever form and from whatever function, from the file of
the run itself, the preparation of its data, and its components; for a plug-in also the modules beside it and the local
packages that it imports. Libraries are not followed: their versions are in the environment record of a result.

numba looks only at the file of a cached kernel, so an edited loss would leave stale machine code behind. The folder of
a kernel is therefore named after the digest of all mathematics and, if it has code of the user's plug-ins, of them,
taken before they are imported.
"""

import builtins
import hashlib
import importlib.util
import json
import os
import site
import sys
import sysconfig
from functools import cache
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    PathFinder,
    SourceFileLoader,
)
from pathlib import Path

from rrmbench import kernel_folder
from rrmbench.errors import RrmbenchError
from rrmbench.folders import cache_root
from rrmbench.syntax import PACKAGE, Module, module_of

EVERY_RUN = (PACKAGE / "bench" / "worker.py", PACKAGE / "data" / "prepare.py")
EVERY_PROBLEM = (PACKAGE / "problem" / "problem.py", PACKAGE / "data" / "prepare.py")
FOLDERS = ("losses", "regularizers", "solvers", "reductions", "numerics")

_IN_PACKAGE = f"{PACKAGE}{os.sep}"
LIBRARIES = {"site-packages", "dist-packages"}  # folders of them, which PYTHONPATH may name, too

unforeseen = set()  # files that plug-ins have imported though their text does not say so


def digest(*files):
    """Return 16 hex digits of the sha256 of the names and code of files, wherever these lie.

    The code is the syntax tree without docstrings, of files of other languages all bytes.
    """
    named = sorted((name_of(file), file) for file in map(Path, files))
    parts = [(name, _read(file, stamp(file)).digest) for name, file in named]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@cache
def _read(file, _stamp):
    """The `syntax.Module` of a file's content; of one that is no text of Python its digest, without imports."""
    source = file.read_bytes()
    if file.suffix != ".py":
        return Module(hashlib.sha256(source).hexdigest(), [])
    return module_of(source)


def stamp(file):
    """What tells, at the cost of a look at its directory entry, whether a file has changed since."""
    s = os.stat(file)
    return s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino


def stamps(files):
    """{file: its `stamp`} of files."""
    return {file: stamp(file) for file in files}


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
    return {_file_of(origin) for origin in origins if isinstance(origin, str)}


def _is_plugins(file, plugins):
    """Whether a file is code of one of the files of `plugins`, or of theirs."""
    return not is_shipped(file) and any(is_local(file, start) for start in plugins)


class OtherCode(RrmbenchError):
    """A process runs other code than the digest was taken of that names its results."""


def check_unchanged(kept):
    """Raise OtherCode where a file is not as it was; `kept` are the `stamps` of then."""
    for file, then in kept.items():
        if not _unchanged({file: then}):
            raise OtherCode(f"{file} has changed since the command was started; start it again")


def check_loaded(files):
    """Raise OtherCode where a file of plug-ins has changed since this process imported it."""
    for file in files:
        if file in _loaded and _loaded[file] != digest(file):
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
    """{its whole name: what it stands for} of the globals of the mathematics in memory, its classes' attributes too."""
    homes = tuple(f"{PACKAGE.name}.{folder}." for folder in (*FOLDERS, "problem"))
    modules = {name: vars(module) for name, module in list(sys.modules.items()) if name.startswith(homes)}
    inside = {f"{name}.{key}": value for name, known in modules.items() for key, value in known.items()}
    classes = {key: value for key, value in inside.items() if isinstance(value, type) and value.__module__ in modules}
    return inside | {f"{name}.{key}": value for name, known in classes.items() for key, value in vars(known).items()}


@cache
def mathematics():
    """The digest of `mathematics_files` when it was first asked for: of the code that this process runs."""
    return digest(*mathematics_files())


def mathematics_files():
    """Every file whose text may end up in compiled kernels."""
    components = [f for folder in FOLDERS for f in (PACKAGE / folder).rglob("*.py")]
    return sources_of(EVERY_PROBLEM[0], *components)


def sources_of(*files):
    """`files` and all local files that they import, directly or not, as a sorted tuple."""
    known = _sources.get(files)
    if known is None or not _unchanged(known):
        known = _sources[files] = stamps(_sources_of(files))
    return tuple(known)


_sources = {}  # files: the stamps of what they import


def _sources_of(files):
    importlib.invalidate_caches()
    _module_at.cache_clear()
    starts = [Path(file).resolve() for file in files]
    starts += [folder / "__init__.py" for file in starts for folder in file.parents if is_shipped(folder)]
    found, waiting = set(), [(file, file) for file in starts]
    while waiting:
        file, start = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += [(f, start) for f in _imported(file, start)]
    return tuple(sorted(found))


def _imported(file, start):
    """The local files of the modules that a file imports, which was reached from `start`."""
    if file.suffix != ".py":
        return []
    if is_shipped(start):
        return _imported_in_package(file, stamp(file))
    return _found(file, start, [*sys.path, package_of(start).parent, start.parent])


@cache
def _imported_in_package(file, _stamp):
    return _found(file, PACKAGE / "__init__.py", [PACKAGE.parent])


def _found(file, start, folders):
    files = set()
    for level, name in _read(file, stamp(file)).imports:
        files.update(_files_of(name, [file.parents[level - 1]] if 0 < level <= len(file.parents) else folders))
    files.discard(PACKAGE / "__init__.py")  # the version and public names, nothing that computes
    return [f for f in files if is_local(f, start)]


def imported_names(file):
    """The first parts of the absolute names that a file imports."""
    return {name.partition(".")[0] for level, name in _read(file, stamp(file)).imports if level == 0}


def _file_of(origin):
    """The file that a module is read from: its own, or the archive that has it."""
    file = Path(origin).resolve()
    return next((inner for inner in (file, *file.parents) if inner.is_file()), file)


def _files_of(name, folders):
    """The files that an import of `name` from `folders` executes, of its packages too; found without executing any."""
    found, prefix, folders = [], "", tuple(map(str, folders))
    for part in name.split("."):
        prefix = f"{prefix}.{part}".lstrip(".")
        file, folders = _module_at(prefix, folders)
        if file is not None:
            found.append(file)
        if folders is None:
            break
    return found


@cache  # of one walk, in which hundreds of files import the same modules
def _module_at(name, folders):
    """(The file of the module `name` or None, the folders of the modules in it or None), looked for in `folders`."""
    spec = _spec(name, folders)
    if spec is None:
        return None, None
    inside = spec.submodule_search_locations
    return _file_of(spec.origin) if spec.has_location and spec.origin else None, inside and tuple(inside)


def _spec(name, folders):
    if name.partition(".")[0] in sys.stdlib_module_names:
        return None
    try:
        # by its last part, since that of a package without __init__.py asks sys.modules for the packages around it
        found = PathFinder.find_spec(name.rpartition(".")[2], folders)
        # a package that was installed to be edited has a finder of its own
        return found if found or "." in name else importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError, KeyError):  # broken or namespace packages of others
        return None


def is_shipped(file):
    """Whether a file or a folder, a whole path, lies in the package."""
    return str(file).startswith(_IN_PACKAGE)  # asked for hundreds of files whenever a command starts


def is_local(file, start):
    """Whether a file that was reached from `start` is the user's or the package's own, and not a library's."""
    if is_shipped(file) or package_of(start) in file.parents:
        return True
    return not (LIBRARIES & set(file.parts) or _libraries() & set(file.parents))


def package_of(file):
    """The outermost package folder that a file is in, or a single file itself."""
    if is_shipped(file):
        return PACKAGE
    package = file
    while (package.parent / "__init__.py").is_file():
        package = package.parent
    return package


def name_of(file):
    """The name of a file from its outermost package on, wherever that lies."""
    return file.relative_to(package_of(file).parent).as_posix()


@cache
def _libraries():
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return {Path(folder).resolve() for folder in folders}


class FromText(SourceFileLoader):
    """Compiles a module from its text, which is what digests are of.

    Python takes bytecode for that of a file if their sizes and the seconds of their last change agree: of two edits
    within one second it may run the first for the second.
    """

    def get_code(self, fullname):
        file = Path(self.path).resolve()
        _loaded[file] = digest(file)  # before the text is read: of a text that changes meanwhile another one is known
        return self.source_to_code(self.get_data(self.path), self.path)


_loaded = {}  # {file: its digest} when it was last imported from its text
_read_from_text = set()  # folders


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
    if not folder.is_dir() or not _read_from_text & around or PACKAGE in around or _libraries() & around:
        raise ImportError
    return FileFinder(path, (ExtensionFileLoader, EXTENSION_SUFFIXES), (FromText, SOURCE_SUFFIXES))


_keyed = {}  # the files of plug-ins that the kernel cache is keyed by, with their stamps


def use_kernel_cache(plugins=None):
    """Keep machine code of kernels by the code that it is of, for this process and children.

    Kernels of the package alone are in the folder of this mathematics, those with code of plug-ins in the folder of
    this mathematics and these plug-ins: an edit of a plug-in leaves the others where they are. Without `plugins`,
    those of the process that started this one. A plug-in that is in memory already, from who knows what text, is left
    out: kernels are compiled for it again.
    """
    plugins = known_plugins() if plugins is None else sorted(str(p) for p in plugins)
    files = sources_of(*plugins)
    package = cache_root() / "kernels" / mathematics()
    with_plugins = package.with_name(f"{package.name}-{digest(*files)}") if files else package
    keyed = stamps(files)
    if any(_keyed.get(file) != s for file, s in keyed.items()):
        loaded = files_of_modules(list(sys.modules))
        keyed = {file: s for file, s in keyed.items() if file not in loaded or _keyed.get(file) == s}
    _keyed.clear()
    _keyed.update(keyed)
    if "numba" not in sys.modules:  # for what plug-ins compile by themselves
        os.environ["NUMBA_CACHE_DIR"] = str(with_plugins)
    os.environ["RRMBENCH_PLUGINS"] = json.dumps(plugins)

    def folder_of(used):
        if None in used:
            return None
        theirs = {file for file in (Path(f).resolve() for f in used) if not is_shipped(file)}
        if not theirs:
            return package
        return with_plugins if _are_keyed(theirs) else None

    kernel_folder.use(folder_of)


def known_plugins():
    """The plug-in files that the kernel cache is keyed by."""
    return json.loads(os.environ.get("RRMBENCH_PLUGINS") or "[]")


def _are_keyed(files):
    """Whether the kernel cache is keyed by the code of a set of files, and of all that plug-ins have imported."""
    return not unforeseen and files <= _keyed.keys() and _unchanged(_keyed)


def _unchanged(kept):
    try:
        return all(stamp(file) == then for file, then in kept.items())
    except OSError:
        return False
