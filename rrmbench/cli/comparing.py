"""Who needs less, and is it sure: compare."""

from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli.app import READ, LevelTexts, Only, Quantity, Relative, app, console, levels_of, output_path


@app.command(rich_help_panel=READ)
def compare(
    results: Annotated[Path, typer.Argument(metavar="A", help="a folder of results")],
    other: Annotated[Path | None, typer.Argument(metavar="B", help="another one; default: the same")] = None,
    a: Annotated[list[str] | None, typer.Option("--a", metavar="KEY=VALUE", help="side A: the runs that match")] = None,
    b: Annotated[list[str] | None, typer.Option("--b", metavar="KEY=VALUE", help="side B: the runs that match")] = None,
    only: Only = None,
    levels: LevelTexts = None,
    relative: Relative = False,
    y: Quantity = "gap",
    as_json: Annotated[bool, typer.Option("--json", help="print JSON (docs/reading.md has the fields)")] = False,
    profile: Annotated[bool, typer.Option("--profile", help="draw performance profiles of all methods of A")] = False,
    x: Annotated[str | None, typer.Option("--x", help="of a profile: passes (default), work or seconds")] = None,
    level: Annotated[
        str | None, typer.Option("--level", help="of a profile: the accuracy that solves a problem (default: 1e-6)")
    ] = None,
    formats: Annotated[
        str | None, typer.Option("--format", help="of a profile: png (default), pdf, svg; several with commas")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", parser=output_path, help="of a profile: folder of the figure"),
    ] = None,
):
    """Compare two folders (the same methods), or two methods of one (--a solver=apcg --b solver=svrg)."""
    from rrmbench.commands import compare as commands

    of_profile = {"--x": x, "--level": level, "--format": formats, "--output": output}
    commands.check_options(profile, of_profile, {"--levels": levels, "--a": a, "--b": b, "B": other})
    if profile:
        asked = levels_of("1e-6" if level is None else level, y, relative, option="--level")
        commands.profile(results, only or [], asked, x, formats, output, as_json)
    else:
        asked = levels_of(levels, y, relative)
        commands.compare(results, other, a or [], b or [], only or [], asked, as_json, console())
