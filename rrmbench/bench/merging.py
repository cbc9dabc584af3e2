"""Joining folders of one experiment, from several machines say: results, references, manifests, environments.

Everything is read as data, as strangers' folders are: records are checked, links refused, no code is loaded.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from rrmbench.bench import records
from rrmbench.bench.bounds import Bounds, bounds
from rrmbench.bench.rules import SPREAD
from rrmbench.bench.store import ENDED_BY_ITSELF, Experiment, Result, UnreadableFile, experiments
from rrmbench.columns import CLOCKS
from rrmbench.errors import RrmbenchError, shown
from rrmbench.files import reading, replacing
from rrmbench.kinds import PROBLEM

TIMING = (*CLOCKS, *SPREAD)  # what may differ between two records of one run


@dataclass
class Merged:
    """What a merge of one experiment did: counts, notes (for information) and faults (what was left out)."""

    directory: Path
    copied: int = 0
    kept: int = 0
    repeated: int = 0  # runs whose records differ in nothing but when and how fast they were made
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def merge(sources: Iterable[Path], output: Path) -> list[Merged]:
    """Join the experiments at `sources` into `output`/<name>, by name; what is there already takes part.

    Of records of one run stays one that was not cut short, then a timed one, then the newest. A reference is the
    greatest dual and the least primal value of the records that stay. Raises RrmbenchError for links and
    bad sources.
    """
    named: dict[str, list[Experiment]] = {}
    for source in sources:
        for experiment in experiments(source):
            named.setdefault(_name_of(experiment), []).append(experiment)
    jobs = []
    with ExitStack() as locks:
        for name, found in named.items():  # everything is read before anything is written
            target = Experiment.to_write(output, name)
            there = []
            if (target.directory / "manifest.json").exists():
                locks.enter_context(target.lock())  # what is read of it is what it is when it is replaced
                there = [target]
            others = [one for one in found if one.directory.resolve() != target.directory.resolve()]
            jobs.append((target, [_Read(one) for one in [*there, *others]], bool(there)))
        return [_merged(target, parts, held) for target, parts, held in jobs]


def _name_of(experiment: Experiment) -> str:
    name = experiment.manifest().get("name", experiment.name)
    if not records.is_id(name):
        raise RrmbenchError(
            f"{experiment.directory}/manifest.json: found the name {shown(name)}, which names no folder"
        )
    return name


class _Read:
    """A source: its manifest, and its sound records by run id."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.manifest = experiment, experiment.manifest()
        self.results: dict[str, Result] = {}
        self.references: dict[str, dict] = {}
        self.faults: list[str] = []
        for run in sorted(experiment.run_ids()):
            try:
                self.results[run] = experiment.read(run)
            except UnreadableFile as error:
                self.faults.append(f"{error}; left out")
        for problem in sorted({result.problem for result in self.results.values()}):
            try:
                reference = experiment.reference(problem)
            except UnreadableFile as error:
                self.faults.append(f"{error}; left out")
                continue
            if reference is not None:
                self.references[problem] = reference

    def content(self, run: str) -> bytes:
        with reading(self.experiment.directory / "runs" / f"{run}.npz") as file:
            return file.read()

    def unsupported(self) -> Iterator[str]:
        """What is wrong with values of references that no record here supports."""
        for problem, reference in self.references.items():
            for side, number in (("primal", 0), ("dual", 1)):
                value, run = reference[side], reference.get(f"{side}_run")
                result = self.results.get(run or "")
                if math.isinf(value):
                    continue
                if result is not None and result.problem == problem:
                    bound = bounds(result.trace)[number]
                    if (bound <= value) if side == "primal" else (bound >= value):
                        continue
                where = f"{self.experiment.directory}/references/{problem}.json"
                yield f"{where}: no record here supports {side} = {value:.12g} (run {run}); left out"


def _merged(target: Experiment, parts: list[_Read], held: bool) -> Merged:
    """held : whether the target was there, and is locked since before it was read."""
    merged = Merged(target.directory)
    with nullcontext() if held else target.lock():
        if not held and (target.directory / "manifest.json").exists():
            raise RrmbenchError(f"{target.directory}: another process has begun to write here; merge again")
        kept = _copy_results(target, parts, merged)
        _settle_references(target, parts, kept, merged)
        target.write_manifest(_united(parts, merged))
    for part in parts:
        merged.faults += [*part.faults, *part.unsupported()]
    return merged


