"""Results on disk: one immutable file per run, one folder per experiment, every write atomic.

    DIR/<experiment>/manifest.json              the resolved configuration and the runs that it asks for
    DIR/<experiment>/runs/<run>.npz             header (JSON), trace columns, final w and b; never pickle
    DIR/<experiment>/references/<problem>.json  best certified bounds on the optimum of a problem

A file appears under its name only when it is complete (written beside, flushed, then `os.replace`d), so
readers need no lock and work while a run is in progress. Writers hold `Experiment.lock()`.
"""

import fcntl
import json
import math
import os
import socket
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from rrmbench.errors import RrmbenchError

SCHEMA_VERSION = 1
STATUSES = ("done", "failed", "diverged", "timeout", "killed", "interrupted")
FINAL = frozenset({"done", "diverged", "timeout"})

_LOCK_PATIENCE = 2.0  # seconds; the children of a killed writer need about one to notice and let go
_improving = threading.Lock()  # reading a reference and replacing it must not interleave between threads


class _Deferred:
    """A field whose value may be given as a function, which is called at the first use."""

    def __set_name__(self, owner, name):
        self.slot = "_" + name

    def __get__(self, instance, owner):
        if instance is None:
            return None  # what dataclass takes as the default
        value = getattr(instance, self.slot)
        if callable(value):
            value = value()
            setattr(instance, self.slot, value)
        return value

    def __set__(self, instance, value):
        setattr(instance, self.slot, value)


