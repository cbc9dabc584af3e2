"""Which value goes to which figure, row and column."""

from collections import Counter

from rrmbench.columns import FACETS
from rrmbench.errors import RrmbenchError, nearest
from rrmbench.keys import owner
from rrmbench.report import naming

SYMBOLS = {"strength": "λ", "sigma": "σ", "mu": "μ", "gamma": "γ", "kappa": "κ"}


def facets(found, plot):
    """Return {"rows": keys, "columns": keys, "figure": keys}, each a tuple, as the `plot:` section asks.

    Without any of the three, data sets go to columns, the first varying parameter of the regularizer to rows,
    and everything else that makes a different problem to figures of its own.
    """
    asked = {facet: _as_tuple(plot.get(facet)) for facet in FACETS}
    if any(asked.values()):
        if found:  # an experiment without a run that has ended has no keys
            _check(asked, found)
        return asked
    differ = [k for k in naming.varying(run.keys for run in found) if owner(k) in naming.PROBLEM]
    columns = ("dataset",) if "dataset" in differ else ()
    rows = tuple(k for k in differ if k.startswith("regularizer."))[:1]
    tied = _determined(found, columns)
    figure = tuple(k for k in differ if k not in columns + rows and k not in tied)
    return {"rows": rows, "columns": columns, "figure": figure}


def _determined(found, by):
    """Return the keys that have one value for each value of the keys `by` (scale, given the data set)."""
    keys = {key for run in found for key in run.keys}
    values = {}
    for run in found:
        for key in keys:
            values.setdefault(key, {}).setdefault(place(run, by), set()).add(repr(run.keys.get(key)))
    return {key for key, seen in values.items() if all(len(v) == 1 for v in seen.values())}


def _as_tuple(keys):
    return () if keys is None else (keys,) if isinstance(keys, str) else tuple(keys)


def _check(asked, found):
    known = dict.fromkeys(key for run in found for key in run.keys)
    for facet, keys in asked.items():
        for key in keys:
            if key not in known:
                there = ", ".join(known)
                raise RrmbenchError(
                    f"plot.{facet}: no run has the key '{key}'{nearest(key, known)} (there are: {there})"
                )


def place(run, facet_keys):
    """Return the values that place a run along one facet."""
    return tuple(run.keys.get(key) for key in facet_keys)


def groups(found, facet_keys):
    """Return {place: runs}; numbers fall or rise as the first two do, anything else comes as it appears."""
    grouped = {}
    for run in found:
        grouped.setdefault(place(run, facet_keys), []).append(run)
    return {values: grouped[values] for values in _ordered(list(grouped))}


def _ordered(places):
    if not all(isinstance(value, (int, float)) for values in places for value in values):
        return places
    return sorted(places, reverse=len(places) > 1 and places[0] > places[1])


def cells(found, rows, columns):
    """Return {(row, column): runs}, of what stands in one panel."""
    by_row, by_column = list(groups(found, rows)), list(groups(found, columns))
    placed = {}
    for run in found:
        at = by_row.index(place(run, rows)), by_column.index(place(run, columns))
        placed.setdefault(at, []).append(run)
    return placed


def packed(panels):
    """Return ({(row, column): panel}, number of rows, number of columns).

    Where the full grid would have holes, because each data set has strengths of its own or a panel has nothing to
    show, the panels of each column (or of each row, if that takes less room) close ranks.
    """
    if len(panels) < _area(panels):
        panels = min(_closed(panels, 0), _closed(panels, 1), key=_area)
    return panels, 1 + max(r for r, _ in panels), 1 + max(c for _, c in panels)


def wrapped(panels, columns):
    """Return what `packed` does, the panels row by row in at most so many columns."""
    widest = 1 + max(c for _, c in panels)
    if widest <= columns:
        return packed(panels)
    return packed({divmod(number, columns): panels[at] for number, at in enumerate(sorted(panels))})


def _closed(cells, along):
    """Move the panels along one axis so that each line of panels has no holes."""
    closed, filled = {}, {}
    for at in sorted(cells):
        line = at[1 - along]
        rank = filled[line] = filled.get(line, -1) + 1
        closed[(rank, line) if along == 0 else (line, rank)] = cells[at]
    return closed


def _area(cells):
    return (1 + max(r for r, _ in cells)) * (1 + max(c for _, c in cells))


def titles(runs, facet_keys):
    """Return ["covtype, λ = 1e-5", ...]: the values of each run at the given keys, in full where they read the same."""
    return naming.told_apart(lambda run, write: _title(run, facet_keys, write), list(runs))


def _title(run, facet_keys, write):
    ordered = [key for key in run.keys if key in facet_keys]
    return ", ".join(_named(key, run.keys[key], " = ", write) for key in ordered)


def _named(key, value, equals, write=naming.short):
    kind, _, parameter = key.rpartition(".")
    named = kind or key == "seed"  # whose value says nothing alone
    return f"{SYMBOLS.get(parameter, parameter)}{equals}{write(value)}" if named else write(value)


def labels(series):
    """Return {one: "apcg + regularize σ=1e-3"} of all series of a figure.

    Values are short, and in full where labels would be the same. The solver is left out where there is one only, under
    reductions.
    """
    reduced = any(one.reduction != "none" for one in series)
    show_solver = len({one.solver for one in series}) > 1 or not reduced
    plain = "no reduction" if reduced else "defaults"
    found = {one: _label(one, show_solver, naming.short, plain) for one in series}
    numbers = Counter(found.values())
    return {one: label if numbers[label] == 1 else _label(one, show_solver, str, plain) for one, label in found.items()}


def _label(series, show_solver, write, plain):
    """The label of one series, `plain` where it has no name and no parameter that differs from others."""
    keys = dict(series.keys)
    parts = []
    for kind in ("solver", "reduction"):
        inside = [_named(k, v, "=", write) for k, v in keys.items() if k.startswith(kind + ".")]
        hidden = kind == "solver" and not show_solver
        name = [keys[kind]] if keys.get(kind, "none") != "none" and not (hidden and not inside) else []
        if name or inside:
            parts.append(" ".join(name + inside))
    rest = [_named(k, v, "=", write) for k, v in keys.items() if owner(k) in naming.PROBLEM]
    method = " + ".join(parts)
    return (", ".join(part for part in (method, *rest) if part) or plain) + naming.origins(keys)
