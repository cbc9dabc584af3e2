"""Whether stored results are true: every claim recomputed from the source data, the final arrays and the trace."""

import math
import warnings
from dataclasses import dataclass, field
from functools import lru_cache

from rrmbench import crashes
from rrmbench.bench.bounds import NOTHING, Bounds, best_of, bounds
from rrmbench.bench.environment import is_id_of
from rrmbench.bench.store import UnreadableFile, experiments
from rrmbench.errors import RrmbenchError, RrmbenchWarning
from rrmbench.keys import keys
from rrmbench.problem.certificate import contradict
from rrmbench.report import audit, claims, naming
from rrmbench.report.recompute import TOLERANCE
from rrmbench.report.results import StoredRun, runs_of


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
    prepare, digests = lru_cache(maxsize=4)(audit.prepared_anew), audit.Digests.remembered()
    several = len(listed := experiments(path)) > 1
    for experiment in listed:
        try:
            found = runs_of(experiment, referred=False)
        except UnreadableFile as error:
            yield Verdict(f"experiment {experiment.name}", "WRONG", why=str(error))
            continue
        if several and not found:
            warnings.warn(f"{experiment.directory}: no run has ended yet", RrmbenchWarning, stacklevel=2)
        yield from _Checked(experiment, trust, prepare, digests).verdicts(found)


@dataclass
class _Checked:
    """An experiment under verification, with what its results told of each problem."""

    experiment: object
    trust: bool
    prepare: object  # `audit.prepared_anew` with a memory
    digests: audit.Digests
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
        yield from self._environments()
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
            found = audit.recomputed(result, self.trust, self.prepare, self.digests)
        except UnreadableFile as error:
            return Verdict(label, "WRONG", why=str(error))
        except RrmbenchError as error:
            return Verdict(label, "unverified", why=str(error))
        except OSError as error:  # of this machine: a full disk, say
            return Verdict(label, "unverified", why=f"{type(error).__name__}: {error}")
        except Exception as error:  # whatever forged shapes and parameters make the mathematics raise
            return Verdict(label, "WRONG", why=f"cannot be recomputed ({crashes.text_of(error)})")
        of = found.size, found.rounding
        if result.status == "failed":  # for a contradiction, which is then not the reference's
            self.failed.setdefault(result.problem, []).append((label, *bounds(result.trace), *of))
        else:
            self.truths.setdefault(result.problem, []).append((found.primal, found.dual, *of))
        state, note = ("WRONG", "") if found.wrong or found.error > TOLERANCE else ("ok", found.note)
        return Verdict(label, state, found.primal, found.dual, found.error, "; ".join(found.wrong), note)

    def _contradictions(self, problem, known):
        """Runs that are said to have failed by the bound of another one, and which no bound here contradicts."""
        others = [(P, D) for P, D, *_ in self.truths.get(problem, [])]
        others.append((known.get("primal", math.inf), known.get("dual", -math.inf)))
        for label, primal, dual, *of in self.failed.get(problem, []):
            if not any(contradict(primal, D, *of) or contradict(P, dual, *of) for P, D in others):
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

    def _environments(self):
        """Machines and versions: the id of each is the digest of its record, but for one that nobody could ask for."""
        for name, facts in (self.experiment.manifest().get("environments") or {}).items():
            if facts != {} and not is_id_of(name, facts):
                yield Verdict(f"environment {name}", "WRONG", why="its record is not that which it is named after")

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
        if any(contradict(primal, known["dual"], *of) for primal, _, *of in truths):
            wrong.append("its dual value is above an objective that was recomputed")
        if any(contradict(known["primal"], dual, *of) for _, dual, *of in truths):
            wrong.append("its primal value is below a dual value that was recomputed")
        told = known.get("rounding", 0.0)
        if truths and all(claims.is_too_coarse(told, known["primal"], *of) for _, _, *of in truths):
            wrong.append(f"its rounding, {told:g}, is that of no run that is here")
        if wrong:
            yield Verdict(f"reference {problem}", "WRONG", known["primal"], known["dual"], why="; ".join(wrong))
