"""`rrmbench clean`: what would go, or went, and how much that is."""

from rrmbench.commands import PLAIN
from rrmbench.errors import RrmbenchError
from rrmbench.report.sizes import megabytes


def clean(results, caches, older, unasked, apply, console):
    """List what may go, remove it where `apply` says so; return 1 if something could not be removed."""
    from rrmbench.bench import cleaning

    if results is None and not caches:
        raise RrmbenchError("clean: name a folder of results, or --caches, or both")
    for option in ["--older"] * older + ["--unasked"] * unasked:
        if results is None:
            raise RrmbenchError(f"clean: {option} is for a folder of results; name it")
    found = list(cleaning.of_results(results, older, unasked)) if results is not None else []
    found += list(cleaning.of_caches()) if caches else []
    candidates = [one for one in found if isinstance(one, cleaning.Candidate)]
    _list([one for one in found if isinstance(one, cleaning.Left)], "left alone", console)
    failures = list(cleaning.remove(candidates, older, unasked)) if apply else []
    failed = {failure.path for failure in failures}
    gone = [one for one in candidates if one.path not in failed]
    for one in gone:
        _line(console, f"{'removed' if apply else 'would go'}  {megabytes(one.size):>10}  {one.path} ({one.why})")
    _list(failures, "not removed", console)
    total = megabytes(sum(one.size for one in gone))
    if apply:
        _line(console, f"{len(gone)} removed, {total}")
    else:
        _line(
            console, f"{len(gone)} would go, {total}" + ("; nothing was removed, --apply removes them" if gone else "")
        )
    return int(bool(failures))


def _list(left, what, console):
    """A line for each reason in a folder."""
    groups = {}
    for one in left:
        groups.setdefault((one.path.parent, one.why), []).append(one.path)
    for (folder, why), paths in groups.items():
        place = paths[0] if len(paths) == 1 else f"{len(paths)} in {folder}"
        _line(console, f"{what}: {place} ({why})")


def _line(console, text):
    from rrmbench.errors import printable

    console.print(printable(text).replace("\n", "\\n"), **PLAIN)
