"""The application, and the arguments and options that several commands share."""

import os
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

from rrmbench.errors import RrmbenchError

PANELS = RUN, READ, FIND, EXTEND, UPKEEP = "Run", "Read results", "Find", "Extend", "Look after"  # of --help


class _Command(TyperCommand):
    """A command that refuses an option of one value where it is given twice, of which the parser keeps the last."""

    def parse_args(self, ctx, args):
        if not ctx.resilient_parsing:  # as where a shell completes
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for option, count in Counter(given).items():
                if count > 1 and option.param_type_name == "option" and not (option.multiple or option.is_flag):
                    name = max(option.opts, key=len)
                    several = "; several values have commas between them" if "commas" in (option.help or "") else ""
                    raise RrmbenchError(f"{name}: found {count} times, allowed is once{several}")
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """An application of such commands."""

    def command(self, name=None, **options):
        return super().command(name, cls=_Command, **options)


app = App(
    name="rrmbench",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Benchmark first-order solvers on regularized empirical risk minimization, with certified duality gaps.",
)


def _version(asked: bool):
    if asked:
        from rrmbench.version import __version__

        print(f"rrmbench {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and exit")
    ] = False,
):
    pass


Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="an experiment's folder, or a folder of those")]
Configs = Annotated[list[Path], typer.Argument(metavar="CONFIG", help="YAML files, or names of shipped configurations")]
_SET = "override a key of the file; solver=NAME keeps the parameters that are there, solver=[NAME] does not"
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_SET)]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="KEY=VALUE", help="keep the runs that match (same key: or; different keys: and)"),
]
Trust = Annotated[bool, typer.Option("--trust", help="load the plug-in files that the results name; they run as code")]
LevelTexts = Annotated[
    str | None,
    typer.Option("--levels", metavar="1e-2,1e-4", help="accuracies to reach, with commas (default: 1e-2 to 1e-8)"),
]
Relative = Annotated[bool, typer.Option("--relative", help="the levels are fractions of P(w) at the start")]
Quantity = Annotated[str, typer.Option("--y", help="what reaches the levels: gap or suboptimality")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the final path")]


def output_path(text):
    """The path of -o; RrmbenchError for an empty one, as of an unset variable: it would be the working directory."""
    if text == "":
        raise RrmbenchError("--output: found '', allowed is a path; '.' is the working directory")
    return Path(text)


def console(**options):
    """Return a rich console; not on a terminal it is at least 120 columns wide, but for what COLUMNS says."""
    from rrmbench.report import display

    made = display.console(**options)
    if made.width < 1 or not (made.is_terminal or os.environ.get("COLUMNS", "").isdigit()):
        made.width = max(made.width, 120)
    return made


def levels_of(text, quantity, relative, option="--levels"):
    """Return the Levels that the options --levels (or --level, for one), --y and --relative name."""
    from rrmbench.report.levels import parsed_levels

    return parsed_levels(text, quantity, relative, option)


def trust_plugins_of(results):
    """Key the kernel cache by the plug-in files that results name, which are about to be loaded."""
    from rrmbench import kernel_cache
    from rrmbench.report.results import plugins_of

    kernel_cache.use(plugins_of(results))


def plans(configs, sets, only=()):
    """Read all files first: the kernel cache depends on their plug-ins and is set before numba is imported."""
    from rrmbench import config, kernel_cache

    raws = [config.read(path, sets or ()) for path in configs]
    kernel_cache.use({plugin for raw in raws for plugin in raw.plugins})
    resolved = [config.resolve(raw) for raw in raws]
    kept = config.select(resolved, only) if only else resolved
    config.check_names(kept)
    return kept
