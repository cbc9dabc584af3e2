"""Commands that read configurations: run, validate."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli import completion
from rrmbench.cli.app import RUN, Configs, Only, Quiet, Sets, app, console, output_path, plans


@app.command(rich_help_panel=RUN)
def run(
    configs: Configs,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="PATH", parser=output_path, help="where the results go")
    ] = Path("results"),
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", min=1, help="runs at a time [default: cores, or 1 to plot seconds]"),
    ] = None,
    backend: Annotated[
        str, typer.Option(help="local, or dask: on a cluster", autocompletion=completion.backends)
    ] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="of a Dask scheduler, tcp://host:8786, or the file it writes")
    ] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS", help="run these again too: timeout, diverged or done", autocompletion=completion.statuses
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="run everything again")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show the runs and an estimate of their cost, run nothing")
    ] = False,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing", help="seconds for publication: runs alone on one core, repeated, medians of the seconds"
        ),
    ] = False,
    repeats: Annotated[
        int | None, typer.Option(min=2, max=1000, help="of each run, with --timing [default: 3]")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="print what happens as JSON lines on stdout, and nothing else there")
    ] = False,
    only: Only = None,
    sets: Sets = None,
    quiet: Quiet = False,
):
    """Run every combination of the configuration that is not done yet."""
    read = plans(configs, sets, only)
    from rrmbench.commands.running import check_options, timing_of
    from rrmbench.commands.running import run as execute

    check_options(backend, scheduler, retry or [])
    events = None
    if json:
        from rrmbench.report.events import Events

        events = Events(sys.stdout)
    timed = timing_of(timing, repeats, jobs, backend)
    if dry_run:
        from rrmbench.bench.backends import jobs_of
        from rrmbench.bench.store import Experiment
        from rrmbench.commands.dry_run import dry_run as estimates

        for plan in read:
            Experiment.to_write(output, plan.name)  # refuses what the runs could not use
        at_once = [1 if timed else jobs_of(plan, jobs) for plan in read]
        estimates(read, at_once, timed.repeats if timed else 1, console(), events)
        return
    sys.exit(
        execute(
            read,
            output,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
            retry=retry or [],
            fresh=fresh,
            whole=not only,
            console=console(stderr=True),
            summary=console(),
            quiet=quiet,
            timing=timed,
            events=events,
        )
    )


@app.command(rich_help_panel=RUN)
def validate(configs: Configs, sets: Sets = None):
    """Check configuration files without running anything."""
    from rrmbench.errors import printable

    for plan in plans(configs, sets):
        runs = f"{len(plan.runs)} run{'s' * (len(plan.runs) != 1)}"
        print(printable(f"{plan.path}: {runs}, {len(plan.skipped)} skipped"))
