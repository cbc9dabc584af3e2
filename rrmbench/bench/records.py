"""What stored files must look like: headers, traces, manifests and references, each checked once, as it is read.

The files may be damaged, foreign or forged, so nothing is taken for granted: JSON of bounded depth, ids that are safe
in a path, arrays no larger than the zip directory and their own shapes say. A fault raises ValueError or KeyError (or
whatever zipfile and numpy raise), which the store turns into its UnreadableFile.
"""

import json
import math
import os
import re
import zlib
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from struct import Struct
from typing import IO, Any, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from rrmbench.errors import RrmbenchError, printable
from rrmbench.kinds import COMPONENTS

SCHEMA_VERSION = 1
STATUSES = ("done", "failed", "diverged", "timeout", "killed", "interrupted")

TEXT_LIMIT = 64 * 2**20  # bytes of a header, a manifest or a column of a trace
ARRAY_LIMIT = 2**30  # bytes of w or b
TRACE_LIMIT = 16 * TEXT_LIMIT  # bytes of all columns of a trace with the header
REASON_LIMIT = 2**16  # characters, of which no reader shows more
_DEPTH, _DIGITS, _MEMBERS = 64, 300, 100
_HEADER_LIMIT = 10_000  # bytes of the header of an array, as in numpy
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,49}")
_SIZE_WIDTH = {b"\x93NUMPY\1\0": 2, b"\x93NUMPY\2\0": 4}  # bytes of the size of that header, by its start
_CHUNK = 2**20
_LOCAL_HEADER = Struct("<4s2xHH16xHH")  # of a member of a zip file: signature, flags, method, sizes of name and extra
_PLAIN_FLAGS = 0x808 | 0x6  # a descriptor follows, a name in UTF-8, how hard it was compressed


def parsed(text: bytes, path: Path) -> dict:
    """Return the mapping of a JSON text (bytes) with a schema version that is known."""
    if len(text) > TEXT_LIMIT:
        raise ValueError(f"more than {TEXT_LIMIT} bytes of JSON")
    content = json.loads(text, parse_int=_whole)
    if text.count(b"{") + text.count(b"[") > _DEPTH and _depth(content) > _DEPTH:  # few brackets nest not deeply
        raise ValueError(f"nested deeper than {_DEPTH} levels")
    _need(isinstance(content, dict), "the content", "no mapping")
    version = content["schema_version"]
    _need(type(version) is int and version > 0, "schema_version", f"{version!r}")
    if version > SCHEMA_VERSION:
        raise RrmbenchError(
            f"{path}: written by a newer rrmbench (schema_version {version}, this one knows up to"
            f" {SCHEMA_VERSION}); upgrade rrmbench"
        )
    return content


def header(content: dict, run: str) -> dict:
    """Check the header of the record of `run`, and return it with a reason that is fit for a terminal."""
    for name in ("run", "spec_id", "problem", "data", "code", "status", "reason", "created"):
        _need(isinstance(content[name], str), name, f"{type(content[name]).__name__}")
    for name in ("run", "spec_id", "problem"):
        _id(content[name], name)
    _need(content["run"] == run, "run", f"'{content['run']}', not the name of the file")
    _need(run.partition("-")[0] == content["spec_id"], "spec_id", f"'{content['spec_id']}', not that of the run")
    _need(content["status"] in STATUSES, "status", f"'{content['status']}'")
    _spec(content["spec"])
    together, environment = content.get("concurrent_runs"), content.get("environment")
    units, timing = content.get("yardstick_cpu_seconds", []), content.get("timing")
    _need(
        isinstance(units, list) and all(_is_number(u) and 0 < u < math.inf for u in units),
        "yardstick_cpu_seconds",
        f"{units!r}",
    )
    _timing(timing)
    _memory(content.get("memory", {}))
    for name in (
        "rounding",
        "evaluation_passes",
        "evaluation_seconds",
        "bound_seconds",
        "load_seconds",
        "warmup_seconds",
        "wall_seconds",
    ):
        spent = content.get(name, 0.0)
        _need(_is_number(spent) and 0.0 <= spent < math.inf, name, f"{spent!r}")
    _helped(content.get("helped", []))
    codes = content.get("codes", {})
    _need(isinstance(codes, dict) and all(isinstance(code, str) for code in codes.values()), "codes", f"{codes!r}")
    for name in "deterministic", "restarts", "compiled":
        _need(content.get(name) in (None, True, False), name, f"{content.get(name)!r}")
    _need(together is None or (type(together) is int and together > 0), "concurrent_runs", f"{together!r}")
    _need(environment is None or isinstance(environment, str), "environment", f"{environment!r}")
    return content | {"reason": printable(content["reason"][:REASON_LIMIT])}


