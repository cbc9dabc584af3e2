"""Results on disk: one immutable file per run, one folder per experiment, every write atomic.

    DIR/<experiment>/manifest.json              the resolved configuration and the runs that it asks for
    DIR/<experiment>/runs/<run>.npz             header (JSON), trace columns, final w and b; never pickle
    DIR/<experiment>/references/<problem>.json  best certified bounds on the optimum of a problem

A file appears under its name only when it is complete (written beside, flushed, then `os.replace`d), so
readers need no lock and work while a run is in progress. Writers hold `Experiment.lock()`.
"""

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from rrmbench.bench import records, stored_files
from rrmbench.bench.bounds import NOTHING, Bounds, best_of, contradiction, improved
from rrmbench.bench.records import SCHEMA_VERSION, STATUSES
from rrmbench.bench.result import HEADER, Result
from rrmbench.bench.stored_files import UnreadableFile, opened, read_json, write_json
from rrmbench.errors import RrmbenchError
from rrmbench.files import locked, refuse_link, replacing, writable

if TYPE_CHECKING:
    from rrmbench.bench.statuses import Index, Stored

ENDED_BY_ITSELF = frozenset({"done", "diverged"})  # not cut short by anything
FINAL = ENDED_BY_ITSELF | {"timeout"}

_improving = threading.Lock()  # reading a reference and replacing it must not interleave between threads


