"""Which code computes a result: the files that can change a number, and their digest.

The files of a run are those that are reached by imports, in whatever form and from whatever function, from the file of
the run itself, the preparation of its data, and its components; for a plug-in also the modules beside it and the local
packages that it imports. Libraries are not followed: their versions are in the environment record of a result.
"""

import hashlib
import importlib.util
import json
import os
import site
import sys
import sysconfig
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from rrmbench.syntax import PACKAGE, Module, module_of

# the package itself imports the cache of machine code
EVERY_RUN = (PACKAGE / "bench" / "worker.py", PACKAGE / "data" / "prepare.py", PACKAGE / "kernel_cache.py")
EVERY_PROBLEM = (PACKAGE / "problem" / "problem.py", PACKAGE / "data" / "prepare.py")
FOLDERS = ("losses", "regularizers", "solvers", "reductions", "numerics")

_IN_PACKAGE = f"{PACKAGE}{os.sep}"
LIBRARIES = {"site-packages", "dist-packages"}  # folders of them, which PYTHONPATH may name, too


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
    if known is None or not unchanged(known):
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


def file_of(origin):
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
    return file_of(spec.origin) if spec.has_location and spec.origin else None, inside and tuple(inside)


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
    return not (LIBRARIES & set(file.parts) or library_folders() & set(file.parents))


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
def library_folders():
    """The folders that the libraries of this Python lie in."""
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return {Path(folder).resolve() for folder in folders}


def unchanged(kept):
    """Whether files are as they were; `kept` are the `stamps` of then."""
    try:
        return all(stamp(file) == then for file, then in kept.items())
    except OSError:
        return False
