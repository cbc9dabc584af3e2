"""What commands print: tables and closing lines. The work is done elsewhere."""

import math
from pathlib import Path

from rrmbench.errors import RrmbenchError, nearest

NANOSECONDS_PER_NONZERO = 6.0  # a typical stochastic epoch, for estimates only
_PLAIN = {"highlight": False, "markup": False, "soft_wrap": True}
BACKENDS = {"local": "threading"}  # names of the command line to joblib's


def run(plans, output, *, jobs, backend, retry, fresh, whole, console, summary, quiet):
    """Run all plans and print the summary; return the exit code."""
    from joblib import cpu_count

    from rrmbench.bench.runner import run_experiment
    from rrmbench.bench.store import STATUSES
    from rrmbench.report import show
    from rrmbench.report.display import progress_on

    if backend not in BACKENDS:
        raise RrmbenchError(
            f"--backend: found '{backend}', allowed is {', '.join(BACKENDS)}{nearest(backend, BACKENDS)}"
        )
    _check_names(plans)
    for status in retry:
        if status not in STATUSES:
            raise RrmbenchError(
                f"--retry: found '{status}', allowed is {', '.join(STATUSES)}{nearest(status, STATUSES)}"
            )
    exit_code = 0
    for plan in plans:
        progress = progress_on(console, quiet)
        try:
            report = run_experiment(
                plan,
                output,
                jobs=min(jobs or (1 if plan.serial else cpu_count(only_physical_cores=True)), len(plan.runs)),
                whole=whole,
                retry=retry,
                fresh=fresh,
                backend=BACKENDS[backend],
                progress=progress,
            )
        finally:
            if progress:
                progress.close()
        if report.interrupted:
            console.print(
                f"interrupted; finished runs are kept in {report.directory}, the same command runs the rest", **_PLAIN
            )
            return 130
        summary.print(show.summary(report.directory))
        for line in _closing(report):
            summary.print(line, **_PLAIN)
        print(report.directory)
        exit_code = max(exit_code, int(not report.ok))
    return exit_code


def _check_names(plans):
    """An experiment's name is its folder: two files of one name would replace each other's manifest."""
    first = {}
    for plan in plans:
        if plan.name in first:
            raise RrmbenchError(f"{plan.path}: the name '{plan.name}' is that of {first[plan.name]} too; rename one")
        first[plan.name] = plan.path


def _closing(report):
    if report.kept:
        yield f"{report.kept} of {len(report.statuses)} runs were done before and were kept (--fresh runs them again)"
    if report.older:
        yield f"{report.older} results belong to older code; they are kept, and run again"
    reasons = dict.fromkeys(reason for _, reason in report.skipped)
    for reason in reasons:
        count = sum(reason == other for _, other in report.skipped)
        yield f"skipped {count}: {reason}"


def dry_run(plans, console):
    """Print the runs, the skipped combinations with reasons, and an estimate of the cost."""
    from rich.table import Table
    from rich.text import Text

    from rrmbench.errors import printable
    from rrmbench.report import naming
    from rrmbench.report.results import keys

    entries = {}  # of a data set as its loss wants it -> how many are stored
    for plan in plans:
        table = Table("#", "problem", "method", "seed", "estimate", box=None, title=plan.name, title_justify="left")
        total = 0.0
        for number, spec in enumerate(plan.runs, 1):
            seconds = _estimate(spec, entries)
            total += seconds
            names = keys(spec)
            cells = (str(number), naming.problem(names), naming.method(names), str(spec["seed"]), _seconds(seconds))
            table.add_row(*(Text(printable(cell)) for cell in cells))  # texts of the file are no markup
        console.print(table)
        for spec, reason in plan.skipped:
            names = keys(spec)
            line = f"skipped {naming.problem(names)}, {naming.method(names)}: {reason}"
            console.print(Text(printable(line)), highlight=False)
        unknown = "; some data are not here, their cost is unknown" if math.isnan(total) else ""
        console.print(f"{len(plan.runs)} runs, about {_seconds(total)} of one core{unknown}", highlight=False)


