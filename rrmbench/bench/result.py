"""A stored run as an object."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from rrmbench.bench.records import SCHEMA_VERSION


class _Deferred:
    """A field whose value may be given as a function, which is called at the first use."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.slot = "_" + name

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return None  # what dataclass takes as the default
        value = getattr(instance, self.slot)
        if callable(value):
            value = value()
            setattr(instance, self.slot, value)
        return value

    def __set__(self, instance: object, value: object) -> None:
        setattr(instance, self.slot, value)


@dataclass(eq=False)
class Result:
    """One run: what was asked (`spec`), how it ended (`status`, `reason`), and what was measured.

    `trace` maps a column name to a float64 array (points,); missing values are NaN. `w` and `b` are the final
    iterate and its certificate, or None. `info` holds the rest of the header: warmup_seconds, warmup_fault,
    unchecked_pair, load_seconds, evaluation_seconds, bound_seconds (the part of them for better bounds),
    evaluation_passes, evaluation_fault, helped (points with a bound that evaluation found there, each with the gap
    without it, None for inf), rounding (of P and D, `certificate.rounding_of`), codes (digests by component, see
    `identity.Run`), compiled (a kernel, or a module was imported, on its clock), concurrent_runs, environment,
    wall_seconds, deterministic, restarts, yardstick_cpu_seconds, memory, timing, traceback, contradiction, other_code.
    `unreadable` marks what stands for a damaged file.
    """

    run: str
    spec_id: str
    problem: str
    data: str
    code: str
    spec: dict
    status: str
    reason: str
    created: str
    unreadable: bool = False
    info: dict = field(default_factory=dict)
    trace: dict[str, np.ndarray] = field(default_factory=dict)
    w: Any = _Deferred()  # np.ndarray | None
    b: Any = _Deferred()

    @property
    def points(self) -> int:
        """The number of trace points."""
        return len(next(iter(self.trace.values()), ()))

    @property
    def certifies(self) -> bool:
        """Whether its bounds are of its problem, as those of most failed runs are, too."""
        return not (self.info.get("contradiction") or self.info.get("other_code"))

    def header(self) -> dict:
        """Return the JSON header: every field but the arrays, with `info` spread out."""
        named = {name: getattr(self, name) for name in HEADER}
        return {"schema_version": SCHEMA_VERSION} | named | self.info


HEADER = tuple(f.name for f in fields(Result) if f.name not in ("unreadable", "info", "trace", "w", "b"))
