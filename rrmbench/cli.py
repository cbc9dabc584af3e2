"""The command line: every command a thin adapter over one function. Heavy imports are inside the commands."""

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="rrmbench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Benchmark first-order solvers on regularized empirical risk minimization, with certified duality gaps.",
)
data_app = typer.Typer(no_args_is_help=True, help="Find, describe and register data sets.")
app.add_typer(data_app, name="data")

Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="an experiment's folder, or a folder of those")]
Configs = Annotated[list[Path], typer.Argument(metavar="CONFIG", help="YAML files")]
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="override a key of the file")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="KEY=VALUE", help="keep the runs that match (same key: or; different keys: and)"),
]
Format = Annotated[str | None, typer.Option(help="of a file: libsvm (the default) or ratings")]
Trust = Annotated[bool, typer.Option("--trust", help="load the plug-in files that the results name; they run as code")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the final path")]


def run_app():
    """Run the command line; an RrmbenchError is one message and exit code 2."""
    from rrmbench.errors import RrmbenchError, printable

    try:
        app()
    except RrmbenchError as error:
        print(f"rrmbench: {printable(str(error))}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)


def _console(**options):
    from rich.console import Console

    console = Console(**options)
    if not console.is_terminal:
        console.width = max(console.width, 120)
    return console


def _trust(results):
    """Key the kernel cache by the plug-in files that results name, which are about to be loaded."""
    from rrmbench import fingerprint
    from rrmbench.report.results import plugins_of

    fingerprint.use_kernel_cache(plugins_of(results))


def _plans(configs, sets, only=()):
    """Read all files first: the kernel cache depends on their plug-ins and is set before numba is imported."""
    from rrmbench import config, fingerprint

    raws = [config.read(path, sets or ()) for path in configs]
    fingerprint.use_kernel_cache({plugin for raw in raws for plugin in raw.plugins})
    plans = [config.resolve(raw) for raw in raws]
    return config.select(plans, only) if only else plans


@app.command()
def run(
    configs: Configs,
    output: Annotated[Path, typer.Option("-o", "--output", help="where the results go")] = Path("results"),
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", min=1, help="runs at a time [default: cores, or 1 to plot seconds]"),
    ] = None,
    backend: Annotated[str, typer.Option(help="local")] = "local",
    retry: Annotated[list[str] | None, typer.Option(metavar="STATUS", help="run these again too: timeout")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="run everything again")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show the runs and an estimate of their cost, run nothing")
    ] = False,
    only: Only = None,
    sets: Sets = None,
    quiet: Quiet = False,
):
    """Run every combination of the configuration that is not done yet."""
    from rrmbench import commands

    plans = _plans(configs, sets, only)
    if dry_run:
        commands.dry_run(plans, _console())
        return
    sys.exit(
        commands.run(
            plans,
            output,
            jobs=jobs,
            backend=backend,
            retry=retry or [],
            fresh=fresh,
            whole=not only,
            console=_console(stderr=True),
            summary=_console(quiet=quiet),
            quiet=quiet,
        )
    )


@app.command()
def plot(
    results: Results,
    x: Annotated[str | None, typer.Option("--x", help="passes, work or seconds")] = None,
    y: Annotated[str | None, typer.Option("--y", help="suboptimality, gap, objective or a metric")] = None,
    formats: Annotated[str, typer.Option("--format", help="png, pdf, svg; several with commas")] = "png,pdf",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="folder of the figures")] = None,
    theory: Annotated[bool, typer.Option("--theory", help="add the bounds that the papers prove")] = False,
    trust: Trust = False,
):
    """Draw the figures of the results."""
    from rrmbench.errors import printable
    from rrmbench.report import plots

    if trust:
        _trust(results)
    kinds = tuple(kind.strip() for kind in formats.split(","))
    for path in plots.plot(results, x=x, y=y, formats=kinds, out=output, theory=theory, trust=trust):
        print(printable(str(path)))


@app.command()
def show(results: Results):
    """Show each run's status, its passes and seconds to each gap, and its final certified gap."""
    from rrmbench.report.show import summary

    _console().print(summary(results))


@app.command()
def check(
    results: Results,
    baseline: Annotated[Path, typer.Option(help="JSON file of passes to each gap")],
    update: Annotated[bool, typer.Option("--update", help="write the baseline from the results")] = False,
):
    """Compare the results with a baseline; exit code 1 if a run needs more passes or is missing."""
    from rrmbench.report import check as checks

    if update:
        checks.update(results, baseline)
        print(f"{baseline} written")
        return
    report = checks.check(results, baseline)
    _console().print(report)
    sys.exit(int(report.regressed))


@app.command()
def export(
    results: Results,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="FILE.csv or FILE.parquet")],
):
    """Write all trace points as one tidy table."""
    from rrmbench.report.results import export as write

    write(results, to)
    print(to)


@app.command("list")
def list_(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[datasets|losses|regularizers|solvers|reductions]", help="what to list"),
    ] = None,
):
    """List what a configuration may name, with the parameters."""
    from rrmbench import commands

    commands.listing(kind, _console())


@app.command()
def validate(configs: Configs, sets: Sets = None):
    """Check configuration files without running anything."""
    from rrmbench.errors import printable

    for plan in _plans(configs, sets):
        print(printable(f"{plan.path}: {len(plan.runs)} runs, {len(plan.skipped)} skipped"))


@app.command()
def verify(results: Results, trust: Trust = False):
    """Recompute every final objective and certificate without the kernels; exit code 1 for what does not follow."""
    from rrmbench import commands

    if trust:
        _trust(results)
    sys.exit(commands.verify(results, trust, _console()))


@data_app.command("get")
def data_get(name: str):
    """Find or download a data set and check it."""
    from rrmbench import commands
    from rrmbench.data.commands import get

    commands.facts(get(name), _console())


@data_app.command("info")
def data_info(name: Annotated[str, typer.Argument(metavar="NAME|PATH")], format: Format = None):
    """Describe a data set: sizes, labels, norms, where it is, licence."""
    from rrmbench import commands
    from rrmbench.data.commands import info

    commands.facts(info(name, format), _console())


@data_app.command("add")
def data_add(
    path: Path,
    name: Annotated[str, typer.Option(help="the name for configurations")],
    title: Annotated[str | None, typer.Option(help="a line that describes it")] = None,
    format: Format = None,
):
    """Register a file of your own under a name."""
    from rrmbench.data.commands import add

    print(f"{add(path, name, title, format)} written")


@data_app.command("list")
def data_list():
    """List the registered data sets and where they are."""
    from rrmbench import commands

    commands.listing("datasets", _console())
