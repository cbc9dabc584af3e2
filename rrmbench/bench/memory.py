"""How much memory a run takes: at most, and of its own beside the data that all runs on a machine share."""

import resource
import sys
from contextlib import suppress

UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of `ru_maxrss`


def of_this_process():
    """{"peak_bytes": most that was resident, shared data included, "own_bytes": what is resident now of it alone}.

    Without `own_bytes` where the system does not tell. A page of prepared data that several processes have read is in
    memory once, and in the peak of each of them.
    """
    found = {"peak_bytes": UNIT * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
    with suppress(OSError, ValueError), open("/proc/self/smaps_rollup", encoding="ascii") as file:
        kilobytes = dict(line.split()[:2] for line in file if line.endswith("kB\n"))
        found["own_bytes"] = 1024 * int(kilobytes["Private_Dirty:"])
    return found
