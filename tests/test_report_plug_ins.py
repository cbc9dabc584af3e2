"""What is known from a plug-in's file alone is said wherever a number depends on it."""

import numpy as np
import stored

from rrmbench.report import compare, plots
from rrmbench.report.plug_ins import told
from rrmbench.report.results import runs_of


def experiment(folder, lower=0.0, uncounted=False):
    """A shipped solver, and a plug-in that begins `lower` than it."""
    own = stored.trace(rate=0.4)
    own["primal"][0] -= lower
    if uncounted:
        own["passes"][:] = np.nan
    mine = stored.spec() | {"solver": {"name": "mine", "path": "folder/mine.py"}}
    return stored.experiment(folder, [stored.result(stored.spec()), stored.result(mine, own)])


def test_passes_of_a_plug_in_are_its_own_in_tables_figures_and_comparisons(tmp_path):
    runs = runs_of(experiment(tmp_path / "e"))
    (line,) = told(runs)
    assert line.startswith("passes of mine: as the plug-in counts them") and "`rrmbench test mine.py`" in line
    assert list(told(runs, ["seconds"])) == []
    ((_, _, over_passes),) = plots.sheets(tmp_path / "e", x="passes")
    ((_, _, over_seconds),) = plots.sheets(tmp_path / "e", x="seconds")
    assert line in over_passes.notes and line not in over_seconds.notes
    sides = (compare.Side(tmp_path / "e", (f"solver={name}",)) for name in ("mine", "apcg"))
    assert line in compare.compare(*sides).sentences


def test_seconds_of_a_plug_in_that_begins_anew_are_those_that_it_tells(tmp_path):
    runs = runs_of(experiment(tmp_path / "e", uncounted=True))
    (line,) = told(runs)
    assert line.startswith("seconds of mine: since the last iterate that the plug-in calls restarted")
    assert list(told(runs, ["passes"])) == []


def test_a_plug_in_that_is_ahead_before_any_work_is_named(tmp_path):
    lines = list(told(runs_of(experiment(tmp_path / "e", lower=0.5)), ["seconds"]))
    assert lines == ["mine: P before any work is lower than that of all other methods: 0.75 and not 1.25"]
