"""Processes on a core of their own, where the system can pin them, and at the priority that they were given."""

import os


def quiet_core():
    """The last core that this process may use, since the first serves interrupts; None where there are no pins."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def pin(core):
    """Let this process run on one core only; None changes nothing."""
    if core is not None:
        os.sched_setaffinity(0, {core})


def priority():
    """The niceness of this process."""
    return os.getpriority(os.PRIO_PROCESS, 0)


def fault(core, before):
    """What a solver has done to its place among others, in words, or None; `before` was its `priority`."""
    if core is not None and os.sched_getaffinity(0) != {core}:
        return f"the solver left core {core}, which its process was pinned to"
    if (now := priority()) < before:
        return f"the solver raised the priority of its process, its niceness is {now} and was {before}"
    return None
