"""`rrmbench check`: compare results with a committed baseline, by passes to each certified gap.

Passes are counted, so the verdict does not depend on the machine; seconds are compared only on request, as ratios: see
`check_seconds`. The baseline is a sorted JSON file, {experiment: {run: {"status": ..., "passes": {"1e-2": ..., ...},
"stop": {...}, "data": checksum}}}, with runs named by what they compute and not by where their files are. Beside
"passes" there are "seconds" where they are wanted, and in "at_most" the passes to gaps that only a bound of evaluation
met, which tell when it looked (`Levels.are_late`).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

import numpy as np

from rrmbench.bench.records import SCHEMA_VERSION, TEXT_LIMIT, parsed
from rrmbench.bench.store import FINAL, experiments
from rrmbench.errors import RrmbenchError, printable
from rrmbench.files import replacing
from rrmbench.report import check_seconds, naming
from rrmbench.report.levels import CERTIFIED_GAPS
from rrmbench.report.results import LEVELS, points_to, readable, runs_of

TOLERANCE = 1.1  # a change of up to a tenth is no change
_BY_EVALUATION = "reached only by a bound of evaluation"
_OTHER_DATA = "other data than in the baseline"
_COLOURS = {"regression": "red", "missing": "red", "faster": "green", "unclear": "yellow", "new": "cyan", "ok": ""}


@dataclass(frozen=True)
class Row:
    """The verdict on one run: ok, faster, unclear, new, missing or regression; `detail` says what changed."""

    experiment: str
    run: str
    verdict: str
    detail: str = ""


@dataclass(frozen=True)
class Comparison:
    """The verdicts on all runs of the results and of the baseline."""

    rows: tuple

    @property
    def regressed(self):
        return any(row.verdict in ("regression", "missing") for row in self.rows)

    def count(self, verdict):
        return sum(row.verdict == verdict for row in self.rows)

    def __rich__(self):
        """Return the table for the terminal: every run that is not simply ok, and the counts."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in "verdict", "run", "detail":
            table.add_column(name, overflow="fold")
        for row in self.rows:
            if row.verdict != "ok":
                cells = Text(row.verdict, _COLOURS[row.verdict]), f"{row.experiment}: {row.run}", row.detail
                table.add_row(*(Text(printable(c)) if isinstance(c, str) else c for c in cells))
        counts = [f"{self.count(verdict)} {verdict}" for verdict in _COLOURS if self.count(verdict)]
        return Group(*[table] * bool(table.row_count), Text(", ".join(counts)))


def check(path, baseline, seconds=None):
    """Compare the results at `path` with the baseline file and return a Comparison.

    seconds : the factor by which times to a gap may grow, in units of the reference kernel; None compares none

    A run has regressed if it needs more than one trace point and more than 10 % more passes to a gap than the
    baseline did (where passes are counted), does not reach a gap that the baseline reached, ended worse, or was
    told to stop elsewhere: the last point has a bound that those before have not. A run of the baseline without a
    result is missing, which fails too. Of a gap that only a bound of evaluation meets, it is known that the run needs
    more passes by its own bounds, and not how many: unclear, but where that alone is a regression; so is what is no
    regression on other data. Unclear, faster and
    new runs are reported and never fail. Raises RrmbenchError for a missing or damaged baseline, or one without the
    seconds that are asked for.
    """
    known = _read(Path(baseline))
    if seconds is not None and not any("seconds" in record for runs in known.values() for record in runs.values()):
        raise RrmbenchError(f"{baseline}: has no seconds; write them with 'rrmbench check ... --seconds --update'")
    rows = []
    for name, found in _runs(readable(path)).items():
        before = known.pop(name, {})
        rows += [_verdict(name, key, run, before.pop(key, None), seconds) for key, run in found.items()]
        rows += [Row(name, key, "missing", "in the baseline, not in the results") for key in before]
    for name, before in known.items():
        rows += [Row(name, key, "missing", "in the baseline, not in the results") for key in before]
    return Comparison(tuple(rows))


def update(path, baseline, seconds=False):
    """Write the results at `path` as the new baseline file, with `seconds` or not.

    Return the names of the runs that came to no end of their own, each of which `check` calls a regression. Raises
    RrmbenchError where there is a file that is no baseline, which stays.
    """
    _refuse_other(Path(baseline))
    found = _runs(experiments(path))
    content = {name: {key: _record(run, seconds) for key, run in runs.items()} for name, runs in found.items()}
    with replacing(Path(baseline)) as file:
        text = json.dumps({"schema_version": SCHEMA_VERSION, "experiments": content}, indent=1, sort_keys=True)
        file.write(text.encode() + b"\n")
    ended = ((name, key, run.status) for name, runs in found.items() for key, run in runs.items())
    return [f"{name}: {key} ({status})" for name, key, status in ended if status not in FINAL]


def _runs(found):
    return {experiment.name: _named(runs_of(experiment)) for experiment in found}


def _named(found):
    """Return {description: run}; passes do not depend on how often seconds were measured."""
    for run in found:
        run.keys.pop("timing", None)
    names = naming.told_apart(naming.run, [run.keys for run in found])
    named = dict(zip(names, found, strict=True))
    if len(named) < len(found):
        twice = next(name for name in names if names.count(name) > 1)
        raise RrmbenchError(f"{found[0].experiment}: two runs have the same description '{twice}'")
    return named