def _helped(points: Any) -> None:
    """Check what a run says of the points whose bounds evaluation found."""
    _need(isinstance(points, list), "helped", "no list")
    for point, gap in points:
        _need(type(point) is int and point >= 0, "helped", f"point {point!r}")
        _need(gap is None or _is_number(gap), "helped", f"gap {gap!r}")


def _timing(timing: Any) -> None:
    """Check what `run --timing` says of its repeats."""
    if timing is None:
        return
    _need(isinstance(timing, dict), "timing", "no mapping")
    repeats, core, spread = timing["repeats"], timing["pinned"], timing["spread"]
    _need(type(repeats) is int and repeats > 0, "timing.repeats", f"{repeats!r}")
    _need(core is None or (type(core) is int and core >= 0), "timing.pinned", f"{core!r}")
    seconds = timing.get("seconds", [])
    _need(isinstance(seconds, list) and all(map(_is_number, seconds)), "timing.seconds", f"{seconds!r}")
    _need(_is_number(spread) and 0 <= spread < math.inf, "timing.spread", f"{spread!r}")


def _memory(memory: Any) -> None:
    """Check what a run says of the memory that it took."""
    _need(isinstance(memory, dict), "memory", "no mapping")
    for name in ("peak_bytes", "own_bytes"):
        _need(type(memory.get(name, 0)) is int and 0 <= memory.get(name, 0) < 2**63, f"memory.{name}", "no size")


def manifest(content: dict) -> dict:
    """Check a manifest and return it."""
    _need(isinstance(content["runs"], list), "runs", "no list")
    for entry in content["runs"]:
        for name in ("run", "spec_id", "problem"):
            _id(entry[name], name)
        _spec(entry["spec"])
        tuned = entry.get("tuned") or []
        _need(isinstance(tuned, list) and all(isinstance(key, str) for key in tuned), "tuned", f"{tuned!r}")
    for name, kind in (("config", dict), ("plot", dict), ("skipped", list), ("environments", dict)):
        value = content.get(name)
        _need(value is None or isinstance(value, kind), name, f"no {kind.__name__}")
    config = content.get("config") or {}
    tune, stop = config.get("tune") or {}, config.get("stop") or {}
    for name, part in (("tune", tune), ("stop", stop)):
        _need(isinstance(part, dict), f"config.{name}", "no mapping")
        gap = part.get("gap")
        _need(gap is None or _is_number(gap), f"config.{name}.gap", f"{gap!r}")
    by = tune.get("by", "objective")
    _need(by in ("objective", "passes_to_gap"), "config.tune.by", f"{by!r}")
    return content


def reference(content: dict) -> dict:
    """Check a reference and return it."""
    for name, worst in (("primal", math.inf), ("dual", -math.inf)):
        value = content[name]
        _need(value == worst or (_is_number(value) and math.isfinite(value)), name, f"{value!r}")
        run = content.get(f"{name}_run")
        if run is not None:
            _id(run, f"{name}_run")
    rounding = content.get("rounding", 0.0)
    _need(_is_number(rounding) and 0.0 <= rounding < math.inf, "rounding", f"{rounding!r}")
    return content


