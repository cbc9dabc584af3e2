"""Machine code of kernels on disk: whole or not used at all, never another kernel's, and never of unknown code.

numba's own index can be overwritten by two processes that compile at the same time, and a damaged file ends every run.
Here each signature of a kernel has a file of its own, named after it, which holds a checksum, then what it is the code
of, then the code. What does not fit is dropped and compiled again.

Methods of losses and regularizers are compiled into the kernels that take them, so that numba's look at the kernel's
own file would find stale code. The folder (`rrmbench.kernel_folder`) is chosen by all files that the functions
and classes of a signature are from.
"""

import contextlib
import hashlib
import inspect
import logging
import os
import pickle
import sys
from collections import Counter
from functools import cache

import numba
import xxhash
from numba.core import config, types
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from rrmbench import kernel_folder

log = logging.getLogger("rrmbench.numerics.jit")

CHECKSUM = 16  # bytes

# settings of numba that machine code depends on, beside those of the processor, as they are where nobody sets them
DEFAULTS = {"OPT": 3, "BOUNDSCHECK": None, "DEBUGINFO_DEFAULT": 0, "LOOP_VECTORIZE": 1, "SLP_VECTORIZE": 0}


def settings():
    """{name: value} of the settings of numba that somebody has changed: code may be ten times as slow."""
    found = {name: getattr(config, name, default) for name, default in DEFAULTS.items()}
    return {name: value for name, value in found.items() if value != DEFAULTS[name]}


counted = Counter()  # "signatures": how many of all kernels this process has asked for, so has loaded or compiled


class KernelCache(FunctionCache):
    """The cache of one kernel's compiled signatures."""

    def __init__(self, function):
        kernel_folder.chosen()  # now: the code behind the folder's name is that which is about to be imported
        self._py_func, self._name = function, repr(function)
        self._impl = _CompileResults()
        self._file = inspect.getfile(function)
        line = function.__code__.co_firstlineno
        built = numba.__version__, sys.version_info[:2], repr(settings()), config.USING_SVML
        self._known = *built, self._file, function.__qualname__, line
        self._base = f"{inspect.getmodulename(self._file)}.{function.__qualname__.replace('<locals>', 'locals')}-{line}"

    @property
    def cache_path(self):
        return str(self._folder(()) or "")

    def flush(self):
        """Nothing is kept in memory."""

    def load_overload(self, sig, target_context):
        """The compiled signature, or None where it has to be compiled."""
        counted["signatures"] += 1
        folder = self._folder(sig)
        if folder is None:
            return None
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        path = self._path(folder, key)
        try:
            data = load(path, (self._known, key))
            return None if data is None else self._impl.rebuild(target_context, data)
        except Exception as error:  # numba rebuilds machine code from bytes, which may raise anything
            drop(path, error)
            return None

    def save_overload(self, sig, data):
        """Keep a compiled signature for other processes."""
        folder = self._folder(sig)
        if folder is not None and self._impl.check_cachable(data):
            key = self._index_key(sig, data.codegen)
            try:
                os.makedirs(folder, exist_ok=True)
                save(self._path(folder, key), (self._known, key), self._impl.reduce(data))
            except OSError as error:  # a full disk, say, which is no fault of who calls the kernel
                _tell_once(f"{folder}: machine code cannot be kept, every process compiles it again ({error.strerror})")

    def _folder(self, sig):
        """The folder for a signature, or None where no folder's name says all of its code."""
        folder_of = kernel_folder.chosen()
        files = {self._file, *(file for t in getattr(sig, "args", sig) for file in _files_of(t))}
        return folder_of and folder_of(files)

    def _path(self, folder, key):
        """The file of a signature: types are told by their names, and classes of one name by their modules."""
        classes = sorted({f"{c.__module__}.{c.__qualname__}" for t in key[0] for c in _classes_of(t)})
        name = hashlib.sha256(repr((self._known, key, classes)).encode()).hexdigest()[:24]
        return os.path.join(folder, f"{self._base}.{name}.nbc")


class _CompileResults(FunctionCache._impl_class):
    """numba's way from a compiled signature to bytes and back, without its choice of a folder."""

    def __init__(self):
        pass

    def check_cachable(self, cres):
        """Whether a signature can be used by another process; what has addresses of this one in it cannot."""
        return not (cres.lifted or cres.library.has_dynamic_globals)


# Types of code other than that of named tuples and compiled functions, in whatever file.
_WITH_CODE = types.Callable, types.ClassInstanceType, types.StructRef, types.FunctionType


def _classes_of(numba_type):
    """The classes of the named tuples in a type."""
    if isinstance(numba_type, types.BaseNamedTuple):
        yield numba_type.instance_class
    if isinstance(numba_type, types.BaseTuple):
        for part in set(numba_type):
            yield from _classes_of(part)


def _files_of(numba_type):
    """The files with the code of a type: of classes of named tuples and of compiled functions; None for no file."""
    if isinstance(numba_type, types.BaseNamedTuple):
        yield getattr(inspect.getmodule(numba_type.instance_class), "__file__", None)
    if isinstance(numba_type, types.BaseTuple):
        for part in set(numba_type):
            yield from _files_of(part)
    elif isinstance(numba_type, types.Dispatcher):
        yield inspect.getfile(numba_type.dispatcher.py_func)
    elif isinstance(numba_type, _WITH_CODE) or not type(numba_type).__module__.startswith("numba."):
        yield None


@cache
def _tell_once(text):
    log.warning(text)


def save(path, key, data):
    """Write (key, data) to a file, at once and whole; raises OSError."""
    body = dumps((key, data))
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(xxhash.xxh3_128_digest(body) + body)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def load(path, key):
    """The data in a file, or None if there is none of this key."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    body = content[CHECKSUM:]
    if xxhash.xxh3_128_digest(body) != content[:CHECKSUM]:
        drop(path, "its checksum is wrong")
        return None
    held, data = pickle.loads(body)
    return data if held == key else None


def drop(path, error):
    """Remove a file and say so."""
    log.warning("%s: dropped from the kernel cache and compiled again (%s)", path, error)
    with contextlib.suppress(OSError):
        os.unlink(path)
