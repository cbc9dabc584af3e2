"""Files that are written at once and whole: whoever reads meets the one before or the one after."""

import os
import uuid
from contextlib import contextmanager


def fresh_path(folder):
    """A path in a folder that is nobody else's; what is made there can be read by whom the umask lets read it."""
    return os.path.join(folder, f".new-{os.getpid()}-{uuid.uuid4().hex[:8]}")


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
