"""`rrmbench report`: one HTML file about experiments, which needs no network and no other file.

runs -> charts (what the axes show), winners and tables (all else) -> page (the file): a module each. The page's own
scripts and its template lie beside them.
"""

from pathlib import Path

from rrmbench.errors import RrmbenchError, nearest
from rrmbench.files import replacing
from rrmbench.report.html import page
from rrmbench.report.html.charts import charts, points_per_curve
from rrmbench.report.html.tables import tables
from rrmbench.report.html.winners import winners
from rrmbench.report.results import readable, runs_of
from rrmbench.report.select import select

SUFFIXES = (".html", ".htm")


def report(path, out=None, theory=False, trust=False, only=()):
    """Write the page about the experiments at `path` and return its path: `out`, or report.html in the folder `path`.

    `theory` adds the bounds that the papers prove for the runs; `trust` loads the plug-in files that these name;
    `only` are texts KEY=VALUE as of `run --only`. Raises RrmbenchError without the packages of the extra `report`, for
    another suffix than .html, and where `only` leaves no run.
    """
    out = Path(path) / "report.html" if out is None else Path(out)
    if out.suffix not in SUFFIXES:
        allowed = f"{' or '.join(SUFFIXES)}{nearest(out.suffix, SUFFIXES)}"
        raise RrmbenchError(f"--output {out}: found the suffix '{out.suffix}', allowed is {allowed}")
    page.require()
    read = {one: runs_of(one) for one in readable(path)}
    wanted = set(select([run for stored in read.values() for run in stored], only))
    most = points_per_curve(wanted)
    sections = []
    for one, stored in read.items():
        found = [run for run in stored if run in wanted]
        if found or not only:
            shown = {"winners": winners(one, stored, found), "charts": charts(one, stored, found, most, theory, trust)}
            sections.append(tables(one, stored, found) | shown)
    text = page.render(sections, most, only)
    with replacing(out) as file:
        file.write(text.encode())
    return out
