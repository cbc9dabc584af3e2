"""Running an experiment: what is missing is run, every result is stored as soon as it is there."""

import signal
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from rrmbench.bench import identity, reference
from rrmbench.bench.backends import Local
from rrmbench.bench.bounds import Bounds
from rrmbench.bench.guarded import Guarded
from rrmbench.bench.identity import Identities
from rrmbench.bench.rates import Rates, entries_of
from rrmbench.bench.store import FINAL, Experiment, Result, UnreadableFile
from rrmbench.bench.timing import untimed
from rrmbench.errors import printable
from rrmbench.keys import unplaced
from rrmbench.problem.certificate import suspects

SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP  # which end all runs, unless they are ignored
CUT_SHORT = frozenset({"interrupted", "killed"})  # from outside, which says nothing of the run


@dataclass
class Report:
    """What a call of `run_experiment` did: the statuses of its runs, and what it found."""

    directory: Path
    statuses: dict = field(default_factory=dict)
    kept: int = 0
    timed_out: int = 0  # of the kept ones
    older: int = 0
    replaced: int = 0
    skipped: list = field(default_factory=list)
    interrupted: bool = False
    lost: list = field(default_factory=list)  # ids of runs whose results cannot be read again

    @property
    def ok(self):
        return not (self.interrupted or self.lost) and all(status == "done" for status in self.statuses.values())


def run_experiment(plan, output, *, jobs, whole, progress, retry=(), fresh=False, cluster=None, timing=None):
    """Run what is missing of a Plan under `output`/<name>, but what its data are too large for; return a Report.

    whole : False keeps the manifest's other runs (the plan was cut down by `--only`)
    retry : statuses to run again beside failed, killed and interrupted ones
    fresh : run everything again
    cluster : the `rrmbench.bench.cluster.Cluster` to run on, `jobs` at a time, or None for this machine
    progress : a display as in `rrmbench.report.display`, which is closed at the end, or None
    timing : a `rrmbench.bench.timing.Timing`; runs with fewer repeats than it asks for are run again
    """
    experiment = Experiment.to_write(output, plan.name)
    identities = Identities()
    plan = plan.fitting(identities.dimensions)
    runs = list({run.run: run for run in map(identities.run, plan.runs)}.values())  # one for two copies of a file
    report = Report(experiment.directory, skipped=plan.skipped)
    with closing(Guarded(progress)) as progress, experiment.lock():
        backend = Local(jobs, timing) if cluster is None else cluster
        backend.jobs = jobs
        environments = dict([backend.environment] if backend.environment else [])
        old = _written(experiment)
        manifest = _manifest(old, plan, runs, whole, environments)
        experiment.write_manifest(manifest)
        experiment.settle_references({run.problem: run.asked for run in runs})
        known = {} if fresh else experiment.statuses(run.run for run in runs)
        if timing is not None:
            for run in untimed(experiment, known, timing.repeats):
                del known[run]
        final = FINAL - set(retry)
        missing = [run for run in runs if known.get(run.run) not in final]
        report.statuses = {run.run: known[run.run] for run in runs if known.get(run.run) in final}
        report.kept = len(report.statuses)
        report.timed_out = sum(status == "timeout" for status in report.statuses.values())
        report.older = _older(experiment, missing)
        stored = {run.partition("-")[0] for run in experiment.run_ids()}
        report.replaced = len((_asked(old) - _asked(manifest)) & stored)
        scheduler = Scheduler(experiment, plan, backend, progress, timing)
        with scheduler.interruptible():
            left = scheduler.extra(runs)
            scheduler.execute(missing, report.statuses, plan.name, left)
            scheduler.refer(runs, identities, left, scheduler.extra(runs) if missing else left)
        report.interrupted = backend.interrupted.is_set()
        report.lost = _lost(experiment, report.statuses)
        if report.lost:  # the folder may have been removed, and with it the list of what was asked for
            experiment.write_manifest(manifest)
    return report


def _written(experiment):
    """The manifest as it is; {} of none yet, or a damaged one: it is only a list of what was asked for."""
    try:
        return experiment.manifest()
    except UnreadableFile:
        return {}


def _manifest(old, plan, runs, whole, environments):
    """The manifest for the runs of a plan, with what the old one has beside them."""
    entries = {run.spec_id: run.entry | {"tuned": plan.tuned_keys(run.spec)} for run in runs}
    if not whole:
        replaced = {_method(entry["spec"]) for entry in entries.values()}
        kept = [entry for entry in old.get("runs", []) if _method(entry["spec"]) not in replaced]
        entries = {entry["spec_id"]: entry for entry in kept} | entries
    return {
        "name": plan.name,
        "config": plan.config,
        "plot": plan.plot,
        "runs": list(entries.values()),
        "skipped": [{"spec": spec, "reason": reason} for spec, reason in plan.skipped],
        "environments": old.get("environments", {}) | environments,
    }


def _asked(manifest):
    """The ids of the specs in a manifest."""
    return {entry["spec_id"] for entry in manifest.get("runs", ())}


def _method(spec):
    """What a run of a spec replaces in a manifest: the same method and seed, however long it ran, on whatever file."""
    return identity.canonical(unplaced({key: value for key, value in spec.items() if key not in ("stop", "trace")}))


def _lost(experiment, statuses):
    """The runs of {id: status} whose results are not there, or cannot be read, which counts as failed."""
    stored = experiment.statuses(statuses)
    return [run for run, status in statuses.items() if stored.get(run, "") in {"", "failed"} - {status}]


