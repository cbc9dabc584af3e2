"""Whether stored results are true: every claim recomputed from the source data, the final arrays and the trace."""

import json
import math
import warnings
from dataclasses import dataclass, field
from functools import cache, lru_cache

import numpy as np

from rrmbench import crashes, data, registry
from rrmbench.bench import identity
from rrmbench.bench.bounds import NOTHING, Bounds, best_of, bounds, size_of
from rrmbench.bench.metrics import metrics_of, model_of
from rrmbench.bench.problems import problem_of
from rrmbench.bench.store import UnreadableFile, experiments
from rrmbench.columns import METRICS
from rrmbench.errors import RrmbenchError, RrmbenchWarning
from rrmbench.keys import keys, nested
from rrmbench.problem.certificate import contradict
from rrmbench.problem.labels import mode_of
from rrmbench.problem.pairs import held_to_pairs
from rrmbench.problem.traits import build_loss
from rrmbench.report import claims, naming, recompute
from rrmbench.report.recompute import TOLERANCE
from rrmbench.report.resources import UNCHECKED_PAIR
from rrmbench.report.results import StoredRun, runs_of

METRIC_TOLERANCE = 1e-9
PAIRS = "loss", "regularizer"  # components with a conjugate
BEGINNING = 1e4  # times the terms of P and D at the end of a run, above which its start is looked at


@dataclass(frozen=True)
class Verdict:
    """One result: the recomputed P(w) and D(b), NaN where there is none, and their greatest relative error as recorded.

    state : "ok", "WRONG", "unverified" (`why` says so), or "none" for a run that ended without final arrays
    note : what cannot be recomputed of a result that is ok
    """

    label: str
    state: str
    primal: float = math.nan
    dual: float = math.nan
    error: float = 0.0
    why: str = ""
    note: str = ""

    @property
    def ok(self):
        return self.state in ("ok", "none")


def verify(path, trust=False):
    """Yield a Verdict for every result at `path`, every file that cannot be read, and every reference that is wrong.

    The results are the newest of each spec of the manifest and those that references name. `trust` loads the
    plug-in files that they name, which without it are unverified.
    """
    prepare, code_behind = lru_cache(maxsize=4)(_prepared), cache(identity.code_behind)
    several = len(listed := experiments(path)) > 1
    for experiment in listed:
        try:
            found = runs_of(experiment, referred=False)
        except UnreadableFile as error:
            yield Verdict(f"experiment {experiment.name}", "WRONG", why=str(error))
            continue
        if several and not found:
            warnings.warn(f"{experiment.directory}: no run has ended yet", RrmbenchWarning, stacklevel=2)
        yield from _Checked(experiment, trust, prepare, code_behind).verdicts(found)


