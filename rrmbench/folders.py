"""The cache, a folder for everything that can be made again: prepared data, downloads, machine code of kernels.

Some of its small files carry their own checksum.
"""

import json
import os
from contextlib import contextmanager
from pathlib import Path

from rrmbench.atomic import whole
from rrmbench.errors import RrmbenchError


def cache_root():
    """`$RRMBENCH_CACHE`, or the user's cache folder for rrmbench."""
    chosen = os.environ.get("RRMBENCH_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("rrmbench")


@contextmanager
def writing_to(folder):
    """Make `folder` and let the caller write to it; say plainly when that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        raise RrmbenchError(
            f"{folder}: cannot write to the data cache ({error.strerror or error}); "
            "set RRMBENCH_CACHE to a folder that is writable and has space"
        ) from error


def write_text(path, text):
    """Replace a small text file of the cache atomically."""
    with writing_to(path.parent), whole(path) as file:
        file.write(text.encode())


def sealed(facts):
    """The JSON text of plain values together with their checksum."""
    return json.dumps({"facts": facts, "seal": _seal(facts)})


def unsealed(text):
    """The values of a `sealed` text; ValueError if they are not those that it was made of."""
    try:
        found = json.loads(text)
        facts, seal = found["facts"], found["seal"]
    except (LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"no sealed text: {error}") from error
    if seal != _seal(facts):
        raise ValueError("the text was changed since it was sealed")
    return facts


def read_sealed(path):
    """The mapping of a `sealed` file of the cache; an empty one where it is missing, damaged or no plain file."""
    try:
        return unsealed(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError):
        return {}


def _seal(facts):
    import xxhash

    return xxhash.xxh3_128_hexdigest(json.dumps(facts, sort_keys=True).encode())
