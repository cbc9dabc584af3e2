"""Files of a results folder: every write atomic, every open of a plain file, and no symbolic link ever followed.

A results folder may come from a stranger. A link inside of it could make a command read, write or delete elsewhere, and
a pipe could make it wait for ever.
"""

import fcntl
import os
import socket
import stat
import time
from contextlib import contextmanager

from rrmbench.atomic import whole
from rrmbench.errors import RrmbenchError, printable

_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # without waiting for the other end of a pipe
_LOCK_PATIENCE = 2.0  # seconds; the children of a killed writer need about one to notice and let go


def refuse_link(path):
    """Raise RrmbenchError if `path` is a symbolic link; return it."""
    if path.is_symlink():
        raise RrmbenchError(f"{path}: is a symbolic link, and links inside a results folder are not followed")
    return path


@contextmanager
def reading(path):
    """Open a plain file for reading bytes; OSError for anything else."""
    refuse_link(path)
    with os.fdopen(os.open(path, os.O_RDONLY | _CAREFUL), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(None, "not a plain file")
        yield file


def bytes_in(path):
    """The bytes of a file, or of all files in a folder; links count as themselves, and what cannot be read as 0."""
    try:
        own = path.lstat()
        if not stat.S_ISDIR(own.st_mode):
            return own.st_size
        return sum(bytes_in(inner) for inner in path.iterdir())
    except OSError:
        return 0


def is_locked(directory):
    """Whether another process holds `directory`/.lock; nothing is created."""
    try:
        with reading(directory / ".lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def locked(directory):
    """Hold `directory`/.lock, which the operating system drops when its process dies, however that happens.

    Raises RrmbenchError naming the process that holds it already.
    """
    with writable(directory):
        file = _open_lock(directory / ".lock")
    with file:
        with writable(directory):
            _acquire(file, directory)
            _describe_holder(file)
        yield


def _open_lock(path):
    """Open or create a text file for reading and writing; OSError for anything but a plain file."""
    refuse_link(path)
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | _CAREFUL, 0o666), "r+", errors="replace")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(None, "not a plain file")
    return file


def _acquire(file, directory):
    patience = time.monotonic() + _LOCK_PATIENCE
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > patience:
                file.seek(0)
                holder = printable(file.read(200).strip()) or "an unknown process"
                raise RrmbenchError(
                    f"{directory}: another run is writing here ({holder}); wait for it or stop it first"
                ) from None
        except OSError as error:
            raise RrmbenchError(f"{directory}: cannot be locked: {error.strerror or error}") from error
        time.sleep(0.05)


def _describe_holder(file):
    file.truncate(0)
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    text = f"process {os.getpid()} on {socket.gethostname()} since {now}\n"
    os.write(file.fileno(), text.encode(errors="replace"))  # nothing that a full disk could refuse at the end once more


@contextmanager
def replacing(path):
    """Open a temporary binary file that becomes `path`, at once and whole, if the block succeeds; make its folder."""
    with writable(path.parent), whole(path) as file:
        yield file


@contextmanager
def writable(directory):
    """Create `directory` and turn what the system refuses inside the block into an RrmbenchError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise RrmbenchError(f"{directory}: cannot write here: {error.strerror or error}") from error