class Experiment:
    """The folder of one experiment. Nothing is created before the first write, and no link inside is followed."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._index: Index | None = None  # of the last call, which a writer has no need to read again

    @classmethod
    def inside(cls, folder: str | Path, name: str) -> "Experiment":
        """The experiment called `name` in a results folder; RrmbenchError if it is a link."""
        return cls(refuse_link(Path(folder) / name))

    @classmethod
    def to_write(cls, folder: str | Path, name: str) -> "Experiment":
        """As `inside`; RrmbenchError if the folder is a file, or lies in an experiment: readers look for none there."""
        for above in (path := Path(folder).resolve(), *path.parents):
            if above.exists() and not above.is_dir():
                raise RrmbenchError(f"{above}: found a file, allowed is a folder for results")
            if (above / "manifest.json").is_file() and (above / "runs").is_dir():
                raise RrmbenchError(
                    f"{folder}: {above} is an experiment; give the folder that it is in, {above.parent}"
                )
        return cls.inside(folder, name)

    @property
    def name(self) -> str:
        return self.directory.resolve().name

    @property
    def figures(self) -> Path:
        return self._within("figures")

    def manifest(self) -> dict:
        """Return the manifest; raises RrmbenchError if there is none or it cannot be read."""
        return read_json(self._within("manifest.json"), records.manifest)

    def write_manifest(self, manifest: dict) -> None:
        """Replace the manifest."""
        write_json(self._within("manifest.json"), {"schema_version": SCHEMA_VERSION} | manifest)

    def run_ids(self) -> set[str]:
        """Return the ids of all stored runs, of whatever code and status."""
        folder = self._within("runs")
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return set()
        except OSError as error:  # runs that nobody can see are not runs that are not done
            raise RrmbenchError(f"{folder}: cannot be read: {error.strerror}") from error
        return {name.removesuffix(".npz") for name in names if name.endswith(".npz") and not name.startswith(".")}

    def write(self, result: Result) -> None:
        """Store a result under its run id, replacing an earlier record of the same run."""
        if result.status not in STATUSES:
            raise ValueError(f"status {result.status!r} is none of {', '.join(STATUSES)}")
        header = json.dumps(result.header()).encode()
        entries: dict[str, Any] = {"header": np.frombuffer(header, dtype=np.uint8)}
        entries |= {f"trace.{name}": np.asarray(column, dtype=float) for name, column in result.trace.items()}
        entries |= {name: np.asarray(a) for name, a in (("w", result.w), ("b", result.b)) if a is not None}
        with replacing(self._path(result.run)) as file:
            np.savez_compressed(file, **entries)  # of numbers, so that nothing is pickled; nor would it be read

    def read(self, run: str) -> Result:
        """Return the stored Result of a run id; raises UnreadableFile for a damaged or foreign file.

        The checksums of all arrays are compared; `w` and `b` are kept only when they are used.
        """
        path = self._path(run)
        with opened(path) as archive:
            names = stored_files.members(archive)
            text = stored_files.array(archive, "header", records.TEXT_LIMIT).tobytes()
            header = records.header(records.parsed(text, path), run)
            header.pop("schema_version")
            columns = {
                name.removeprefix("trace."): stored_files.array(archive, name, records.TEXT_LIMIT)
                for name in names
                if name.startswith("trace.")
            }
            records.trace(columns)
            for name in {"w", "b"} & set(names):
                stored_files.sound(archive, name)
        known = {name: header.pop(name) for name in HEADER}
        final: dict[str, Any] = {name: lambda name=name: _final(path, name) for name in ("w", "b")}
        return Result(**known, info=header, trace=columns, **final)

    def statuses(self, runs: Iterable[str] | None = None) -> dict[str, str]:
        """Return {run id: status} of the stored runs among `runs`, or of all; an unreadable file counts as failed.

        Files that are as they were at the last call are not read again. Writers only: the call writes an index.
        """
        return {run: known.status for run, known in self._stored(runs).items()}

    def _stored(self, runs: Iterable[str] | None = None) -> dict[str, "Stored"]:
        from rrmbench.bench.statuses import Index

        index = self._index = self._index or Index(self._within(".statuses.json"))
        stored = self.run_ids()
        wanted = stored if runs is None else stored & set(runs)
        folder = self._within("runs")  # a link in it is no file whose state is known, so it is read, which refuses it
        found = {run: index.known(folder / f"{run}.npz", partial(self._read_for_index, run)) for run in wanted}
        index.save({f"{run}.npz" for run in stored})
        return found

    def _read_for_index(self, run: str) -> Result | None:
        with suppress(UnreadableFile):
            return self.read(run)
        return None

    def results(self) -> list[Result]:
        """Return the Result of each spec of the manifest, in its order, without the runs not yet done.

        It is that of the run that the manifest asks for, or the newest of other code while there is none.
        A spec whose file cannot be read gives a failed Result without points, whose reason names the file.
        """
        stored: dict[str, list[str]] = {}
        for run in sorted(self.run_ids()):
            stored.setdefault(run.partition("-")[0], []).append(run)
        wanted = {entry["spec_id"]: entry for entry in self.manifest()["runs"]}
        return [self._of(entry, stored[i]) for i, entry in wanted.items() if i in stored]

    def _of(self, entry: dict, runs: list[str]) -> Result:
        readable, broken = [], {}
        for run in [entry["run"]] if entry["run"] in runs else runs:
            try:
                readable.append(self.read(run))
            except UnreadableFile as error:
                broken[run] = str(error)
        if readable:
            return shown(entry["run"], readable)
        run = min(broken)
        asked: dict[str, Any] = {name: entry[name] for name in ("spec_id", "problem", "spec")}
        about: dict[str, Any] = {"data": "", "code": "", "status": "failed", "reason": broken[run], "created": ""}
        return Result(run, **asked, **about, unreadable=True)

    def reference(self, problem: str) -> dict | None:
        """Return the reference {"dual", "primal", "spec", ...} of a problem id, or None."""
        path = self._within("references", f"{problem}.json")
        return read_json(path, records.reference) if path.exists() else None

    def contradiction(self, problem: str, found: Bounds) -> str | None:
        """What is wrong with the bounds that a run gives for a problem, in words, or None."""
        return contradiction(self._known(problem), found)

    def improve_reference(self, problem: str, spec: dict, found: Bounds) -> dict:
        """Keep the greatest certified dual value and the least primal value seen for a problem; return both.

        `spec` is the part {"dataset", "loss", "regularizer"} of a run's spec; the run of `found` is remembered as the
        origin of a bound that improved. Values that are not finite change nothing. Raises RrmbenchError for
        bounds that contradict each other or the known ones.
        """
        with _improving:
            known = self._known(problem)
            if wrong := contradiction(known, found):
                raise RrmbenchError(f"{self.directory}: {wrong}")
            best = _reference(problem, spec) | improved(known, found)
            if best != known:
                self._write_reference(problem, best)
            return best

    def withdraw(self, problem: str, run: str) -> None:
        """Let the reference of a problem rest on other runs than `run`, whose record is about to be replaced."""
        with _improving, suppress(UnreadableFile):  # a damaged one is made again at its next use
            known = self.reference(problem) or {}
            if run in (known.get("primal_run"), known.get("dual_run")):
                self._write_reference(problem, _reference(problem, known["spec"]) | self._bounds(problem, without=run))

    def settle_references(self, specs: Mapping[str, dict]) -> None:
        """Let the references of problems {id: spec} rest on all runs that are stored.

        A writer may have died after it withdrew a run or stored it, and before it improved the reference.
        """
        stored = self._stored_bounds()
        for problem, spec in specs.items():
            self.settle_reference(problem, spec, stored.get(problem, ()))

    def settle_reference(self, problem: str, spec: dict, runs: Iterable[Bounds]) -> dict[str | None, str]:
        """Let the reference of a problem rest on `runs`; return {run: why} of those that contradict earlier ones."""
        best, left = best_of(runs)
        with _improving:
            try:
                known = self.reference(problem) or NOTHING
            except UnreadableFile:
                known = {}
            whole = _reference(problem, spec) | best
            if known not in (whole, best):  # which is NOTHING where there is none
                self._write_reference(problem, whole)
        return left

    def _write_reference(self, problem: str, reference: dict) -> None:
        write_json(self._within("references", f"{problem}.json"), reference)

    def _known(self, problem: str) -> dict:
        """The reference of a problem, or bounds that say nothing; a damaged one is made again from the runs."""
        try:
            return self.reference(problem) or NOTHING
        except UnreadableFile:
            return self._bounds(problem)

    def _bounds(self, problem: str, without: str | None = None) -> dict:
        """The best bounds in the stored runs of a problem."""
        return best_of(found for found in self._stored_bounds().get(problem, ()) if found.run != without)[0]

    def sizes(self) -> dict[str, float]:
        """The greatest size of the terms of P and D in the stored runs, by problem."""
        return {problem: max(found.size for found in runs) for problem, runs in self._stored_bounds().items()}

    def _stored_bounds(self) -> dict[str, list[Bounds]]:
        """The bounds of all stored runs by problem."""
        found: dict[str, list[Bounds]] = {}
        for run, stored in sorted(self._stored().items()):
            found.setdefault(stored.problem, []).append(stored.bounds(run))
        return found

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the experiment for writing.

        Raises RrmbenchError naming the process that holds it already, or the folder in which nothing can be written.

        The operating system drops the lock when its process dies, however that happens. Temporary files of a
        writer that was killed are removed.
        """
        folders = [self.directory, self._within("runs"), self._within("references")]
        for path in (path for folder in folders[1:] for path in folder.glob("*")):
            refuse_link(path)  # before hours of work, not as its result is written
        with locked(self.directory):
            for stray in (stray for folder in folders for stray in folder.glob(".*.tmp")):
                with suppress(OSError):
                    stray.unlink()
            for folder in filter(Path.exists, folders):
                with writable(folder), TemporaryFile(dir=folder):
                    pass  # before hours of work, too
            yield

    def _path(self, run: str) -> Path:
        return self._within("runs", f"{run}.npz")

    def _within(self, *parts: str) -> Path:
        path = self.directory
        for part in parts:
            path = refuse_link(path / part)
        return path


def shown(asked: str | None, results: Iterable[Result]) -> Result:
    """Of the results of one spec that which readers show: of the run that the manifest asks for, or the newest."""
    return max(results, key=lambda result: (result.run == asked, result.created))


def _reference(problem: str, spec: dict) -> dict:
    return {"schema_version": SCHEMA_VERSION, "problem": problem, "spec": spec}


def experiments(path: str | Path) -> list[Experiment]:
    """Return the experiments at `path`: the folder itself, or every experiment folder directly under it."""
    path = Path(path)
    if not path.is_dir():
        raise RrmbenchError(f"{path}: no such directory of results")
    if (path / "manifest.json").exists():
        return [Experiment(path)]
    found = [Experiment.inside(path, manifest.parent.name) for manifest in sorted(path.glob("*/manifest.json"))]
    if not found:
        raise RrmbenchError(f"no experiment found in {path} (no manifest.json in it or in its folders)")
    return found


def _final(path: Path, name: str) -> np.ndarray | None:
    with opened(path) as archive:
        there = name in stored_files.members(archive)
        return stored_files.array(archive, name, stored_files.ARRAY_LIMIT) if there else None
