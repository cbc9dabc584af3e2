"""Machine code of kernels on disk: whole or not used at all, and never another kernel's.

numba's own index can be overwritten by two processes that compile at the same time, and a damaged file ends every run.
Here each signature of a kernel has a file of its own, named after it, which holds a checksum, then what it is the code
of, then the code. What does not fit is dropped and compiled again.
"""

import contextlib
import hashlib
import logging
import os
import pickle

import numba
import xxhash
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

log = logging.getLogger("rrmbench.numerics.jit")

CHECKSUM = 16  # bytes


class KernelCache(FunctionCache):
    """The cache of one kernel's compiled signatures."""

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig, target_context):
        """The compiled signature, or None where it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # numba rebuilds machine code from bytes, which may raise anything
            self._cache_file.drop(self._index_key(sig, target_context.codegen()), error)
            return None


class _Files:
    """One file per key, in numba's place for its index and data."""

    def __init__(self, folder, base, source_stamp):
        self.folder, self.base, self.known = folder, base, (numba.__version__, source_stamp)

    def save(self, key, data):
        """Put (key, data) under the key's name, at once and whole."""
        body = dumps((self.known, key, data))
        path = self._path(key)
        temporary = f"{path}.{os.getpid()}.tmp"
        with open(temporary, "wb") as file:
            file.write(xxhash.xxh3_128_digest(body) + body)
        os.replace(temporary, path)

    def load(self, key):
        """The data of a key, or None if there is none of this key, version and source."""
        try:
            with open(self._path(key), "rb") as file:
                content = file.read()
        except OSError:
            return None
        body = content[CHECKSUM:]
        if xxhash.xxh3_128_digest(body) != content[:CHECKSUM]:
            self.drop(key, "its checksum is wrong")
            return None
        known, held, data = pickle.loads(body)
        return data if (known, held) == (self.known, key) else None

    def drop(self, key, error):
        """Remove the file of a key and say so."""
        path = self._path(key)
        log.warning("%s: dropped from the kernel cache and compiled again (%s)", path, error)
        with contextlib.suppress(OSError):
            os.unlink(path)

    def flush(self):
        """Nothing is kept in memory."""

    def _path(self, key):
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:24]
        return os.path.join(self.folder, f"{self.base}.{name}.nbc")
