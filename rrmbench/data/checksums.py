"""Checksums of data files, remembered in the cache, and what tells that a file is as it was."""

import os
import time

from rrmbench.data import streams
from rrmbench.errors import RrmbenchError
from rrmbench.folders import cache_root, read_sealed, sealed, write_text

SETTLED = 2.0  # seconds: the clocks of all usual file systems tell apart changes that far from each other


def state(path):
    """What tells that a file is as it was: device, inode, size, times of its content and of its status, in ns.

    The last one is set by the system at every change and cannot be set back. RrmbenchError if there is no such file.
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        raise RrmbenchError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return facts_of(found)


def facts_of(found):
    """The `state` in what `os.stat` or `os.lstat` has found."""
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def is_settled(found, now):
    """Whether a change at the time `now` would show in the state: within one tick of the clock it would not."""
    return now - found[-1] / 1e9 >= SETTLED


def checksum_of(path, anew=False):
    """The sha256 of a file's uncompressed content, remembered as long as the `state` of the file stays.

    A file that was changed within the last two seconds is not remembered. `anew`: the memory is left alone.
    """
    if anew:
        return streams.checksum(path)
    now, found = time.time(), state(path)
    index = cache_root() / "checksums.json"
    known = read_sealed(index).get(str(path))
    if known is not None and known[0] == found:
        return known[1]
    checksum = streams.checksum(path)
    if is_settled(found, now) and state(path) == found:
        # a write by another process in between can drop an entry; it is computed again then
        write_text(index, sealed(read_sealed(index) | {str(path): [found, checksum]}))
    return checksum
