"""Plain and compressed files as streams of bytes, read strictly: what is no whole compressed stream is an error.

Files of several streams, as `cat` and parallel compressors make them, are allowed. Python's own readers of bz2 and xz
take a damaged second stream for trailing garbage and drop its rows without a word.
"""

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import zlib
from contextlib import contextmanager
from pathlib import Path

from rrmbench.errors import RrmbenchError

CHUNK = 1 << 16


class _Streams(io.RawIOBase):
    """The content of the concatenated compressed streams of a binary file.

    `decompressor()` is a new one for each stream. Between streams and at the end there may be zero bytes, as many as
    `padding` divides; 0: none. EOFError for a truncated stream, what the decompressor raises for anything else.
    """

    def __init__(self, raw, decompressor, padding):
        self.raw, self.new, self.padding = raw, decompressor, padding
        self.current, self.waiting = decompressor(), b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while True:
            if self.current and self.current.eof:
                self._next_stream()
            if not self.current:
                return 0
            if self.current.needs_input and not self.waiting:
                self.waiting = self.raw.read(CHUNK)
                if not self.waiting:
                    raise EOFError("it ends in the middle of a stream")
            taken, self.waiting = self.waiting, b""
            data = self.current.decompress(taken, max_length=len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)

    def _next_stream(self):
        """Begin the stream that follows; at the end of the file there is no current one."""
        rest, zeros = self.current.unused_data or self.raw.read(CHUNK), 0
        while self.padding and rest and not rest.strip(b"\0"):
            zeros += len(rest)
            rest = self.raw.read(CHUNK)
        start = rest.lstrip(b"\0") if self.padding else rest
        zeros += len(rest) - len(start)
        if self.padding and zeros % self.padding:
            raise EOFError(f"{zeros} zero bytes after a stream, which are no whole padding")
        self.current, self.waiting = self.new() if start else None, start

    def close(self):
        self.raw.close()
        super().close()


def _strict(decompressor, padding):
    return lambda path: io.BufferedReader(_Streams(open(path, "rb"), decompressor, padding), CHUNK)


COMPRESSED = {
    ".gz": (b"\x1f\x8b", gzip.open),  # strict by itself; zero bytes may follow
    ".bz2": (b"BZh", _strict(bz2.BZ2Decompressor, 0)),
    ".xz": (b"\xfd7zXZ\x00", _strict(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), 4)),
}


@contextmanager
def open_text(path):
    """Open a plain or compressed file for bytes; RrmbenchError if it cannot be read, is truncated or corrupt."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():  # a pipe would have everybody wait for its other end
            raise RrmbenchError(f"{path}: cannot be read: no plain file")
        with path.open("rb") as raw:
            start = raw.read(6)
        kind = next((suffix for suffix, (magic, _) in COMPRESSED.items() if start.startswith(magic)), None)
        if path.suffix in COMPRESSED and kind != path.suffix:
            raise RrmbenchError(f"{path}: named {path.suffix} but the content is not {path.suffix} compressed")
        with COMPRESSED[kind][1](path) if kind else path.open("rb") as stream:
            yield stream
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise RrmbenchError(f"{path}: the compressed file is truncated or corrupt ({error})") from error
    except OSError as error:
        # gzip and bz2 report corrupt data as an OSError without an errno
        reason = error.strerror or f"the compressed file is truncated or corrupt ({error})"
        raise RrmbenchError(f"{path}: cannot be read: {reason}") from error


@contextmanager
def open_lines(path):
    """As `open_text`, after the mark (BOM) with which UTF-8 text may begin."""
    with open_text(path) as stream:
        if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        yield stream


def checksum(path):
    """The sha256 of the uncompressed content, as hex."""
    digest = hashlib.sha256()
    with open_text(path) as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
