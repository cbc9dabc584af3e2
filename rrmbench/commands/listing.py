"""`rrmbench list`, and facts of a data set as two columns."""

import inspect

from rrmbench.commands import configurations, plain
from rrmbench.errors import RrmbenchError, nearest


def listing(kind, console):
    """Print the components of one kind, or of all, with their parameters; or the data sets."""
    from rich.table import Table

    from rrmbench.kinds import KINDS

    kinds = {plural: singular for singular, plural in KINDS.items()}
    allowed = ["datasets", *kinds, "configs"]
    if kind is not None and kind not in allowed:
        raise RrmbenchError(f"list: found '{kind}', allowed is {', '.join(allowed)}{nearest(kind, allowed)}")
    for plural in [kind] if kind else allowed[:-1]:
        if plural == "configs":
            configurations.print_all(console)
            return
        table = Table(title=plural, title_justify="left", box=None, pad_edge=False)
        if plural == "datasets":
            _list_datasets(table)
            console.print(table)
            console.print()
            table = Table(title="datasets made by a function", title_justify="left", box=None, pad_edge=False)
        _list_components(table, kinds.get(plural, "dataset"))
        console.print(table)
        console.print()


def summary(component):
    """The first line of the docstring of a component's function."""
    return (inspect.getdoc(component.build) or "").split("\n")[0]


def _list_components(table, kind):
    from rrmbench import registry

    table.add_column("name", no_wrap=True)
    table.add_column("parameters")
    table.add_column("what", overflow="fold")
    for component in registry.components(kind):
        parameters = ", ".join(p.name if p.required else f"{p.name}={p.default}" for p in component.parameters.values())
        needs = f" [needs {', '.join(sorted(component.needs))}]" if component.needs and kind == "solver" else ""
        lacks = f" [{component.uninstalled}]" if component.uninstalled else ""
        table.add_row(component.name, *map(plain, (parameters, summary(component) + needs + lacks)))


def _list_datasets(table):
    from rrmbench.data.commands import listing as datasets

    for column in ("name", "task", "n", "d", "where"):
        table.add_column(column, justify="right" if column in "nd" else "left", no_wrap=column == "name")
    for row in datasets():
        d = " x ".join(f"{size:,}" for size in row["d"])
        table.add_row(*map(plain, (row["name"], row["task"], f"{row['n']:,}", d, row["here"])))


def facts(mapping, console):
    """Print a mapping as two columns."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for key, value in mapping.items():
        table.add_row(*map(plain, (key, value)))
    console.print(table)
