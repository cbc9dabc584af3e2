"""The statuses and bounds of stored runs, remembered with the state of their files: a cache, never the truth.

A run's file that is not as it was when it was read is read again. Without the index everything is.
"""

import math
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rrmbench import fingerprint
from rrmbench.bench import bounds, records, result, stored_files
from rrmbench.bench.bounds import Bounds
from rrmbench.bench.result import Result
from rrmbench.data.checksums import facts_of, is_settled
from rrmbench.errors import RrmbenchError
from rrmbench.files import reading, replacing
from rrmbench.folders import sealed, unsealed

LIMIT = 64 * 2**20  # bytes


class Stored(NamedTuple):
    """What is remembered of a run; of one whose file cannot be read, the defaults."""

    status: str = "failed"
    problem: str = ""
    primal: float = math.inf
    dual: float = -math.inf
    size: float = 0.0
    rounding: float = 0.0

    def bounds(self, run: str) -> Bounds:
        return Bounds(run, self.primal, self.dual, self.size, self.rounding, self.status == "failed")


class Index:
    """The index in a file: what is `known` of one run's file after the other, then `save`, again and again.

    Files are known by device, inode, size and times, the last of which the system sets at every change: an index that
    came from elsewhere knows nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        modules = bounds, records, result, stored_files  # which say what a readable file is, and what it bounds
        self.code = fingerprint.digest(__file__, *(str(module.__file__) for module in modules))
        self.before = self._read()
        self.now = dict(self.before)

    def known(self, path: Path, read: Callable[[], Result | None]) -> Stored:
        """What is remembered of the run in a file, or what `read()` says, which returns None of a damaged file."""
        state, began = _state(path), time.time()
        before = self.before.get(path.name)
        if state is not None and before is not None and before[0] == state:
            return Stored(*before[1])
        self.now.pop(path.name, None)
        found = read()
        stored = Stored() if found is None else Stored(found.status, found.problem, *Bounds.of(found)[1:5])
        if state is not None and is_settled(state, began) and _state(path) == state:
            self.now[path.name] = [state, list(stored)]
        return stored

    def save(self, stored: set[str]) -> None:
        """Write what is known of the `stored` files, if it is news; a folder that cannot be written stays as it is."""
        self.now = {name: known for name, known in self.now.items() if name in stored}
        if self.now != self.before:
            with suppress(RrmbenchError), replacing(self.path) as file:
                file.write(sealed({"code": self.code, "runs": self.now}).encode())
            self.before = dict(self.now)

    def _read(self) -> dict[str, list]:
        with suppress(OSError, ValueError, LookupError, TypeError, RrmbenchError), reading(self.path) as file:
            facts = unsealed(file.read(LIMIT).decode())
            return facts["runs"] if facts["code"] == self.code else {}
        return {}


def _state(path: Path) -> list[int] | None:
    """What tells that a plain file is as it was; None of anything else."""
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode):
            return facts_of(found)
    return None
