"""The memory of a run: how much it takes, at most and beside the data that all runs share, and that it is mapped.

The first touch of a page that the system has to map takes as long as twelve passes over its numbers. A library that is
called again and again, as `rrmbench.solvers.peers.black_box` does it, is given memory that its first calls have mapped;
a solver that runs once would not be. So memory is touched before the clock starts, for both.
"""

import ctypes
import math
import resource
import sys
from contextlib import suppress

import numpy as np

UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of `ru_maxrss`
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's <malloc.h>
LARGEST = 2**25  # bytes of an array that freed memory is used again for, the greatest number that glibc takes
PIECE = 2**20  # bytes that are touched at once: of greater arrays numpy would ask for huge pages
TIMES = 4  # the bytes of X, that are touched
MOST = 2**26  # bytes that are touched
SIDE = 512  # of the greatest matrix that is multiplied, for the work memory of BLAS


def settle(nnz):
    """Touch memory for solvers of data with so many stored entries, and keep it; where malloc is not glibc's, nothing.

    BLAS maps its own work memory in its first product of matrices, so there is one here.
    """
    size = min(TIMES * 12 * nnz, MOST)
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, LARGEST)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
        pieces = [np.ones(PIECE // 8) for _ in range(-(-size // PIECE))]
        del pieces
    square = np.ones((min(math.isqrt(size // 64), SIDE),) * 2)
    square @ square


def give_way():
    """Where memory is out, let Linux end this process, and with it one run, before the one that waits for all runs."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def of_this_process():
    """{"peak_bytes": most that was resident, shared data included, "own_bytes": what is resident now of it alone}.

    Without `own_bytes` where the system does not tell. A page of prepared data that several processes have read is in
    memory once, and in the peak of each of them.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what is freed but kept is nobody's
    found = {"peak_bytes": UNIT * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
    with suppress(OSError, ValueError), open("/proc/self/smaps_rollup", encoding="ascii") as file:
        kilobytes = dict(line.split()[:2] for line in file if line.endswith("kB\n"))
        found["own_bytes"] = 1024 * int(kilobytes["Private_Dirty:"])
    return found
