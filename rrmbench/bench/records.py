"""What stored files must look like: headers, traces, manifests and references, each checked once, as it is read.

The files may be damaged, foreign or forged, so nothing is taken for granted: JSON of bounded depth, ids that are safe
in a path. A fault raises ValueError or KeyError, which `stored_files` turns into its UnreadableFile.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from rrmbench.errors import RrmbenchError, printable
from rrmbench.kinds import COMPONENTS

SCHEMA_VERSION = 1
STATUSES = ("done", "failed", "diverged", "timeout", "killed", "interrupted")

TEXT_LIMIT = 64 * 2**20  # bytes of a header, a manifest or a column of a trace
REASON_LIMIT = 2**16  # characters, of which no reader shows more
_DEPTH, _DIGITS = 64, 300
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,49}")


def parsed(text: bytes, path: Path) -> dict:
    """Return the mapping of a JSON text (bytes) with a schema version that is known."""
    if len(text) > TEXT_LIMIT:
        raise ValueError(f"more than {TEXT_LIMIT} bytes of JSON")
    content = json.loads(text, parse_int=_whole)
    if text.count(b"{") + text.count(b"[") > _DEPTH and _depth(content) > _DEPTH:  # few brackets nest not deeply
        raise ValueError(f"nested deeper than {_DEPTH} levels")
    need(isinstance(content, dict), "the content", "no mapping")
    version = content["schema_version"]
    need(type(version) is int and version > 0, "schema_version", f"{version!r}")
    if version > SCHEMA_VERSION:
        raise RrmbenchError(
            f"{path}: written by a newer rrmbench (schema_version {version}, this one knows up to"
            f" {SCHEMA_VERSION}); upgrade rrmbench"
        )
    return content


def header(content: dict, run: str) -> dict:
    """Check the header of the record of `run`, and return it with a reason that is fit for a terminal."""
    for name in ("run", "spec_id", "problem", "data", "code", "status", "reason", "created"):
        need(isinstance(content[name], str), name, f"{type(content[name]).__name__}")
    for name in ("run", "spec_id", "problem"):
        _id(content[name], name)
    need(content["run"] == run, "run", f"'{content['run']}', not the name of the file")
    need(run.partition("-")[0] == content["spec_id"], "spec_id", f"'{content['spec_id']}', not that of the run")
    need(content["status"] in STATUSES, "status", f"'{content['status']}'")
    _spec(content["spec"])
    together, environment = content.get("concurrent_runs"), content.get("environment")
    units, timing = content.get("yardstick_cpu_seconds", []), content.get("timing")
    need(
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
        need(_is_number(spent) and 0.0 <= spent < math.inf, name, f"{spent!r}")
    _helped(content.get("helped", []))
    codes = content.get("codes", {})
    need(isinstance(codes, dict) and all(isinstance(code, str) for code in codes.values()), "codes", f"{codes!r}")
    for name in "deterministic", "restarts", "compiled":
        need(content.get(name) in (None, True, False), name, f"{content.get(name)!r}")
    need(together is None or (type(together) is int and together > 0), "concurrent_runs", f"{together!r}")
    need(environment is None or isinstance(environment, str), "environment", f"{environment!r}")
    return content | {"reason": printable(content["reason"][:REASON_LIMIT])}


def _helped(points: Any) -> None:
    """Check what a run says of the points whose bounds evaluation found."""
    need(isinstance(points, list), "helped", "no list")
    for point, gap in points:
        need(type(point) is int and point >= 0, "helped", f"point {point!r}")
        need(gap is None or _is_number(gap), "helped", f"gap {gap!r}")


def _timing(timing: Any) -> None:
    """Check what `run --timing` says of its repeats."""
    if timing is None:
        return
    need(isinstance(timing, dict), "timing", "no mapping")
    repeats, core, spread = timing["repeats"], timing["pinned"], timing["spread"]
    need(type(repeats) is int and repeats > 0, "timing.repeats", f"{repeats!r}")
    need(core is None or (type(core) is int and core >= 0), "timing.pinned", f"{core!r}")
    seconds = timing.get("seconds", [])
    need(isinstance(seconds, list) and all(map(_is_number, seconds)), "timing.seconds", f"{seconds!r}")
    need(_is_number(spread) and 0 <= spread < math.inf, "timing.spread", f"{spread!r}")


def _memory(memory: Any) -> None:
    """Check what a run says of the memory that it took."""
    need(isinstance(memory, dict), "memory", "no mapping")
    for name in ("peak_bytes", "own_bytes"):
        need(type(memory.get(name, 0)) is int and 0 <= memory.get(name, 0) < 2**63, f"memory.{name}", "no size")


def manifest(content: dict) -> dict:
    """Check a manifest and return it."""
    need(isinstance(content["runs"], list), "runs", "no list")
    for entry in content["runs"]:
        for name in ("run", "spec_id", "problem"):
            _id(entry[name], name)
        _spec(entry["spec"])
        tuned = entry.get("tuned") or []
        need(isinstance(tuned, list) and all(isinstance(key, str) for key in tuned), "tuned", f"{tuned!r}")
    for name, kind in (("config", dict), ("plot", dict), ("skipped", list), ("environments", dict)):
        value = content.get(name)
        need(value is None or isinstance(value, kind), name, f"no {kind.__name__}")
    config = content.get("config") or {}
    tune, stop = config.get("tune") or {}, config.get("stop") or {}
    for name, part in (("tune", tune), ("stop", stop)):
        need(isinstance(part, dict), f"config.{name}", "no mapping")
        gap = part.get("gap")
        need(gap is None or _is_number(gap), f"config.{name}.gap", f"{gap!r}")
    by = tune.get("by", "objective")
    need(by in ("objective", "passes_to_gap"), "config.tune.by", f"{by!r}")
    return content


def reference(content: dict) -> dict:
    """Check a reference and return it."""
    for name, worst in (("primal", math.inf), ("dual", -math.inf)):
        value = content[name]
        need(value == worst or (_is_number(value) and math.isfinite(value)), name, f"{value!r}")
        run = content.get(f"{name}_run")
        if run is not None:
            _id(run, f"{name}_run")
    rounding = content.get("rounding", 0.0)
    need(_is_number(rounding) and 0.0 <= rounding < math.inf, "rounding", f"{rounding!r}")
    return content


def trace(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Check the columns of a trace, {name: array}: equally many float64 numbers, whole where they count; return it."""
    lengths = {len(column) if column.ndim == 1 else -1 for column in columns.values()}
    need(len(lengths) <= 1 and -1 not in lengths, "the trace", "columns of different shapes")
    for name, column in columns.items():
        need(_COLUMN.fullmatch(name), "the trace", f"a column named {name!r}")
        if column.dtype != np.float64:  # the text of a dtype is made by Python code of numpy
            need(False, f"trace.{name}", f"{column.dtype}, not float64")
    counts = columns.get("nonzeros", np.empty(0))
    counts = counts[~np.isnan(counts)]
    need(np.all((counts >= 0.0) & (counts < 2.0**53) & (counts % 1.0 == 0.0)), "trace.nonzeros", "no whole numbers")
    return columns


