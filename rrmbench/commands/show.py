"""`rrmbench show`: the standings of the methods as a table, as JSON or as LaTeX."""

from rrmbench.commands import PLAIN
from rrmbench.errors import RrmbenchError


def show(path, levels, only, sort, per_run, forms, console):
    """Print the results at `path` as the table, or in the one of `forms` (json, latex)."""
    from rrmbench.report import show as tables
    from rrmbench.report import show_json, show_latex
    from rrmbench.report.standings import standings_at

    if len(forms) > 1:
        raise RrmbenchError("--json and --latex: only one of the two")
    if not forms:
        console.print(tables.summary(path, levels, only, sort, per_run))
        return
    if per_run:
        raise RrmbenchError("--runs: the table alone has rows of single runs; `rrmbench export` writes them all")
    found = [tables.ordered(one, sort) for one in standings_at(path, levels, only)]
    print(show_json.as_text(found, levels) if forms == ["json"] else show_latex.as_text(found))


def tracebacks(path, only, others, console):
    """Print where the failed runs failed; RrmbenchError with one of the `others` {option: value}."""
    from rrmbench.report.tracebacks import tracebacks as lines

    if given := [option for option, value in others.items() if value]:
        raise RrmbenchError(f"--traceback: found {given[0]} too, allowed beside it is --only")
    for line in lines(path, only):
        console.print(line, **PLAIN)