def _older(experiment, missing):
    """How many of the missing runs have a result of other code."""
    ids = experiment.run_ids()
    specs = {run.partition("-")[0] for run in ids}
    return sum(run.spec_id in specs and run.run not in ids for run in missing)


class Scheduler:
    """Runs in parallel by a backend (`rrmbench.bench.backends`), results written by this one thread.

    progress : a Guarded display
    """

    def __init__(self, experiment, plan, backend, progress, timing=None):
        self.experiment, self.plan, self.backend = experiment, plan, backend
        self.progress, self.timing = progress, timing
        self.rates = Rates.here()

    @contextmanager
    def interruptible(self):
        """Ctrl-C, SIGTERM and SIGHUP set the flag that ends all children; a second Ctrl-C acts at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number, frame):
            self.backend.interrupted.set()
            if signal.SIGINT in before:
                signal.signal(signal.SIGINT, signal.default_int_handler)

        heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # as nohup has it
        before = {number: signal.signal(number, interrupt) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def execute(self, runs, statuses, what, extra=()):
        """Run all of `runs`, store each result, and note its status; `what` is said of them on the display.

        extra : (Run, spec) of the extra runs that may follow, for the display
        """
        if not runs:
            return
        self.backend.prepare()
        repeats = self.timing.repeats if self.timing else 1
        self.progress.begin(runs, what, self.rates.expected(runs, self.backend.jobs, extra, repeats))
        try:
            with closing(self.backend.outcomes(runs, self.plan, self.progress)) as outcomes:
                for run, outcome in outcomes:
                    statuses[run.run] = self._store(run, outcome)
        finally:
            self.rates.save()

    def _store(self, run, outcome):
        """Store what came of a run; what was cut short does not replace what `--fresh` or `--timing` ran again."""
        result = self._result(run, outcome)
        if result.status in CUT_SHORT and self.experiment.statuses([run.run]).get(run.run) in FINAL:
            self.progress.end(run, result)
            return result.status
        found = Bounds.of(result)
        self.experiment.withdraw(run.problem, run.run)
        wrong = self.experiment.contradiction(run.problem, found)
        if wrong:
            names = (run.spec[kind]["name"] for kind in ("loss", "regularizer"))
            result.status, result.reason = "failed", f"{wrong}: {suspects(*names)}"
        self.experiment.write(result)
        if self.backend.environment:  # rates are those of this machine
            self.rates.learn(run.spec, entries_of(run.prepared), result)
        if not wrong and result.certifies:
            self.experiment.improve_reference(run.problem, run.asked, found)
        self.progress.end(run, result)
        return result.status

    def _result(self, run, outcome):
        facts = dict(outcome.facts)
        if "traceback" in facts:
            facts["traceback"] = printable(facts["traceback"])
        w, b = facts.pop("w", None), facts.pop("b", None)
        return Result(
            run=run.run,
            spec_id=run.spec_id,
            problem=run.problem,
            data=run.prepared.checksum,
            code=run.code,
            spec=run.spec,
            status=outcome.status,
            reason=printable(outcome.reason),
            created=datetime.now(UTC).isoformat(),
            info=facts
            | {"concurrent_runs": outcome.concurrent_runs, "wall_seconds": outcome.wall_seconds, "codes": run.codes}
            | self._origin(outcome),
            trace={name: np.array(column) for name, column in outcome.rows.columns.items()},
            w=w,
            b=b,
        )

    def _origin(self, outcome):
        """Where a run was executed, for the header; an environment that is new goes into the manifest."""
        if self.backend.environment:
            return {"environment": self.backend.environment[0]}
        name = outcome.origin.get("environment")
        manifest = self.experiment.manifest()
        if name is not None and name not in manifest["environments"]:
            manifest["environments"][name] = self.backend.environment_of(name)
            self.experiment.write_manifest(manifest)
        return outcome.origin

    def extra(self, runs, attempt=0):
        """[(one Run, spec of the extra run)] of the problems whose optimum is open.

        attempt : how many extra runs of a problem left it so
        """
        if self.plan.reference is None:
            return []
        problems, sizes = {run.problem: run for run in runs}, self.experiment.sizes()
        left = [run for problem, run in problems.items() if not self._is_pinned(problem, sizes.get(problem, 0.0))]
        seconds = self.plan.reference["seconds"]
        wanted = []
        for run in left:
            specs = reference.specs(run.spec, seconds, *reference.sizes(run.prepared))
            wanted += [(run, spec) for spec in specs[attempt : attempt + 1]]
        return wanted

    def _is_pinned(self, problem, size):
        try:
            return reference.pinned(self.experiment.reference(problem), size)
        except UnreadableFile:  # a damaged one is made again from the runs
            return False

    def refer(self, runs, identities, left, wanted):
        """Pin the optimum of every problem by extra runs where the experiment's own do not.

        left, wanted : what `extra` said before these were run, and what it says now
        """
        for run, _ in left:
            self.rates.learn_reference(run.spec, any(run.problem == other.problem for other, _ in wanted))
        if left:
            self.rates.save()
        if wanted:
            self.plan = self.plan.for_reference()
        if self.timing:  # nobody asks how long these take
            self.timing = self.backend.timing = None
        attempt = 0
        while wanted and not self.backend.interrupted.is_set():
            extra = [identities.run(spec) for _, spec in wanted]
            known = self.experiment.statuses(run.run for run in extra)
            extra = [run for run in extra if known.get(run.run) not in FINAL]
            self.execute(extra, {}, f"{self.plan.name}, reference optima")
            attempt += 1
            wanted = self.extra(runs, attempt)
