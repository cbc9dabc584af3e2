"""The memory that runs took, as their records have it (`rrmbench.bench.memory`)."""

from rrmbench.report.sizes import megabytes

WORTH_A_LINE = 2**30  # bytes


def greatest(runs):
    """{"peak_bytes": ..., "own_bytes": ...}: of StoredRuns the most of each; without what no record has."""
    found = [run.result.info.get("memory", {}) for run in runs]
    names = ("peak_bytes", "own_bytes")
    return {name: max(one[name] for one in found if name in one) for name in names if any(name in one for one in found)}


def told(runs):
    """Yield how much memory the largest of StoredRuns took, where that is a gigabyte or more."""
    most = greatest(runs)
    if most.get("peak_bytes", 0) >= WORTH_A_LINE:
        own = f", up to {megabytes(most['own_bytes'])} of it its own and not shared data" if "own_bytes" in most else ""
        yield f"memory: up to {megabytes(most['peak_bytes'])} in one run{own}"
