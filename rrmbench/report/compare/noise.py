"""How far seconds can be trusted: how they vary, what else was running, and on which machines."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rrmbench.errors import printable
from rrmbench.report.compare.pairs import Pair
from rrmbench.report.results import StoredRun
from rrmbench.report.spreads import spread


@dataclass(frozen=True)
class Noise:
    """The timing of one side of a comparison.

    spread : (upper - lower quartile) / median of the seconds per pass, over the seeds of a case, in the median over
        cases; NaN where no case has two seeds
    repeats : the greatest relative spread over repeats of one run (`run --timing`); NaN where no run was repeated
    concurrent : the greatest number of runs that were timed at the same time; alone : the least; None if unknown
    environments : the records of machine and versions; codes : the digests of the code
    """

    spread: float
    repeats: float
    concurrent: int | None
    alone: int | None
    environments: frozenset[str]
    codes: frozenset[str]


def noise(runs: Sequence[StoredRun], cases: Sequence) -> Noise:
    """Return the Noise of runs, which belong to the `cases`."""
    grouped: dict = {}
    for run, case in zip(runs, cases, strict=True):
        grouped.setdefault(case, {})[run.result.run] = _pace(run)
    varied = [_relative(list(paces.values())) for paces in grouped.values()]
    repeats = [float(run.result.info["timing"]["spread"]) for run in runs if run.result.info.get("timing")]
    together = [run.result.info["concurrent_runs"] for run in runs if run.result.info.get("concurrent_runs")]
    return Noise(
        spread=spread([value for value in varied if np.isfinite(value)]).median,
        repeats=max(repeats, default=np.nan),
        concurrent=max(together, default=None),
        alone=min(together, default=None),
        environments=frozenset(run.result.info["environment"] for run in runs if run.result.info.get("environment")),
        codes=frozenset(printable(run.result.code) for run in runs if run.result.code),
    )


def of_sides(pairs: Sequence[Pair]) -> tuple[Noise, Noise]:
    """Return the Noise of A and of B."""
    cases = [pair.case for pair in pairs]
    return noise([pair.a for pair in pairs], cases), noise([pair.b for pair in pairs], cases)


def _pace(run):
    """Seconds per pass, or per trace point for a black box; NaN for a run that got nowhere."""
    if not run.result.points:
        return np.nan
    seconds, passes = float(run.column("seconds")[-1]), float(run.column("passes")[-1])
    return seconds / (passes if passes > 0.0 else max(run.result.points - 1, 1))


def _relative(paces):
    paces = [pace for pace in paces if np.isfinite(pace) and pace > 0.0]
    found = spread(paces)
    return (found.high - found.low) / found.median if len(paces) > 1 else np.nan
