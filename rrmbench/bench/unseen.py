"""Work of a solver that its clock does not see: of its threads while the clock stands, and of its processes.

The processor time of a process is that of all its threads, and of the processes that it has started once they have
ended and it has waited for them. Those that are still there are asked for theirs, where the system tells.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import monotonic, process_time, thread_time

TICK = 1.0 / os.sysconf("SC_CLK_TCK")  # seconds, of the times in /proc
TOLERATED, SHARE = 0.05, 0.1  # seconds, and of the processor time on the clock: threads that only wait, and rounding
BETWEEN = 1.0  # seconds between two looks at processes


def of_other_threads() -> float:
    """Processor seconds of this process but for the thread that calls."""
    return process_time() - thread_time()


def of_ended_processes() -> float:
    """Processor seconds of the processes that this one has started and waited for, and of theirs."""
    ended = getrusage(RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def of_processes() -> float:
    """The same with those that descend from this process and are there, where the system has them in /proc."""
    return of_ended_processes() + TICK * sum(_ticks(_children(os.getpid())))


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def _ticks(pids: Iterable[int]) -> Iterator[int]:
    """Of processes and all that descend from them: their own, and those of children that they waited for."""
    for pid in pids:
        with suppress(OSError):
            after_name = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            yield sum(map(int, after_name[11:15]))
        yield from _ticks(_children(pid))


class Unseen:
    """What the solver of a run does beside its clock, since this object was made before the first call."""

    def __init__(self) -> None:
        self._before, self._looked = of_processes(), monotonic()

    def fault(self, threads: float, processes: float, cpu: float, last: bool = False) -> str | None:
        """What is wrong with the clock of a run, in words, or None.

        threads : seconds of other threads while the clock stood
        processes : those of processes that are on the clock
        cpu : all that is on the clock
        last : processes are looked at now, and not only where they were not for a while
        """
        allowed = TOLERATED + SHARE * cpu
        if threads > allowed:
            return f"threads of the solver took {threads:.2g} s of the processor while its clock stood"
        if not last and monotonic() < self._looked + BETWEEN:
            return None
        self._looked, beside = monotonic(), of_processes() - self._before - processes
        if beside > allowed:
            waited = "a solver waits for what it starts before it yields"
            return f"processes of the solver took {beside:.2g} s of the processor that its clock has not: {waited}"
        return None