def _estimate(spec, entries):
    """Seconds of one run: passes times stored entries at a typical rate, at most `stop.seconds`; NaN if unknown.

    The counts of stored entries that are known are in `entries`, to which this run's is added.
    """
    from rrmbench.bench import identity

    stop = spec["stop"]
    key = identity.canonical([spec["dataset"], spec["loss"]])
    if "passes" not in stop or not (key in entries or _is_here(spec["dataset"])):
        return stop.get("seconds", math.nan)
    if key not in entries:
        entries[key] = identity.data_of(spec).X_parts[0].size
    return min(stop["passes"] * entries[key] * NANOSECONDS_PER_NONZERO * 1e-9, stop.get("seconds", math.inf))


def _is_here(dataset):
    """Whether a data set, its test part included, needs no download."""
    from rrmbench.data import catalogue, fetch

    named = [dataset[key] for key in ("name", "test") if key in dataset and not Path(dataset[key]).is_absolute()]
    entries = [catalogue.get(name) for name in named]
    return all(entry.file is None or fetch.locate(entry) for entry in entries)


def _seconds(value):
    return "?" if math.isnan(value) else f"{value:.2g} s"


def listing(kind, console):
    """Print the components of one kind, or of all, with their parameters; or the data sets."""
    from rich.table import Table

    from rrmbench.kinds import KINDS

    kinds = {plural: singular for singular, plural in KINDS.items()}
    allowed = ["datasets", *kinds]
    if kind is not None and kind not in allowed:
        raise RrmbenchError(f"list: found '{kind}', allowed is {', '.join(allowed)}{nearest(kind, allowed)}")
    for plural in [kind] if kind else allowed:
        table = Table(title=plural, title_justify="left", box=None, pad_edge=False)
        if plural == "datasets":
            _list_datasets(table)
        else:
            _list_components(table, kinds[plural])
        console.print(table)
        console.print()


def _list_components(table, kind):
    from rrmbench import registry

    table.add_column("name", no_wrap=True)
    table.add_column("parameters")
    table.add_column("what", overflow="fold")
    for name in registry.names(kind):
        component = registry.lookup(kind, name)
        parameters = ", ".join(p.name if p.required else f"{p.name}={p.default}" for p in component.parameters.values())
        needs = f" [needs {', '.join(sorted(component.needs))}]" if component.needs and kind == "solver" else ""
        table.add_row(name, parameters, _escaped(component.summary + needs))


def _list_datasets(table):
    from rrmbench.data.commands import listing as datasets

    for column in ("name", "task", "n", "d", "where"):
        table.add_column(column, justify="right" if column in "nd" else "left", no_wrap=column == "name")
    for row in datasets():
        d = " x ".join(f"{size:,}" for size in row["d"])
        table.add_row(row["name"], row["task"], f"{row['n']:,}", d, row["here"])


def _escaped(text):
    from rich.markup import escape

    return escape(text)


def verify(path, trust, console):
    """Print a line per result; return 1 if one is wrong or cannot be verified."""
    from rrmbench.errors import printable
    from rrmbench.report.verify import TOLERANCE
    from rrmbench.report.verify import verify as verdicts

    found = []
    for verdict in verdicts(Path(path), trust):
        found.append(verdict)
        state = " ".join(part for part in (verdict.state, verdict.why) if part)
        values = f"{verdict.error:.1e}  P = {verdict.primal:.12g}  D = {verdict.dual:.12g}  {verdict.label}"
        console.print(printable(f"{state:5} {values}").replace("\n", "\\n"), **_PLAIN)
    notes = [verdict.note for verdict in found if verdict.note]
    for note in dict.fromkeys(notes):
        console.print(f"not recomputed of {notes.count(note)} results: {note}", **_PLAIN)
    states = [verdict.state for verdict in found]
    worst = max((verdict.error for verdict in found), default=0.0)
    rest = "".join(
        f", {states.count(state)} {what}"
        for state, what in (("unverified", "unverified"), ("none", "without final arrays"))
        if state in states
    )
    line = f"{len(found)} results, {states.count('WRONG')} beyond {TOLERANCE:g}{rest}, greatest relative difference "
    console.print(f"{line}{worst:.1e}", **_PLAIN)
    return int(not all(verdict.ok for verdict in found))


def facts(mapping, console):
    """Print a mapping as two columns."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for key, value in mapping.items():
        table.add_row(str(key), _escaped(str(value)))
    console.print(table)
