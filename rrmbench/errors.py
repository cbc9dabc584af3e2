"""The one error that is shown to users without a traceback."""

import difflib


class RrmbenchError(Exception):
    """Bad input: the message says where, what was found and what is allowed."""


def nearest(name, allowed):
    """Return "; did you mean 'x'?" for the allowed name closest to `name`, or ""."""
    close = difflib.get_close_matches(str(name), [str(a) for a in allowed], n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""
