"""What may go: leftovers of interrupted writers, results that no reader shows, caches of other code.

Candidates have names that this package gives, are no links, and lie where it writes them. Nothing of an experiment that
is being written, and of the caches nothing that was used within a day, since processes of other versions may need it.
"""

import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from rrmbench import fingerprint
from rrmbench.bench import reference
from rrmbench.bench.store import Experiment, Result, UnreadableFile, experiments, shown
from rrmbench.data import cache, prepare
from rrmbench.errors import RrmbenchError
from rrmbench.files import bytes_in, is_locked, locked
from rrmbench.folders import cache_root

RECENT = 86400.0  # seconds; the time of the last reading of a file is kept to a day
TEMPORARY = re.compile(r"\..+\.\d+-[0-9a-f]{8}\.tmp")
ARRIVING = re.compile(r"\.(new|old|doctor)-.+")
NAMES = {
    "data": re.compile(r"[0-9a-f]{32}"),
    "kernels": re.compile(r"[0-9a-f]{16}(-[0-9a-f]{16})?"),
    "plugins": re.compile(r"[0-9a-f]{32}"),
}


@dataclass(frozen=True)
class Candidate:
    """A file or folder that may go, why, its bytes, and the experiment that it is of."""

    path: Path
    why: str
    size: int
    experiment: Path | None = None


@dataclass(frozen=True)
class Left:
    """What is left alone, and why."""

    path: Path
    why: str


def of_results(folder: Path, older: bool, unasked: bool) -> Iterator[Candidate | Left]:
    """Yield what may go of the experiments in a folder; with `older`, results in whose place readers show others.

    With `unasked`, results that the configuration, as it was last run, does not ask for; extra runs of its problems
    stay.

    Raises RrmbenchError where there is no experiment, and for links inside.
    """
    for experiment in experiments(folder):
        if is_locked(experiment.directory):
            yield Left(experiment.directory, "another process is writing here")
        else:
            yield from _of_experiment(experiment, older, unasked)


def _of_experiment(experiment: Experiment, older: bool, unasked: bool) -> Iterator[Candidate | Left]:
    place = experiment.directory
    for inside in (place, place / "runs", place / "references"):
        for path in sorted(inside.glob(".*.tmp")) if _is_folder(inside) else ():
            if TEMPORARY.fullmatch(path.name) and _is_file(path):
                yield Candidate(path, "left by an interrupted writer", bytes_in(path), place)
    if older or unasked:
        yield from _not_shown(experiment, older, unasked)


def _not_shown(experiment: Experiment, older: bool, unasked: bool) -> Iterator[Candidate | Left]:
    try:
        asked = {entry["spec_id"]: entry["run"] for entry in experiment.manifest()["runs"]}
    except UnreadableFile as error:
        yield Left(experiment.directory, f"cannot be read: {error}")
        return
    by_spec: dict[str, list[Result]] = {}
    for run in sorted(experiment.run_ids()):
        try:
            result = experiment.read(run)
            by_spec.setdefault(result.spec_id, []).append(result)
        except UnreadableFile as error:
            yield Left(experiment.directory / "runs" / f"{run}.npz", f"cannot be read: {error}")
    needed = _referred(experiment, {result.problem for results in by_spec.values() for result in results})
    problems = {result.problem for spec_id in asked.keys() & by_spec.keys() for result in by_spec[spec_id]}
    for spec_id, results in by_spec.items():
        is_extra = reference.is_extra(results[0].spec) and results[0].problem in problems
        if unasked and spec_id not in asked and not is_extra:
            why, kept, rest = "asked for no longer", None, results
        else:
            kept = shown(asked.get(spec_id), results)
            why, rest = "of other code", [result for result in results if older and result.run != kept.run]
        for result in rest:
            path = experiment.directory / "runs" / f"{result.run}.npz"
            if result.run in needed:
                yield Left(path, f"{why}, but a reference rests on it")
            elif kept and kept.status != "done" and result.status == "done":
                yield Left(path, f"{why}, but {kept.run}, which is shown, is {kept.status}")
            else:
                why_here = f"{why}, {kept.run} is shown" if kept else why
                yield Candidate(path, why_here, bytes_in(path), experiment.directory)


def _referred(experiment: Experiment, problems: set[str]) -> set[str | None]:
    """The runs that references rest on."""
    needed: set[str | None] = set()
    for problem in problems:
        try:
            known = experiment.reference(problem) or {}
        except UnreadableFile:
            continue
        needed |= {known.get("primal_run"), known.get("dual_run")}
    return needed


def of_caches() -> Iterator[Candidate | Left]:
    """Yield what may go of the cache of this machine; downloads and generated files stay."""
    unused = {
        "kernels": lambda path: "" if path.name.startswith(fingerprint.mathematics()) else "kernels of other code",
        "data": lambda path: "" if cache.code_of(path) == prepare.code() else "prepared by other code",
        "plugins": lambda path: "plug-ins that a cluster was sent",
    }
    for kind, name in NAMES.items():
        folder = cache_root() / kind
        if not folder.exists():
            continue
        if not _is_folder(folder):
            yield Left(folder, "is a link, or no folder")
            continue
        for path in sorted(folder.iterdir()):
            arriving = ARRIVING.fullmatch(path.name)
            if not _is_folder(path) or not (arriving or name.fullmatch(path.name)):
                yield Left(path, "is not of this package")
            elif why := "left by an interrupted writer" if arriving else unused[kind](path):
                if time.time() - _last_used(path) < RECENT:
                    yield Left(path, f"{why}, but used within a day")
                else:
                    yield Candidate(path, why, bytes_in(path))


def remove(candidates: list[Candidate], older: bool = False, unasked: bool = False) -> Iterator[Left]:
    """Remove candidates; yield those that could not be, because somebody began to write there, say.

    older, unasked : as `of_results` was asked. Another process may have written since: what no longer may go stays.
    """
    for experiment in dict.fromkeys(candidate.experiment for candidate in candidates):
        mine = [candidate for candidate in candidates if candidate.experiment == experiment]
        try:
            with nullcontext() if experiment is None else locked(experiment):
                now = mine if experiment is None else list(_of_experiment(Experiment(experiment), older, unasked))
                may_go = {one.path for one in now if isinstance(one, Candidate)}
                for candidate in mine:
                    if candidate.path in may_go:
                        yield from _removed(candidate)
                    elif candidate.path.exists():
                        yield Left(candidate.path, "may not go any longer, another process has written here")
        except RrmbenchError as error:
            yield from (Left(candidate.path, str(error)) for candidate in mine if candidate.path.exists())


def _removed(candidate: Candidate) -> Iterator[Left]:
    try:
        if _is_folder(candidate.path):
            shutil.rmtree(candidate.path)  # which follows no link
        else:
            candidate.path.unlink(missing_ok=True)
    except OSError as error:
        yield Left(candidate.path, f"cannot be removed: {error.strerror or error}")


def _last_used(folder: Path) -> float:
    """When a folder or a file in it was last read or changed, as far as the file system tells."""
    stats = [path.lstat() for path in (folder, *folder.rglob("*"))]
    return max(max(s.st_mtime, s.st_atime if stat.S_ISREG(s.st_mode) else 0.0) for s in stats)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