def _whole(text: str) -> int:
    need(len(text) <= _DIGITS, "a number", f"{len(text)} digits")
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
    need(isinstance(spec, dict), "spec", "no mapping")
    for kind in COMPONENTS:
        _component(spec.get(kind, "none"), f"spec.{kind}")
    seed = spec["seed"]
    need(type(seed) is int and 0 <= seed < 2**63, "spec.seed", f"{seed!r}")
    for part in "stop", "trace":
        rules = spec.get(part, {})
        plain = isinstance(rules, dict) and all(_is_number(value) for value in rules.values())
        need(plain, f"spec.{part}", "no mapping of numbers")


def _component(value: Any, where: str) -> None:
    if isinstance(value, str):
        return
    need(isinstance(value, dict) and (value.get("name") or value.get("path")), where, "no component")
    for key in "name", "path":
        need(isinstance(value.get(key, ""), str), f"{where}.{key}", f"{value.get(key)!r}")
    for key, inner in value.items():
        if isinstance(inner, dict) and "name" in inner:
            _component(inner, f"{where}.{key}")


def is_id(value: object) -> bool:
    """Whether a value may name a file or a folder."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _id(value: object, name: str) -> None:
    need(is_id(value), name, f"{value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def need(holds: object, name: str, found: str) -> None:
    """Raise ValueError unless it holds."""
    if not holds:
        raise ValueError(f"{name} is {found}")
