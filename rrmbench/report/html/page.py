"""The file itself: template, style, scripts and data in one text that asks for nothing else.

Texts of results are escaped wherever the template puts them, and the page's policy runs no script but those whose
checksums it names, and opens no connection. Charts are drawn by Plotly, whose script its Python package brings along:
the page carries it whole (5 MB) and so needs no server that hands it out.
"""

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib import resources

from rrmbench.errors import RrmbenchError, printable
from rrmbench.version import __version__

SCRIPTS = ("charts.js", "legend.js", "runs.js", "page.js")  # in this order
_EXTRA = "pip install 'rrmbench[report]'"


def require():
    """Raise RrmbenchError where a package of the extra `report` is missing."""
    try:
        import jinja2  # noqa: F401
        import plotly.offline  # noqa: F401
    except ImportError as error:
        raise RrmbenchError(f"a report needs the package {error.name} of the extra 'report': {_EXTRA}") from None


def render(sections, most, only):
    """Return the text of the page.

    sections : of each experiment, the mapping of `tables` with `charts`; most : points of a curve; only : what the
    runs were chosen by
    """
    from jinja2 import Environment
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    scripts = [_inside(script) for script in (get_plotlyjs(), "\n".join(map(_asset, SCRIPTS)))]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_shown)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False, "separators": (",", ":")}
    return environment.from_string(_asset("page.html")).render(
        sections=sections,
        most=most,
        only=[printable(text) for text in only],
        scripts=[Markup(script) for script in scripts],
        style=Markup(_asset("page.css")),
        policy=_policy(scripts),
        written=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=__version__,
    )


def _policy(scripts):
    """The page's Content-Security-Policy: these scripts, inline styles, pictures of its own, nothing else."""
    sums = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in sums)
    inside = "style-src 'unsafe-inline'; img-src data: blob:"
    return f"default-src 'none'; script-src {allowed}; {inside}; form-action 'none'; base-uri 'none'"


def _inside(script):
    """A script as it may stand in a page: its text has no end tag, and only the line ends that a parser leaves."""
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _shown(value):
    """A text of a file without characters that nobody sees; what is safe in HTML already stays as it is."""
    return printable(value) if type(value) is str else value


@cache
def _asset(name):
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
