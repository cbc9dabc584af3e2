"""What a check says: nothing where a promise holds, Broken where it does not, Doubt where it may be better kept."""

import signal
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple
from unittest import SkipTest

from rrmbench import crashes
from rrmbench.errors import RrmbenchError, printable

MOST = 3  # doubts of one check that are told
LIMIT = 60.0  # seconds of a check; those of the package take less than ten


class Broken(AssertionError):
    """A component breaks its contract: what was found, where, and what is expected.

    hint : where the mistake usually is
    """

    def __init__(self, text, hint=""):
        super().__init__(f"{text}\n{hint}" if hint else text)
        self.text, self.hint = text, hint


@contextmanager
def located(place):
    """What is Broken in the block is so at this place."""
    try:
        yield
    except Broken as broken:
        raise Broken(f"{place}: {broken.text}", broken.hint) from None


class Doubt(UserWarning):
    """What is allowed and yet worth a look; issued by `warnings.warn`."""


class Verdict(NamedTuple):
    """state : "ok", "note", "WRONG", or "skipped"; text, hint : what was found and what to look at, "" for "ok".

    endless : whether the check did not end within `LIMIT`
    """

    state: str
    text: str = ""
    hint: str = ""
    traceback: str = ""
    endless: bool = False


class _Endless(BaseException):
    """A check has taken longer than its limit; what looks for better bounds takes no notice of exceptions."""


@contextmanager
def _limited(seconds):
    """Raise _Endless in the block after so many seconds, on systems and in threads that can have an alarm."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number, frame):
        raise _Endless(f"no end after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again and again: a component may catch all
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Check:
    """One promise of one component; calling it raises Broken where the promise does not hold.

    of : the component, as "loss expectile"
    name : the promise
    files : the user's own files, for the place of a crash
    """

    of: str
    name: str
    run: Callable[[], None]
    files: tuple = field(default=(), repr=False)

    def __call__(self):
        self.run()

    def __str__(self):
        return f"{self.of}: {self.name}"

    def verdict(self):
        """Return the Verdict; a crash of the component is one, too."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with _limited(LIMIT), crashes.without_sudden_end(), crashes.without_processes():
                    self.run()
            except Broken as broken:
                return Verdict("WRONG", broken.text, broken.hint)
            except SkipTest as skipped:
                return Verdict("skipped", str(skipped))
            except RrmbenchError as error:
                return Verdict("WRONG", str(error))
            except _Endless as error:
                place = crashes.place_of(error, self.files)
                return Verdict("WRONG", f"{place}: {error}" if place else str(error), endless=True)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                return self._of_crash(error)
        doubts = [*dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, Doubt))]
        more = [f"... and {len(doubts) - MOST} more like these"] if len(doubts) > MOST else []
        return Verdict("note", "\n".join([*doubts[:MOST], *more])) if doubts else Verdict("ok")

    def _of_crash(self, error):
        place = crashes.place_of(error, self.files)
        text = crashes.text_of(error)
        hint = ""
        if crashes.is_of_compiler(error):
            place, text = "", crashes.not_compiled(text, self.files)
            hint = "kernels compile this code: numbers and arrays, math and numpy functions, no objects, no exceptions"
        elif "read-only" in text:
            hint = "the data, labels and centres are the problem's: work on a copy"
        whole = printable("".join(traceback.format_exception(error)))
        return Verdict("WRONG", f"{place}: {text}" if place else text, hint, whole)