def _copy_results(target: Experiment, parts: list[_Read], merged: Merged) -> dict[str, _Read]:
    """Copy what the target does not have; return the part that the record of each run is kept of."""
    kept = {}
    for run in sorted({run for part in parts for run in part.results}):
        holders = [part for part in parts if run in part.results]
        best = kept[run] = max(holders, key=lambda part: _worth(part.results[run]))
        if len({_numbers(part.results[run]) for part in holders}) > 1:
            result, where = best.results[run], best.experiment.directory
            kind = f"{result.status}, {'timed, ' if result.info.get('timing') else ''}{result.created}"
            merged.notes.append(f"run {run}: {len(holders)} records have other numbers; kept that of {where} ({kind})")
        elif len({part.content(run) for part in holders}) > 1:
            merged.repeated += 1
        if best.experiment is target:
            merged.kept += 1
            continue
        with replacing(target.directory / "runs" / f"{run}.npz") as file:
            file.write(best.content(run))
        merged.copied += 1
    return kept


def _worth(result: Result) -> tuple[bool, int, str]:
    """What decides between two records: a run that was cut short says less, and one that was timed fewer times."""
    return result.status in ENDED_BY_ITSELF, (result.info.get("timing") or {}).get("repeats", 0), result.created


def _numbers(result: Result) -> tuple:
    """What is the same in two executions of a run on machines that round alike."""
    trace = {name: column.tobytes() for name, column in sorted(result.trace.items()) if name not in TIMING}
    final = [None if array is None else array.tobytes() for array in (result.w, result.b)]
    return result.status, tuple(trace.items()), *final


def _settle_references(target: Experiment, parts: list[_Read], kept: dict[str, _Read], merged: Merged) -> None:
    """Let every reference rest on the records that stay."""
    problems: dict[str, list[Result]] = {}
    for result in (result for part in parts for run, result in part.results.items() if kept[run] is part):
        problems.setdefault(result.problem, []).append(result)
    for problem, results in problems.items():
        spec = {kind: results[0].spec.get(kind) for kind in PROBLEM}
        for run, why in target.settle_reference(problem, spec, map(Bounds.of, results)).items():
            bound = f"the bound of {kept[str(run)].experiment.directory} is left out"
            merged.faults.append(f"{target.directory}: run {run}: {why}; {bound}")


def _united(parts: list[_Read], merged: Merged) -> dict:
    """The manifest of all parts: the first one's, with the runs, the skipped and the environments of the others."""
    first, *others = parts
    united = {key: value for key, value in first.manifest.items() if key != "schema_version"}
    entries = {entry["spec_id"]: entry for entry in first.manifest["runs"]}
    skipped = list(united.get("skipped") or [])
    environments = dict(united.get("environments") or {})
    created: dict[str, str] = {}
    for run, result in (pair for part in parts for pair in part.results.items()):
        created[run] = max(result.created, created.get(run, ""))
    for part in others:
        _compare(first, part, merged)
        for entry in part.manifest["runs"]:
            known = entries.setdefault(entry["spec_id"], entry)
            if created.get(entry["run"], "") > created.get(known["run"], ""):  # of two codes the newer one's run
                entries[entry["spec_id"]] = entry
            if entry["run"] != known["run"] and {entry["run"], known["run"]} <= created.keys():
                newer = entries[entry["spec_id"]]["run"]
                codes = f"runs {known['run']} and {entry['run']} are of one spec and of two codes"
                note = f"{codes}; the manifest names the newer one, {newer} ({created[newer]})"
                merged.notes += [note] if note not in merged.notes else []
        skipped += [one for one in part.manifest.get("skipped") or [] if one not in skipped]
        environments = (part.manifest.get("environments") or {}) | environments
    return united | {"runs": list(entries.values()), "skipped": skipped, "environments": environments}


def _compare(first: _Read, part: _Read, merged: Merged) -> None:
    """Note every key in which two configurations differ."""
    ours, theirs = first.manifest.get("config") or {}, part.manifest.get("config") or {}
    for key in sorted(ours.keys() | theirs.keys(), key=str):
        if ours.get(key) != theirs.get(key):
            merged.notes.append(
                f"{key}: {shown(ours.get(key))} in {first.experiment.directory}, {shown(theirs.get(key))} in"
                f" {part.experiment.directory}; the manifest keeps the first, and the runs of both"
            )
