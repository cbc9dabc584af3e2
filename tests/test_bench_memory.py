"""Memory that is mapped before the clock of a run starts."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from rrmbench.bench import memory

if {settled}:
    memory.settle(10**6)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
np.ones(300_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc is asked for what glibc knows")
def test_arrays_find_memory_that_is_mapped():
    counts = {}
    for settled in False, True:
        run = subprocess.run(
            [sys.executable, "-c", FAULTS.format(settled=settled)], capture_output=True, text=True, check=True
        )
        counts[settled] = int(run.stdout)
    assert counts[True] < 0.2 * counts[False]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems choose by themselves")
def test_where_memory_is_out_a_run_ends_before_the_process_that_waits_for_all():
    asked = "from rrmbench.bench import memory; memory.give_way(); print(open('/proc/self/oom_score_adj').read())"
    run = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert int(run.stdout) == 1000
