"""How large the prepared data of a `dataset:` block are about, before anything is read."""

import inspect
import math

from rrmbench.data import catalogue, spec


def stored_entries(block):
    """About how many entries X of the training part of a checked block stores; NaN where nothing tells."""
    n, entries = _of_source(block)
    if math.isnan(entries):
        return entries
    rows = min(block.get("subset", n), n) * block.get("split", 1.0)
    return rows * rows if "kernel" in block else entries * rows / n


def _of_source(block):
    """(rows, stored entries) before any step of the preparation."""
    made = spec.generated(block)
    if made:
        component, values = made
        sizes = {key: p.default for key, p in component.parameters.items()} | values
        n, entries = sizes.get("n", math.nan), component.entries
        if entries is None:
            return n, n * sizes.get("d", math.nan)
        return n, entries(**{name: sizes[name] for name in inspect.signature(entries).parameters})
    if "name" not in block:
        return math.nan, math.nan
    entry = catalogue.get(block["name"])
    return entry.n, entry.n if entry.matrix else entry.nonzeros or math.nan
