"""The files of an experiment: archives of arrays and JSON, whatever is wrong with them told by one error.

Of archives nothing is taken for granted either: arrays are no larger than the zip directory and their own shapes say.
"""

import json
import math
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from struct import Struct
from textwrap import shorten
from typing import IO, BinaryIO, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from rrmbench.bench.records import TEXT_LIMIT, need, parsed
from rrmbench.errors import RrmbenchError, printable
from rrmbench.files import reading, replacing

SMALL = 2**20  # bytes, of what is read in one go
ARRAY_LIMIT = 2**30  # bytes of w or b
TRACE_LIMIT = 16 * TEXT_LIMIT  # bytes of all columns of a trace with the header
_MEMBERS = 100
_HEADER_LIMIT = 10_000  # bytes of the header of an array, as in numpy
_SIZE_WIDTH = {b"\x93NUMPY\1\0": 2, b"\x93NUMPY\2\0": 4}  # bytes of the size of that header, by its start
_LOCAL_HEADER = Struct("<4s2xHH16xHH")  # of a member of a zip file: signature, flags, method, sizes of name and extra
_PLAIN_FLAGS = 0x808 | 0x6  # a descriptor follows, a name in UTF-8, how hard it was compressed


class UnreadableFile(RrmbenchError):
    """A damaged or foreign file under the results directory."""


@contextmanager
def opened(path: Path) -> Iterator[ZipFile]:
    try:
        with reading(path) as file, ZipFile(_in_memory(file)) as archive:
            yield archive
    except FileNotFoundError:
        raise UnreadableFile(f"{path}: no such result") from None
    except RrmbenchError:
        raise
    except Exception as error:  # damaged bytes make zipfile and numpy raise nearly anything
        raise UnreadableFile(f"{path}: not a readable result ({_cause(error)})") from error


def _in_memory(file: BinaryIO) -> BinaryIO:
    """The content of a small file, whose many parts are then read without the system; a large file itself."""
    return BytesIO(file.read(SMALL)) if os.fstat(file.fileno()).st_size < SMALL else file


def members(archive: ZipFile) -> list[str]:
    """The names of the arrays in a zip file; ValueError for members that no record has."""
    names = [info.filename for info in archive.infolist()]
    need(len(set(names)) == len(names) <= _MEMBERS, "the archive", f"one of {len(names)} members, or of two alike")
    for name in names:
        stem = name.removesuffix(".npy")
        need(name != stem and (stem in ("header", "w", "b") or stem.startswith("trace.")), "a member", f"{name!r}")
    size = sum(info.file_size for info in archive.infolist() if info.filename not in ("w.npy", "b.npy"))
    need(size <= TRACE_LIMIT, "the trace", f"of {size} bytes, more than {TRACE_LIMIT}")
    return [name.removesuffix(".npy") for name in names]


def array(archive: ZipFile, name: str, limit: int) -> np.ndarray:
    """Return an array of a zip file whose size is at most `limit` bytes, and what its own header says."""
    info = archive.getinfo(f"{name}.npy")
    need(info.file_size <= limit, name, f"{info.file_size} bytes, more than {limit}")
    with BytesIO(_content(archive, info)) if info.file_size < SMALL else archive.open(info) as stream:
        shape, order, kind = _layout(stream)
        size = math.prod(shape) * kind.itemsize
        text = stream.read(size + 1)  # with the checksum of the member at its end
        need(len(text) == size, name, f"{len(text)} bytes for the shape {shape}")
    return np.frombuffer(text, dtype=kind).reshape(shape, order=order).copy()


def sound(archive: ZipFile, name: str) -> None:
    """Read a member to its end, which compares its checksum, and keep nothing; ValueError if it is too large."""
    info = archive.getinfo(f"{name}.npy")
    need(info.file_size <= ARRAY_LIMIT, name, f"{info.file_size} bytes, more than {ARRAY_LIMIT}")
    if info.file_size < SMALL:
        _content(archive, info)
        return
    with archive.open(info) as stream:
        while stream.read(SMALL):
            pass


def _content(archive: ZipFile, info: ZipInfo) -> bytes:
    """The bytes of a small member, checked; records have many, and zipfile's own way to each of them takes long."""
    file = archive.fp
    assert file is not None  # of an open archive
    file.seek(info.header_offset)
    signature, flags, kind, name_size, extra_size = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    need(signature == b"PK\3\4" and kind == info.compress_type, info.filename, "not where the archive says")
    need(not (flags | info.flag_bits) & ~_PLAIN_FLAGS, info.filename, "encrypted or patched")
    need(file.read(name_size).decode() == info.filename, info.filename, "another member")
    file.seek(extra_size, os.SEEK_CUR)
    packed = file.read(min(info.compress_size, 2 * SMALL))
    if kind == ZIP_DEFLATED:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        content = stream.decompress(packed, info.file_size + 1)
    else:
        need(kind == ZIP_STORED, info.filename, f"compressed by method {kind}")
        content = packed
    need(len(content) == info.file_size and zlib.crc32(content) == info.CRC, info.filename, "damaged")
    return content


def _layout(stream: IO[bytes]) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype]:
    """(shape, order, dtype) from the start of a .npy file."""
    start = stream.read(8)
    width = _SIZE_WIDTH.get(start, 0)
    need(width, "an array", f"a header that starts with {start!r}")
    size = stream.read(width)
    length = int.from_bytes(size, "little")
    need(length <= _HEADER_LIMIT, "an array", f"a header of {length} bytes")
    return _parsed_layout(start + size + stream.read(length))


@lru_cache(maxsize=1024)  # thousands of records have a few layouts, and numpy reads each as Python code
def _parsed_layout(start: bytes) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype]:
    stream = BytesIO(start)
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, fortran, kind = read(stream)
    need(not kind.hasobject, "an array", "Python objects")
    return shape, "F" if fortran else "C", kind


def read_json(path: Path, check: Callable[[dict], dict]) -> dict:
    try:
        with reading(path) as file:
            return check(parsed(file.read(TEXT_LIMIT + 1), path))
    except RrmbenchError:
        raise
    except Exception as error:  # json and the checks raise what they find first, RecursionError included
        raise UnreadableFile(f"{path}: not a readable file ({_cause(error)})") from error


def write_json(path: Path, content: dict) -> None:
    with replacing(path) as file:
        file.write(_readable(content).encode())


def _readable(content: dict) -> str:
    """JSON with a line for each key, and for each item of lists: `indent` is slow, and takes a line for each number."""
    lines = (
        f" {json.dumps(key)}: {_items(value) if isinstance(value, list) else json.dumps(value)}"
        for key, value in content.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _items(values: list) -> str:
    return "[\n" + ",\n".join(f"  {json.dumps(value)}" for value in values) + "\n ]" if values else "[]"


def _cause(error: BaseException) -> str:
    if isinstance(error, KeyError):
        text = f"{error.args[0]} is missing"
    else:
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shorten(printable(text), 200)
