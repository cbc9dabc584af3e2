"""One thread for the products of a run in this process, however many runs it has at the same time."""

import threading
from typing import Any


class OneThread:
    """`with one_thread:` the libraries behind numpy and scipy take one thread.

    Blocks may overlap in threads: what was there before the first of them comes back after the last. Each on its own
    would bring back several threads in the midst of another one, or leave a single one behind for ever.
    """

    def __init__(self) -> None:
        self._lock, self._blocks, self._limits = threading.Lock(), 0, None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._blocks == 0:
                self._limits: Any = threadpool_limits(1)
            self._blocks += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0:
                self._limits.restore_original_limits()


one_thread = OneThread()
