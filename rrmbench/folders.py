"""The folder for everything that can be made again: prepared data, downloads, machine code of kernels."""

import os
from pathlib import Path


def cache_root():
    """`$RRMBENCH_CACHE`, or the user's cache folder for rrmbench."""
    chosen = os.environ.get("RRMBENCH_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("rrmbench")
