"""What is told of runs while they are under way: a display that fails, or whose reader is gone, ends none of them."""

import threading
import warnings
from contextlib import suppress

from rrmbench.crashes import text_of
from rrmbench.errors import RrmbenchWarning


class Guarded:
    """A display as in `rrmbench.report.display`, or None for nobody: once it has failed, it is told of nothing more.

    The user hears of that once. `failed` says whether it happened. Rows come from several threads at once.
    """

    def __init__(self, display):
        self.failed = False
        self._display, self._lock = display, threading.Lock()

    def __getattr__(self, name):
        def tell(*facts, **options):
            display = self._display
            if display is not None:
                try:
                    getattr(display, name)(*facts, **options)
                except Exception as error:
                    self._give_up(display, error)

        return tell

    def _give_up(self, display, error):
        with self._lock:
            told, self._display, self.failed = self.failed, None, True
        if told:  # by another thread
            return
        with suppress(Exception):
            display.close()
        warnings.warn(
            f"what happens cannot be shown any longer ({text_of(error)}); the runs go on, and their results are kept",
            RrmbenchWarning,
            stacklevel=3,
        )
