"""A comparison as rich tables for the terminal, and as JSON."""

import json

import numpy as np

from rrmbench.report import naming
from rrmbench.report.compare.verdicts import number
from rrmbench.report.plain import finite

SCHEMA_VERSION = 1


def blocks(comparison):
    """Yield the renderables of a Comparison."""
    from rich.text import Text

    pairing, levels = comparison.pairing, comparison.levels
    for side, name in zip("AB", pairing.names, strict=True):
        yield Text(f"{side}: {name}", style="bold")
    cases, pairs = len(pairing.cases), len(pairing.pairs)
    problems = len({problem for problem, _ in pairing.cases})
    yield Text(
        f"{pairs} pair{'s' * (pairs != 1)} of runs of the same problem and seed;"
        f" {problems} problem{'s' * (problems != 1)}, {cases} case{'s' * (cases != 1)} of a problem and a method"
    )
    yield Text("")
    yield _levels(comparison.outcomes, levels)
    if comparison.methods:
        yield Text("")
        yield _methods(comparison.methods, levels)
    yield Text("")
    yield from (Text(line) for line in comparison.sentences)


def _of(levels):
    return f"{levels.quantity}{' / P(0)' if levels.relative else ''}"


def _table(*heads):
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for index, head in enumerate(heads):
        table.add_column(head, justify="left" if index == 0 else "right", overflow="fold")
    return table


def _levels(outcomes, levels):
    table = _table(_of(levels), "both", "only A", "only B", "neither", "passes A/B", "seconds A/B")
    for one in outcomes:
        counts = (one.both, one.only_a, one.only_b, one.neither)
        table.add_row(naming.short(one.level), *map(str, counts), *_ratios(one))
    return table


def _methods(methods, levels):
    from rich.text import Text

    table = _table("method", "pairs", f"to {_of(levels)}", "passes A/B", "seconds A/B")
    for label, pairs, one in methods:
        if one is None:
            table.add_row(Text(label), str(pairs), "none", "-", "-")
            continue
        both = f"{one.both}/{pairs}" if one.both < pairs else str(pairs)
        table.add_row(Text(label), both, naming.short(one.level), *_ratios(one))
    return table


def _ratios(one):
    """Those of passes and of seconds at the level of an Outcome."""
    return [_ratio(one.ratios[cost], one.both) for cost in ("passes", "seconds")]


def _ratio(found, both):
    """The ratio with its interval, bold where a difference is shown, and of how many of `both` pairs, if not of all."""
    from rich.text import Text

    if found is None:
        return Text("-")
    interval = "" if np.isnan(found.low) else f" ({number(found.low, 2)}..{number(found.high, 2)})"
    interval = " (no spread)" if found.alike else interval
    interval += f" of {found.pairs}" if found.pairs < both else ""
    return Text.assemble((number(found.estimate), "bold" if found.differs else ""), (interval, "dim"))


def as_text(comparison):
    """Return the JSON text of a Comparison; docs/reading.md describes the fields."""
    pairing, levels = comparison.pairing, comparison.levels
    content = {
        "schema_version": SCHEMA_VERSION,
        "a": pairing.names[0],
        "b": pairing.names[1],
        "levels": {"values": levels.values, "quantity": levels.quantity, "relative": levels.relative},
        "pairs": len(pairing.pairs),
        "cases": [{"problem": problem, "method": method} for problem, method in pairing.cases],
        "unpaired": {"a": pairing.alone["A"], "b": pairing.alone["B"]},
        "other_data": pairing.other_data,
        "outcomes": [_outcome(one) for one in comparison.outcomes],
        "methods": [
            {"method": label, "pairs": pairs, "outcome": one and _outcome(one)}
            for label, pairs, one in comparison.methods
        ],
        "noise": {name: _noise(one) for name, one in zip("ab", comparison.noise, strict=True)},
        "verdicts": comparison.verdicts,
        "sentences": comparison.sentences,
    }
    return json.dumps(finite(content), indent=1, allow_nan=False)


def _outcome(one):
    counts = {
        name: getattr(one, name)
        for name in ("level", "both", "only_a", "only_b", "neither", "at_start", "at_end", "grain")
    }
    return counts | {"ratios": {cost: found and _parts(found) for cost, found in one.ratios.items()}}


def _parts(found):
    names = ("estimate", "low", "high", "pairs", "cases", "over", "alike", "differs")
    return {name: getattr(found, name) for name in names}


def _noise(one):
    plain = {name: getattr(one, name) for name in ("spread", "repeats", "concurrent", "alone")}
    return plain | {"environments": sorted(one.environments), "codes": sorted(one.codes)}
