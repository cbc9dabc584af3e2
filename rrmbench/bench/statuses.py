"""The statuses of stored runs, remembered with the state of their files: a cache, never the truth.

A run's file that is not as it was when it was read is read again. Without the index everything is.
"""

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rrmbench import fingerprint
from rrmbench.bench import records
from rrmbench.data.checksums import facts_of, is_settled
from rrmbench.errors import RrmbenchError
from rrmbench.files import reading, replacing
from rrmbench.folders import sealed, unsealed

LIMIT = 64 * 2**20  # bytes


class Index:
    """The index in a file: `status` of one run's file after the other, then `save`.

    Files are known by device, inode, size and times, the last of which the system sets at every change: an index that
    came from elsewhere knows nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.code = fingerprint.digest(Path(records.__file__))  # which says what a readable file is
        self.before = self._read()
        self.now = dict(self.before)

    def status(self, path: Path, read: Callable[[], str]) -> str:
        """The status of the run in a file: the remembered one, or what `read()` returns."""
        state, began = _state(path), time.time()
        known = self.before.get(path.name)
        if state is not None and known is not None and known[0] == state:
            return known[1]
        self.now.pop(path.name, None)
        status = read()
        if state is not None and is_settled(state, began) and _state(path) == state:
            self.now[path.name] = [state, status]
        return status

    def save(self, stored: set[str]) -> None:
        """Write what is known of the `stored` files, if it is news; a folder that cannot be written stays as it is."""
        self.now = {name: known for name, known in self.now.items() if name in stored}
        if self.now != self.before:
            with suppress(RrmbenchError), replacing(self.path) as file:
                file.write(sealed({"code": self.code, "statuses": self.now}).encode())

    def _read(self) -> dict[str, list]:
        with suppress(OSError, ValueError, LookupError, TypeError, RrmbenchError), reading(self.path) as file:
            facts = unsealed(file.read(LIMIT).decode())
            return facts["statuses"] if facts["code"] == self.code else {}
        return {}


def _state(path: Path) -> list[int] | None:
    """What tells that a plain file is as it was; None of anything else."""
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode):
            return facts_of(found)
    return None
