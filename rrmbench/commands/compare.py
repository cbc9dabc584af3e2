"""`rrmbench compare`: two sides, run by run; or the performance profiles of all methods."""

from rrmbench.errors import RrmbenchError, printable


def compare(path, other, a, b, only, levels, as_json, console):
    """Print how A (`path`, of it the runs that match `a`) compares with B (`other` or `path`, and `b`)."""
    from rich.console import Group

    from rrmbench.report import compare as comparing
    from rrmbench.report.compare import tables

    if other is None and not (a and b):
        raise RrmbenchError(
            "compare: found one folder, allowed are two, or --a KEY=VALUE and --b KEY=VALUE for two methods of one,"
            " such as --a solver=apcg --b solver=svrg; --profile compares all methods of one"
        )
    sides = comparing.Side(path, tuple(a)), comparing.Side(other or path, tuple(b))
    found = comparing.compare(*sides, levels, only)
    if as_json:
        print(tables.as_text(found))
    else:
        console.print(Group(*tables.blocks(found)))


def check_options(profile, of_profile, of_pairs):
    """Raise RrmbenchError for options ({name: value}) of a profile without --profile, or of two sides with it."""
    given = [name for name, value in (of_pairs if profile else of_profile).items() if value not in (None, [])]
    if given and profile:
        raise RrmbenchError(f"--profile: compares all methods of one folder, found {', '.join(given)}")
    if given:
        raise RrmbenchError(f"{', '.join(given)}: of a profile; say --profile")


def profile(path, only, levels, cost, formats, output, as_json):
    """Draw the performance profiles of the methods at `path`, and print where they are; or print them as JSON.

    cost : what --x says, formats : what --format says, or None
    """
    from rrmbench.report.compare import profiles

    made = profiles.profile(path, levels, "passes" if cost is None else cost, only)
    if as_json:
        print(profiles.as_text(made))
        return
    from rrmbench.report.compare.draw_profile import FORMATS, save
    from rrmbench.report.plots.section import formats_of

    for file in save(made, output or profiles.folder(path), formats_of("png" if formats is None else formats, FORMATS)):
        print(printable(str(file)))
