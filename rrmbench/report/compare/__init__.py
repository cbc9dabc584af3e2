"""`rrmbench compare`: how many times the passes and seconds of B does A need, and how sure is that?

pairs (which run stands against which) -> outcomes (who reaches a level, what ratios) -> verdicts, tables.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rrmbench.errors import listed
from rrmbench.report import plug_ins
from rrmbench.report.compare import codes, verdicts
from rrmbench.report.compare.noise import Noise, of_sides
from rrmbench.report.compare.outcomes import Outcome, outcomes, telling
from rrmbench.report.compare.pairs import Pairing, Side, pair
from rrmbench.report.levels import CERTIFIED_GAPS, Levels

_MOST = 3  # runs, problems and methods that a sentence names; the rest is counted


@dataclass(frozen=True, eq=False)
class Comparison:
    """All that is known of A against B.

    outcomes : one per level, over all pairs; methods : (label, number of pairs, Outcome at the tightest level that is
        reached often, or None) of each method, where there are several
    verdicts : sentences on passes and seconds; sentences : these, and what stands behind them
    """

    pairing: Pairing
    levels: Levels
    outcomes: list[Outcome]
    methods: list[tuple[str, int, Outcome | None]]
    noise: tuple[Noise, Noise]
    verdicts: list[str]
    sentences: list[str]


def compare(a: Side, b: Side, levels: Levels = CERTIFIED_GAPS, only: Sequence[str] = ()) -> Comparison:
    """Compare two sides run by run. Raises RrmbenchError where they have no pair, see `pairs.pair`."""
    pairing = pair(a, b, levels, only)
    found = outcomes(pairing.pairs, levels)
    noise = of_sides(pairing.pairs)
    told = telling(found)
    said = [verdicts.verdict(told, cost, levels.name) for cost in ("passes", "seconds")] if told else []
    said = said or [_none(found, levels)]
    sentences = said + _behind(pairing, found, told, noise, levels)
    return Comparison(pairing, levels, found, _methods(pairing, levels), noise, said, sentences)


def _methods(pairing, levels):
    grouped = pairing.by_method()
    if len(grouped) < 2:
        return []
    return [(label, len(pairs), telling(outcomes(pairs, levels))) for label, pairs in grouped.items()]


def _none(found, levels):
    """The sentence where no level has a pair of which both sides come there."""
    loosest = found[0]
    if loosest.at_start:
        return f"no ratio: {verdicts.start(loosest, levels.name)}"
    late = next((one for one in reversed(found) if one.at_end), None)
    if late:
        return f"no ratio: {verdicts.reach(late, levels.name)}"
    told = next((one for one in reversed(found) if one.only_a + one.only_b), loosest)
    return f"no level is reached by both sides of a pair; {verdicts.reach(told, levels.name)}"


def _behind(pairing, found, told, noise, levels):
    """What stands behind the verdicts: how they were made, what is not in them, what to beware of."""
    timed = told is not None and told.ratios["seconds"] is not None
    lines = []
    if told:
        lines += [verdicts.reach(told, levels.name), verdicts.late(found, levels.name), verdicts.rough(told)]
        lines.append(verdicts.method(told.ratios["seconds"]))
    for side, other in ("A", "B"), ("B", "A"):
        if searched := pairing.searched[side]:
            lines.append(f"{side} is tuned, and its search not in the ratios: {listed(searched, _MOST)}")
        alone = pairing.alone[side]
        if alone:
            lines.append(f"{_runs(alone)} of {side} without counterpart in {other}: {listed(alone, _MOST)}")
        bad = Counter(run.status for run in pairing.runs(side) if run.status != "done")
        if bad:
            ended = ", ".join(f"{count} {status}" for status, count in bad.items())
            lines.append(f"{side}: not done: {ended}; such a run counts for the levels that it came to")
    if pairing.other_data:
        lines.append(f"left out, as their data are not the same in A and B: {listed(pairing.other_data, _MOST)}")
    if levels.quantity == "gap":
        without = [label for label, pairs in pairing.by_method().items() if not _certified(pairs)]
        if without:
            lines.append(f"no certified gap: {listed(without, _MOST)}; --y suboptimality measures them")
    lines += codes.told(pairing.pairs)
    lines += plug_ins.told([run for side in ("A", "B") for run in pairing.runs(side)])
    return [line for line in [*lines, *(verdicts.cautions(*noise) if timed else ())] if line]


def _runs(names):
    return f"{len(names)} run{'s' * (len(names) != 1)}"


def _certified(pairs):
    """Whether every run has a finite gap, or no trace point, so that nothing is known."""
    runs = (run for one in pairs for run in (one.a, one.b))
    return all(not run.result.points or np.isfinite(run.column("gap")).any() for run in runs)
