"""Which code computes a result: digests of source files, and the kernel cache that they key.

numba looks only at the file of a cached kernel, so an edited loss would leave stale machine code behind. The
cache directory is therefore named after the digest of all mathematics and of the user's plug-in files; it has
to be set before numba is imported. One set of plug-in files has one directory, since numba's index refers to
the classes of a plug-in file by name and cannot be read by a process that has not loaded it.
"""

import ast
import hashlib
import os
import sys
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
CORE = ("problem", "samples", "operators", "kernels", "randomness", "certificate")
FOLDERS = ("losses", "regularizers", "solvers", "reductions")
NOT_COMPUTING = ("registry", "parameters", "errors", "code", "__init__")


@cache
def digest(*files):
    """Return 16 hex digits of the sha256 of the files' syntax trees, docstrings and comments left out."""
    sha = hashlib.sha256()
    for file in files:
        sha.update(_meaning(Path(file)))
    return sha.hexdigest()[:16]


def _meaning(file):
    """The bytes that matter: the dump of the syntax tree for the package's files, all bytes for others."""
    source = file.read_bytes()
    if PACKAGE not in file.resolve().parents:
        return source
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.dump(tree).encode()


def core_files():
    """The files that every run depends on."""
    return [PACKAGE / f"{name}.py" for name in CORE]


def mathematics_files():
    """Every file whose text may end up in compiled kernels."""
    return sources_of(*[f for folder in FOLDERS for f in (PACKAGE / folder).glob("*.py")])


def sources_of(*files):
    """The core files, `files`, and the mathematics that they import, sorted."""
    found, waiting = set(), [*core_files(), *(Path(f) for f in files)]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting.extend(_imported(file))
    return sorted(found)


@cache
def _imported(file):
    modules = [
        node.module
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.ImportFrom) and node.module
    ]
    paths = [PACKAGE.joinpath(*m.split(".")[1:]).with_suffix(".py") for m in modules if m.startswith("rrmbench.")]
    return [p for p in paths if p.is_file() and p.stem not in NOT_COMPUTING]


def user_cache():
    """The folder for everything that can be made again: $RRMBENCH_CACHE, or the platform's cache folder."""
    if "RRMBENCH_CACHE" in os.environ:
        return Path(os.environ["RRMBENCH_CACHE"])
    from platformdirs import user_cache_path

    return user_cache_path("rrmbench")


def use_kernel_cache(plugins=None):
    """Point numba's cache to the directory of this mathematics and these plug-ins; before numba's import.

    Without `plugins`, those of an earlier call in this process or in the one that started it.
    """
    if "numba" in sys.modules:
        return
    plugins = known_plugins() if plugins is None else sorted(str(p) for p in plugins)
    key = digest(*mathematics_files(), *plugins)
    os.environ["NUMBA_CACHE_DIR"] = str(user_cache() / "kernels" / key)
    os.environ["RRMBENCH_PLUGINS"] = os.pathsep.join(plugins)


def known_plugins():
    """The plug-in files that the kernel cache is keyed by."""
    return [p for p in os.environ.get("RRMBENCH_PLUGINS", "").split(os.pathsep) if p]


@cache
def is_keyed(defining_class):
    """Whether the kernel cache is keyed by the file that defines this class."""
    file = getattr(sys.modules.get(defining_class.__module__), "__file__", None)
    return file is not None and (PACKAGE in Path(file).resolve().parents or file in known_plugins())
