"""One stored result with final arrays, against what is recomputed of it from its source data."""

import json
import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from rrmbench import data, registry
from rrmbench.bench import identity
from rrmbench.bench.bounds import bounds, size_of
from rrmbench.bench.metrics import metrics_of, model_of
from rrmbench.bench.problems import problem_of
from rrmbench.columns import METRICS
from rrmbench.keys import nested
from rrmbench.problem.certificate import contradict
from rrmbench.problem.labels import mode_of
from rrmbench.problem.pairs import held_to_pairs
from rrmbench.problem.traits import build_loss
from rrmbench.report import claims, recompute
from rrmbench.report.recompute import TOLERANCE
from rrmbench.report.resources import UNCHECKED_PAIR

METRIC_TOLERANCE = 1e-9
OTHER_CODE = "the digest of its code, which is not the code that is here"
PAIRS = "loss", "regularizer"  # components with a conjugate
BEGINNING = 1e4  # times the terms of P and D at the end of a run, above which its start is looked at


class Recomputed(NamedTuple):
    """P(w) and D(b), NaN where there is none, their greatest relative error as recorded, the size and rounding of both.

    wrong : texts, one for each claim that does not follow
    note : what is not proven, or ""
    """

    wrong: list
    primal: float = math.nan
    dual: float = math.nan
    error: float = 0.0
    note: str = ""
    size: float = 0.0
    rounding: float = 0.0


class Digests(NamedTuple):
    """Functions that digest code and keep what they found: `identity.code_behind` and `identity.Identities.codes`."""

    code_behind: Callable
    codes: Callable

    @classmethod
    def remembered(cls):
        return cls(cache(identity.code_behind), identity.Identities().codes)


def recomputed(result, trust, prepare, digests):
    """The Recomputed of a result with a final w; what cannot be recomputed raises.

    prepare : `prepared_anew`, or this with a memory
    digests : Digests
    trust : whether plug-in files are loaded
    """
    spec, wrong = result.spec, []
    if trust:
        identity.load_plugins(spec)
    loss, _ = registry.from_mapping("loss", spec["loss"])
    prepared = prepare(identity.canonical(spec["dataset"]), mode_of(loss.needs))
    if prepared.checksum != result.data:
        return Recomputed(["the data file has changed since"])
    if all(identity.spec_id(spec, prepared.checksum, placed=placed) != result.spec_id for placed in (False, True)):
        wrong.append("spec_id is not that of the spec")
    code = identity.code_of(spec, digests.code_behind)
    same_code = code[:8] == result.code[:8]
    if same_code and (
        code != result.code or identity.problem_id(spec, prepared.checksum, digests.code_behind) != result.problem
    ):
        wrong.append("code or problem is not that of the spec")
    if same_code and "codes" in result.info and result.info["codes"] != digests.codes(spec):
        wrong.append("codes are not those of its components")
    for name, shape in zip("wb", recompute.shapes(prepared, spec), strict=True):
        array = getattr(result, name)
        if array is not None and (array.dtype != np.float64 or array.shape != shape):
            wrong.append(f"{name} is {array.dtype} {array.shape}, not float64 {shape}")
            return Recomputed(wrong)
    if same_code:
        wrong += _undeclared(result, trust)
    unchecked = ""
    if any(spec[kind].get("path") for kind in PAIRS):
        pairs = held_to_pairs(problem_of(spec, prepared), *(spec[kind]["name"] for kind in PAIRS))
        wrong += [pairs.broken] if pairs.broken else []
        if pairs.unchecked:
            unchecked = f"{UNCHECKED_PAIR}: {pairs.unchecked}"
    found = _compared(prepared, result, wrong, same_code)
    return found._replace(note="; ".join(filter(None, (found.note, unchecked, "" if same_code else OTHER_CODE))))


def _undeclared(result, trust):
    """What the header says of the solver that its declaration does not; nothing of a plug-in that is not loaded."""
    parts = [part for kind in ("solver", "reduction") for part in nested(result.spec[kind])]
    if any("path" in part for part in parts) and not trust:
        return []
    solver = registry.build_solver(result.spec["solver"], result.spec["reduction"])
    declared = {"deterministic": solver.deterministic, "restarts": solver.declared["restarts"]}
    return [
        f"{name} is not what its solver declares"
        for name, told in declared.items()
        if told != bool(result.info.get(name))
    ]


