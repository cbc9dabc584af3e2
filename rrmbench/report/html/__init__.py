"""`rrmbench report`: one HTML file about experiments, which needs no network and no other file.

runs -> charts (what the axes show) and tables (all else) -> page (the file): a module each. The page's own scripts and
its template lie beside them.
"""

from pathlib import Path

from rrmbench.bench.store import experiments
from rrmbench.errors import RrmbenchError, nearest
from rrmbench.files import replacing
from rrmbench.report.html import page
from rrmbench.report.html.charts import charts, points_per_curve
from rrmbench.report.html.tables import tables
from rrmbench.report.results import runs_of
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
        raise RrmbenchError(f"--output {out}: found the suffix '{out.suffix}', allowed is .html{_meant(out)}")
    page.require()
    read = [(experiment, experiment.manifest(), runs_of(experiment)) for experiment in experiments(path)]
    kept = set(select([run for *_, found in read for run in found], only))
    if only:
        read = [(*about, [run for run in found if run in kept]) for *about, found in read]
        read = [(experiment, manifest, found) for experiment, manifest, found in read if found]
    most = points_per_curve([run for *_, found in read for run in found])
    sections = [
        tables(experiment, manifest, found) | {"charts": charts(experiment, manifest, found, most, theory, trust)}
        for experiment, manifest, found in read
    ]
    text = page.render(sections, most, only)
    with replacing(out) as file:
        file.write(text.encode())
    return out


def _meant(out):
    return nearest(out.suffix, SUFFIXES)
