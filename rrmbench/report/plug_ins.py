"""What a table says of methods that are not shipped: their passes are what their own files count."""

import math
from pathlib import Path

from rrmbench.errors import printable
from rrmbench.keys import nested


def told(runs):
    """Yield a line for each plug-in file whose solver or reduction counts the passes of some StoredRuns."""
    found = {}
    for run in runs:
        if run.result.points and not math.isnan(run.column("passes")[-1]):
            for component in (*nested(run.result.spec["solver"]), *nested(run.result.spec["reduction"])):
                if "path" in component:
                    found.setdefault(str(component["path"]), set()).add(str(component["name"]))
    for path, names in sorted(found.items()):
        yield printable(
            f"passes of {', '.join(sorted(names))}: as the plug-in counts them, never less than its products with X; "
            f"`rrmbench test {Path(path).name}` compares them with the rows that it reads too"
        )
