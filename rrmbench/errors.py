"""The one error that is shown to users without a traceback, and texts made fit for a terminal."""

import difflib


class RrmbenchError(Exception):
    """Bad input: the message says where, what was found and what is allowed."""


def nearest(name, allowed):
    """Return "; did you mean 'x'?" for the allowed name closest to `name`, or ""."""
    close = difflib.get_close_matches(str(name), [str(a) for a in allowed], n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""


def printable(text):
    """Return `text` with every character that a terminal would obey or cannot show as an escape, but for newlines.

    Texts from data, results and plug-ins may hold escape sequences and lone surrogates.
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