@dataclass
class _Checked:
    """An experiment under verification, with what its results told of each problem."""

    experiment: object
    trust: bool
    prepare: object  # _prepared with a memory
    code_behind: object  # `identity.code_behind` with a memory
    seen: set = field(default_factory=set)
    truths: dict = field(default_factory=dict)  # problem: [(P(w), D(b), size)] recomputed
    failed: dict = field(default_factory=dict)  # problem: [(label, least P, greatest D, size)], failed by other runs
    stored: dict = field(default_factory=dict)  # problem: [Bounds] of the stored runs that are not wrong

    def verdicts(self, found):
        for run in found:
            verdict = self._verdict(run, naming.run(run.keys))
            yield verdict
            if verdict.state != "WRONG":
                self._note(run.result)
        yield from self._manifest({run.result.run: run.result for run in found})
        damaged = {}
        for name in sorted(self.experiment.run_ids() - self.seen):
            try:
                self._note(self.experiment.read(name))
            except UnreadableFile as error:
                damaged[name] = str(error)
        for problem in dict.fromkeys(run.result.problem for run in found):
            try:
                known = self.experiment.reference(problem)
            except UnreadableFile as error:
                yield Verdict(f"reference {problem}", "WRONG", why=str(error))
                continue
            if known is not None:
                yield from self._reference(problem, known)
            elif best_of(self.stored.get(problem, []))[0] != NOTHING:
                yield Verdict(f"reference {problem}", "unverified", why="its file is missing; `run` writes it again")
            yield from self._contradictions(problem, known or {})
        for name, why in damaged.items():
            yield Verdict(f"run {name}", "WRONG", why=why)

    def _note(self, result):
        self.stored.setdefault(result.problem, []).append(Bounds.of(result))

    def _verdict(self, run, label):
        result = run.result
        self.seen.add(result.run)
        if result.unreadable:
            return Verdict(label, "WRONG", why=result.reason)
        try:
            if wrong := claims.faults(result):
                return Verdict(label, "WRONG", why="; ".join(wrong))
            if result.info.get("contradiction"):
                return Verdict(label, "WRONG", why=result.reason)
            if result.w is None:
                return Verdict(label, "none")
            primal, dual, error, wrong, note, size = _recomputed(result, self.trust, self.prepare, self.code_behind)
        except UnreadableFile as error:
            return Verdict(label, "WRONG", why=str(error))
        except RrmbenchError as error:
            return Verdict(label, "unverified", why=str(error))
        except OSError as error:  # of this machine: a full disk, say
            return Verdict(label, "unverified", why=f"{type(error).__name__}: {error}")
        except Exception as error:  # whatever forged shapes and parameters make the mathematics raise
            return Verdict(label, "WRONG", why=f"cannot be recomputed ({crashes.text_of(error)})")
        if result.status == "failed":  # for a contradiction, which is then not the reference's
            self.failed.setdefault(result.problem, []).append((label, *bounds(result.trace), size))
        else:
            self.truths.setdefault(result.problem, []).append((primal, dual, size))
        state = "WRONG" if wrong or error > TOLERANCE else "ok"
        return Verdict(label, state, primal, dual, error, "; ".join(wrong), note if state == "ok" else "")

    def _contradictions(self, problem, known):
        """Runs that are said to have failed by the bound of another one, and which no bound here contradicts."""
        others = [(P, D) for P, D, _ in self.truths.get(problem, [])]
        others.append((known.get("primal", math.inf), known.get("dual", -math.inf)))
        for label, primal, dual, size in self.failed.get(problem, []):
            if not any(contradict(primal, D, size) or contradict(P, dual, size) for P, D in others):
                yield Verdict(label, "WRONG", primal, dual, why="failed by a bound that nothing here has; run it again")

    def _manifest(self, stored):
        """What the manifest says of runs that their records do not; a run of other code has another name."""
        for entry in self.experiment.manifest()["runs"]:
            try:
                result = stored.get(entry["run"]) or self.experiment.read(entry["run"])
            except UnreadableFile:  # told as such where it is there
                continue
            if any(entry[name] != getattr(result, name) for name in ("spec_id", "problem", "spec")):
                yield Verdict(f"run {entry['run']}", "WRONG", why="the manifest says another spec or problem of it")

    def _reference(self, problem, known):
        wrong = ["it is of another problem"] if known.get("problem") != problem else []
        for kind, number in (("primal", 0), ("dual", 1)):
            if not math.isfinite(known[kind]):
                continue
            name = known.get(f"{kind}_run")
            try:
                result = self.experiment.read(f"{name}")
            except UnreadableFile as error:
                wrong.append(f"its {kind} value is of no run that is here ({error})")
                continue
            if result.run not in self.seen:
                yield self._verdict(
                    StoredRun(self.experiment.name, result, keys(result.spec), None), f"reference run {name}"
                )
            if result.problem != problem or bounds(result.trace)[number] != known[kind]:
                wrong.append(f"its {kind} value {known[kind]:.12g} is not that of run {name}")
        best, _ = best_of(self.stored.get(problem, []), known)
        better = [kind for kind in ("primal", "dual") if best[kind] != known[kind]]
        wrong += [f"run {best[f'{kind}_run']} has a better {kind} value, {best[kind]:.12g}" for kind in better]
        truths = self.truths.get(problem, [])
        if any(contradict(primal, known["dual"], size) for primal, _, size in truths):
            wrong.append("its dual value is above an objective that was recomputed")
        if any(contradict(known["primal"], dual, size) for _, dual, size in truths):
            wrong.append("its primal value is below a dual value that was recomputed")
        if wrong:
            yield Verdict(f"reference {problem}", "WRONG", known["primal"], known["dual"], why="; ".join(wrong))


def _recomputed(result, trust, prepare, code_behind):
    """(P(w), D(b), the greatest relative error, what is wrong, what is not proven, the size of the terms of P and D).

    Of a result with a final w.
    """
    spec, wrong = result.spec, []
    if trust:
        identity.load_plugins(spec)
    loss, _ = registry.from_mapping("loss", spec["loss"])
    prepared = prepare(identity.canonical(spec["dataset"]), mode_of(loss.needs))
    if prepared.checksum != result.data:
        return math.nan, math.nan, 0.0, ["the data file has changed since"], "", 0.0
    if all(identity.spec_id(spec, prepared.checksum, placed=placed) != result.spec_id for placed in (False, True)):
        wrong.append("spec_id is not that of the spec")
    code = identity.code_of(spec, code_behind)
    if code[:8] == result.code[:8] and (
        code != result.code or identity.problem_id(spec, prepared.checksum, code_behind) != result.problem
    ):
        wrong.append("code or problem is not that of the spec")
    for name, shape in zip("wb", recompute.shapes(prepared, spec), strict=True):
        array = getattr(result, name)
        if array is not None and (array.dtype != np.float64 or array.shape != shape):
            wrong.append(f"{name} is {array.dtype} {array.shape}, not float64 {shape}")
            return math.nan, math.nan, 0.0, wrong, "", 0.0
    if code[:8] == result.code[:8]:
        wrong += _undeclared(result, trust)
    unchecked = ""
    if any(spec[kind].get("path") for kind in PAIRS):
        pairs = held_to_pairs(problem_of(spec, prepared), *(spec[kind]["name"] for kind in PAIRS))
        wrong += [pairs.broken] if pairs.broken else []
        if pairs.unchecked:
            unchecked = f"{UNCHECKED_PAIR}: {pairs.unchecked}"
    *found, note, size = _compared(prepared, result, wrong, code[:8] == result.code[:8])
    return *found, "; ".join(filter(None, (note, unchecked))), size


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
    if contradict(P, D, size):
        wrong.append("P(w) is below D(b)")
    wrong += claims.contradictions(result.trace, P, D, size)
    if last["nonzeros"] != np.count_nonzero(result.w):
        wrong.append(f"nonzeros is {last['nonzeros']:g}, of w {np.count_nonzero(result.w)}")
    return P, D, error, wrong + _metrics(prepared, result, last, same_code, P), note, size


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


def _prepared(block, mode):
    """The data of a `dataset:` block (JSON), prepared anew from their source."""
    return data.from_source(json.loads(block), mode)