def _record(run, seconds=False):
    counted, points = run.column("passes"), points_to(run.column("gap"))
    passes, at_most = {}, {}
    for level, at, late in zip(LEVELS, points, CERTIFIED_GAPS.are_late(run, points), strict=True):
        if at is not None:
            (at_most if late else passes)[naming.short(level)] = _number(counted[at])
    record = {"status": run.status, "passes": passes, "at_most": at_most, "stop": _stop(run), "data": run.result.data}
    return record | ({"seconds": check_seconds.ratios(run)} if seconds else {})


def _stop(run):
    return run.result.spec.get("stop", {})


def _number(passes):
    """The passes at which a gap is reached; None where nobody counts them, and it is the gap that is compared."""
    return float(passes) if np.isfinite(passes) else None


def _verdict(experiment, key, run, before, seconds):
    if run.status not in FINAL:
        return Row(experiment, key, "regression", f"{run.status}: {run.result.reason}")
    if before is None:
        return Row(experiment, key, "new", f"{run.status}, not in the baseline")
    if (stop := before.get("stop", _stop(run))) != _stop(run):  # an older baseline says nothing of it
        other = f"other stopping rules: {_rules(_stop(run))}, in the baseline {_rules(stop)}"
        return Row(experiment, key, "regression", f"{other}; 'rrmbench check ... --update' writes a new one")
    worse, better, unclear = _changes(run, before)
    if run.status != "done" and before["status"] == "done":
        worse.insert(0, f"{run.status}: {run.result.reason}")
    if seconds is not None:
        slower, quicker = check_seconds.changes(run, before.get("seconds", {}), seconds)
        worse, better = worse + slower, better + quicker
    others = [_OTHER_DATA] if before.get("data", run.result.data) != run.result.data else []
    verdict = "regression" if worse else "unclear" if others else "faster" if better else "unclear" if unclear else "ok"
    return Row(experiment, key, verdict, "; ".join(others + (worse or better + unclear)))


def _rules(stop):
    return ", ".join(f"{name}={value}" for name, value in sorted(stop.items())) or "none"


def _changes(run, before):
    """Return what got slower (or is not reached any more), what got faster, and what nobody can tell, as phrases."""
    record, grid = _record(run), run.column("passes")
    now, at_most = record["passes"], record["at_most"]
    before, at_most_before = before["passes"], before.get("at_most", {})
    worse, better, unclear = [], [], []
    for level, old in before.items():
        new, bound = now.get(level), at_most.get(level)
        was = "was before" if old is None else f"was {old:g} passes"
        if level in at_most:
            if None not in (old, bound) and _later(bound, old, grid):
                worse.append(f"gap {level}: more than {bound:g} passes by its own bounds, {was}")
            else:
                unclear.append(f"gap {level}: {_BY_EVALUATION}, {was}")
        elif level not in now:
            worse.append(f"gap {level}: not reached, {was}")
        elif old is None or new is None:
            continue
        elif _later(new, old, grid):
            worse.append(f"gap {level}: {old:g} -> {new:g} passes")
        elif _later(old, new, grid):
            better.append(f"gap {level}: {old:g} -> {new:g} passes")
    for level, new in now.items():
        if level not in before and level not in at_most_before:
            better.append(f"gap {level}: reached{'' if new is None else f' in {new:g} passes'}, was not")
    lost = (level for level in at_most_before if level not in now and level not in at_most)
    unclear += [f"gap {level}: not reached, was {_BY_EVALUATION}" for level in lost]
    return worse, better, unclear


def _later(late, early, grid):
    """Whether `late` is more than a tenth and more than one point of the trace's grid after `early`."""
    return late > TOLERANCE * early and np.count_nonzero((grid > early) & (grid <= late)) > 1


def _refuse_other(path):
    """Raise RrmbenchError for a path that has something else than a baseline."""
    if not path.exists():
        return
    if not path.is_file():
        raise RrmbenchError(f"{path}: no plain file; --update writes a new file, or replaces a baseline")
    try:
        _read(path)
    except RrmbenchError as error:
        raise RrmbenchError(f"{error}; --update replaces nothing but a baseline") from error


def _read(path):
    if not path.exists():
        raise RrmbenchError(f"{path}: no such baseline; write one with 'rrmbench check ... --update'")
    try:
        with path.open("rb") as file:
            known = parsed(file.read(TEXT_LIMIT + 1), path)["experiments"]
        complete = all(_is_record(record) for runs in known.values() for record in runs.values())
    except RrmbenchError:
        raise
    except Exception as error:  # json raises nearly anything, RecursionError included
        raise RrmbenchError(
            f"{path}: not a baseline of rrmbench ({type(error).__name__}: {shorten(str(error), 200)})"
        ) from error
    if not complete:
        raise RrmbenchError(f"{path}: not a baseline of rrmbench (every run needs 'status' and 'passes')")
    return known


def _is_record(record):
    passes = [*record["passes"].values(), *record.get("at_most", {}).values()]
    values = [at for at in passes if at is not None] + [*record.get("seconds", {}).values()]
    numbers = all(isinstance(at, (int, float)) and np.isfinite(at) for at in values)
    return isinstance(record["status"], str) and isinstance(record.get("stop", {}), dict) and numbers
