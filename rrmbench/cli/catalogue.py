"""What a configuration may name: list, and the data sets."""

from pathlib import Path
from typing import Annotated

import typer

from rrmbench.cli import completion
from rrmbench.cli.app import FIND, App, app, console

data_app = App(no_args_is_help=True, help="Find, describe and register data sets.")
app.add_typer(data_app, name="data", rich_help_panel=FIND)

Format = Annotated[
    str | None, typer.Option(help="of a file: libsvm, csv, npz, npy, parquet, ratings [default: by suffix]")
]


@app.command("list", rich_help_panel=FIND)
def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[datasets|losses|regularizers|solvers|reductions|configs]",
            help="what to list",
            autocompletion=completion.kinds,
        ),
    ] = None,
):
    """List what a configuration may name, with the parameters."""
    from rrmbench.commands import listing

    listing.listing(kind, console())


@data_app.command("get")
def data_get(name: Annotated[str, typer.Argument(autocompletion=completion.datasets)]):
    """Find or download a data set and check it."""
    from rrmbench.commands import listing
    from rrmbench.data.commands import get

    listing.facts(get(name), console())


@data_app.command("info")
def data_info(
    name: Annotated[str, typer.Argument(metavar="NAME|PATH", autocompletion=completion.datasets)],
    format: Format = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="a key of how a file is read, as in a configuration, or a parameter"
        ),
    ] = None,
):
    """Describe a data set: sizes, labels, norms, where it is, licence. A .py file is a plug-in, which runs."""
    from rrmbench.commands import listing
    from rrmbench.data.commands import info, named

    listing.facts(info(named(name, sets or ()), format), console())


@data_app.command("add")
def data_add(
    path: Path,
    name: Annotated[str, typer.Option(help="the name for configurations")],
    title: Annotated[str | None, typer.Option(help="a line that describes it")] = None,
    format: Format = None,
    label: Annotated[str | None, typer.Option(help="of CSV, Parquet: the column of labels, name or number")] = None,
):
    """Register a file of your own under a name."""
    from rrmbench.data.commands import add

    print(f"{add(path, name, title, format, label)} written")


@data_app.command("list")
def data_list():
    """List the registered data sets and where they are."""
    from rrmbench.commands import listing

    listing.listing("datasets", console())