def trace(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Check the columns of a trace, {name: array}: equally many float64 numbers, whole where they count; return it."""
    lengths = {len(column) if column.ndim == 1 else -1 for column in columns.values()}
    _need(len(lengths) <= 1 and -1 not in lengths, "the trace", "columns of different shapes")
    for name, column in columns.items():
        _need(_COLUMN.fullmatch(name), "the trace", f"a column named {name!r}")
        if column.dtype != np.float64:  # the text of a dtype is made by Python code of numpy
            _need(False, f"trace.{name}", f"{column.dtype}, not float64")
    counts = columns.get("nonzeros", np.empty(0))
    counts = counts[~np.isnan(counts)]
    _need(np.all((counts >= 0.0) & (counts < 2.0**53) & (counts % 1.0 == 0.0)), "trace.nonzeros", "no whole numbers")
    return columns


def members(archive: ZipFile) -> list[str]:
    """The names of the arrays in a zip file; ValueError for members that no record has."""
    names = [info.filename for info in archive.infolist()]
    _need(len(set(names)) == len(names) <= _MEMBERS, "the archive", f"one of {len(names)} members, or of two alike")
    for name in names:
        stem = name.removesuffix(".npy")
        _need(name != stem and (stem in ("header", "w", "b") or stem.startswith("trace.")), "a member", f"{name!r}")
    size = sum(info.file_size for info in archive.infolist() if info.filename not in ("w.npy", "b.npy"))
    _need(size <= TRACE_LIMIT, "the trace", f"of {size} bytes, more than {TRACE_LIMIT}")
    return [name.removesuffix(".npy") for name in names]


def array(archive: ZipFile, name: str, limit: int) -> np.ndarray:
    """Return an array of a zip file whose size is at most `limit` bytes, and what its own header says."""
    info = archive.getinfo(f"{name}.npy")
    _need(info.file_size <= limit, name, f"{info.file_size} bytes, more than {limit}")
    with BytesIO(_content(archive, info)) if info.file_size < _CHUNK else archive.open(info) as stream:
        shape, order, kind = _layout(stream)
        size = math.prod(shape) * kind.itemsize
        text = stream.read(size + 1)  # with the checksum of the member at its end
        _need(len(text) == size, name, f"{len(text)} bytes for the shape {shape}")
    return np.frombuffer(text, dtype=kind).reshape(shape, order=order).copy()


def sound(archive: ZipFile, name: str) -> None:
    """Read a member to its end, which compares its checksum, and keep nothing; ValueError if it is too large."""
    info = archive.getinfo(f"{name}.npy")
    _need(info.file_size <= ARRAY_LIMIT, name, f"{info.file_size} bytes, more than {ARRAY_LIMIT}")
    if info.file_size < _CHUNK:
        _content(archive, info)
        return
    with archive.open(info) as stream:
        while stream.read(_CHUNK):
            pass


def _content(archive: ZipFile, info: ZipInfo) -> bytes:
    """The bytes of a small member, checked; records have many, and zipfile's own way to each of them takes long."""
    file = archive.fp
    assert file is not None  # of an open archive
    file.seek(info.header_offset)
    signature, flags, kind, name_size, extra_size = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    _need(signature == b"PK\3\4" and kind == info.compress_type, info.filename, "not where the archive says")
    _need(not (flags | info.flag_bits) & ~_PLAIN_FLAGS, info.filename, "encrypted or patched")
    _need(file.read(name_size).decode() == info.filename, info.filename, "another member")
    file.seek(extra_size, os.SEEK_CUR)
    packed = file.read(min(info.compress_size, 2 * _CHUNK))
    if kind == ZIP_DEFLATED:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        content = stream.decompress(packed, info.file_size + 1)
    else:
        _need(kind == ZIP_STORED, info.filename, f"compressed by method {kind}")
        content = packed
    _need(len(content) == info.file_size and zlib.crc32(content) == info.CRC, info.filename, "damaged")
    return content


def _layout(stream: IO[bytes]) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype]:
    """(shape, order, dtype) from the start of a .npy file."""
    start = stream.read(8)
    width = _SIZE_WIDTH.get(start, 0)
    _need(width, "an array", f"a header that starts with {start!r}")
    size = stream.read(width)
    length = int.from_bytes(size, "little")
    _need(length <= _HEADER_LIMIT, "an array", f"a header of {length} bytes")
    return _parsed_layout(start + size + stream.read(length))


@lru_cache(maxsize=1024)  # thousands of records have a few layouts, and numpy reads each as Python code
def _parsed_layout(start: bytes) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype]:
    stream = BytesIO(start)
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, fortran, kind = read(stream)
    _need(not kind.hasobject, "an array", "Python objects")
    return shape, "F" if fortran else "C", kind


def _whole(text: str) -> int:
    _need(len(text) <= _DIGITS, "a number", f"{len(text)} digits")
    return int(text)


def _depth(value: object) -> int:
    level: list[Any] = [[value]]
    depth = 0
    while level := [  # one level after the other: a manifest has a million values
        one
        for held in level
        for one in (held.values() if type(held) is dict else held)
        if type(one) is dict or type(one) is list
    ]:
        depth += 1
    return depth


def _spec(spec: dict) -> None:
    _need(isinstance(spec, dict), "spec", "no mapping")
    for kind in COMPONENTS:
        _component(spec.get(kind, "none"), f"spec.{kind}")
    seed = spec["seed"]
    _need(type(seed) is int and 0 <= seed < 2**63, "spec.seed", f"{seed!r}")
    for part in "stop", "trace":
        rules = spec.get(part, {})
        plain = isinstance(rules, dict) and all(_is_number(value) for value in rules.values())
        _need(plain, f"spec.{part}", "no mapping of numbers")


def _component(value: Any, where: str) -> None:
    if isinstance(value, str):
        return
    _need(isinstance(value, dict) and (value.get("name") or value.get("path")), where, "no component")
    for key in "name", "path":
        _need(isinstance(value.get(key, ""), str), f"{where}.{key}", f"{value.get(key)!r}")
    for key, inner in value.items():
        if isinstance(inner, dict) and "name" in inner:
            _component(inner, f"{where}.{key}")


def is_id(value: object) -> bool:
    """Whether a value may name a file or a folder."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _id(value: object, name: str) -> None:
    _need(is_id(value), name, f"{value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def _need(holds: object, name: str, found: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {found}")