def _compared(prepared, result, wrong, same_code):
    last = {name: float(column[-1]) for name, column in result.trace.items()}
    P, dual_error, D, note, spec, sizes = math.nan, 0.0, math.nan, "", result.spec, [0.0]
    if result.b is not None:
        untrue, note = recompute.unproven(prepared, result.spec, result.b)
        if untrue:
            wrong.append(f"b: {untrue}")
        D, size = recompute.dual(prepared, spec, result.b)
        sizes.append(size)
        dual_error = recompute.difference(last["dual"], D, size)
        if TOLERANCE < dual_error < math.inf:
            size += recompute.unsure_of_dual(prepared, spec, result.b)
            dual_error = recompute.difference(last["dual"], D, size)
    elif last["dual"] != -math.inf:
        wrong.append("a dual value without b")
    error = dual_error
    if result.status == "diverged":  # what is not finite has no digits to compare
        if np.isfinite(result.w).all() and math.isfinite(_objective(prepared, result)[0]):
            wrong.append("diverged, with a finite P(w)")
    else:
        P, size = _objective(prepared, result)
        sizes.append(size)
        off = recompute.difference(last["primal"], P, size)
        if TOLERANCE < off < math.inf:
            off = recompute.difference(last["primal"], P, size + recompute.unsure_of_outputs(prepared, spec, result.w))
        error = max(error, off)
    size = _size(prepared, result, max(filter(math.isfinite, sizes)))
    rounding = recompute.rounding(prepared, spec, result.w, result.b)
    if contradict(P, D, size, rounding):
        wrong.append("P(w) is below D(b)")
    wrong += claims.contradictions(result.trace, P, D, size, rounding)
    told, least = result.info.get("rounding", 0.0), bounds(result.trace)[0]
    if claims.is_too_coarse(told, least, size, rounding):
        wrong.append(f"rounding is {told:g}, of w and b {rounding:g}")
    if last["nonzeros"] != np.count_nonzero(result.w):
        wrong.append(f"nonzeros is {last['nonzeros']:g}, of w {np.count_nonzero(result.w)}")
    wrong = wrong + _metrics(prepared, result, last, same_code, P)
    return Recomputed(wrong, P, D, error, note, size, rounding)


def _size(prepared, result, ended):
    """The size of the terms of P and D, in whose rounding these may lie: what the trace says, unless it is far more.

    A trace that says so is held against w = 0. ended : of the terms at the end
    """
    size = size_of(result.trace)
    if size <= BEGINNING * ended:
        return size
    start = np.zeros(recompute.shapes(prepared, result.spec)[0])
    value, terms = recompute.primal(prepared, result.spec, start)
    return min(size, max(ended, terms)) if math.isfinite(value) else size


def _objective(prepared, result):
    try:
        return recompute.primal(prepared, result.spec, result.w)
    except OverflowError:  # of Python's own arithmetic, where numpy's gives inf
        return math.inf, math.inf


def _metrics(prepared, result, last, same_code, P):
    if not np.isfinite(result.w).all():
        return []
    loss, _ = build_loss(result.spec["loss"])
    found = None
    if recompute.minimizes_bias(result.spec):
        # where many minimize P, the compiled search chooses; what it names is tested here
        problem = problem_of(result.spec, prepared)
        found = problem.beta(problem.X.forward(result.w))
        there, size = recompute.primal(prepared, result.spec, result.w, found)
        if math.isfinite(P) and recompute.difference(there, P, size) > TOLERANCE:
            return [f"the bias {found:g} of the metrics does not minimize P"]
    b = np.zeros(recompute.shapes(prepared, result.spec)[1]) if result.b is None else result.b
    metrics = metrics_of(prepared, getattr(loss, "predict", None), None if found is None else lambda z: found)
    true = metrics(model_of(loss, result.w, b))
    recorded = {name: last.get(name, math.nan) for name in true if same_code or name in last}  # older ones had fewer
    wrong = [name for name in recorded if not math.isclose(recorded[name], true[name], abs_tol=METRIC_TOLERANCE)]
    unfounded = [name for name in METRICS if name not in true and not np.isnan(result.trace.get(name, math.nan)).all()]
    found = [f"{name} is {recorded[name]:g}, of w {true[name]:g}" for name in wrong]
    return found + [f"{name} is there, which these data and this loss have none of" for name in unfounded]


def prepared_anew(block, mode):
    """The data of a `dataset:` block (JSON), prepared anew from their source."""
    return data.from_source(json.loads(block), mode)
