"""What commands print: tables and closing lines, a module per command. The work is done elsewhere."""

from rrmbench.errors import printable

PLAIN = {"highlight": False, "markup": False, "soft_wrap": True}  # a line of rich that is printed as it is


def plain(cell):
    """The text of a cell of a table as it is, in which no bracket is markup."""
    from rich.text import Text

    return Text(printable(str(cell)))
