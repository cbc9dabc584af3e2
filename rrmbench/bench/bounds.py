"""Bounds on the optimum of a problem: what a run says, and the best of many runs, on which a reference rests."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rrmbench.bench.result import Result
from rrmbench.problem.certificate import BELOW, SLACK, contradict, size_of_terms

Columns = Mapping[str, np.ndarray]
NOTHING = {"primal": math.inf, "dual": -math.inf}  # a reference that rests on no run


class Bounds(NamedTuple):
    """The least P and the greatest D of a run, infinite where it has none, the `size_of` its trace, and its rounding.

    rounding : by which P and D may be off, `certificate.rounding_of`
    failed : whether the run failed, as one does whose bounds contradict those of others
    """

    run: str | None
    primal: float = math.inf
    dual: float = -math.inf
    size: float = 0.0
    rounding: float = 0.0
    failed: bool = False

    @classmethod
    def of(cls, result: Result) -> "Bounds":
        """What a stored run says of the optimum of its problem; nothing if it does not certify."""
        said = cls(result.run, failed=result.status == "failed")
        if not result.certifies:
            return said
        primal, dual = bounds(result.trace)
        rounding = result.info.get("rounding", 0.0)
        return said._replace(primal=primal, dual=dual, size=size_of(result.trace), rounding=rounding)


def bounds(trace: Columns) -> tuple[float, float]:
    """(the least finite primal, the greatest finite dual) of a trace; inf and -inf where there is none."""
    primal, dual = (np.asarray(trace.get(name, ()), dtype=float) for name in ("primal", "dual"))
    shown = np.isfinite(primal)
    dual = dual[shown & np.isfinite(dual)] if len(dual) == len(primal) else np.empty(0)
    return float(primal[shown].min(initial=math.inf)), float(dual.max(initial=-math.inf))


def size_of(trace: Columns) -> float:
    """That of the terms of P and D in a trace, in whose rounding these may lie; 0 where it has no start."""
    primal = np.asarray(trace.get("primal", ()), dtype=float)
    return size_of_terms(float(primal[0])) if len(primal) else 0.0


def contradiction(known: dict, found: Bounds) -> str | None:
    """What is wrong with the bounds of a run beside those of a reference, in words, or None.

    No objective may lie below a dual value by more than rounding (`certificate.contradict`), be they of one run or
    of two.
    """
    run, primal, dual = found.run, *_finite(found)
    least, of_primal = min((primal, run), (known["primal"], known.get("primal_run")), key=lambda pair: pair[0])
    greatest, of_dual = max((dual, run), (known["dual"], known.get("dual_run")), key=lambda pair: pair[0])
    if not contradict(least, greatest, found.size, max(found.rounding, known.get("rounding", 0.0))):
        return None
    of_primal, of_dual = (f"of {'this run' if name == run else f'run {name}'}" for name in (of_primal, of_dual))
    return f"P(w) = {least:.12g} {of_primal} {BELOW} D = {greatest:.12g} {of_dual}"


def improved(known: dict, found: Bounds) -> dict:
    """A reference with what the bounds of a run improve, and with this run as their origin."""
    best, (primal, dual) = dict(known), _finite(found)
    if primal < best["primal"]:
        best |= {"primal": float(primal), "primal_run": found.run}
    if dual > best["dual"]:
        best |= {"dual": float(dual), "dual_run": found.run}
    if found.rounding > max(best.get("rounding", 0.0), SLACK * abs(best["primal"])):  # less makes no difference
        best["rounding"] = found.rounding
    return best


def best_of(runs: Iterable[Bounds], known: dict = NOTHING) -> tuple[dict, dict[str | None, str]]:
    """(a reference improved by all runs in their order, {run: why} of those that contradict what came before).

    Runs that failed come last, and are left out without a word.
    """
    best: dict[str, Any] = dict(known)
    left = {}
    for found in sorted(runs, key=lambda found: found.failed):
        wrong = contradiction(best, found)
        if not wrong:
            best = improved(best, found)
        elif not found.failed:
            left[found.run] = wrong
    return best, left


def _finite(found: Bounds) -> tuple[float, float]:
    """Its primal and its dual, infinite where they are no numbers or say nothing."""
    primal = found.primal if math.isfinite(found.primal) else math.inf
    return primal, found.dual if math.isfinite(found.dual) else -math.inf
