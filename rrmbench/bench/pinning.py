"""Processes on a core of their own, where the system can pin them."""

import os


def quiet_core():
    """The last core that this process may use, since the first serves interrupts; None where there are no pins."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def pin(core):
    """Let this process run on one core only; None changes nothing."""
    if core is not None:
        os.sched_setaffinity(0, {core})
