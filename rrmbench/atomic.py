"""Files that are written at once and whole: whoever reads meets the one before or the one after."""

import os
import uuid
from contextlib import contextmanager


@contextmanager
def whole(path):
    """Open a temporary binary file in the folder of `path` that becomes `path` if the block succeeds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