@dataclass(eq=False)
class Result:
    """One run: what was asked (`spec`), how it ended (`status`, `reason`), and what was measured.

    `trace` maps a column name to a float64 array (points,); missing values are NaN. `w` and `b` are the final
    iterate and its certificate, or None. `info` holds the rest of the header: warmup_seconds, load_seconds,
    evaluation_seconds, concurrent_runs, environment, traceback.
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
    info: dict = field(default_factory=dict)
    trace: dict = field(default_factory=dict)
    w: np.ndarray | None = _Deferred()
    b: np.ndarray | None = _Deferred()

    @property
    def points(self):
        """The number of trace points."""
        return len(next(iter(self.trace.values()), ()))

    def header(self):
        """Return the JSON header: every field but the arrays, with `info` spread out."""
        named = {name: getattr(self, name) for name in _HEADER}
        return {"schema_version": SCHEMA_VERSION} | named | self.info


_HEADER = tuple(f.name for f in fields(Result) if f.name not in ("info", "trace", "w", "b"))


class Experiment:
    """The folder of one experiment. Nothing is created before the first write."""

    def __init__(self, directory):
        self.directory = Path(directory)

    @property
    def name(self):
        return self.directory.resolve().name

    @property
    def figures(self):
        return self.directory / "figures"

    def manifest(self):
        """Return the manifest; raises RrmbenchError if there is none or it cannot be read."""
        return _read_json(self.directory / "manifest.json")

    def write_manifest(self, manifest):
        """Replace the manifest."""
        _write_json(self.directory / "manifest.json", {"schema_version": SCHEMA_VERSION} | manifest)

    def run_ids(self):
        """Return the ids of all stored runs, of whatever code and status."""
        return {path.stem for path in (self.directory / "runs").glob("[!.]*.npz")}

    def write(self, result):
        """Store a result under its run id, replacing an earlier record of the same run."""
        if result.status not in STATUSES:
            raise ValueError(f"status {result.status!r} is none of {', '.join(STATUSES)}")
        header = json.dumps(result.header()).encode()
        entries = {"header": np.frombuffer(header, dtype=np.uint8)}
        entries |= {f"trace.{name}": np.asarray(column, dtype=float) for name, column in result.trace.items()}
        entries |= {name: np.asarray(a) for name, a in (("w", result.w), ("b", result.b)) if a is not None}
        with replacing(self._path(result.run)) as file:
            np.savez_compressed(file, allow_pickle=False, **entries)

    def header(self, run):
        """Return the header of a stored run, without loading its arrays."""
        path = self._path(run)
        with _opened(path) as archive:
            return _header(archive, path)

    def read(self, run):
        """Return the stored Result of a run id; its `w` and `b` are read from the file at their first use."""
        path = self._path(run)
        with _opened(path) as archive:
            header = _header(archive, path)
            header.pop("schema_version")
            trace = {n.removeprefix("trace."): archive[n] for n in archive.files if n.startswith("trace.")}
            known = {name: header.pop(name) for name in _HEADER}
        return Result(**known, info=header, trace=trace, w=lambda: _final(path, "w"), b=lambda: _final(path, "b"))

    def statuses(self):
        """Return {run id: status} of all stored runs; an unreadable file counts as failed."""
        statuses = {}
        for run in self.run_ids():
            try:
                statuses[run] = self.header(run)["status"]
            except UnreadableFile:
                statuses[run] = "failed"
        return statuses

    def results(self):
        """Return the newest Result of each spec of the manifest, in its order, without the runs not yet done.

        A spec whose file cannot be read gives a failed Result without points, whose reason names the file.
        """
        stored = {}
        for run in sorted(self.run_ids()):
            stored.setdefault(run.partition("-")[0], []).append(run)
        wanted = {entry["spec_id"]: entry for entry in self.manifest()["runs"]}
        return [self._newest(entry, stored[i]) for i, entry in wanted.items() if i in stored]

    def _newest(self, entry, runs):
        readable, broken = [], None
        for run in runs:
            try:
                readable.append(self.read(run))
            except UnreadableFile as error:
                broken = run, str(error)
        if readable:
            return max(readable, key=lambda result: result.created)
        run, reason = broken
        asked = {name: entry[name] for name in ("spec_id", "problem", "spec")}
        return Result(run, **asked, data="", code="", status="failed", reason=reason, created="")

    def reference(self, problem):
        """Return the reference {"dual", "primal", "spec", ...} of a problem id, or None."""
        path = self.directory / "references" / f"{problem}.json"
        return _read_json(path) if path.exists() else None

    def improve_reference(self, problem, spec, primal=math.inf, dual=-math.inf, run=None):
        """Keep the greatest certified dual value and the least primal value seen for a problem; return both.

        `spec` is the part {"dataset", "loss", "regularizer"} of a run's spec; `run` is remembered as the
        origin of a bound that improved. Values that are not finite change nothing.
        """
        with _improving:
            known = self.reference(problem)
            best = known or {"schema_version": SCHEMA_VERSION, "problem": problem, "spec": spec}
            best = {"primal": math.inf, "dual": -math.inf} | best
            if math.isfinite(primal) and primal < best["primal"]:
                best |= {"primal": float(primal), "primal_run": run}
            if math.isfinite(dual) and dual > best["dual"]:
                best |= {"dual": float(dual), "dual_run": run}
            if best != known:
                _write_json(self.directory / "references" / f"{problem}.json", best)
            return best

    @contextmanager
    def lock(self):
        """Hold the experiment for writing; raises RrmbenchError naming the process that holds it already.

        The operating system drops the lock when its process dies, however that happens. Temporary files of a
        writer that was killed are removed.
        """
        with _writable(self.directory):
            file = open(self.directory / ".lock", "a+")  # noqa: SIM115 - closed below, after the user's block
        with file:
            _acquire(file, self.directory)
            _describe_holder(file)
            for folder in self.directory, self.directory / "runs", self.directory / "references":
                for stray in folder.glob(".*.tmp"):
                    stray.unlink(missing_ok=True)
            yield

    def _path(self, run):
        return self.directory / "runs" / f"{run}.npz"


def experiments(path):
    """Return the experiments at `path`: the folder itself, or every experiment folder directly under it."""
    path = Path(path)
    if not path.is_dir():
        raise RrmbenchError(f"{path}: no such directory of results")
    if (path / "manifest.json").exists():
        return [Experiment(path)]
    found = [Experiment(manifest.parent) for manifest in sorted(path.glob("*/manifest.json"))]
    if not found:
        raise RrmbenchError(f"no experiment found in {path} (no manifest.json in it or in its folders)")
    return found


class UnreadableFile(RrmbenchError):
    """A damaged or foreign file under the results directory."""


@contextmanager
def replacing(path):
    """Open a temporary binary file that becomes `path`, at once and whole, if the block succeeds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp")
    with _writable(path.parent):
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def _writable(directory):
    """Create `directory` and turn what the system refuses inside the block into an RrmbenchError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise RrmbenchError(f"{directory}: cannot write here: {error.strerror or error}") from error


def _acquire(file, directory):
    patience = time.monotonic() + _LOCK_PATIENCE
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > patience:
                file.seek(0)
                holder = file.read().strip() or "an unknown process"
                raise RrmbenchError(
                    f"{directory}: another run is writing here ({holder}); wait for it or stop it first"
                ) from None
        except OSError as error:
            raise RrmbenchError(f"{directory}: cannot be locked: {error.strerror or error}") from error
        time.sleep(0.05)


def _describe_holder(file):
    file.truncate(0)
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    file.write(f"process {os.getpid()} on {socket.gethostname()} since {now}\n")
    file.flush()


@contextmanager
def _opened(path):
    try:
        with np.load(path, allow_pickle=False) as archive:
            yield archive
    except FileNotFoundError:
        raise UnreadableFile(f"{path}: no such result") from None
    except RrmbenchError:
        raise
    except Exception as error:  # damaged bytes make zipfile and numpy raise nearly anything
        raise UnreadableFile(f"{path}: not a readable result ({_cause(error)})") from error


def _header(archive, path):
    header = _check_schema(json.loads(archive["header"].tobytes()), path)
    missing = [name for name in _HEADER if name not in header]
    if missing:
        raise KeyError(missing[0])
    return header


def _final(path, name):
    with _opened(path) as archive:
        return archive[name] if name in archive.files else None


def _read_json(path):
    try:
        return _check_schema(json.loads(path.read_text(encoding="utf-8")), path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableFile(f"{path}: not a readable file ({_cause(error)})") from error


def _write_json(path, content):
    with replacing(path) as file:
        file.write(json.dumps(content, indent=1).encode())


def _check_schema(content, path):
    version = content["schema_version"]
    if version > SCHEMA_VERSION:
        raise RrmbenchError(
            f"{path}: written by a newer rrmbench (schema_version {version}, this one knows up to"
            f" {SCHEMA_VERSION}); upgrade rrmbench"
        )
    return content


def _cause(error):
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return getattr(error, "strerror", None) or str(error)
